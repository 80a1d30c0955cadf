package consensus

import (
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// An average applies rounds of a weighted average in float64, which keeps nothing from
// one call to the next: AGREE of Alg. 1.
//
// With all nodes in this process, rounds are applied in one of two ways, which agree
// to rounding. If L*L <= 8*rounds*(2E+L), for L nodes and E edges, the messages are
// multiplied once by the dense power W^rounds, computed by repeated squaring when the
// number of rounds is first seen and kept: a term of a dense product costs about an
// eighth of a term of a sparse one. Otherwise every round multiplies by the nonzero
// entries of W, in ascending order of the neighbours, as it does where nodes live
// elsewhere. The choice depends on the graph and the number of rounds only, not on the
// machine, and every entry is computed in the same way whatever the workers.
type average struct {
	*sweep
	dense     *mat.Dense         // W, or nil: round by round
	sparse    [][]weight         // the nonzero entries of the rows of the hosted nodes
	bound     float64            // of Chebyshev polynomials of W in place of powers; 0: powers
	powers    map[int]*mat.Dense // W^rounds, or the polynomial of that degree
	scratch   [][2][]float64     // of every worker: two L x blockLen matrices, row-major
	rounds    int                // of the Mix under way
	applied   *mat.Dense         // W^rounds in a Mix that uses it, otherwise nil
	denseFrom int                // the fewest rounds for which W^rounds is used

	// With nodes elsewhere: x_k and x_k-1 of the hosted nodes and, of x_k, of the
	// neighbours elsewhere.
	net     *Network
	layout  layout
	in, out []float64
	factors recurrence
	columns func(worker int) // stored, so that running it does not allocate
	omega   float64
}

// A weight is a nonzero entry of a row of W.
type weight struct {
	row   int // of the node; see Network.row
	value float64
}

// denseSpeed is how many terms of a dense product, with vector instructions, cost as
// much as one of a sparse product.
const denseSpeed = 8

// newAverage returns the rounds with the given rows of W; dense is W, or nil for
// rounds one by one.
func (n *Network) newAverage(rows [][]weight, dense *mat.Dense, bound float64, pool *kernel.Pool) *average {
	l := len(rows)
	m := &average{net: n, dense: dense, sparse: rows, bound: bound, powers: make(map[int]*mat.Dense)}
	cost := denseSpeed * (2*n.Graph().Edges() + l)
	m.denseFrom = (l*l + cost - 1) / cost
	m.columns = m.averageShare
	m.sweep = newSweep(l, pool, m.mixBlock)
	m.scratch = make([][2][]float64, m.workers())
	for k := range m.scratch {
		m.scratch[k] = [2][]float64{make([]float64, l*blockLen), make([]float64, l*blockLen)}
	}
	return m
}

// mix overwrites the message of node i by sum_j (W^rounds)_ij z[j], rounds > 0.
func (m *average) mix(z []Message, rounds int) {
	m.rounds, m.applied = rounds, nil
	if m.dense != nil && rounds >= m.denseFrom {
		m.applied = m.power(rounds)
	}
	m.run(z)
}

// mixBlock averages entries [lo, hi) of the rows of all nodes.
func (m *average) mixBlock(worker int, rows [][]float64, lo, hi int) {
	in, out := m.scratch[worker][0], m.scratch[worker][1]
	for i, row := range rows {
		copy(in[i*blockLen:], row[lo:hi])
	}
	if m.applied != nil {
		w := m.applied.RawMatrix()
		z := blas.Matrix{Rows: hi - lo, Cols: w.Rows, Stride: blockLen, Data: in}
		wt := blas.Matrix{Rows: w.Rows, Cols: w.Rows, Stride: w.Stride, Data: w.Data}
		blas.GemmNN(z, wt, blas.Matrix{Rows: hi - lo, Cols: w.Rows, Stride: blockLen, Data: out})
	} else {
		c := recurrence{bound: m.bound}
		for range m.rounds {
			m.sparseRound(out, in, blockLen, hi-lo, c.next())
			in, out = out, in
		}
		out = in
	}
	for i, row := range rows {
		copy(row[lo:hi], out[i*blockLen:])
	}
}

// sparseRound computes out = omega W in + (1 - omega) out for the first n columns of
// two row-major matrices; without reading out if omega is 1.
func (m *average) sparseRound(out, in []float64, stride, n int, omega float64) {
	for i, row := range m.sparse {
		o := out[i*stride:][:n]
		if omega == 1 {
			clear(o)
		} else {
			for k := range o {
				o[k] *= 1 - omega
			}
		}
		for _, w := range row {
			a := omega * w.value
			for k, v := range in[w.row*stride:][:n] {
				o[k] += a * v
			}
		}
	}
}

func (m *average) open(_ *Network, z []Message) error {
	m.layout = layoutOf(shapeOf(z[0]))
	if size := m.net.rows * m.layout.stride; len(m.in) < size {
		m.in, m.out = make([]float64, size), make([]float64, size)
	}
	for i := range z {
		m.layout.gather(m.layout.row(m.in, i), z[i])
	}
	m.factors = recurrence{bound: m.bound}
	return nil
}

func (m *average) close(z []Message) {
	for i := range z {
		m.layout.scatter(m.layout.row(m.in, i), z[i])
	}
}

func (m *average) channel() uint8 { return uint8(m.layout.Stream) }

func (m *average) speak() {
	for i := range m.sparse {
		if !finite(m.layout.row(m.in, i)) {
			m.net.fail(m.channel(), i)
		}
	}
}

// part appends the vector of a node, if it is finite.
func (m *average) part(dst []byte, k int) []byte {
	x := m.layout.row(m.in, m.net.index[m.net.links[k].Node])
	if !finite(x) {
		return dst
	}
	return appendRaw(dst, x)
}

func (m *average) hear(k int) error {
	f := &m.net.got[k]
	if len(f.code) == 0 && f.failure.set {
		return nil
	}
	return readRaw(m.layout.row(m.in, m.net.row[m.net.links[k].Peer]), f.code)
}

func (m *average) step() Traffic {
	m.omega = m.factors.next()
	if m.workers() > 1 {
		m.pool.Run(m.columns)
	} else {
		m.columns(0)
	}
	m.in, m.out = m.out, m.in
	t := Traffic{Rounds: 1, Messages: m.net.ends}
	t.Bytes = 8 * int64(m.layout.n) * t.Messages
	return t
}

// averageShare averages the columns that belong to a worker.
func (m *average) averageShare(worker int) {
	n, k := m.layout.n, m.workers()
	lo, hi := n*worker/k, n*(worker+1)/k
	m.sparseRound(m.out[lo:], m.in[lo:], m.layout.stride, hi-lo, m.omega)
}

// power returns W^rounds, or the Chebyshev polynomial of that degree if there is a
// bound, for rounds > 0.
func (m *average) power(rounds int) *mat.Dense {
	p, ok := m.powers[rounds]
	if !ok {
		if m.bound > 0 {
			p = chebyshevOf(m.dense, m.bound, rounds)
		} else {
			p = powerOf(m.dense, rounds)
		}
		m.powers[rounds] = p
	}
	return p
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
	square := func(m *mat.Dense) blas.Matrix {
		return blas.Matrix{Rows: l, Cols: l, Stride: l, Data: m.RawMatrix().Data}
	}
	blas.GemmNN(square(b), square(a), square(c)) // C' = B'A'
	return c
}
