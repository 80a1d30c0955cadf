package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// newton is Newton: Accelerated until P shows a large condition number, and from then on
// Gauss-Newton steps on the objective of which the b_t have been eliminated (Golub and Pereyra,
// "The Differentiation of Pseudo-Inverses and Nonlinear Least Squares Problems Whose Variables
// Separate", 1973), with the derivative in Kaufman's form (kernel.Products):
//
//	H x = -G,   G = (I - U U') sum_t X_t' e_t b_t',   U <- QR(U + x),
//
// by conjugate gradients, preconditioned by the scaled step, (I - U U') K^-1 G P^-1, until the
// residual is a part of G (Eisenstat and Walker, "Choosing the Forcing Terms in an Inexact Newton
// Method", 1996). A sum of d r numbers is an iteration: that of G, with P, and that
// of every product H p, while U rests. Steps are taken in full, and to the end: of 1,008 runs
// shorter ones where the objective rose changed 108, and going back to Accelerated after steps that
// gained little 176, and with either fewer of them converged.
//
// It needs the sums themselves, and P. So in gossip, without P and with SampleSplit it is
// Accelerated.
type newton struct {
	*accelerated
	system     *newtonSystem   // which all nodes have alike
	send, work []*kernel.Basis // gradients or products of the hosted nodes
	direction  []*kernel.Basis
	p          [][]float64      // of every hosted node
	begun      bool             // P has shown a large condition number
	products   *kernel.Products // nil before the first

	// Stored, so that calling them does not allocate.
	prepareGradient, prepareProduct func(worker int)
}

// newtonFrom is the condition number of P from which Gauss-Newton steps are taken: below,
// Accelerated is as fast.
const newtonFrom = 2500

func newNewton(s *setup) method {
	m := &newton{accelerated: newAccelerated(s).(*accelerated)}
	if !m.exact || m.entries == 0 || s.o.SampleSplit {
		return m.accelerated
	}
	m.system = newNewtonSystem(s.at)
	m.send, m.work, m.direction = newBases(s.at.u), newBases(s.at.u), make([]*kernel.Basis, len(s.at.u))
	m.p = zeros(len(s.at.u), m.entries)
	nodes := s.exchange.nodes() // what a node sends stands for all
	m.prepareGradient = s.each(func(i int) {
		g := s.at.groups[i]
		floats.ScaleTo(m.send[i].Data(), nodes, g.Grad.Data())
		gather(m.p[i], g.B, s.o.Rank, nodes)
	})
	m.prepareProduct = s.each(func(i int) {
		floats.Scale(nodes, m.send[i].Data())
		if m.coded {
			m.whiten(i)
		}
	})
	return m
}

func (m *newton) combine(ctx context.Context) (err error) {
	n := m.system
	switch {
	case !m.begun:
		err = m.accelerated.combine(ctx)
		m.at.rests = m.at.rests && err != nil
		return err
	case n.now.solving:
		err = m.multiply(ctx)
	default:
		err = m.differentiate(ctx)
	}
	if err != nil {
		return err
	}
	if m.at.rests = n.next.solving; !m.at.rests {
		floats.AddTo(m.at.z[0].Data(), m.at.u[0].Data(), n.next.x.Data())
		copyToAll(m.at.z)
	}
	return nil
}

// multiply adds up a product of H and the direction.
func (m *newton) multiply(ctx context.Context) error {
	n, stream := m.system, consensus.Exact
	if m.products == nil {
		m.products = kernel.NewProducts(m.at.executor)
	}
	for i := range m.direction {
		m.direction[i] = n.now.p
	}
	m.products.Multiply(m.send, m.at.u, m.direction, m.at.data.ridge)
	if m.coded {
		stream = consensus.StreamTracker
		m.exchange.mixer.Refine(consensus.Int16)
		n.whitening(-1)
	}
	m.pool.Run(m.prepareProduct)
	if err := m.exchange.agree(ctx, stream, m.send, nil, m.exchange.rounds); err != nil {
		return err
	}
	if m.coded {
		n.whitening(1)
		m.whiten(0)
	}
	n.advance(m.send[0])
	return nil
}

// whiten multiplies what hosted node i sends by the whitening of the system.
func (m *newton) whiten(i int) {
	multiply(m.work[i], m.send[i].Matrix(), m.system.inner)
	m.send[i], m.work[i] = m.work[i], m.send[i]
}

// differentiate adds up the gradient at U, in full, since products correct it, and begins the
// conjugate gradients.
func (m *newton) differentiate(ctx context.Context) error {
	m.pool.Run(m.prepareGradient)
	if err := m.exchange.agree(ctx, consensus.Exact, m.send, m.p, m.exchange.rounds); err != nil {
		return err
	}
	m.system.begin(m.send[0], m.p[0])
	return nil
}

func (m *newton) commit() {
	if !m.begun {
		m.accelerated.commit()
		c := m.scaled.nodes[0]
		c.invert()
		m.begun = c.values[len(c.values)-1] >= newtonFrom*c.values[0] && m.at.iteration+1 >= plainFirst
		return
	}
	m.system.now, m.system.next = m.system.next, m.system.now
	for _, c := range m.scaled.nodes {
		copy(c.p, m.system.now.matrix)
	}
}

func (m *newton) reported() {
	if !m.begun {
		m.accelerated.reported()
	}
}

// objective guards what Accelerated does: Gauss-Newton steps need no guard.
func (m *newton) objective(objective float64) {
	if !m.begun {
		m.accelerated.objective(objective)
	}
}

// newtonStep is the scaled step at U, or what the conjugate gradients should have left of it.
func (m *newton) newtonStep() (length float64, p []float64, ok bool) {
	if !m.begun {
		return m.accelerated.newtonStep()
	}
	return m.system.now.length, m.scaled.nodes[0].p, true
}

func (m *newton) state(a *archive) {
	m.accelerated.state(a)
	a.data(&m.at.rests)
	a.data(&m.begun)
	if !m.begun {
		return
	}
	for i := range m.at.u {
		a.node(i)
		m.system.now.state(a)
	}
}
