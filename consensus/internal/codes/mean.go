// Package codes computes the mean of vectors over all nodes along a tree, where numbers are sent as small
// integers.
//
// Every node g keeps H_g, the sum of all that it has sent, and all nodes keep D, the mean of all H_g. Node g
// sends the difference x_g - H_g as integers, multiples of a step that all nodes share, and adds what the
// integers represent to H_g. The integers are summed with masks. All nodes add their mean, times the step, to
// D, which is the result. As x converges the differences shrink, and the step with them; the rounding error
// of an integer is part of the next difference.
//
// The step follows the largest difference of all nodes. With every vector the nodes count, for each power of
// two, the nodes whose largest difference is in it. The next vector has the step that was right for this one.
// Larger differences are clipped; the next vector carries the remainder. Before the first vector, and after a
// difference has outgrown the counts, the nodes count over all powers of two, in a separate sum.
package codes

import (
	"context"
	"errors"
	"math"
	"math/bits"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/internal/masked"
	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/consensus/transport"
)

// A vector has two coded parts: the entries of a basis, in codes of the width of the call, and the scalars,
// which are few, in codes of 24 bits: as entries of a small matrix they matter through its smallest
// eigenvalue, which coarse codes would bury. Totals follow, which are summed in float64.
const (
	parts       = 2
	scalarWidth = 24
	// unknown is the exponent of a part before the first count.
	unknown = math.MinInt32
)

// Sizes are the numbers of entries of a vector: of its basis, its scalars and its totals.
type Sizes struct{ Basis, Scalars, Totals int }

// averaged returns the number of entries that are averaged.
func (s Sizes) averaged() int { return s.Basis + s.Scalars }

// bounds returns the bounds of a part of a vector.
func (s Sizes) bounds(part int) (from, to int) {
	if part == 0 {
		return 0, s.Basis
	}
	return s.Basis, s.averaged()
}

// A Mean keeps H of the hosted nodes, and D.
type Mean struct {
	engine      *rounds.Engine
	collectives *masked.Collectives
	traffic     *transport.Traffic

	sizes    Sizes
	width    int         // bits of a code of the basis
	x        [][]float64 // the vectors of the hosted nodes, during a call
	sent     [][]float64 // H of the hosted nodes; nil before the first vector
	mean     []float64   // D, and the totals
	started  bool        // a sum of this call: after an error, nodes may have sent different numbers
	exponent [parts]int
	counts   counts
	codes    codes
}

// New returns a mean over the nodes of e. It adds its messages to traffic.
func New(e *rounds.Engine, c *masked.Collectives, traffic *transport.Traffic) *Mean {
	m := &Mean{engine: e, collectives: c, traffic: traffic}
	m.counts = counts{m, masked.Layout{{N: parts * groups, Bits: m.countBits()}}}
	m.codes = codes{mean: m, totals: masked.NewFixedPoint(e.Graph.Len())}
	return m
}

// Average returns the mean of vectors over all nodes, in codes of width bits for the basis, and the sums of
// their totals. The result is valid until the next call. x[i] is the vector of hosted node i. The next vector
// is a first vector after an error, except for a context that has ended before the call, and if sizes change.
func (m *Mean) Average(ctx context.Context, x [][]float64, s Sizes, width int) ([]float64, error) {
	if m.sent == nil || m.sizes != s {
		m.start(s, len(x))
	}
	m.x, m.width, m.started = x, width, false
	err := m.average(ctx)
	m.x = nil
	if err == nil {
		return m.mean, nil
	}
	if m.started {
		m.sent = nil
	}
	return nil, err
}

// start forgets what was sent.
func (m *Mean) start(s Sizes, hosted int) {
	m.sizes = s
	m.sent = make([][]float64, hosted)
	for i := range m.sent {
		m.sent[i] = make([]float64, s.averaged())
	}
	m.mean = make([]float64, s.averaged()+s.Totals)
	m.exponent = [parts]int{unknown, unknown}
}

func (m *Mean) average(ctx context.Context) error {
	counted := m.mustCount()
	if counted {
		down, err := m.collectives.Run(ctx, frame.Average, &m.counts, m.traffic)
		if err != nil {
			return err
		}
		m.takeCounts(down)
	}
	m.codes.prepare()
	down, err := m.collectives.Run(ctx, frame.Average, &m.codes, m.traffic)
	if err != nil {
		if counted {
			m.engine.End(ctx, err) // all other nodes go on with the codes
		}
		return err
	}
	m.codes.take(down)
	return nil
}

// mustCount reports whether a part has no exponent.
func (m *Mean) mustCount() bool {
	for k := range parts {
		if from, to := m.sizes.bounds(k); to > from && m.exponent[k] == unknown {
			return true
		}
	}
	return false
}

// countBits returns the bits of a count of nodes, with a sign.
func (m *Mean) countBits() int { return bits.Len(uint(m.engine.Graph.Len())) + 1 }

// largest returns the exponents e of the parts of hosted node i: all differences are below 2^e in
// magnitude, and zero if zero[k].
func (m *Mean) largest(i int) (e [parts]int, zero [parts]bool, err error) {
	x, h := m.x[i], m.sent[i]
	for k := range parts {
		from, to := m.sizes.bounds(k)
		largest := 0.0
		for j := from; j < to; j++ {
			largest = max(largest, math.Abs(x[j]-h[j]))
		}
		if math.IsNaN(largest) || math.IsInf(largest, 0) {
			return e, zero, errors.New("a number is not finite")
		}
		_, e[k] = math.Frexp(largest)
		zero[k] = largest == 0
	}
	return e, zero, nil
}

// takeCounts sets the exponents from the largest group of each part.
func (m *Mean) takeCounts(down []uint64) {
	for k := range parts {
		if g := lastNonzero(down[k*groups:][:groups]); g >= 0 {
			m.setExponent(k, largestOf(g))
		}
	}
}

// lastNonzero returns the index of the last count that is not zero, or -1.
func lastNonzero(counts []uint64) int {
	k := len(counts) - 1
	for k >= 0 && counts[k] == 0 {
		k--
	}
	return k
}

// Limits of the exponent of a range: the step is finite, and not too small to be inverted.
const leastRange, greatestRange = -900, 1000

// setExponent sets the exponent of the range of the codes of a part, within the limits.
func (m *Mean) setExponent(k, e int) { m.exponent[k] = min(max(e, leastRange), greatestRange) }

// rangeOf returns the exponent of the range of the codes of a part.
func (m *Mean) rangeOf(k int) int {
	if m.exponent[k] == unknown { // all differences are zero
		return 0
	}
	return m.exponent[k]
}
