package topology

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/mat"
)

// Local is the Mixer of a network whose nodes all live in this process: AGREE of
// Alg. 1 as arithmetic.
//
// Rounds are applied in one of two ways, which agree to rounding. If L*L <=
// 8*rounds*(2E+L), for L nodes and E edges, the messages are multiplied once by the
// dense power W^rounds, computed by repeated squaring when the number of rounds is
// first seen and kept: a term of a dense product costs about an eighth of a term of
// a sparse one. Otherwise every round multiplies by the nonzero entries of W, in
// ascending order of the neighbours. The choice depends on the graph and the number
// of rounds only, not on the machine, and every entry is computed in the same way
// whatever the workers: results are the same bits for any number of them.
//
// A Local serves one goroutine at a time. Mix does not allocate but for the first
// call with a number of rounds.
type Local struct {
	*sweep
	dense     *mat.Dense         // W
	sparse    [][]weight         // its nonzero entries, row by row
	edges     int                // E
	bound     float64            // of Chebyshev polynomials of W in place of powers; 0: powers
	powers    map[int]*mat.Dense // W^rounds, or the polynomial of that degree
	scratch   [][2][]float64     // of every worker: two L x blockLen matrices, row-major
	rounds    int                // of the Mix under way
	applied   *mat.Dense         // W^rounds in a Mix that uses it, otherwise nil
	traffic   Traffic
	denseFrom int // the fewest rounds for which W^rounds is used
}

// A weight is a nonzero entry of a row of W.
type weight struct {
	node  int
	value float64
}

// NewLocal returns the mixer of all nodes of w. pool may be nil, which is serial;
// it remains the caller's, to share and to close.
func NewLocal(w *Weights, pool *kernel.Pool) *Local {
	return newLocal(w.graph, w.w, pool)
}

// NewNeighborMean returns the mixer of the DGD variant: a round replaces the
// message of node g by (1/deg_g) sum_{j in N_g} Z_j, without its own. Unlike
// EqualNeighbor weights it exists on any graph, bipartite ones included, since the
// method takes one round an iteration and does not need its powers to converge. A
// node without neighbours keeps its message.
func NewNeighborMean(g *Graph, pool *kernel.Pool) *Local {
	return newLocal(g, neighborMean(g), pool)
}

// denseSpeed is how many terms of a dense product, with vector instructions, cost as
// much as one of a sparse product.
const denseSpeed = 8

func newLocal(g *Graph, w *mat.Dense, pool *kernel.Pool) *Local {
	l := g.Len()
	m := &Local{dense: w, sparse: nonzeros(w), edges: g.Edges(), powers: make(map[int]*mat.Dense)}
	cost := denseSpeed * (2*m.edges + l)
	m.denseFrom = (l*l + cost - 1) / cost
	m.sweep = newSweep(l, pool, m.mixBlock)
	m.scratch = make([][2][]float64, m.workers())
	for k := range m.scratch {
		m.scratch[k] = [2][]float64{make([]float64, l*blockLen), make([]float64, l*blockLen)}
	}
	return m
}

func nonzeros(w *mat.Dense) [][]weight {
	l, _ := w.Dims()
	rows := make([][]weight, l)
	for i := range rows {
		for j, v := range w.RawRowView(i) {
			if v != 0 {
				rows[i] = append(rows[i], weight{j, v})
			}
		}
	}
	return rows
}

// Hosted returns all nodes, 0, ..., L-1. The slice is read only.
func (m *Local) Hosted() []int { return m.nodes }

// Traffic returns the communication so far: a message crosses every edge in both
// directions in every round.
func (m *Local) Traffic() Traffic { return m.traffic }

// Mix overwrites z[i], the message of node i, by sum_j (W^rounds)_ij z[j]. All
// messages must have the same shape and must not overlap. No rounds is no change.
func (m *Local) Mix(ctx context.Context, z []Message, rounds int) error {
	if err := m.checkCall(ctx, z, rounds); err != nil || rounds == 0 {
		return err
	}
	m.rounds, m.applied = rounds, nil
	if rounds >= m.denseFrom {
		m.applied = m.power(rounds)
	}
	m.run(z)
	m.traffic.add(int64(rounds), int64(rounds)*int64(2*m.edges), z[0])
	return nil
}

// checkCall returns an error if Mix cannot be called like this.
func (m *Local) checkCall(ctx context.Context, z []Message, rounds int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rounds < 0 {
		return fmt.Errorf("topology: %d rounds: must not be negative", rounds)
	}
	return m.check(z)
}

// mixBlock averages entries [lo, hi) of the rows of all nodes.
func (m *Local) mixBlock(worker int, rows [][]float64, lo, hi int) {
	in, out := m.scratch[worker][0], m.scratch[worker][1]
	for i, row := range rows {
		copy(in[i*blockLen:], row[lo:hi])
	}
	if m.applied != nil {
		w := m.applied.RawMatrix()
		// A message is a column of z, and the rows of W are the columns of W'.
		z := blas.Matrix{Rows: hi - lo, Cols: w.Rows, Stride: blockLen, Data: in}
		wt := blas.Matrix{Rows: w.Rows, Cols: w.Rows, Stride: w.Stride, Data: w.Data}
		blas.GemmNN(z, wt, blas.Matrix{Rows: hi - lo, Cols: w.Rows, Stride: blockLen, Data: out})
	} else {
		c := recurrence{bound: m.bound}
		for range m.rounds {
			m.sparseRound(out, in, hi-lo, c.next())
			in, out = out, in
		}
		out = in
	}
	for i, row := range rows {
		copy(row[lo:hi], out[i*blockLen:])
	}
}

// sparseRound computes out = omega W in + (1 - omega) out for the first n columns of
// two L x blockLen matrices; without reading out if omega is 1.
func (m *Local) sparseRound(out, in []float64, n int, omega float64) {
	for i, row := range m.sparse {
		o := out[i*blockLen:][:n]
		if omega == 1 {
			clear(o)
		} else {
			for k := range o {
				o[k] *= 1 - omega
			}
		}
		for _, w := range row {
			a := omega * w.value
			for k, v := range in[w.node*blockLen:][:n] {
				o[k] += a * v
			}
		}
	}
}

// power returns W^rounds, or the Chebyshev polynomial of that degree if there is a
// bound, for rounds > 0.
func (m *Local) power(rounds int) *mat.Dense {
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
	square := func(m *mat.Dense) blas.Matrix { // the transpose of m
		return blas.Matrix{Rows: l, Cols: l, Stride: l, Data: m.RawMatrix().Data}
	}
	blas.GemmNN(square(b), square(a), square(c)) // C' = B'A'
	return c
}
