package difalt

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
)

// A tracker holds every node's estimate of the whole gradient, by dynamic average
// consensus: S_g <- Agree(S_g + L (grad_g - previous grad_g)). Its mean over the
// nodes is the sum of all gradients in every iteration, however few the rounds, and
// it becomes exact as the gradients stop changing (Nedic, Olshevsky and Shi,
// "Achieving Geometric Convergence for Distributed Optimization over Time-Varying
// Graphs"). A tracker that is nil, or waits, does nothing.
type tracker struct {
	*setup
	sum, next, previous []*kernel.Basis
	// One that waits for noise begins to track when there is a reason, and then takes as many
	// rounds as S_g needs to follow the gradients, if that is more.
	waitsForNoise, waiting bool
	enough                 int
}

// trackedRemainder is what enough rounds leave of a disagreement.
const trackedRemainder = 0.4

// newTracker returns nil along a tree: the sum of all gradients is what the nodes get
// there, and its mean would not survive codes.
func newTracker(s *setup, waitsForNoise bool) *tracker {
	if s.o.Agreement.Polynomial == consensus.Tree {
		return nil
	}
	u := s.at.u
	t := &tracker{setup: s, sum: newBases(u), next: newBases(u), previous: newBases(u), waitsForNoise: waitsForNoise, waiting: waitsForNoise}
	if gamma := s.exchange.net.Weights().Gamma(); gamma > 0 {
		t.enough = int(math.Ceil(math.Log(trackedRemainder) / math.Log(gamma)))
		if s.o.Agreement.Polynomial == consensus.Chebyshev {
			t.enough = int(math.Ceil(math.Acosh(1/trackedRemainder) / math.Acosh(1/gamma)))
		}
	}
	return t
}

func (t *tracker) tracks() bool { return t != nil && !t.waiting }

// rounds returns how many rounds an agreement takes, of x by default.
func (t *tracker) rounds(x *exchange) int {
	if t.tracks() && t.waitsForNoise {
		return max(x.rounds, t.enough)
	}
	return x.rounds
}

// combine computes the estimates for the gradients of this iteration in next.
func (t *tracker) combine(ctx context.Context) error {
	if !t.tracks() {
		return nil
	}
	nodes := t.exchange.nodes()
	for i, grad := range t.at.grads {
		next, sum, previous := t.next[i].Data(), t.sum[i].Data(), t.previous[i].Data()
		for k, v := range grad.Data() {
			next[k] = sum[k] + nodes*(v-previous[k])
		}
	}
	return t.exchange.agree(ctx, consensus.StreamTracker, t.next, nil, t.rounds(t.exchange))
}

func (t *tracker) commit() {
	if !t.tracks() {
		return
	}
	t.sum, t.next = t.next, t.sum
	copyBases(t.previous, t.at.grads)
}

func (t *tracker) reset() {
	if t == nil {
		return
	}
	t.waiting = t.waitsForNoise
	for i := range t.sum {
		clear(t.sum[i].Data())
		clear(t.previous[i].Data())
	}
}

func (t *tracker) state(a *archive) {
	if t == nil {
		return
	}
	a.data(&t.waiting)
	for i := range t.sum {
		a.node(i)
		a.basis("the tracked gradient", t.sum[i])
		a.basis("the last gradient", t.previous[i])
	}
}
