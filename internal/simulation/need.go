package simulation

import (
	"fmt"
	"unsafe"

	"github.com/difalt/difalt/internal/memory"
	"github.com/difalt/difalt/topology"
)

// CheckMemory returns an error if so many trials of the setting, some of them at the same
// time, cannot fit in memory. It counts what no run can do without: of samples on disk
// only the copies in 16 bits and what goes with them.
func (s *Setting) CheckMemory(trials, lanes int) error {
	l, d, r, t, n := float64(s.Nodes), float64(s.Features), float64(s.Rank), float64(s.Tasks), float64(s.Samples)
	if err := memory.CheckGraph(s.Nodes, topology.Degree(s.Graph, s.Nodes)); err != nil {
		return err
	}
	at := float64(lanes)
	rows := float64(trials) * float64(len(s.Methods)) * float64(s.Iterations)
	samples, copies := at*8*t*n*(d+1), 0.0
	if s.MixedPrecision {
		copies = at * (2*t*n*d + 8*t*n*(r+1) + 8*t*d)
	}
	if s.Folder != "" {
		samples = at * 8 * t * n
	}
	sum := 0.0
	for _, part := range []struct {
		bytes float64
		what  string
	}{
		{samples, fmt.Sprintf("%d tasks of %d samples with %d features", s.Tasks, s.Samples, s.Features)},
		{copies, fmt.Sprintf("copies in 16 bits of %d tasks of %d samples with %d features", s.Tasks, s.Samples, s.Features)},
		{at * 8 * 4 * l * d * r, fmt.Sprintf("%d nodes with %d x %d bases and gradients", s.Nodes, s.Features, s.Rank)},
		{at * 8 * 2 * t * r, fmt.Sprintf("%d tasks with %d coefficients", s.Tasks, s.Rank)},
		{rows * float64(unsafe.Sizeof(Row{})), fmt.Sprintf("curves of %d iterations, %d methods and %d trials", s.Iterations, len(s.Methods), trials)},
	} {
		sum += part.bytes
		if err := memory.Check(part.bytes, part.what); err != nil {
			return err
		}
	}
	return memory.Check(sum, "samples, bases and curves together")
}
