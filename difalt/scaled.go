package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
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

func (m *scaledDiffusion) reset() {
	m.shared = false
	for _, c := range m.nodes {
		c.damping = newDamping(len(c.move))
	}
	m.tracker.reset()
}

func (m *scaledDiffusion) state(a *archive) {
	if !carry(a, &m.shared) {
		return
	}
	for i, c := range m.nodes {
		a.node(i)
		a.floats("P", c.p)
		c.damping.state(a)
	}
	m.tracker.state(a)
}

func (m *scaledDiffusion) shortened() (damped, regularized int) { return shortenedOf(m.nodes) }

func shortenedOf(nodes []*scaling) (damped, regularized int) {
	for _, c := range nodes {
		if c.raised {
			regularized++
		}
		if c.factor < 1 {
			damped++
		}
	}
	return damped, regularized
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
