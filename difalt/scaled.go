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
	nodes   []*scaling
	next    [][]float64 // what becomes the P of the nodes
	shared  bool        // the nodes have agreed on P before
	tracker *tracker    // nil: every node steps on its own gradient

	adapt, observe func(worker int) // stored, so that calling them does not allocate
}

func newScaledDiffusion(s *Solver, t *tracker) *scaledDiffusion {
	m := &scaledDiffusion{tracker: t}
	for i := range s.hosted {
		c := newScaling(s.o.Rank)
		c.damping = newDamping(len(s.u[i].Data()))
		m.nodes = append(m.nodes, c)
		m.next = append(m.next, make([]float64, len(c.p)))
	}
	m.adapt = s.perNode(func(i int) { m.adaptNode(s, i) })
	m.observe = s.perNode(func(i int) { m.nodes[i].observe(s.z[i], s.u[i]) })
	return m
}

func (m *scaledDiffusion) combine(ctx context.Context, s *Solver) error {
	if err := m.shareFirst(ctx, s); err != nil {
		return err
	}
	if m.tracker.tracks() {
		if err := m.tracker.combine(ctx, s); err != nil {
			return err
		}
	}
	s.pool.Run(m.adapt)
	return s.exchange(ctx, consensus.StreamBasis, s.z, m.next, s.rounds)
}

// shareFirst sees to it that the nodes have a P: the first is the sum itself.
func (m *scaledDiffusion) shareFirst(ctx context.Context, s *Solver) error {
	if m.shared {
		return nil
	}
	for i, g := range s.groups {
		gather(m.next[i], g.B, s.o.Rank, 1)
	}
	if err := s.net.Sum(ctx, m.next); err != nil {
		return err
	}
	for i, c := range m.nodes {
		copy(c.p, m.next[i])
	}
	return nil
}

// adaptNode computes Z = U - (s/(n m)) L grad P^-1 at one node, with K^-1 in place of
// 1/(n m) where that is known, or with the tracked
// gradient in place of L grad, and the node's own L B B', to be averaged together
// with Z.
func (m *scaledDiffusion) adaptNode(s *Solver, i int) {
	c, step := m.nodes[i], s.o.Scaled.Step/s.curvature()
	grad := s.grads[i]
	if m.tracker.tracks() {
		grad = m.tracker.next[i]
	} else {
		step *= s.nodeCount()
	}
	if s.left != nil {
		step *= s.curvature()
		blas.MulTN(s.left.product[i].Matrix(), s.left.inverse.Matrix(), grad.Matrix())
		grad = s.left.product[i]
	}
	c.invert()
	for k := range c.inverse {
		c.inverse[k] *= -step * c.factor
	}
	z, r := s.z[i], s.o.Rank
	z.CopyFrom(s.u[i])
	// Column k of the gradient adds row k of -step P^-1 to the columns of Z.
	blas.AddMulNT(z.Matrix(), grad.Matrix(), blas.ColumnMajor{Rows: r, Cols: r, Stride: r, Data: c.inverse})
	gather(m.next[i], s.groups[i].B, r, s.nodeCount())
}

func (m *scaledDiffusion) commit(s *Solver) {
	for i, c := range m.nodes {
		c.p, m.next[i] = m.next[i], c.p
	}
	m.shared = true
	if m.tracker.tracks() {
		m.tracker.commit(s)
	}
	s.pool.Run(m.observe)
}

// takeOver is commit for a method that has averaged P at the front of its own scalars.
func (m *scaledDiffusion) takeOver(s *Solver, scalars [][]float64, entries int) {
	if entries > 0 {
		for i, c := range m.nodes {
			copy(c.p, scalars[i][:entries])
		}
		m.shared = true
	}
	if m.tracker.tracks() {
		m.tracker.commit(s)
	}
}

func (m *scaledDiffusion) reset() {
	m.shared = false
	for _, c := range m.nodes {
		c.damping = newDamping(len(c.move))
	}
	if m.tracker != nil {
		m.tracker.reset()
	}
}

func (m *scaledDiffusion) shortened() (damped, regularized int) {
	for _, c := range m.nodes {
		if c.raised {
			regularized++
		}
		if c.factor < 1 {
			damped++
		}
	}
	return damped, regularized
}

func (m *scaledDiffusion) save(i int) NodeState {
	if !m.shared {
		return NodeState{}
	}
	c := m.nodes[i]
	damping := c.damping.state()
	state := NodeState{P: slices.Clone(c.p), Damping: &damping}
	if m.tracker != nil {
		state.Tracked = slices.Clone(m.tracker.sum[i].Data())
		state.Previous = slices.Clone(m.tracker.previous[i].Data())
	}
	return state
}

