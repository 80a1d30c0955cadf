package difalt

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
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
// node, l = g - U is taken after the averaging: all nodes compute the same inner products,
// nothing of them is sent, and l vanishes.
//
// Two guards. The memory is emptied where the agreed norm of l doubles over its least of
// the last m, and no correction is longer than twice that norm. And since Anderson
// acceleration solves l = 0, of which saddle points are solutions too, the objective is
// watched: when it has risen, all nodes go back together to the last g for which it had
// not, and start again from there.
type accelerated struct {
	scaled  *scaledDiffusion // the step, P and the tracker; its P is not used with PreconditionerNone
	memory  int
	nodes   []*anderson
	sent    [][]float64 // P, if it is sent; the row of M that is new; v; |l|^2
	entries int         // of P in it
	exact   bool        // all nodes get the mean itself
	coded   bool        // up to the errors of its codes

	safe, tried []*kernel.Basis // g of the best state that is told, and of the one being told
	lowest      float64         // objective of the former
	restarts    int
	floor       float64 // the objective when the tracker began
	begun       bool    // an iteration has been committed

	adapt, extrapolate func(worker int) // stored, so that calling them does not allocate
}

// An anderson is what a node remembers. Slots of dl and dg, columns, are filled in turn;
// there is one more than the memory, which an iteration writes before it is known to
// succeed. All columns are used at once, since they come from memory and not from a cache;
// those that do not count have a coefficient of zero.
type anderson struct {
	l, lastL, g, lastG []float64 // the former two behind the columns of dl
	dl, dg             blas.Matrix
	products           []float64 // the row of M that is new, v, |l|^2
	m                  []float64 // agreed M, by slots
	norms              []float64 // the agreed |l| of the last iterations
	norm               float64   // of this one
	filled, next       int       // slots that count, and the one to write
	known              bool      // lastL and lastG are
	swapped            bool      // l is behind lastL

	slots              []int     // in use in this iteration, the newest first
	inner              []float64 // of the columns of dl with the newest, and with l
	correction, rr, qr []float64
	chol, c            []float64 // of solve
	weights            []float64 // c by slots
}

const (
	regularization = 1e-10 // of M, relative to its trace
	restartAt      = 2     // the norm of l over its least
	longest        = 2     // correction, relative to that norm
	// A rise of the objective by less than this part of itself and of the sum of y^2 is
	// none.
	rise = 1e-9
	// The first changes, far from the solution, mislead: so many iterations only remember.
	plainFirst = 6
	// A rise by less than this part is none where gradients are tracked, and a patient
	// tracker waits again when the objective has fallen to this part of what it was.
	trackedRise = 0.5
	// A rise by less than this part is none in mixed precision, where objectives before and
	// after an anchor are not those of quite the same samples. It must be small: where most of
	// the objective is noise, a part of 1e-5 kept runs on survey data from converging.
	mixedRise = 1e-6
	resumeAt  = 0.5
	// Condition numbers of P above which codes of four bits become eight and, along a tree,
	// sixteen.
	coarse, fine = 30, 900
	// plainStep is the step without P, relative to the paper's.
	plainStep = 2
)

func newAccelerated(s *Solver, t *tracker) *accelerated {
	m := &accelerated{
		scaled: newScaledDiffusion(s, t), memory: s.o.Memory, safe: newBases(s), tried: newBases(s),
		exact: s.o.Agreement.Polynomial == consensus.Tree || s.net.Len() == 1,
	}
	m.coded = m.exact && s.o.Agreement.Codec != nil
	if s.o.Preconditioner == PreconditionerScaled {
		m.entries = len(m.scaled.next[0])
	}
	size, r, slots := len(s.u[0].Data()), s.o.Rank, m.memory+1
	for range s.u {
		n := &anderson{
			m: make([]float64, slots*slots), chol: make([]float64, slots*slots), c: make([]float64, slots), weights: make([]float64, slots),
			rr: make([]float64, r*r), qr: make([]float64, len(s.qrWork[0])), slots: make([]int, 0, slots), norms: make([]float64, 0, slots),
			inner: make([]float64, 2*slots),
		}
		for _, v := range []*[]float64{&n.g, &n.lastG, &n.correction} {
			*v = make([]float64, size)
		}
		n.dl, n.dg = columnsOf(size, slots, 2), columnsOf(size, slots, 0)
		n.l, n.lastL = column(n.dl, slots), column(n.dl, slots+1)
		m.nodes = append(m.nodes, n)
		sent := make([]float64, m.entries+2*m.memory+1)
		n.products = sent[m.entries:]
		if m.exact {
			sent = sent[:m.entries]
		}
		m.sent = append(m.sent, sent)
	}
	m.adapt = s.perNode(func(i int) { m.adaptNode(s, i) })
	m.extrapolate = s.perNode(func(i int) { m.extrapolateNode(s, i) })
	m.reset()
	return m
}

