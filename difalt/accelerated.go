package difalt

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// accelerated is Accelerated and AcceleratedTracking: Anderson acceleration (Anderson,
// "Iterative Procedures for Nonlinear Integral Equations", 1965; Walker and Ni,
// "Anderson Acceleration for Fixed-Point Iterations", 2011) of the scaled step or, with
// PreconditionerNone, of twice the paper's. With the last m changes of
//
//	l = Z - U               of the residual before the nodes have averaged, and
//	g = QR(Agree(Z))        of where the step alone would lead,
//
// at every node, iteration k computes
//
//	M_ab = Agree(<dl_a, dl_b>),  v_a = Agree(<dl_a, l>)
//	c = (M + 1e-10 tr(M) I)^-1 v
//	U <- QR(g - sum_a c_a dg_a).
//
// The inner products are of residuals before the averaging, so that they travel in the
// message of Z and cost no round of their own; of M only what is new does. They have
// to be agreed: with coefficients of its own, every node extrapolates its own way. Under
// noise the l of a node does not vanish at the minimiser for the data of all, unless its
// gradient is tracked. Where all nodes get the mean itself, along a tree or as a single
// node, l = g - U is taken after the averaging: all nodes compute the same, once in a
// process, nothing of it is sent, and l vanishes.
//
// Two guards. The memory is emptied where the agreed norm of l doubles over its least of
// the last m, and no correction is longer than twice that norm. And since Anderson
// acceleration solves l = 0, of which saddle points are solutions too, the objective is
// watched: when it has risen, all nodes go back together to the last g for which it had
// not, and start again from there.
type accelerated struct {
	*setup
	scaled  *scaledDiffusion // the step, P and the tracker; its P is not used with PreconditionerNone
	nodes   []*anderson      // of the hosted nodes; one for all of them if exact
	sent    [][]float64      // P, if it is sent; the row of M that is new; v; |l|^2
	entries int              // of P in it
	exact   bool             // all nodes get the mean itself
	coded   bool             // up to the errors of its codes
	started bool             // an iteration has been committed

	safe, tried []*kernel.Basis // g of the best state whose objective is known, and of the one being reported
	lowest      float64         // objective of the former
	floor       float64         // the objective when the tracker began

	adapt, extrapolate func(worker int) // stored, so that calling them does not allocate
}

const (
	longest = 2 // correction, relative to the norm of l
	// A rise of the objective by less than this part of itself and of the sum of y^2 is
	// none.
	rise = 1e-9
	// The first changes, far from the solution, mislead: so many iterations only remember.
	plainFirst = 6
	// A rise by less than this part is none where gradients are tracked, and a tracker that
	// waits for noise waits again when the objective has fallen to this part of what it was.
	trackedRise = 0.5
	resumeAt    = 0.5
	// A rise by less than this part is none in mixed precision, where objectives before and
	// after an anchor are not those of quite the same samples. It must be small: where most of
	// the objective is noise, a part of 1e-5 kept runs on survey data from converging.
	mixedRise = 1e-6
	// Condition numbers of P above which codes of four bits become eight and, along a tree,
	// sixteen.
	coarse, fine = 30, 900
	// plainStep is the step without P, relative to the paper's.
	plainStep = 2
)

func newAccelerated(s *setup) method { return accelerate(s, nil) }

func newAcceleratedTracking(s *setup) method {
	return accelerate(s, newTracker(s, s.o.StopAtNoise))
}

func accelerate(s *setup, t *tracker) *accelerated {
	u := s.at.u
	m := &accelerated{setup: s, exact: s.oneBasis}
	m.scaled = newScaledStep(s, t, m.exact)
	m.coded = m.exact && s.o.Agreement.Codec != consensus.None
	if s.o.Accelerated.Preconditioner == PreconditionerScaled {
		m.entries = len(m.scaled.next[0])
	}
	for i := range u {
		sent := make([]float64, m.entries+2*s.o.Accelerated.Memory+1)
		if !m.exact || i == 0 {
			n := newAnderson(len(u[0].Data()), s.o.Rank, s.o.Accelerated.Memory)
			m.nodes, n.products = append(m.nodes, n), sent[m.entries:]
		}
		if m.exact {
			sent = sent[:m.entries]
		}
		m.sent = append(m.sent, sent)
	}
	m.safe, m.tried = newBases(u[:len(m.nodes)]), newBases(u[:len(m.nodes)])
	m.adapt, m.extrapolate = s.each(m.adaptNode), s.each(m.extrapolateNode)
	m.startAgain()
	return m
}

func (m *accelerated) combine(ctx context.Context) error {
	if m.entries > 0 {
		if err := m.scaled.shareFirst(ctx); err != nil {
			return err
		}
	}
	if err := m.scaled.tracker.combine(ctx); err != nil {
		return err
	}
	if m.exact && m.entries > 0 {
		m.scaled.invert(m.scaled.nodes[0])
	}
	m.pool.Run(m.adapt)
	m.refine()
	if err := m.exchange.agree(ctx, consensus.StreamBasis, m.at.z, m.sent, m.scaled.tracker.rounds(m.exchange)); err != nil {
		return err
	}
	if !m.exact {
		m.pool.Run(m.extrapolate)
		return nil
	}
	m.extrapolateNode(0)
	copyToAll(m.at.z)
	return nil
}

// copyToAll makes all bases the first one.
func copyToAll(z []*kernel.Basis) {
	for _, other := range z[1:] {
		other.CopyFrom(z[0])
	}
}

// of returns the place of hosted node i in nodes.
func (m *accelerated) of(i int) int { return min(i, len(m.nodes)-1) }

