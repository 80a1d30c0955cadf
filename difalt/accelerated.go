package difalt

import (
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/gram"
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
	solver  *Solver
	facts   *facts
	step    float64 // s/(n m), for P in the unit of facts
	memory  *anderson
	plain   *kernel.Basis // g(U) of the last iteration
	lowest  float64       // the lowest objective since the last restart
	most    float64       // of a number in a message
	refined bool          // messages are in float64 whatever Options.Codec
}

const (
	scaledStep = 0.7  // s
	rise       = 1e-9 // of the objective, and of the sum of y^2: smaller rises are rounding
	plainFirst = 6    // iterations without extrapolation: changes far from the solution mislead
	fine       = 900  // the condition number of P above which codes have 16 bits
	exactFrom  = 2500 // the one above which messages are in float64
)

func newAccelerated(s *Solver, _ float64) method {
	u, f := s.state.u[0], &s.facts
	m := &accelerated{
		solver: s, facts: f, step: scaledStep * f.unit * f.unit / f.curvature(),
		memory: newAnderson(len(u.Data())), plain: u.Clone(), lowest: math.Inf(1), most: s.monitor.most,
	}
	for i := range s.state.scalars {
		s.state.scalars[i], s.state.totals[i] = make([]float64, len(s.state.p.P)), make([]float64, 1)
	}
	s.monitor.length = func() float64 { return m.memory.length() / scaledStep }
	return m
}

// refine sends finer codes, or float64, if P is ill-conditioned: there the errors of codes cost more
// iterations than codes save bytes. Float64 waits for plainFirst iterations, since P at the start may be far
// from the P of the solution.
func (m *accelerated) refine(s *state) {
	condition, x := s.p.Condition(), m.solver
	if !(condition <= fine) {
		x.exchange.Refine(consensus.Int16)
	}
	if !(condition <= exactFrom) && s.iteration >= plainFirst && !m.refined && x.o.Codec != consensus.Float64 {
		if exact, err := x.net.TreeMean(consensus.Float64); err == nil {
			x.exchange, m.refined = exact, true
			m.memory.restart() // of errors of codes
		}
	}
}

// adapt sets Z to the node's part of the step, times L, and scalars and totals to its part of P and the
// objective.
func (m *accelerated) adapt(s *state, i int) {
	z, g := s.z[i], s.groups[i]
	clear(z.Data())
	gram.AddProduct(z, g.Grad, s.p.Inverse)
	floats.Scale(-m.step*s.nodes, z.Data())
	gram.Outer(s.scalars[i], g.B, len(s.p.Values), m.facts.unit*m.facts.unit, m.most)
	s.totals[i][0] = min(sumScale*s.objective(i), m.most)
}

// correct takes the step and extrapolates.
func (m *accelerated) correct(s *state, i int) {
	u, z := s.u[i], s.z[i]
	floats.Add(z.Data(), u.Data())
	floats.Scale(s.nodes, s.scalars[i])
	s.p.Invert(s.scalars[i])
	m.refine(s)
	if m.rose(s.totals[i][0] / sumScale) {
		m.memory.restart()
		z.CopyFrom(m.plain)
		return
	}
	z.Orthonormalize(s.qr[i].r, s.qr[i].work)
	m.plain.CopyFrom(z)
	m.memory.extrapolate(z, u, s.iteration < plainFirst)
}

// rose reports whether the objective has risen since the last restart; if so, it starts over.
func (m *accelerated) rose(objective float64) bool {
	if objective > (1+rise)*m.lowest+rise*m.facts.squares() {
		m.lowest = math.Inf(1)
		return true
	}
	m.lowest = min(m.lowest, objective)
	return false
}