// columnsOf returns a matrix of so many columns, with room for further ones behind it.
func columnsOf(rows, columns, further int) blas.Matrix {
	stride := blas.Stride(rows)
	return blas.Matrix{Rows: rows, Cols: columns, Stride: stride, Data: make([]float64, (columns+further)*stride)}
}

func column(a blas.Matrix, j int) []float64 { return a.Data[j*a.Stride:][:a.Rows] }

func (m *accelerated) combine(ctx context.Context, s *Solver) error {
	if m.entries > 0 {
		if err := m.scaled.shareFirst(ctx, s); err != nil {
			return err
		}
	}
	if t := m.scaled.tracker; t.tracks() {
		if err := t.combine(ctx, s); err != nil {
			return err
		}
	}
	s.pool.Run(m.adapt)
	m.refine(s)
	if err := s.exchange(ctx, consensus.StreamBasis, s.z, m.sent, m.scaled.tracker.rounds(s)); err != nil {
		return err
	}
	s.pool.Run(m.extrapolate)
	return nil
}

// refine goes to finer codes where P says that coarse ones would cost more iterations than
// they save: on the P of the first iteration, which is the sum itself, or on that of any
// along a tree, since all nodes must have the same.
func (m *accelerated) refine(s *Solver) {
	if m.entries == 0 || m.scaled.shared && !m.coded {
		return
	}
	v := m.scaled.nodes[0].values
	switch condition := v[len(v)-1] / v[0]; {
	case m.coded && !(condition <= fine):
		s.meeting.Refine(consensus.Int16)
	case s.o.Agreement.Codec == consensus.Int4 && !(condition <= coarse):
		s.meeting.Refine(consensus.Int8)
	}
}

// adaptNode takes the step at one node and prepares its inner products.
func (m *accelerated) adaptNode(s *Solver, i int) {
	switch t := m.scaled.tracker; {
	case m.entries > 0:
		m.scaled.adaptNode(s, i)
		copy(m.sent[i], m.scaled.next[i])
	case t.tracks():
		descend(s.z[i], s.u[i], t.next[i], plainStep*s.step())
	default:
		descend(s.z[i], s.u[i], s.grads[i], plainStep*s.step()*s.nodeCount())
	}
	switch {
	case m.coded:
		floats.Sub(s.z[i].Data(), s.u[i].Data())
	case !m.exact:
		m.multiply(m.nodes[i], s.z[i], s.u[i])
	}
}

// multiply sets l = z - u and its inner products.
func (m *accelerated) multiply(n *anderson, z, u *kernel.Basis) {
	products := n.products
	floats.SubTo(n.l, z.Data(), u.Data())
	clear(products)
	products[2*m.memory] = floats.Dot(n.l, n.l)
	n.slots = n.slots[:0]
	if !n.known {
		return
	}
	floats.SubTo(column(n.dl, n.next), n.l, n.lastL)
	slots := m.memory + 1
	behind := slots - n.next // l, from the newest
	if n.swapped {
		behind++
	}
	newest := blas.Matrix{Rows: n.dl.Rows, Cols: 2, Stride: behind * n.dl.Stride, Data: n.dl.Data[n.next*n.dl.Stride:]}
	blas.GemmTN(n.dl, newest, blas.Matrix{Rows: slots, Cols: 2, Stride: slots, Data: n.inner})
	for a := range min(n.filled+1, m.memory) {
		slot := (n.next - a + slots) % slots
		n.slots = append(n.slots, slot)
		products[a], products[m.memory+a] = n.inner[slot], n.inner[slots+slot]
	}
}

