package difalt

import (
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// accelerated is Anderson acceleration of the preconditioned step
//
//	g(U) = QR(U - s/(n m) sum_g grad_g P^-1),   P = sum_t b_t b_t'.
//
// P^-1 takes the condition number out of the iteration count (ScaledGD of Tong, Ma and Chi,
// "Accelerating Ill-Conditioned Low-Rank Matrix Estimation via Scaled Gradient Descent", 2021). The nodes
// average their steps along a tree, together with P and the objective of the U where the iteration starts. So
// all nodes compute with the same bits, and an iteration takes one exchange. The step uses the P of the
// iteration before, or of a look.
//
// Anderson acceleration solves g(U) = U, which holds at saddle points too. Therefore, if the objective has
// risen, the nodes return to the last plain step, and restart from there.
type accelerated struct {
	step   float64 // s/(n m), for P in the unit of totals
	memory *anderson
	plain  *kernel.Basis   // g(U) of the last iteration
	lowest float64         // the lowest objective since the last restart
	most   float64         // of a number in a message
	sends  consensus.Codec // the codec of the next message: it becomes finer, never coarser
}

const (
	scaledStep = 0.7  // s
	rise       = 1e-9 // of the objective, and of the sum of y^2: smaller rises are rounding
	plainFirst = 6    // iterations without extrapolation: changes far from the solution mislead
	fine       = 900  // the condition number of P above which codes have 16 bits
	exactFrom  = 2500 // the one above which messages are in float64
)

func newAccelerated(o *Options) method { return &accelerated{sends: o.Codec} }

func (m *accelerated) exchange(net *consensus.Network, _ *kernel.Pool) (consensus.Exchange, error) {
	return net.TreeMean(), nil
}

func (m *accelerated) start(p *point) {
	u, t := p.u[0], &p.totals
	m.step = scaledStep * t.unit * t.unit / t.Curvature()
	m.memory, m.plain, m.lowest = newAnderson(len(u.Data())), u.Clone(), math.Inf(1)
	m.most = mostNumberInSum / p.nodes
	for i := range p.messages {
		p.messages[i].Scalars, p.messages[i].Totals = make([]float64, len(p.moments.P)), make([]float64, 1)
	}
}

// lastStep implements stepper.
func (m *accelerated) lastStep() float64 { return m.memory.length() / scaledStep }

func (m *accelerated) codec(*point) consensus.Codec { return m.sends }

func (m *accelerated) prepare(*point, *kernel.Pool) {}

// refine sends finer codes, or float64, if P is ill-conditioned: there the errors of codes cost more
// iterations than codes save bytes. Float64 waits for plainFirst iterations, since P at the start may be far
// from the P of the solution.
func (m *accelerated) refine(p *point) {
	condition := p.moments.Condition()
	if !(condition <= fine) {
		m.sends = max(m.sends, consensus.Int16)
	}
	if !(condition <= exactFrom) && p.iteration >= plainFirst && m.sends != consensus.Float64 {
		m.sends = consensus.Float64
		m.memory.restart() // of errors of codes
	}
}

// message is the node's part of the step, times L, with its part of P and of the objective.
func (m *accelerated) message(p *point, i int, msg *consensus.Message) {
	z, unit := msg.Basis, p.totals.unit
	clear(z.Data())
	gram.AddProduct(z, p.at[i].grad, p.moments.Inverse)
	floats.Scale(-m.step*p.nodes, z.Data())
	gram.Outer(msg.Scalars, p.at[i].b, len(p.moments.Values), unit*unit, m.most)
	msg.Totals[0] = min(p.penalized(i)/sums.Squares, m.most)
}

// update takes the step and extrapolates.
func (m *accelerated) update(p *point, i int, msg *consensus.Message) {
	u, z := p.u[i], msg.Basis
	floats.Add(z.Data(), u.Data())
	floats.Scale(p.nodes, msg.Scalars)
	p.moments.Invert(msg.Scalars)
	m.refine(p)
	if m.rose(p, msg.Totals[0]*sums.Squares) {
		m.memory.restart()
		z.CopyFrom(m.plain)
		return
	}
	p.orthonormalize(i)
	m.plain.CopyFrom(z)
	m.memory.extrapolate(z, u, p.iteration < plainFirst)
}

// rose reports whether the objective has risen since the last restart; if so, it starts over.
func (m *accelerated) rose(p *point, objective float64) bool {
	if objective > (1+rise)*m.lowest+rise*p.totals.YY {
		m.lowest = math.Inf(1)
		return true
	}
	m.lowest = min(m.lowest, objective)
	return false
}
