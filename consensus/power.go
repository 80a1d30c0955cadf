package consensus

import (
	"context"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// denseSpeed is how many summands of a dense product, with vector instructions, cost as
// much as one of a sparse product.
const denseSpeed = 8

// blockLen is the number of entries of a message that are averaged at a time: eight
// cache lines, so that they come in one go from wherever the message is, and few enough
// that a block of a hundred nodes is a small part of the second-level cache. A multiple
// of the padding of a basis, so that workers write to different cache lines.
const blockLen = 64

// mostDense is the largest number of nodes of which a dense W^rounds is computed: it takes
// memory in proportion to L^2, and as many iterations to pay as there are nodes.
const mostDense = 1000

// A power applies rounds of an average at once where all nodes live in this process: it
// multiplies by the dense W^rounds, computed by repeated squaring when the number of
// rounds is first seen and kept. That is worth while if L*L <= 8*rounds*(2E+L), for L
// nodes, at most 1,000, and E edges, which depends on the graph and not on the machine. It agrees to
// rounding with what rounds one by one come to.
//
// The entries of the messages are cut into blocks and dealt to the workers. What is
// done to a block does not depend on the worker.
type power struct {
	w       *mat.Dense
	bound   float64 // of recurrence
	from    int     // the fewest rounds for which it is worth while
	powers  map[int]*mat.Dense
	pool    *kernel.Pool
	scratch [][2][]float64 // of every worker: two L x blockLen matrices, row-major
	share   func(worker int)

	// Of the call under way. bases[i] and scalars[i] alias the message of node i. They are
	// cut separately: a block never holds entries of both.
	applied        *mat.Dense
	bases, scalars [][]float64
}

// newPower returns the powers of W, or nil if a forbids them or nodes live elsewhere.
func (n *Network) newPower(a Agreement, bound float64, pool *kernel.Pool) *power {
	if !n.AllHosted() || a.RoundByRound || n.Len() > mostDense {
		return nil
	}
	l, cost := n.Len(), denseSpeed*(2*n.Graph().Edges()+n.Len())
	p := &power{
		w: n.weights.Dense(), bound: bound, from: (l*l + cost - 1) / cost, powers: make(map[int]*mat.Dense), pool: pool,
		scratch: make([][2][]float64, pool.Workers()), bases: make([][]float64, l), scalars: make([][]float64, l),
	}
	for k := range p.scratch {
		p.scratch[k] = [2][]float64{make([]float64, l*blockLen), make([]float64, l*blockLen)}
	}
	p.share = p.runShare
	return p
}

// apply overwrites the message of node i by sum_j (W^rounds)_ij z[j], rounds > 0. It
// returns the error of ctx if it ends before the matrix is known.
func (p *power) apply(ctx context.Context, z []Message, rounds int) (err error) {
	if p.applied, err = p.of(ctx, rounds); err != nil {
		return err
	}
	for i, m := range z {
		if m.Basis != nil {
			p.bases[i] = m.Basis.Data()
		}
		p.scalars[i] = m.Scalars
	}
	if p.blocks() > 1 {
		p.pool.Run(p.share)
	} else {
		for worker := range p.scratch {
			p.runShare(worker)
		}
	}
	clear(p.bases)
	clear(p.scalars)
	return nil
}

func (p *power) blocks() int { return blocksOf(p.bases[0]) + blocksOf(p.scalars[0]) }

func blocksOf(row []float64) int { return (len(row) + blockLen - 1) / blockLen }

// runShare does the contiguous share of the blocks that belongs to a worker.
func (p *power) runShare(worker int) {
	n, k, ofBases := p.blocks(), len(p.scratch), blocksOf(p.bases[0])
	for b := n * worker / k; b < n*(worker+1)/k; b++ {
		rows, lo := p.bases, b*blockLen
		if b >= ofBases {
			rows, lo = p.scalars, (b-ofBases)*blockLen
		}
		p.block(p.scratch[worker], rows, lo, min(lo+blockLen, len(rows[0])))
	}
}

// block averages entries [lo, hi) of the rows of all nodes.
func (p *power) block(scratch [2][]float64, rows [][]float64, lo, hi int) {
	in, out := scratch[0], scratch[1]
	for i, row := range rows {
		copy(in[i*blockLen:], row[lo:hi])
	}
	w := p.applied.RawMatrix()
	z := blas.ColumnMajor{Rows: hi - lo, Cols: w.Rows, Stride: blockLen, Data: in}
	wt := blas.ColumnMajor{Rows: w.Rows, Cols: w.Rows, Stride: w.Stride, Data: w.Data}
	blas.MulNN(blas.ColumnMajor{Rows: hi - lo, Cols: w.Rows, Stride: blockLen, Data: out}, z, wt)
	for i, row := range rows {
		copy(row[lo:hi], out[i*blockLen:])
	}
}

// of returns W^rounds, or the Chebyshev polynomial of that degree if there is a
// bound, for rounds > 0.
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
func powerOf(w *mat.Dense, k int) *mat.Dense {
	square := w // w^1, w^2, w^4, ...
	var p *mat.Dense
	for ; ; square = product(square, square) {
		if k&1 != 0 {
			if p == nil {
				p = square
			} else {
				p = product(p, square)
			}
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
	var before, p *mat.Dense // p_k-1 and p_k
	before = mat.NewDense(l, l, nil)
	p = mat.NewDense(l, l, nil)
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