// extrapolateNode makes g of the averaged Z, and from that and the agreed inner products
// what becomes the next U.
func (m *accelerated) extrapolateNode(s *Solver, i int) {
	n, z := m.nodes[i], s.z[i]
	products := n.products
	if m.coded {
		floats.Add(z.Data(), s.u[i].Data())
	}
	z.Orthonormalize(n.rr, n.qr)
	if m.exact {
		m.multiply(n, z, s.u[i])
	}
	copy(n.g, z.Data())
	n.norm = math.Sqrt(max(products[2*m.memory], 0))
	if !n.known {
		return
	}
	floats.SubTo(column(n.dg, n.next), n.g, n.lastG)
	slots := m.memory + 1
	for a, slot := range n.slots {
		n.m[n.next*slots+slot], n.m[slot*slots+n.next] = products[a], products[a]
	}
	if s.iteration < plainFirst || !n.solve(slots, products[m.memory:]) {
		return
	}
	clear(n.weights)
	for a, slot := range n.slots {
		n.weights[slot] = n.c[a]
	}
	blas.GemvN(n.dg, n.weights, n.correction)
	scale := 1.0
	if length := math.Sqrt(floats.Dot(n.correction, n.correction)); length > longest*n.norm {
		scale = longest * n.norm / length
	}
	floats.AddScaledTo(z.Data(), n.g, -scale, n.correction)
}

// solve computes c = (M + 1e-10 tr(M) I)^-1 v for the slots in use, and reports whether
// that exists.
func (n *anderson) solve(width int, v []float64) bool {
	k, trace := len(n.slots), 0.0
	for a, slot := range n.slots {
		for b, other := range n.slots {
			n.chol[a*k+b] = n.m[slot*width+other]
		}
		trace += n.chol[a*k+a]
		n.c[a] = v[a]
	}
	for a := range k {
		n.chol[a*k+a] += regularization * trace
	}
	t, ok := lapack64.Potrf(blas64.Symmetric{N: k, Stride: k, Data: n.chol[:k*k], Uplo: gblas.Upper})
	if !ok || !(trace > 0) {
		return false
	}
	lapack64.Potrs(t, blas64.General{Rows: k, Cols: 1, Stride: 1, Data: n.c})
	return true
}

func (m *accelerated) commit(s *Solver) {
	m.begun = true
	m.scaled.takeOver(s, m.sent, m.entries)
	for _, n := range m.nodes {
		if n.known {
			n.filled = min(n.filled+1, m.memory)
			n.next = (n.next + 1) % (m.memory + 1)
		}
		n.l, n.lastL, n.g, n.lastG, n.known = n.lastL, n.l, n.lastG, n.g, true
		n.swapped = !n.swapped
		least := math.Inf(1)
		for _, v := range n.norms {
			least = min(least, v)
		}
		if n.norm > restartAt*least {
			n.forget()
		}
		if len(n.norms) == m.memory {
			n.norms = slices.Delete(n.norms, 0, 1)
		}
		n.norms = append(n.norms, n.norm)
	}
	if s.watch.telling == s.iteration {
		for i, n := range m.nodes {
			copy(m.tried[i].Data(), n.lastG)
		}
	}
}

// forget empties the memory, but for the last l and g.
func (n *anderson) forget() {
	n.filled = 0
	n.norms = n.norms[:0]
}

