package kernel

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// A backend computes Alg. 3, lines 7 to 11, for runs of tasks. The process has one, chosen when it starts: by
// the environment variable DIFALT_KERNEL, or else the fastest of this build. Tasks whose rows workers share
// are the tiles' in every case.
type backend interface {
	// step solves the least squares of the tasks of a chunk and stores b_t and the statuses in the group.
	// With gradient it adds the partial gradient and the squared residuals of the samples of the gradient to
	// the chunk; without, only the squared residuals of the least squares. The workspace is large enough, and
	// serves this call.
	step(g *Group, c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool)
}

// The names of the backends besides the tiles, as DIFALT_KERNEL spells them, and of builds.
const (
	gonumName    = "gonum"
	openBLASName = "openblas"
)

var chosen, chosenName, unavailable = choose(tile.Requested())

// choose returns the backend of a name and its name, "" for the tiles. Without a name that is the tiles, or
// OpenBLAS where the processor has no tiles in assembly and the build has OpenBLAS: 1.8 to 6.8 times faster
// than portable Go. For a name that this machine or build does not have it returns the tiles and an error.
func choose(name string) (backend, string, error) {
	switch {
	case name != "" && !slices.Contains(available(), name):
		const text = "%s=%s: unknown kernel, or not available on this machine and build: have %v"
		return tiles{}, "", fmt.Errorf(text, tile.Variable, name, available())
	case name == gonumName:
		return gonumBackend{}, gonumName, nil
	case name == openBLASName || name == "" && tile.Active() == tile.Generic && build == openBLASName:
		return openBLASBackend(), openBLASName, nil
	}
	return tiles{}, "", nil
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
