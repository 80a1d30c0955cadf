package difalt

import (
	"math"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// A point is where the algorithm is: U_g of every hosted node, what the node computed there, and the message
// that it averages with the other nodes. Slices have an entry for every hosted node.
type point struct {
	iteration int     // the number of finished iterations
	nodes     float64 // L
	ridge     float64
	eta       float64 // the step size of the paper's methods
	totals    totals
	tasks     []*kernel.Tasks // of the evaluations, without SampleSplit
	weights   [][]float64     // of every task in P; see totals.weights
	u         []*kernel.Basis // U_g
	previous  []*kernel.Basis // U_g one iteration before; zero before the first
	at        []evaluation    // at U_g
	// messages have Z_g and what goes with it. Before the exchange a message is the part of the node, after
	// it the average, and at last its basis is the next U_g.
	messages []consensus.Message
	moments  *gram.Matrix // P of the last check, or of the last message if the method sends P
	most     float64      // the largest size of a number in a message
	finite   []bool       // U and the last message of the node had such numbers only
	qr       []qrWork
}

// An evaluation is the outcome of Alg. 3, lines 7 to 11, at one node. It aliases the memory of the node's
// group until the next evaluation.
type evaluation struct {
	b         []float64    // b_t = b[t*r : (t+1)*r], fitted to U_g
	status    []lsq.Status // of every task
	grad      *kernel.Basis
	objective float64       // sum_t |X_t U_g b_t - y_t|^2
	elapsed   time.Duration // the time of one worker
}

func newPoint(p *Problem, o *Options, nodes int) point {
	l, d, r := len(p.Nodes), p.Nodes[0].Features(), o.Rank
	at := point{
		nodes: float64(nodes), most: mostNumberInGossip, ridge: o.Ridge, moments: gram.New(r),
		at: make([]evaluation, l), messages: make([]consensus.Message, l), finite: make([]bool, l),
	}
	for i := range p.Nodes {
		at.weights = append(at.weights, ones(p.Nodes[i].Len()))
		at.u, at.previous = append(at.u, kernel.NewBasis(d, r)), append(at.previous, kernel.NewBasis(d, r))
		at.messages[i].Basis = kernel.NewBasis(d, r)
		at.qr = append(at.qr, newQRWork(r))
	}
	return at
}

// read takes the results of groups.
func read(at []evaluation, groups []*kernel.Group) {
	for i, g := range groups {
		at[i] = evaluation{g.B, g.Status, g.Grad, g.Objective, g.Elapsed}
	}
}

// penalized returns the objective of hosted node i that a step lowers.
func (p *point) penalized(i int) float64 {
	return p.at[i].objective + float64(p.ridge*rounded.Dot(p.at[i].b, p.at[i].b))
}

// hold replaces a message with a number that is not finite, or too large for the exchange, by U_g and
// zeros, so that it is not sent; the next check ends the run as Diverged.
func (p *point) hold(i int) {
	m := &p.messages[i]
	p.finite[i] = inRange(m.Basis.Data(), p.most) && inRange(m.Scalars, p.most) && inRange(m.Totals, p.most)
	if !p.finite[i] {
		m.Basis.CopyFrom(p.u[i])
		clear(m.Scalars)
		clear(m.Totals)
	}
}

// inRange reports whether all numbers are finite and at most most in size.
func inRange(v []float64, most float64) bool {
	for _, x := range v {
		if !(math.Abs(x) <= most) {
			return false
		}
	}
	return true
}

// orthonormalize is line 14 for hosted node i: Z = Q R, and Q replaces Z. Where Z is not finite, or the norm
// of a column is beyond float64, U_g replaces it, and the next check ends the run as Diverged.
func (p *point) orthonormalize(i int) {
	z := p.messages[i].Basis
	z.Orthonormalize(p.qr[i].r, p.qr[i].work)
	if !sizes.Finite(z.Data()) {
		z.CopyFrom(p.u[i])
		p.finite[i] = false
	}
}

// shareFirst gives all nodes the basis of the first message.
func (p *point) shareFirst() {
	for _, m := range p.messages[1:] {
		m.Basis.CopyFrom(p.messages[0].Basis)
	}
}

// advance makes the basis of every message the next U_g.
func (p *point) advance() {
	for i := range p.messages {
		z := p.messages[i].Basis
		p.messages[i].Basis, p.previous[i], p.u[i] = p.previous[i], p.u[i], z
	}
	p.iteration++
}
