package difalt

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// scaledDiffusion is ScaledDiffusion and, with a tracker, GradientTracking. With
//
//	P = Agree(L B_g B_g'), which is sum_t b_t b_t' where the nodes agree,
//
// it computes Z = Agree(U - (s/(n m)) L grad P^-1): multiplying the gradient by P^-1
// takes the condition number out of the iteration count (ScaledGD of Tong, Ma and Chi,
// "Accelerating Ill-Conditioned Low-Rank Matrix Estimation via Scaled Gradient
// Descent", carried to this setting). P travels with Z, one iteration late, and costs
// no round of its own but for the first.
type scaledDiffusion struct {
	unguarded
	*setup
	nodes   []*scaling // one for all if alike: their P is always the same
	alike   bool
	next    [][]float64 // what becomes the P of the nodes
	shared  bool        // the nodes have agreed on P before
	tracker *tracker    // nil: every node steps on its own gradient

	adapt, observe func(worker int) // stored, so that calling them does not allocate
}

func newScaledDiffusion(s *setup) method { return newScaledStep(s, nil, false) }

func newGradientTracking(s *setup) method { return newScaledStep(s, newTracker(s, false), false) }

func newScaledStep(s *setup, t *tracker, alike bool) *scaledDiffusion {
	m := &scaledDiffusion{setup: s, tracker: t, alike: alike}
	for i, u := range s.at.u {
		if i > 0 && alike {
			m.nodes = append(m.nodes, m.nodes[0])
		} else {
			c := newScaling(s.o.Rank)
			c.damping = newDamping(len(u.Data()))
			m.nodes = append(m.nodes, c)
		}
		m.next = append(m.next, make([]float64, len(m.nodes[i].p)))
	}
	m.adapt = s.each(m.adaptNode)
	m.observe = s.each(func(i int) { m.nodes[i].observe(s.at.z[i], s.at.u[i]) })
	return m
}

func (m *scaledDiffusion) combine(ctx context.Context) error {
	if err := m.shareFirst(ctx); err != nil {
		return err
	}
	if err := m.tracker.combine(ctx); err != nil {
		return err
	}
	m.pool.Run(m.adapt)
	return m.exchange.agree(ctx, consensus.StreamBasis, m.at.z, m.next, m.exchange.rounds)
}

// shareFirst sees to it that the nodes have a P: the first is the sum itself.
func (m *scaledDiffusion) shareFirst(ctx context.Context) error {
	if m.shared {
		return nil
	}
	return m.sumP(ctx, m.next, m.nodes)
}

// sumP lets the nodes add up their B B', in scratch p, and makes that the P of the hosted nodes.
func (s *setup) sumP(ctx context.Context, p [][]float64, nodes []*scaling) error {
	for i, g := range s.at.groups {
		gather(p[i], g.B, s.o.Rank, 1)
	}
	if err := s.exchange.net.Sum(ctx, p); err != nil {
		return err
	}
	for i, c := range nodes {
		copy(c.p, p[i])
	}
	return nil
}

// adaptNode computes Z = U - (s/(n m)) L grad P^-1 at one node, with K^-1 in place of
// 1/(n m) where the moments of the features are known, or with the tracked gradient in
// place of L grad, and the node's own L B B', to be averaged together with Z.
func (m *scaledDiffusion) adaptNode(i int) {
	at, c, r := m.at, m.nodes[i], m.o.Rank
	grad := at.grads[i]
	if m.tracker.tracks() {
		grad = m.tracker.next[i]
	}
	if !m.alike {
		m.invert(c)
	}
	z := at.z[i]
	z.CopyFrom(at.u[i])
	addProduct(z, at.moments.apply(i, grad.Matrix()), c.inverse)
	gather(m.next[i], at.groups[i].B, r, m.exchange.nodes())
}

// invert makes the inverse of c that of P times the step, downwards.
func (m *scaledDiffusion) invert(c *scaling) {
	step := m.o.Scaled.Step / m.at.data.curvature()
	if !m.tracker.tracks() {
		step *= m.exchange.nodes()
	}
	if m.at.moments != nil { // K^-1 has it
		step *= m.at.data.curvature()
	}
	c.invert()
	for k := range c.inverse {
		c.inverse[k] *= -step * c.factor
	}
}

func (m *scaledDiffusion) commit() {
	for i, c := range m.nodes {
		c.p, m.next[i] = m.next[i], c.p
	}
	m.shared = true
	m.tracker.commit()
	m.pool.Run(m.observe)
}

func (m *scaledDiffusion) state(a *archive) {
	if a.data(&m.shared); !m.shared {
		return
	}
	for i, c := range m.nodes {
		a.node(i)
		a.floats("P", c.p)
		c.damping.state(a)
	}
	m.tracker.state(a)
}

func copyBases(dst, u []*kernel.Basis) {
	for i, v := range u {
		dst[i].CopyFrom(v)
	}
}

func newBases(like []*kernel.Basis) []*kernel.Basis {
	u := make([]*kernel.Basis, len(like))
	for i := range u {
		u[i] = kernel.NewBasis(like[i].Dims())
	}
	return u
}

