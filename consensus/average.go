package consensus

import (
	"context"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
)

// An average applies rounds of a weighted average in float64, one by one, and keeps
// nothing from one call to the next: AGREE of Alg. 1. A round multiplies by the nonzero
// entries of W, in ascending order of the neighbours; every entry is computed in the
// same way wherever nodes live and whatever the workers.
type average struct {
	net   *wire.Rounds
	rows  [][]weight // the nonzero entries of the rows of the hosted nodes
	bound float64    // of Chebyshev polynomials of W in place of powers; 0: powers
	power *power     // several rounds at once, or nil
	pool  *kernel.Pool

	layout  layout
	in, out []float64 // x_k and x_k-1 of the hosted nodes and, of x_k, of the neighbours elsewhere
	factors recurrence
	columns func(worker int) // stored, so that running it does not allocate
}

// A weight is a nonzero entry of a row of W.
type weight struct {
	row   int // of the node; see wire.Placement
	value float64
}

// newAverage returns the rounds with the given rows of W; p is nil, or applies several of
// them at once.
func (n *Network) newAverage(rows [][]weight, bound float64, p *power, pool *kernel.Pool) *average {
	m := &average{net: n.rounds, rows: rows, bound: bound, power: p, pool: pool}
	m.columns = m.averageShare
	return m
}

// sparseRows returns the nonzero entries of the rows of W of the hosted nodes.
func (n *Network) sparseRows() [][]weight {
	rows := make([][]weight, len(n.Hosted()))
	for k, i := range n.Hosted() {
		for j, v := range n.weights.Row(i) {
			rows[k] = append(rows[k], weight{n.rounds.Row[j], v})
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

func (m *average) Channel() wire.Channel { return wire.Channel(m.layout.Stream) }

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
		for _, w := range row {
			a := omega * w.value
			for k, v := range in[w.row*stride:][:n] {
				o[k] += a * v
			}
		}
	}
}
