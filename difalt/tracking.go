package difalt

import (
	"context"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// tracker holds every node's estimate of the whole gradient, by dynamic average
// consensus: S_g <- Agree(S_g + L (grad_g - previous grad_g)). Its mean over the
// nodes is the sum of all gradients in every iteration, however few the rounds, and
// it becomes exact as the gradients stop changing (Nedic, Olshevsky and Shi,
// "Achieving Geometric Convergence for Distributed Optimization over Time-Varying
// Graphs").
type tracker struct {
	sum, previous []*kernel.Basis
}

func newTracker(nodes, d, r int) *tracker {
	t := &tracker{}
	for range nodes {
		t.sum = append(t.sum, kernel.NewBasis(d, r))
		t.previous = append(t.previous, kernel.NewBasis(d, r))
	}
	return t
}

// track brings the estimates up to date with the gradients of this iteration. The
// first time they agree as closely as the initialisation does.
func (s *Solver) track(ctx context.Context) error {
	rounds := s.scheme.rounds
	if !s.shared {
		rounds = s.o.InitRounds
	}
	for i, grad := range s.grads {
		sum, previous := s.tracker.sum[i].Data(), s.tracker.previous[i].Data()
		for k, v := range grad.Data() {
			sum[k] += s.scheme.scale * (v - previous[k])
			previous[k] = v
		}
	}
	return s.agree(ctx, s.scheme.mixer, topology.StreamTracker, s.tracker.sum, nil, rounds)
}
