package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/difalt/difalt/internal/tile"
)

// A backend makes the chunks of groups. The process has one, chosen when it starts: by the environment
// variable DIFALT_KERNEL, or else the fastest of this build.
type backend struct {
	name   string // of DIFALT_KERNEL, "" for the tiles
	shares bool   // workers share the rows of large tasks
	// newChunk returns a chunk of tasks lo to hi of t for a basis of rank r.
	newChunk func(t *Tasks, lo, hi, r int) chunk
}

// The names of the backends besides the tiles, as DIFALT_KERNEL spells them, and of builds.
const (
	gonumName    = "gonum"
	openBLASName = "openblas"
)

var inUse, unavailable = choose(tile.Requested())

// choose returns the backend of a name. Without a name that is the tiles, or OpenBLAS where the processor
// has no tiles in assembly and the build has OpenBLAS: 1.8 to 6.8 times faster than portable Go. For a name
// that this machine or build does not have it returns the tiles and an error.
func choose(name string) (backend, error) {
	switch {
	case name != "" && !slices.Contains(available(), name):
		const text = "%s=%s: unknown kernel, or not available on this machine and build, which have %s"
		return tiles, fmt.Errorf(text, tile.Variable, name, strings.Join(available(), ", "))
	case name == gonumName:
		return gonumBackend, nil
	case name == openBLASName || name == "" && tile.Active() == tile.Generic && build == openBLASName:
		return openBLASBackend(), nil
	}
	return tiles, nil
}

// available returns the names that DIFALT_KERNEL may have.
func available() (names []string) {
	for _, t := range tile.Available() {
		names = append(names, t.String())
	}
	names = append(names, gonumName)
	if build == openBLASName {
		names = append(names, openBLASName)
	}
	return names
}
