package difalt

import (
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// accelerated is Anderson acceleration of the preconditioned step
//
//	U <- QR(U - s/(n m) grad P^-1),   grad = sum_g grad_g,   P = sum_t w_t b_t b_t'.
//
// P^-1 takes the condition number out of the iteration count. This is ScaledGD (Tong, Ma and Chi,
// "Accelerating Ill-Conditioned Low-Rank Matrix Estimation via Scaled Gradient Descent", 2021). The weights
// w_t are explained at weigh. The nodes sum their parts of grad P^-1 along a tree, where P is old: the P of
// an earlier U. The message also has the parts of P and of the objective at this U, and every node then
// replaces the old P^-1 by the new P^-1. So all nodes compute equal bits, and an iteration takes one
// exchange.
//
// Anderson acceleration looks for a point without a gradient, and saddle points have none. Therefore, if the
// objective has risen, the nodes return to the best point, and take a Gauss-Newton step from there: see
// newton. Every product and every trial of that step is an iteration, with one exchange.
type accelerated struct {
	phase  phase
	step   float64       // s/(n m), for P in the unit of totals; grad is multiplied by it
	sent   []float64     // r x r: the P whose inverse is in the messages
	grad   *kernel.Basis // the sum of this iteration: the gradient, or the product of newton
	best   best
	plain  int // evaluations of the descent so far, at most plainFirst
	memory *anderson
	newton *newton
	move   *kernel.Basis   // scratch
	inner  []float64       // scratch, r x r
	sends  consensus.Codec // the codec of gradients: it becomes finer, never coarser
}

// A phase is what an iteration of accelerated does at its U.
type phase uint8

const (
	descending phase = iota // evaluate the objective and the gradient, and extrapolate
	solving                 // multiply a direction by the Gauss-Newton matrix at the best point
	searching               // evaluate the objective and the gradient along the Gauss-Newton step
)

// A best is the last point whose objective was not above the objective of the point before.
type best struct {
	known     bool
	u, grad   *kernel.Basis
	inverse   []float64 // P^-1
	objective float64
}

const (
	scaledStep = 0.9   // s
	rise       = 1e-9  // relative: a smaller rise of the objective is rounding
	lastBits   = 1e-28 // of the sum of y^2: so is a rise below it
	plainFirst = 6     // evaluations without extrapolation: changes far from the solution mislead
	fine       = 30    // the condition number of P above which codes have 16 bits
	exactFrom  = 2500  // the condition number of P above which messages are in float64
)

func newAccelerated(o *Options) method { return &accelerated{sends: o.Codec} }

func (m *accelerated) exchange(net *consensus.Network, _ *kernel.Pool) (consensus.Exchange, error) {
	return net.TreeMean(), nil
}

func (m *accelerated) start(p *point) {
	d, r := p.u[0].Dims()
	t := &p.totals
	m.phase, m.plain = descending, 0
	m.step = scaledStep * t.unit * t.unit / t.Curvature()
	m.sent, m.inner = make([]float64, r*r), make([]float64, r*r)
	m.grad, m.move = kernel.NewBasis(d, r), kernel.NewBasis(d, r)
	m.best = best{u: kernel.NewBasis(d, r), grad: kernel.NewBasis(d, r), inverse: make([]float64, r*r)}
	m.memory, m.newton = newAnderson(d, r), nil
	for i := range p.messages {
		p.messages[i].Scalars, p.messages[i].Totals = make([]float64, len(p.moments.P)), make([]float64, 1)
	}
}

// lastStep implements stepper: the length of the plain step at the best point, for s = 1.
func (m *accelerated) lastStep() float64 {
	if !m.best.known {
		return math.Inf(1)
	}
	multiply(m.move, m.best.grad, m.best.inverse)
	return norm(m.move.Data()) / scaledStep
}

// codec is Float64 in a Gauss-Newton step, since its directions do not converge from message to message.
func (m *accelerated) codec(*point) consensus.Codec {
	if m.phase != descending {
		return consensus.Float64
	}
	return m.sends
}

// refine sends finer codes, or float64, if P is ill-conditioned: there the errors of codes cost more
// iterations than codes save bytes.
func (m *accelerated) refine(p *point) {
	condition := p.moments.Condition()
	if !(condition <= fine) {
		m.sends = max(m.sends, consensus.Int16)
	}
	if !(condition <= exactFrom) {
		m.sends = consensus.Float64
	}
}

// prepare computes the products of a Gauss-Newton step.
func (m *accelerated) prepare(p *point, pool *kernel.Pool) {
	if m.phase == solving {
		m.newton.multiply(p, pool)
	}
}

// message is the node's part of the sum times P^-1, times L, with its part of P and of the objective.
func (m *accelerated) message(p *point, i int, msg *consensus.Message) {
	part, unit := p.at[i].grad, p.totals.unit
	if m.phase == solving {
		part = m.newton.parts[i]
	}
	multiply(msg.Basis, part, p.moments.Inverse)
	floats.Scale(m.step*p.nodes, msg.Basis.Data())
	gram.Outer(msg.Scalars, p.at[i].b, len(p.moments.Values), p.weights[i], unit*unit)
	msg.Totals[0] = p.penalized(i) / p.totals.energy
}

// update takes the sum, and goes to the next U.
func (m *accelerated) update(p *point, i int, msg *consensus.Message) {
	u, z := p.u[i], msg.Basis
	p.moments.Map(m.sent, func(v float64) float64 { return v })
	multiply(m.grad, z, m.sent)
	project(m.grad, u, m.inner)
	floats.Scale(p.nodes, msg.Scalars)
	p.moments.Invert(msg.Scalars)
	m.refine(p)
	objective := msg.Totals[0] * p.totals.energy
	switch m.phase {
	case descending:
		m.descend(p, u, z, objective)
	case solving:
		m.solve(z)
	case searching:
		m.search(p, u, z, objective)
	}
}

// descend takes a step from u to z, or begins a Gauss-Newton step at the best point if the objective has
// risen.
func (m *accelerated) descend(p *point, u, z *kernel.Basis, objective float64) {
	if m.best.known {
		m.memory.rememberChange(u, m.grad, m.best.u, m.best.grad)
	}
	if m.best.known && objective > float64((1+rise)*m.best.objective)+float64(lastBits*p.totals.YY) {
		if m.newton == nil {
			m.newton = newNewton(p)
		}
		m.newton.begin(m.best.grad, m.best.inverse)
		m.phase, m.sends = solving, consensus.Float64
		z.CopyFrom(m.best.u)
		return
	}
	m.accept(p, u, objective)
	m.advance(p, u, z)
}

// solve takes the product of the direction, and stays at the best point, or goes to the end of the step.
func (m *accelerated) solve(z *kernel.Basis) {
	n := m.newton
	m.memory.remember(n.direction, m.grad)
	z.CopyFrom(m.best.u)
	if n.take(m.grad) {
		m.phase = searching
		floats.Add(z.Data(), n.step.Data())
	}
}

// search goes on from a trial that is not above the best point, and goes to a shorter step otherwise.
func (m *accelerated) search(p *point, u, z *kernel.Basis, objective float64) {
	n := m.newton
	if objective > (1+flat)*m.best.objective && n.shorten() {
		rounded.AddScaledTo(z.Data(), m.best.u.Data(), n.scale, n.step.Data())
		return
	}
	m.phase = descending
	m.accept(p, u, objective)
	m.advance(p, u, z)
}

// accept makes u the best point.
func (m *accelerated) accept(p *point, u *kernel.Basis, objective float64) {
	m.best.known, m.best.objective = true, objective
	m.best.u.CopyFrom(u)
	m.best.grad.CopyFrom(m.grad)
	copy(m.best.inverse, p.moments.Inverse)
}

// advance sets z to u with the plain step and, after the first evaluations, its correction.
func (m *accelerated) advance(p *point, u, z *kernel.Basis) {
	multiply(m.move, m.grad, p.moments.Inverse)
	floats.Scale(-1, m.move.Data())
	if m.plain == plainFirst {
		m.memory.correct(m.move, m.grad, p.moments)
	} else {
		m.plain++
	}
	floats.AddTo(z.Data(), u.Data(), m.move.Data())
}
