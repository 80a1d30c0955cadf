package difalt

import (
	"slices"

	"github.com/difalt/difalt/kernel"
)

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

// reduceFrom is from how many bytes on, of the samples of all nodes, there are copies: what
// caches hold is read as fast as 16 bits, and then the copy and the anchors cost more than
// they save. All nodes know how much there is in all, so that the choice, and all bits, are
// the same wherever nodes live.
var reduceFrom = 8 << 20

// anchors says at which states the nodes read the samples themselves.
type anchors struct {
	at       *iterate
	last     int // iteration
	pool     *kernel.Pool
	decide   func(worker int) // stored, so that calling it does not allocate
	restored []*kernel.Basis  // of a snapshot, until the groups have them
}

func newAnchors(s *Solver) *anchors {
	at := s.at
	return &anchors{
		at: at, last: s.o.Iterations, pool: s.pool,
		decide: s.each(func(i int) {
			if g := at.groups[i]; at.moved[i] < renewAt*move(at.u[i], g.Reference()) {
				g.Anchor()
			}
		}),
	}
}

// choose decides which nodes make an anchor in the iteration to come: all of them if what
// follows is measured, since that should be exact. At the anchor a step by the copy gives
// the same bits as one on the samples, so that an iteration that is tried again may decide
// otherwise. Where U_g rests nothing is decided anew.
func (a *anchors) choose(measured, rests bool) {
	if a.restored != nil {
		a.resume()
	}
	switch k := a.at.iteration; {
	case rests:
	case k == a.last, measured, k > 0 && k%renewEvery == 0:
		for _, g := range a.at.groups {
			g.Anchor()
		}
	case k > 0:
		a.pool.Run(a.decide)
	}
}

// resume makes the anchors of a snapshot those of the groups. One of zeros is that of a new
// copy.
func (a *anchors) resume() {
	some := false
	for i, g := range a.at.groups {
		if blank := kernel.NewBasis(a.at.u[i].Dims()); slices.Equal(a.restored[i].Data(), blank.Data()) {
			g.Reduce()
			a.restored[i] = a.at.u[i]
			continue
		}
		g.Anchor()
		some = true
	}
	if some {
		a.at.executor.Step(a.restored, a.at.data.ridge)
	}
	a.restored = nil
}

// state writes the anchors of the groups, or those yet to be resumed, and reads them into
// the latter.
func (a *anchors) state(r *archive) {
	of := newBases(a.at.u)
	switch {
	case !r.writes:
		a.restored = of
	case a.restored != nil:
		of = a.restored
	case a.at.reduced:
		for i, g := range a.at.groups {
			of[i] = g.Reference()
		}
	}
	for i, anchor := range of {
		r.node(i)
		r.basis("the anchor", anchor)
	}
}
