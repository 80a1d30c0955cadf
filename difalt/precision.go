package difalt

import "github.com/difalt/difalt/kernel"

// With Options.MixedPrecision a node steps by a copy of its samples in 16 bits
// (kernel.Group.Reduce). What that gets wrong is a part of the distance to the node's
// anchor, the last U_g at which it has read the samples themselves: below 3e-4 of it, as
// entries are rounded. Each node makes an anchor when U_g moves by so little that this
// might count, so that all of them converge to what they would in float64.
const (
	// renewAt is the part of its distance to the anchor that a move must not be less than:
	// a dozen times what the copy gets wrong.
	renewAt = 1e-2
	// renewEvery is after how many iterations a node makes an anchor in any case: where
	// rounding keeps U_g moving, moves do not tell how near it is.
	renewEvery = 40
)

// reduce makes the copies.
func (s *Solver) reduce() {
	if k := kernel.Info().Kernel; k == "generic" {
		s.o.Logger.Warn("MixedPrecision is slower than float64 on this kernel, which converts samples of 16 bits one by one", "kernel", k)
	}
	s.each(func(i, _ int) { s.groups[i].Reduce() })
	s.chooseAnchors = s.perNode(func(i int) {
		if g := s.groups[i]; s.moved[i] < renewAt*move(s.u[i], g.Reference()) {
			g.Anchor()
		}
	})
}

// refer decides which nodes make an anchor in the iteration to come. At the anchor a step
// by the copy gives the same bits as one on the samples, so that an iteration that is
// tried again may decide otherwise.
func (s *Solver) refer() {
	switch {
	case !s.o.MixedPrecision:
		return
	case s.anchors != nil:
		s.resume()
	}
	switch {
	case s.iteration == s.o.Iterations, s.watch.due(s), s.iteration > 0 && s.iteration%renewEvery == 0:
		for _, g := range s.groups { // what is measured should be exact
			g.Anchor()
		}
	case s.iteration > 0:
		s.pool.Run(s.chooseAnchors)
	}
}

// resume makes the anchors of a snapshot those of the groups: one that is nil stands for
// the anchor of a new copy.
func (s *Solver) resume() {
	at, some := make([]*kernel.Basis, len(s.u)), false
	for i, g := range s.groups {
		if at[i] = s.anchors[i]; at[i] == nil {
			g.Reduce()
			at[i] = s.u[i]
			continue
		}
		g.Anchor()
		some = true
	}
	if some {
		s.executor.Step(at, s.ridge())
	}
	s.anchors = nil
}

// anchor returns the anchor of a hosted node as a snapshot holds it, nil for that of a new
// copy.
func (s *Solver) anchor(i int) []float64 {
	if s.anchors != nil {
		if s.anchors[i] == nil {
			return nil
		}
		return columns(s.anchors[i])
	}
	cols := columns(s.groups[i].Reference())
	for _, v := range cols {
		if v != 0 {
			return cols
		}
	}
	return nil
}
