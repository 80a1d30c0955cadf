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
// Method", 1996). A sum of d r numbers is an iteration: that of G, with P and the objective, and
// that of every product H p, while U rests. Steps are taken in full: of 1,008 runs shorter ones
// where the objective rose changed 108, and more of these took longer than not.
//
// It needs the sums themselves, and P. So in gossip, without P and with SampleSplit it is
// Accelerated.
type newton struct {
	*accelerated
	system     *newtonSystem   // which all nodes have alike
	send, work []*kernel.Basis // gradients or products of the hosted nodes
	direction  []*kernel.Basis
	scalars    [][]float64 // P and the objective of every hosted node
	phase      newtonPhase
	products   *kernel.Products // nil before the first

	// Stored, so that calling them does not allocate.
	prepareGradient, prepareProduct func(worker int)
}

// newtonFrom is the condition number of P from which Gauss-Newton steps are taken: below,
// Accelerated is as fast. patience is how many of them that gain little come before Accelerated
// goes on.
const newtonFrom, patience = 2500, 4

type newtonPhase uint8

const (
	newtonWaits newtonPhase = iota // for a large condition number
	newtonSteps
	newtonLeft // since its steps gained little
)

func newNewton(s *setup) method {
	m := &newton{accelerated: newAccelerated(s).(*accelerated)}
	if !m.exact || m.entries == 0 || s.o.SampleSplit {
		return m.accelerated
	}
	m.system = newNewtonSystem(s.at)
	m.send, m.work, m.direction = newBases(s.at.u), newBases(s.at.u), make([]*kernel.Basis, len(s.at.u))
	m.scalars = zeros(len(s.at.u), m.entries+1)
	nodes := s.exchange.nodes() // what a node sends stands for all
	m.prepareGradient = s.each(func(i int) {
		g := s.at.groups[i]
		floats.ScaleTo(m.send[i].Data(), nodes, g.Grad.Data())
		gather(m.scalars[i][:m.entries], g.B, s.o.Rank, nodes)
		m.scalars[i][m.entries] = nodes * s.at.data.penalized(g)
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
	case m.phase != newtonSteps:
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
	if err := m.exchange.agree(ctx, consensus.Exact, m.send, m.scalars, m.exchange.rounds); err != nil {
		return err
	}
	m.system.begin(m.send[0], m.scalars[0][:m.entries], m.scalars[0][m.entries])
	return nil
}

func (m *newton) commit() {
	if m.phase != newtonSteps {
		m.accelerated.commit()
		c := m.scaled.nodes[0]
		c.invert()
		if large := c.values[len(c.values)-1] >= newtonFrom*c.values[0]; m.phase == newtonWaits && large && m.at.iteration+1 >= plainFirst {
			m.phase = newtonSteps
		}
		return
	}
	m.system.now, m.system.next = m.system.next, m.system.now
	for _, c := range m.scaled.nodes {
		copy(c.p, m.system.now.matrix)
	}
	if m.system.now.slow == patience {
		m.phase = newtonLeft
		m.accelerated.startAgain()
	}
}

func (m *newton) reported() {
	if m.phase != newtonSteps {
		m.accelerated.reported()
	}
}

// objective leaves the guard to the sums of gradients, in which the objective is.
func (m *newton) objective(objective float64) {
	if m.phase != newtonSteps {
		m.accelerated.objective(objective)
	}
}

// newtonStep is the scaled step at U, or what the conjugate gradients should have left of it.
func (m *newton) newtonStep() (length float64, p []float64, ok bool) {
	if m.phase != newtonSteps {
		return m.accelerated.newtonStep()
	}
	return m.system.now.length, m.scaled.nodes[0].p, true
}

func (m *newton) state(a *archive) {
	m.accelerated.state(a)
	a.data(&m.at.rests)
	if a.data(&m.phase); m.phase > newtonLeft {
		a.fail("phase %d of Newton", m.phase)
	}
	if m.phase != newtonSteps {
		return
	}
	for i := range m.at.u {
		a.node(i)
		m.system.now.state(a)
	}
}
