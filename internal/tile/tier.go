package tile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"
)

// Tier is a set of CPU features for which there are tiles.
type Tier uint8

// The tiers, in ascending order of preference on their architecture.
const (
	Generic Tier = iota // portable Go
	AVX2                // amd64: AVX2, FMA and F16C, all of x86-64-v3
	AVX512              // amd64: AVX-512 F, DQ and VL
	NEON                // arm64
)

var tierNames = [...]string{"generic", "avx2", "avx512", "neon"}

// String returns the name of the tier as DIFALT_KERNEL spells it.
func (t Tier) String() string {
	return tierNames[t]
}

// requested is the environment variable when the program started, in lower case.
var requested = strings.ToLower(os.Getenv(Variable))

// active is the tier in use. It is set once at start; Use changes it for tests.
var active = choose(requested, Available())

// tiles are the operations of the tier in use.
var tiles = operationsOf(active)

// of returns the index of the tile for type F of an operation, given the index for float64.
func of[F Float](index int) int {
	if unsafe.Sizeof(F(0)) == 4 {
		return index + singles
	}
	return index
}

// Requested returns the kernel that the environment variable asked for when the program started, in
// lower case: the name of a tier, of a backend of package kernel, "", or none of these, which package
// kernel reports.
func Requested() string { return requested }

// Active returns the tier in use.
func Active() Tier { return active }

// Use switches to a tier. It must not be called while tiles run.
func Use(t Tier) error {
	if slices.Contains(Available(), t) {
		active, tiles = t, operationsOf(t)
		return nil
	}
	return fmt.Errorf("kernel %s is not available on this machine and build: have %v", t, Available())
}

// Variable is the environment variable that forces a tier, or a backend of package kernel.
const Variable = "DIFALT_KERNEL"

// choose returns the tier of a name if this machine and build have it, or else the default.
func choose(name string, have []Tier) Tier {
	if named := slices.Index(tierNames[:], name); named >= 0 && slices.Contains(have, Tier(named)) {
		return Tier(named)
	}
	return have[len(have)-1]
}