// refine goes to finer codes where P says that coarse ones would cost more iterations than
// they save: on the P of the first iteration, which is the sum itself, or on that of any
// along a tree, since all nodes must have the same.
func (m *accelerated) refine() {
	if m.entries == 0 || m.scaled.shared && !m.coded {
		return
	}
	v := m.scaled.nodes[0].values
	switch condition := v[len(v)-1] / v[0]; {
	case m.coded && !(condition <= fine):
		m.exchange.mixer.Refine(consensus.Int16)
	case m.o.Agreement.Codec == consensus.Int4 && !(condition <= coarse):
		m.exchange.mixer.Refine(consensus.Int8)
	}
}

// adaptNode takes the step at one node and prepares its inner products.
func (m *accelerated) adaptNode(i int) {
	u, z := m.at.u[i], m.at.z[i]
	switch t := m.scaled.tracker; {
	case m.entries > 0:
		m.scaled.adaptNode(i)
		copy(m.sent[i], m.scaled.next[i])
	case t.tracks():
		descend(z, u, t.next[i], plainStep*m.at.eta)
	default:
		descend(z, u, m.at.grads[i], plainStep*m.at.eta*m.exchange.nodes())
	}
	switch {
	case m.coded:
		floats.Sub(z.Data(), u.Data())
	case !m.exact:
		m.nodes[i].multiply(z, u, m.after(i))
	}
}

// after returns the node that the worker of node i does next, or nil.
func (m *accelerated) after(i int) *anderson {
	if i += m.pool.Workers(); i < len(m.nodes) {
		return m.nodes[i]
	}
	return nil
}

// extrapolateNode makes g of the averaged Z, and from that and the agreed inner products
// what becomes the next U.
func (m *accelerated) extrapolateNode(i int) {
	n, u, z := m.nodes[i], m.at.u[i], m.at.z[i]
	if m.coded {
		floats.Add(z.Data(), u.Data())
	}
	z.Orthonormalize(n.work.rr, n.work.qr)
	if m.exact {
		n.multiply(z, u, m.after(i))
	}
	g := column(n.g, n.now)
	copy(g, z.Data())
	n.norm = math.Sqrt(max(n.products[2*n.memory], 0))
	if !n.hasLast {
		return
	}
	floats.SubTo(column(n.dg, n.next), g, column(n.g, 1-n.now))
	n.keepProducts()
	correction := z.Data() // of which g is a copy
	if m.at.iteration < plainFirst || !n.correct(correction, m.after(i)) {
		return
	}
	scale := 1.0
	if length := math.Sqrt(floats.Dot(correction, correction)); length > longest*n.norm {
		scale = longest * n.norm / length
	}
	floats.AddScaledTo(z.Data(), g, -scale, correction)
}

func (m *accelerated) commit() {
	m.started = true
	m.scaled.shared = m.entries > 0
	for i, sent := range m.sent {
		copy(m.scaled.nodes[i].p, sent[:m.entries])
	}
	for _, n := range m.nodes {
		n.commit()
	}
	m.scaled.tracker.commit()
}

// reported keeps the g of the iteration whose objective will be known.
func (m *accelerated) reported() {
	for i, n := range m.nodes {
		copy(m.tried[i].Data(), column(n.g, 1-n.now))
	}
}

// objective guards against a rise of the objective of all nodes, of which all learn
// together. Where gradients are tracked it may rise as nodes with minimisers of their own
// agree.
func (m *accelerated) objective(objective float64) {
	margin := rise * (m.lowest + m.at.data.squares())
	if m.at.reduced {
		margin += mixedRise * m.lowest
	}
	if t := m.scaled.tracker; t.tracks() {
		if t.waitsForNoise && objective < resumeAt*m.floor { // that was not noise
			t.reset()
			m.startAgain()
			return
		}
		margin += trackedRise * m.lowest
	}
	if objective <= m.lowest+margin || math.IsInf(m.lowest, 1) {
		if objective < m.lowest {
			m.lowest = objective
			m.safe, m.tried = m.tried, m.safe
		}
		return
	}
	for i, u := range m.at.u {
		u.CopyFrom(m.safe[m.of(i)])
	}
	m.startAgain()
}

// newtonStep is the last l, where all nodes get the mean itself. It is the step before the
// last: from the U before, with the P of the iteration before that.
func (m *accelerated) newtonStep() (length float64, p []float64, ok bool) {
	n := m.nodes[0]
	if !m.exact || m.entries == 0 || !n.hasLast {
		return 0, nil, false
	}
	return floats.Norm(column(n.l, 1-n.now), 2) / m.o.Scaled.Step, m.scaled.nodes[0].p, true
}

// noiseShows lets a tracker begin that waits for it.
func (m *accelerated) noiseShows(objective float64) {
	if t := m.scaled.tracker; t != nil && t.waiting {
		t.waiting, m.floor = false, objective
		m.startAgain()
	}
}

// startAgain forgets what led to the current U; whatever the plain step does from there
// is taken.
func (m *accelerated) startAgain() {
	m.lowest = math.Inf(1)
	for _, n := range m.nodes {
		n.forget()
		n.hasLast = false
	}
}

func (m *accelerated) state(a *archive) {
	if a.data(&m.started); !m.started {
		return
	}
	a.data(&m.lowest)
	a.data(&m.floor)
	for i := range m.sent {
		k := m.of(i)
		a.node(i)
		m.nodes[k].state(a)
		a.floats("g", m.safe[k].Data())
		a.floats("g", m.tried[k].Data())
		if m.entries > 0 {
			a.floats("P", m.scaled.nodes[i].p)
		}
	}
	m.scaled.tracker.state(a)
	m.scaled.shared = m.entries > 0
}
