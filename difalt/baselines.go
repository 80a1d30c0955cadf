package difalt

import (
	"context"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// A baseline is an algorithm of decentralised optimisation that corrects the
// bias of diffusion, on the objective of which the b_t are eliminated. They telescope over their
// iterates, which QR would break, so X_g need not be orthonormal: U_g is the factor Q of
// X_g = U_g R_g, and the gradient at X_g that at U_g times R_g^-T. With D, the gradient at X_g
// times L and, if scaled, P^-1 at X_g, an iteration is
//
//	EXTRA (Shi, Ling, Wu and Yin, 2015):
//	    X_k+1 = X_k + Agree(X_k) - (X_k-1 + Agree(X_k-1))/2 - a (D_k - D_k-1),   X_1 = Agree(X_0) - a D_0
//	exact diffusion (Yuan, Ying, Zhao and Sayed, 2018):
//	    Y_k+1 = X_k - a D_k,   F = Y_k+1 + X_k - Y_k,   X_k+1 = (F + Agree(F))/2,   Y_0 = X_0
//	DIGing, adapting before it combines (Nedic, Olshevsky, Shi and Uribe, 2017):
//	    S_k = Agree(S_k-1 + D_k - D_k-1),   X_k+1 = Agree(X_k - a S_k),   S_0 = Agree(D_0).
type baseline struct {
	unguarded
	*setup
	baselineRule
	nodes    []*baselineNode
	sums     []*kernel.Basis // S of the nodes, to be averaged
	scalings []*scaling      // P of the nodes
	p        [][]float64     // L B_g B_g' at X_g
	started  bool

	direct, send, take func(worker int) // stored, so that calling them does not allocate
}

// A baselineRule is what tells baselines apart.
type baselineRule struct {
	step           float64 // a, relative to eta or, if scaled, to Scaled.Step
	scaled, tracks bool
	// before sets what a node sends, and after makes the next state of its average.
	before, after func(n *baselineNode, a float64, first bool)
}

var baselineRules = map[Method]baselineRule{
	EXTRA:                {step: 0.55, before: func(n *baselineNode, _ float64, _ bool) { copy(n.sent, n.x) }, after: (*baselineNode).extra},
	ExactDiffusion:       {step: 0.8, before: (*baselineNode).correct, after: (*baselineNode).combineOwn},
	ScaledExactDiffusion: {step: 0.5, scaled: true, before: (*baselineNode).correct, after: (*baselineNode).combineOwn},
	DIGing:               {step: 1.7, tracks: true, before: (*baselineNode).descend, after: func(n *baselineNode, _ float64, _ bool) { copy(n.next.x, n.average) }},
}

// A baselineState is what a node keeps: X, (X + Agree(X))/2 or Y or S, and D.
type baselineState struct {
	x, memory []float64
	grad      *kernel.Basis
}

type baselineNode struct {
	baselineState
	next     baselineState // which an iteration writes
	r, nextR []float64     // R of X = U R
	b        []float64     // the coefficients at X, if scaled
	d        *kernel.Basis // the gradient at X times L, if scaled: D is that times P^-1
	sent     []float64
	average  []float64 // what Agree has made of it; Z_g
	work     []float64
}

// extra is the line of EXTRA.
func (n *baselineNode) extra(a float64, first bool) {
	grad, next := n.grad.Data(), n.next.grad.Data()
	for k, x := range n.x {
		n.next.memory[k] = (x + n.average[k]) / 2
		if n.next.x[k] = x + n.average[k] - n.memory[k] - a*(next[k]-grad[k]); first {
			n.next.x[k] = n.average[k] - a*next[k]
		}
	}
}

// correct and combineOwn are the line of exact diffusion.
func (n *baselineNode) correct(a float64, first bool) {
	floats.AddScaledTo(n.next.memory, n.x, -a, n.next.grad.Data())
	copy(n.sent, n.next.memory)
	if !first {
		floats.Add(n.sent, n.x)
		floats.Sub(n.sent, n.memory)
	}
}

func (n *baselineNode) combineOwn(float64, bool) {
	floats.AddTo(n.next.x, n.sent, n.average)
	floats.Scale(0.5, n.next.x)
}

// descend is what DIGing sends.
func (n *baselineNode) descend(a float64, _ bool) {
	floats.AddScaledTo(n.sent, n.x, -a, n.next.memory)
}

func newBaseline(s *setup) method {
	m := &baseline{setup: s, baselineRule: baselineRules[s.o.Method], sums: newBases(s.at.u)}
	for i, u := range s.at.u {
		d, r := u.Dims()
		state := func() baselineState {
			size := len(u.Data())
			return baselineState{make([]float64, size), make([]float64, size), kernel.NewBasis(d, r)}
		}
		n := &baselineNode{
			baselineState: state(), next: state(), r: make([]float64, r*r), nextR: make([]float64, r*r),
			d: kernel.NewBasis(d, r), sent: make([]float64, len(u.Data())),
			average: s.at.z[i].Data(), work: make([]float64, qr.WorkLen(r)),
		}
		m.nodes, m.scalings = append(m.nodes, n), append(m.scalings, newScaling(r))
		m.p = append(m.p, make([]float64, len(m.scalings[i].p)))
	}
	m.direct, m.send, m.take = s.each(m.directNode), s.each(m.sendNode), s.each(m.takeNode)
	return m
}

func (m *baseline) combine(ctx context.Context) error {
	var scalars [][]float64
	if m.scaled {
		scalars = m.p
		if !m.started { // the first P is the sum itself
			if err := m.sumP(ctx, m.p, m.scalings); err != nil {
				return err
			}
		}
	}
	m.pool.Run(m.direct)
	if m.tracks {
		if err := m.exchange.agree(ctx, consensus.StreamTracker, m.sums, nil, m.exchange.rounds); err != nil {
			return err
		}
	}
	m.pool.Run(m.send)
	if err := m.exchange.agree(ctx, consensus.StreamBasis, m.at.z, scalars, m.exchange.rounds); err != nil {
		return err
	}
	m.pool.Run(m.take)
	return nil
}

// directNode sets D at one node.
func (m *baseline) directNode(i int) {
	n, u, r := m.nodes[i], m.at.u[i], m.o.Rank
	if !m.started {
		copy(n.x, u.Data())
		clear(n.r)
		for k := range r {
			n.r[k*r+k] = 1
		}
	}
	grad := n.next.grad
	if m.scaled {
		grad = n.d
	}
	floats.ScaleTo(grad.Data(), m.exchange.nodes(), m.at.grads[i].Data())
	// Times R^-T. As gonum has it, which stores matrices by rows, R(i,j) = rr[j*r+i] is R'.
	rt := blas64.Triangular{N: r, Stride: r, Data: n.r, Uplo: gblas.Lower, Diag: gblas.NonUnit}
	g := grad.Matrix()
	blas64.Trsm(gblas.Left, gblas.Trans, 1, rt, blas64.General{Rows: r, Cols: g.Stride, Stride: g.Stride, Data: g.Data})
	if m.scaled {
		n.b = append(n.b[:0], m.at.groups[i].B...) // R^-1 B, the coefficients at X
		blas64.Trsm(gblas.Right, gblas.NoTrans, 1, rt, blas64.General{Rows: len(n.b) / r, Cols: r, Stride: r, Data: n.b})
		gather(m.p[i], n.b, r, m.exchange.nodes())
		m.scalings[i].invert()
		multiply(n.next.grad, grad.Matrix(), m.scalings[i].inverse)
	}
	if m.tracks {
		floats.SubTo(m.sums[i].Data(), n.next.grad.Data(), n.grad.Data())
		floats.Add(m.sums[i].Data(), n.memory)
	}
}

// sendNode sets what one node sends.
func (m *baseline) sendNode(i int) {
	n := m.nodes[i]
	if m.tracks {
		copy(n.next.memory, m.sums[i].Data())
	}
	n.average = m.at.z[i].Data()
	m.before(n, m.length(), !m.started)
	copy(n.average, n.sent)
}

// takeNode makes the next X, and U and R of it.
func (m *baseline) takeNode(i int) {
	n := m.nodes[i]
	m.after(n, m.length(), !m.started)
	copy(n.average, n.next.x)
	m.at.z[i].Orthonormalize(n.nextR, n.work)
}

// length returns a.
func (m *baseline) length() float64 {
	if m.scaled {
		return m.step * m.o.Scaled.Step / m.at.data.curvature()
	}
	return m.step * m.at.eta
}

func (m *baseline) commit() {
	for i, n := range m.nodes {
		n.baselineState, n.next = n.next, n.baselineState
		n.r, n.nextR = n.nextR, n.r
		if m.scaled {
			m.scalings[i].p, m.p[i] = m.p[i], m.scalings[i].p
		}
	}
	m.started = true
}

func (m *baseline) state(a *archive) {
	if a.data(&m.started); !m.started {
		return
	}
	for i, n := range m.nodes {
		a.node(i)
		a.floats("X", n.x)
		a.floats("the memory", n.memory)
		a.floats("the last gradient", n.grad.Data())
		a.floats("R", n.r)
		a.floats("P", m.scalings[i].p)
	}
}