func (m *scaledDiffusion) fits(state *NodeState) bool {
	if state.empty() {
		return true
	}
	size := 0
	if m.tracker != nil {
		size = len(m.tracker.sum[0].Data())
	}
	return len(state.P) == len(m.next[0]) && state.Damping != nil && len(state.Damping.Move) == len(m.nodes[0].move) &&
		len(state.Tracked) == size && len(state.Previous) == size
}

func (m *scaledDiffusion) restore(i int, state *NodeState) {
	m.shared = !state.empty()
	if !m.shared {
		m.reset()
		return
	}
	copy(m.nodes[i].p, state.P)
	m.nodes[i].damping.restore(state.Damping)
	if m.tracker != nil {
		copy(m.tracker.sum[i].Data(), state.Tracked)
		copy(m.tracker.previous[i].Data(), state.Previous)
	}
}

// A scaling is what a node needs for the scaled step: P, its inverse, and the length
// of the step.
type scaling struct {
	p       []float64 // the upper triangle by rows
	inverse []float64
	raised  bool // the last inversion had to raise an eigenvalue
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
		vectors: make([]float64, r*r), values: make([]float64, r),
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

// invert computes P^-1 from the eigenvalues of P.
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
	c.raised = false
	if lapack64.Syev(lapack.EVCompute, c.symmetric(), c.values, c.work, len(c.work)); !(c.values[r-1] > 0) {
		c.raised = true // every coefficient is zero: no step
		return
	}
	for k, v := range c.values {
		if least := c.values[r-1] / condition; v < least {
			v, c.raised = least, true
		}
		for i := range r {
			for j := range r {
				c.inverse[i*r+j] += c.vectors[i*r+k] * c.vectors[j*r+k] / v
			}
		}
	}
}

// A tracker holds every node's estimate of the whole gradient, by dynamic average
// consensus: S_g <- Agree(S_g + L (grad_g - previous grad_g)). Its mean over the
// nodes is the sum of all gradients in every iteration, however few the rounds, and
// it becomes exact as the gradients stop changing (Nedic, Olshevsky and Shi,
// "Achieving Geometric Convergence for Distributed Optimization over Time-Varying
// Graphs").
type tracker struct {
	sum, next, previous []*kernel.Basis
	// A patient one waits until there is a reason to track, and then takes as many rounds
	// as S_g needs to follow the gradients, if that is more.
	patient, waiting bool
	enough           int
}

// trackedLeft is what enough rounds leave of a disagreement.
const trackedLeft = 0.4

func newTracker(s *Solver, patient bool) *tracker {
	t := &tracker{sum: newBases(s), next: newBases(s), previous: newBases(s), patient: patient, waiting: patient}
	if gamma := s.net.Weights().Gamma(); gamma > 0 {
		t.enough = int(math.Ceil(math.Log(trackedLeft) / math.Log(gamma)))
		if s.o.Agreement.Polynomial == consensus.Chebyshev {
			t.enough = int(math.Ceil(math.Acosh(1/trackedLeft) / math.Acosh(1/gamma)))
		}
	}
	return t
}

func (t *tracker) tracks() bool { return t != nil && !t.waiting }

// rounds returns how many rounds an agreement takes.
func (t *tracker) rounds(s *Solver) int {
	if t.tracks() && t.patient {
		return max(s.rounds, t.enough)
	}
	return s.rounds
}

func newBases(s *Solver) []*kernel.Basis {
	u := make([]*kernel.Basis, len(s.u))
	for i := range u {
		u[i] = kernel.NewBasis(s.u[i].Dims())
	}
	return u
}

// combine computes the estimates for the gradients of this iteration in next.
func (t *tracker) combine(ctx context.Context, s *Solver) error {
	for i, grad := range s.grads {
		next, sum, previous := t.next[i].Data(), t.sum[i].Data(), t.previous[i].Data()
		for k, v := range grad.Data() {
			next[k] = sum[k] + s.nodeCount()*(v-previous[k])
		}
	}
	return s.agree(ctx, s.meeting, consensus.StreamTracker, t.next, nil, t.rounds(s))
}

func (t *tracker) commit(s *Solver) {
	t.sum, t.next = t.next, t.sum
	for i, grad := range s.grads {
		t.previous[i].CopyFrom(grad)
	}
}

func (t *tracker) reset() {
	t.waiting = t.patient
	for i := range t.sum {
		clear(t.sum[i].Data())
		clear(t.previous[i].Data())
	}
}
