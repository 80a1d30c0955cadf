package difalt

import (
	"math"

	"github.com/difalt/difalt/kernel"
)

// precision is the state of Options.MixedPrecision at one node: the float32 copy of
// its samples, and when it was last compensated.
type precision struct {
	*kernel.Compensated
	theta    []float64
	referred float64 // how far U_g moved in the iteration after which it was
}

// refresh is by how much the moves of U_g shrink before the next compensation. The
// copy is wrong by 6e-8 of the distance to the reference; this leaves two digits
// between that and the estimate.
const refresh = 1e-5

// reduce puts the groups on float32 copies of their samples.
func (s *Solver) reduce() {
	for i, g := range s.groups {
		c, ok := kernel.NewCompensated(s.nodes[i])
		if !ok {
			s.o.Logger.Warn("samples are float32 already, or beyond its range; the node stays as it is", "node", s.hosted[i])
			s.precisions = append(s.precisions, nil)
			continue
		}
		s.precisions = append(s.precisions, &precision{c, make([]float64, s.nodes[i].Features()), math.Inf(1)})
		g.SetSamples(c.Reduced(), c.Reduced())
	}
}

// refer makes the current estimates the references of MixedPrecision where it is time.
func (s *Solver) refer() {
	switch {
	case s.precisions == nil:
	case s.restored:
		s.resume()
	default:
		for i := range s.precisions {
			s.compensateNode(i)
		}
	}
}

// compensateNode makes the current estimate the reference if U_g has come much
// closer to its limit since the last time. It runs before a step, with the b_t of
// the step before.
func (s *Solver) compensateNode(i int) {
	p := s.precisions[i]
	if p == nil || s.iteration == 0 {
		return
	}
	if m := s.moved[i]; m < refresh*p.referred || math.IsInf(p.referred, 1) {
		p.Refer(s.u[i], s.groups[i].B, p.theta)
		p.referred = m
	}
}

// resume makes the restored estimate the reference. The reference of the
// interrupted run is not kept, so that a resumed run agrees to rounding, not in
// every bit.
func (s *Solver) resume() {
	for i, g := range s.minimized() {
		if p := s.precisions[i]; p != nil {
			p.Refer(s.u[i], g.B, p.theta)
			p.referred = math.Inf(1) // compensate again after the next iteration
		}
	}
	s.restored = false
}
