package tile

import (
	"fmt"
	"os"
	"slices"
	"strings"
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
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("Tier(%d)", uint8(t))
}

// active is the tier in use. It is set once at start; Use changes it for tests.
var active, _ = choice()

// Active returns the tier in use.
func Active() Tier { return active }

// Available returns the tiers that this processor and build can run, Generic
// first and the default last.
func Available() []Tier { return available() }

// Use switches to a tier. It must not be called while tiles run.
func Use(t Tier) error {
	if slices.Contains(available(), t) {
		active = t
		return nil
	}
	return fmt.Errorf("kernel %s is not available on this machine and build: have %v", t, available())
}

// Variable is the environment variable that forces a tier or backend.
const Variable = "DIFALT_KERNEL"

// Forced returns an error when the environment variable names no tier, or one that
// this machine and build cannot run. The default is in use then, and whoever reads
// the environment for a user must report the error.
func Forced() error {
	_, err := choice()
	return err
}

// choice returns the tier that the environment variable names, or else the default.
func choice() (Tier, error) {
	have, name := available(), os.Getenv(Variable)
	t := have[len(have)-1]
	if name == "" {
		return t, nil
	}
	named := slices.Index(tierNames[:], strings.ToLower(name))
	switch {
	case named < 0:
		return t, fmt.Errorf("%s=%s: unknown kernel: have %v", Variable, name, have)
	case !slices.Contains(have, Tier(named)):
		return t, fmt.Errorf("%s=%s: kernel is not available on this machine and build: have %v", Variable, name, have)
	}
	return Tier(named), nil
}