// A scaling is what a node needs for the scaled step: P, its inverse, and the length
// of the step.
type scaling struct {
	p       []float64 // the upper triangle by rows
	inverse []float64
	damping

	values, vectors, work []float64 // of the eigenvalue problem
}

// condition bounds the condition number of P. Smaller eigenvalues are raised to the
// largest over condition, so that a direction of which the tasks say nothing gets a
// long step but never an endless one.
const condition = 1e6

func newScaling(r int) *scaling {
	c := &scaling{
		p: make([]float64, r*(r+1)/2), inverse: make([]float64, r*r),
		vectors: make([]float64, r*r), values: make([]float64, r), damping: damping{factor: 1},
	}
	query := make([]float64, 1)
	lapack64.Syev(lapack.EVCompute, c.symmetric(), c.values, query, -1)
	c.work = make([]float64, int(query[0]))
	return c
}

func (c *scaling) symmetric() blas64.Symmetric {
	r := len(c.values)
	return blas64.Symmetric{N: r, Stride: r, Data: c.vectors, Uplo: gblas.Upper}
}

// multiply computes dst = v s for a symmetric r x r matrix s, and addProduct dst += v s.
func multiply(dst *kernel.Basis, v blas.ColumnMajor, s []float64) {
	clear(dst.Data())
	addProduct(dst, v, s)
}

func addProduct(dst *kernel.Basis, v blas.ColumnMajor, s []float64) {
	r := v.Cols
	blas.AddMulNT(dst.Matrix(), v, blas.ColumnMajor{Rows: r, Cols: r, Stride: r, Data: s})
}

// gather sets P = scale B B' for the coefficients of one node, b_t = b[t*r:(t+1)*r].
func gather(p, b []float64, r int, scale float64) {
	clear(p)
	for ; len(b) > 0; b = b[r:] {
		k := 0
		for i := range r {
			for j := i; j < r; j++ {
				p[k] += scale * b[i] * b[j]
				k++
			}
		}
	}
}

// invert computes P^-1 from the eigenvalues of P, of which the smallest comes first.
func (c *scaling) invert() {
	r := len(c.values)
	k := 0
	for i := range r {
		for j := i; j < r; j++ {
			c.vectors[i*r+j] = c.p[k]
			k++
		}
	}
	clear(c.inverse)
	if lapack64.Syev(lapack.EVCompute, c.symmetric(), c.values, c.work, len(c.work)); !(c.values[r-1] > 0) {
		return // every coefficient is zero: no step
	}
	for k, v := range c.values {
		v = max(v, c.values[r-1]/condition)
		for i := range r {
			for j := range r {
				c.inverse[i*r+j] += c.vectors[i*r+k] * c.vectors[j*r+k] / v
			}
		}
	}
}

// damping sets the step of a node between a sixteenth of the one asked for and all
// of it. Where a step of s multiplies what is peculiar to a node's samples by more
// than the rounds of an iteration contract, the nodes overshoot: errors change sign
// in every iteration, and U_g moves to and fro. Where the step is short, U_g moves on
// and on the same way. So the angle between two moves of U_g tells which, long before
// anything diverges: the step is cut when they point against each other, and grows
// back when they agree. Each node looks at its own U_g alone, so the rule needs no
// communication.
type damping struct {
	factor float64   // of the step, from 1 down to leastFactor
	move   []float64 // of U_g in the iteration before
	length float64   // of that move
}

const (
	leastFactor = 1. / 16
	cut, grow   = 0.85, 1.1 // in an iteration
	// The step is cut when the cosine of two moves is below opposite. Independent
	// rounding of U_g gives -1/2.
	opposite = -0.6
	// Below this, moves are rounding.
	negligible = 1e-12
)

func newDamping(entries int) damping {
	return damping{factor: 1, move: make([]float64, entries)}
}

// observe takes U_g of before and after an iteration.
func (d *damping) observe(before, after *kernel.Basis) {
	squares, product := 0.0, 0.0
	old := before.Data()
	for k, x := range after.Data() {
		m := x - old[k]
		squares += m * m
		product += m * d.move[k]
		d.move[k] = m
	}
	length, previous := math.Sqrt(squares), d.length
	d.length = length
	if previous == 0 || length < negligible {
		return
	}
	switch cosine := product / (length * previous); {
	case cosine < opposite:
		d.factor = max(d.factor*cut, leastFactor)
	case cosine > 0:
		d.factor = min(d.factor*grow, 1)
	}
}

func (d *damping) state(a *archive) {
	a.data(&d.factor)
	a.data(&d.length)
	a.floats("a move", d.move)
}

// move returns the Frobenius distance of two bases.
func move(u, v *kernel.Basis) float64 {
	var sums [4]float64 // that do not wait for one another; rows are padded to a multiple of 8
	x, y := u.Data(), v.Data()
	for k := 0; k+4 <= len(x); k += 4 {
		a, b := x[k:k+4:k+4], y[k:k+4:k+4]
		for j := range sums {
			sums[j] += (a[j] - b[j]) * (a[j] - b[j])
		}
	}
	return math.Sqrt(sums[0] + sums[1] + sums[2] + sums[3])
}
