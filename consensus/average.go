package consensus

import (
	"context"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// An average applies rounds of a weighted average in float64, one by one, and keeps
// nothing from one call to the next: AGREE of Alg. 1. A round multiplies by the nonzero
// entries of W, in ascending order of the neighbours; every entry is computed in the
// same way wherever nodes live and whatever the workers.
type average struct {
	net   *wire.Rounds
	rows  []sparseRow // of the hosted nodes
	bound float64     // of Chebyshev polynomials of W in place of powers; 0: powers
	power *power      // several rounds at once, or nil
	pool  *kernel.Pool

	layout  layout
	in, out []float64 // x_k and x_k-1 of the hosted nodes and, of x_k, of the neighbours elsewhere
	factors recurrence
	columns func(worker int) // stored, so that running it does not allocate
}

// A sparseRow has the nonzero entries of a row of W: where the vectors of the nodes are, by
// wire.Placement.Row, and their weights.
type sparseRow struct {
	rows    []int
	weights []float64
}

func (r *sparseRow) add(row int, weight float64) {
	r.rows, r.weights = append(r.rows, row), append(r.weights, weight)
}

// newAverage returns the rounds with the given rows of W; p is nil, or applies several of
// them at once.
func (n *Network) newAverage(rows []sparseRow, bound float64, p *power, pool *kernel.Pool) *average {
	m := &average{net: n.rounds, rows: rows, bound: bound, power: p, pool: pool}
	m.columns = m.averageShare
	return m
}

// sparseRows returns the rows of W of the hosted nodes, with their own entries or without.
func (n *Network) sparseRows(own bool) []sparseRow {
	rows := make([]sparseRow, len(n.Hosted()))
	for k, i := range n.Hosted() {
		for j, v := range n.weights.Row(i) {
			if own || j != i {
				rows[k].add(n.rounds.Row[j], v)
			}
		}
	}
	return rows
}

func (m *average) atOnce(ctx context.Context, z []Message, rounds int) (bool, error) {
	if m.power == nil || rounds < m.power.from {
		return false, nil
	}
	return true, m.power.apply(ctx, z, rounds)
}

func (m *average) open(z []Message) {
	m.layout = layoutOf(dimensionsOf(z[0]))
	if size := m.net.Rows * m.layout.stride; len(m.in) < size {
		m.in, m.out = make([]float64, size), make([]float64, size)
	}
	for i := range z {
		m.layout.gather(m.layout.row(m.in, i), z[i])
	}
	m.factors = recurrence{bound: m.bound}
}

func (m *average) close(z []Message) {
	for i := range z {
		m.layout.scatter(m.layout.row(m.in, i), z[i])
	}
}

func (m *average) length(rounds int) (int, bool) { return rounds, false }

func (m *average) Channel() wire.Channel { return m.layout.Stream }

func (m *average) Prepare() {
	for i := range m.rows {
		if !wire.Finite(m.layout.row(m.in, i)) {
			m.net.Fail(m.Channel(), i)
		}
	}
}

// Sends implements wire.Operation: all send to all neighbours.
func (m *average) Sends(int, int) bool { return true }

// AppendTo appends the vector of a node, if it is finite.
func (m *average) AppendTo(dst []byte, k int) []byte {
	x := m.layout.row(m.in, m.net.Index[m.net.Links[k].Node])
	if !wire.Finite(x) {
		return dst
	}
	return wire.AppendFloats(dst, x)
}

func (m *average) Check(k int, code []byte) error {
	return wire.ReadFloats(m.layout.row(m.in, m.net.Row[m.net.Links[k].Peer]), code)
}

func (m *average) Step() wire.Traffic {
	m.factors.advance()
	m.pool.Run(m.columns)
	m.in, m.out = m.out, m.in
	t := wire.Traffic{Rounds: 1, Messages: m.net.Ends}
	t.Bytes = 8 * int64(m.layout.n) * t.Messages
	return t
}

// averageShare averages the columns that belong to a worker.
func (m *average) averageShare(worker int) {
	n, k := m.layout.n, m.pool.Workers()
	lo, hi := n*worker/k, n*(worker+1)/k
	m.mix(m.out[lo:], m.in[lo:], m.layout.stride, hi-lo, m.factors.omega)
}

// mix computes out = omega W in + (1 - omega) out for the first n columns of two
// row-major matrices; without reading out if omega is 1.
func (m *average) mix(out, in []float64, stride, n int, omega float64) {
	for i, row := range m.rows {
		o := out[i*stride:][:n]
		if omega == 1 {
			clear(o)
		} else {
			for k := range o {
				o[k] *= 1 - omega
			}
		}
		for l, j := range row.rows {
			a := omega * row.weights[l]
			for k, v := range in[j*stride:][:n] {
				o[k] += a * v
			}
		}
	}
}

// A recurrence yields the factors of the Chebyshev semi-iteration. With x_0 = z and
//
//	x_k+1 = omega_k+1 W x_k + (1 - omega_k+1) x_k-1
//
// x_k is p_k(W) z, where p_k(t) = T_k(t/g) / T_k(1/g) for the Chebyshev polynomial
// T_k and g = bound: of all polynomials of degree k with p(1) = 1 the one with the
// smallest modulus on [-g, g] (Golub and Varga, Chebyshev semi-iterative methods,
// 1961). Since p(1) = 1 it keeps what W keeps.
//
// Where |t| > g, p_k is larger, but never larger than t^k: T_k(y)/y^k increases with
// y >= 1. So if g does not exceed gamma(W), k steps never average less than W^k.
//
// For a bound of zero all factors are 1, and x_k = W^k z.
type recurrence struct {
	bound float64 // g
	omega float64 // of the round under way
	last  float64 // the same, but 2 for k = 1
}

// advance makes omega the next of omega_1 = 1, omega_2, omega_3 and so on.
func (c *recurrence) advance() {
	if c.last == 0 {
		c.omega, c.last = 1, 2
		return
	}
	c.last = 1 / (1 - c.bound*c.bound*c.last/4)
	c.omega = c.last
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
	bound   float64 // as of average
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