// hear guards against a rise of the objective of all nodes, of which all hear together.
// Where gradients are tracked it may rise as nodes with minimisers of their own agree.
func (m *accelerated) hear(s *Solver, objective float64) {
	margin := rise * (m.lowest + s.yy*float64(s.samples))
	if s.o.MixedPrecision {
		margin += mixedRise * m.lowest
	}
	if t := m.scaled.tracker; t.tracks() {
		if t.patient && objective < resumeAt*m.floor { // that was not noise
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
	for i, u := range m.safe {
		s.u[i].CopyFrom(u)
	}
	m.startAgain()
	m.restarts++
}

// step is the last l, where all nodes get the mean itself. It is the step before the
// last: from the U before, with the P of the iteration before that.
func (m *accelerated) step(s *Solver) (length float64, p *scaling, ok bool) {
	n := m.nodes[0]
	if !m.exact || m.entries == 0 || !n.known {
		return 0, nil, false
	}
	p = m.scaled.nodes[0]
	p.invert()
	return floats.Norm(n.lastL, 2) / s.o.ScaledStep, p, true
}

// foundNoise lets a patient tracker begin.
func (m *accelerated) foundNoise(objective float64) {
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
		n.known = false
	}
}

func (m *accelerated) reset() {
	m.scaled.reset()
	m.startAgain()
	m.begun, m.restarts, m.floor = false, 0, 0
	for _, n := range m.nodes {
		n.next = 0
		clear(n.dl.Data) // of a run that has diverged they may not be finite
		clear(n.dg.Data)
	}
}

func (m *accelerated) save(i int) NodeState {
	n := m.nodes[i]
	if !m.begun {
		return NodeState{}
	}
	state := NodeState{Anderson: &AndersonState{
		Known: n.known, Floor: m.floor,
		L: slices.Clone(n.lastL), G: slices.Clone(n.lastG), M: slices.Clone(n.m), Norms: slices.Clone(n.norms),
		Filled: n.filled, Next: n.next, Lowest: known(m.lowest),
		Safe: slices.Clone(m.safe[i].Data()), Tried: slices.Clone(m.tried[i].Data()),
	}}
	for k := range n.dl.Cols {
		state.Anderson.DL = append(state.Anderson.DL, slices.Clone(column(n.dl, k)))
		state.Anderson.DG = append(state.Anderson.DG, slices.Clone(column(n.dg, k)))
	}
	if m.entries > 0 {
		state.P = slices.Clone(m.scaled.nodes[i].p)
	}
	if t := m.scaled.tracker; t != nil {
		state.Anderson.Waiting = t.waiting
		state.Tracked, state.Previous = slices.Clone(t.sum[i].Data()), slices.Clone(t.previous[i].Data())
	}
	return state
}

func (m *accelerated) fits(state *NodeState) bool {
	if state.empty() {
		return true
	}
	a, n, size := state.Anderson, m.nodes[0], len(m.nodes[0].l)
	if a == nil || len(a.DL) != n.dl.Cols || len(a.DG) != n.dg.Cols || len(a.M) != len(n.m) || len(a.Norms) > m.memory ||
		a.Filled < 0 || a.Filled > m.memory || a.Next < 0 || a.Next > m.memory || len(state.P) != m.entries {
		return false
	}
	for _, v := range slices.Concat(a.DL, a.DG, [][]float64{a.L, a.G, a.Safe, a.Tried}) {
		if len(v) != size {
			return false
		}
	}
	tracked := 0
	if m.scaled.tracker != nil {
		tracked = size
	}
	return len(state.Tracked) == tracked && len(state.Previous) == tracked
}

func (m *accelerated) restore(i int, state *NodeState) {
	n, a := m.nodes[i], state.Anderson
	n.forget()
	if m.begun = a != nil; !m.begun {
		m.reset()
		return
	}
	n.known = a.Known
	m.floor = a.Floor
	copy(n.lastL, a.L)
	copy(n.lastG, a.G)
	copy(n.m, a.M)
	n.norms = append(n.norms, a.Norms...)
	n.filled, n.next = a.Filled, a.Next
	for k := range n.dl.Cols {
		copy(column(n.dl, k), a.DL[k])
		copy(column(n.dg, k), a.DG[k])
	}
	copy(m.safe[i].Data(), a.Safe)
	copy(m.tried[i].Data(), a.Tried)
	if m.lowest = math.Inf(1); a.Lowest != nil {
		m.lowest = *a.Lowest
	}
	copy(m.scaled.nodes[i].p, state.P)
	m.scaled.shared = m.entries > 0
	if t := m.scaled.tracker; t != nil {
		copy(t.sum[i].Data(), state.Tracked)
		copy(t.previous[i].Data(), state.Previous)
		t.waiting = a.Waiting
	}
}

func (m *accelerated) shortened() (damped, regularized int) { return m.scaled.shortened() }
