package consensus

import (
	"context"

	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// denseSpeed is how many summands of a dense product, with vector instructions, cost as
// much as one of a sparse product.
const denseSpeed = 8

// mostDense is the largest number of nodes of which a dense W^rounds is computed: it takes
// memory in proportion to L^2, and as many iterations to pay as there are nodes.
const mostDense = 1000

// blockLen is the number of entries of a vector that are multiplied at a time: few enough that a
// block of a hundred nodes is a small part of the second-level cache.
const blockLen = 64

// A power applies rounds of an average at once where all nodes live in this process: it
// has the dense W^rounds, computed by repeated squaring when the number of
// rounds is first seen and kept. That is worth while if L*L <= 8*rounds*(2E+L), for L
// nodes, at most 1,000, and E edges, which depends on the graph and not on the machine. It agrees to
// rounding with what rounds one by one come to.
type power struct {
	w       *mat.Dense
	bound   float64 // of recurrence
	from    int     // the fewest rounds for which it is worth while
	powers  map[int]*mat.Dense
	applied *mat.Dense // in the Mix under way
}

// newPower returns the powers of W, or nil if a forbids them or nodes live elsewhere.
func (n *Network) newPower(a Agreement, bound float64) *power {
	if !n.AllHosted() || a.RoundByRound || n.Len() > mostDense {
		return nil
	}
	l, cost := n.Len(), denseSpeed*(2*n.Graph().Edges()+n.Len())
	return &power{w: n.weights.Dense(), bound: bound, from: (l*l + cost - 1) / cost, powers: make(map[int]*mat.Dense)}
}

// multiplyShare multiplies the vectors by the power, as columns, into the replicas, of which float64 has
// none: those of the blocks of entries that belong to a worker. No block has entries of a basis and scalars.
func (m *gossip) multiplyShare(worker int) {
	f, l, w := m.stream, m.hosted, m.power.applied.RawMatrix()
	wt := blas.ColumnMajor{Rows: l, Cols: l, Stride: w.Stride, Data: w.Data}
	for _, part := range [parts][2]int{{0, f.D * f.R}, {f.D * f.R, f.n}} {
		for lo := part[0] + worker*blockLen; lo < part[1]; lo += len(m.scratch) * blockLen {
			to := blas.ColumnMajor{Rows: min(blockLen, part[1]-lo), Cols: l, Stride: f.stride, Data: f.work.Replica[lo:]}
			from := to
			from.Data = f.x[lo:]
			blas.MulNN(to, from, wt)
		}
	}
}

// of returns W^rounds, or the Chebyshev polynomial of that degree if there is a
// bound, for rounds > 0, or the error of ctx if it ends before.
func (p *power) of(ctx context.Context, rounds int) (w *mat.Dense, err error) {
	if w, ok := p.powers[rounds]; ok {
		return w, nil
	}
	if p.bound == 0 {
		w = powerOf(p.w, rounds)
	} else if w, err = chebyshevOf(ctx, p.w, p.bound, rounds); err != nil {
		return nil, err
	}
	p.powers[rounds] = w
	return w, nil
}

// powerOf returns w^k for k > 0.
func powerOf(w *mat.Dense, k int) (p *mat.Dense) {
	for square := w; ; square = product(square, square) { // w^1, w^2, w^4, ...
		switch {
		case k&1 == 0:
		case p == nil:
			p = square
		default:
			p = product(p, square)
		}
		if k >>= 1; k == 0 {
			return p
		}
	}
}

func product(a, b *mat.Dense) *mat.Dense {
	l, _ := a.Dims()
	c := mat.NewDense(l, l, nil)
	// Not by mat.Dense.Mul, whose bits depend on the BLAS in use.
	square := func(m *mat.Dense) blas.ColumnMajor {
		return blas.ColumnMajor{Rows: l, Cols: l, Stride: l, Data: m.RawMatrix().Data}
	}
	blas.MulNN(square(c), square(b), square(a)) // C' = B'A'
	return c
}

// chebyshevOf returns p_k(w) for k > 0, or the error of ctx if it ends before.
func chebyshevOf(ctx context.Context, w *mat.Dense, bound float64, k int) (*mat.Dense, error) {
	l, _ := w.Dims()
	c := recurrence{bound: bound}
	before, p := mat.NewDense(l, l, nil), mat.NewDense(l, l, nil) // p_k-1 and p_k
	for i := range l {
		p.Set(i, i, 1)
	}
	for range k {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.advance()
		next := product(w, p)
		for i, v := range next.RawMatrix().Data {
			next.RawMatrix().Data[i] = c.omega*v + (1-c.omega)*before.RawMatrix().Data[i]
		}
		before, p = p, next
	}
	return p, nil
}
