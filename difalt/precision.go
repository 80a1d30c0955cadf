package difalt

import (
	"github.com/difalt/difalt/internal/dense"
)

// reduceFrom is the size of the samples of all nodes, in bytes, from which MixedPrecision makes copies in
// float32: smaller samples stay in caches. All nodes decide the same, so that bits do not depend on the
// placement of nodes.
const reduceFrom = 8 << 20

// reduceSamples lets the groups iterate on copies of their samples in float32, with MixedPrecision.
func (s *Solver) reduceSamples() {
	if !s.o.MixedPrecision || 8*s.facts.samples*dense.Stride(s.facts.features) < reduceFrom {
		return
	}
	s.records.reduced = true
	for _, g := range s.state.groups {
		g.EnableMixedPrecision()
		g.RefreshAutomatically()
	}
}

// readExactly repeats the step of the groups on the full-precision samples.
func (s *Solver) readExactly() {
	if !s.records.reduced {
		return
	}
	for _, g := range s.state.groups {
		g.RefreshReference()
	}
	s.executor.Step(s.state.u, s.o.Ridge)
}
