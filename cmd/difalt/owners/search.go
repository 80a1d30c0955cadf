package owners

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

const (
	// Alternations of U and mu in cross-validation from nothing and from a U for other ridges, and at the
	// end.
	firstAlternations, laterAlternations, lastAlternations = 2, 1, 30
	// Iterations of difalt in an alternation.
	trialIterations, lastIterations = 12, 60
	// Alternations end when the penalised objective falls by no more than this part of itself.
	tolerance = 1e-6
)

// search returns a candidate per rank, and the number of the one with the least error of cross-validation.
func (s *frame) search(ctx context.Context) (list []trial, ranks []int, err error) {
	intercept := func(r *Ridges) *float64 { return &r.Intercept }
	direction := func(r *Ridges) *float64 { return &r.Direction }
	none := s.noStart(s.folds()...)
	best, err := s.try(ctx, Ridges{Intercept: 1, Direction: 1}, none, nil)
	if err == nil {
		best, err = s.walk(ctx, best, none, interceptGrid, intercept)
	}
	if err != nil {
		return nil, nil, err
	}
	list, ranks = []trial{best}, []int{0}
	from, to := 1, min(searchedRank, s.mostRank())
	if s.c.Rank != nil {
		from, to = *s.c.Rank, *s.c.Rank
	}
	for rank := max(from, 1); rank <= to; rank++ {
		s.begin("cross-validation", float64(rank)/float64(to+1), 1/float64(to+1))
		t, u := list[len(list)-1], none
		t.ridges.Direction = 1
		for round, alternations := range []int{firstAlternations, laterAlternations} {
			if u, _, err = s.alternate(ctx, u, rank, &t.ridges, alternations, trialIterations); err != nil {
				return nil, nil, err
			}
			next, err := s.try(ctx, t.ridges, u, nil)
			if err == nil {
				next, err = s.walk(ctx, next, u, directionGrid, direction)
			}
			if err == nil {
				next, err = s.walk(ctx, next, u, interceptGrid, intercept)
			}
			if err != nil {
				return nil, nil, err
			}
			if round == 0 || next.loss < t.loss {
				t = next
			}
		}
		list, ranks = append(list, t), append(ranks, rank)
		if n := len(list); n > 2 && t.loss > list[n-2].loss {
			break
		}
	}
	return list, ranks, nil
}

// mostRank bounds the rank by the columns that vary and the tasks.
func (s *frame) mostRank() int {
	varying := 0
	for _, scale := range s.design.Scale {
		if scale > 0 {
			varying++
		}
	}
	return max(min(varying, s.tasks-1), 0)
}

// alternate alternates between the mean of every span given U, and U given the mean, from the U of the spans.
// It reports whether the sum of the penalised objectives has ceased to fall.
func (s *frame) alternate(ctx context.Context, spans []*span, rank int, r *Ridges, alternations, iterations int) ([]*span, bool, error) {
	if rank == 0 {
		return spans, true, nil
	}
	last := math.Inf(1)
	for range alternations {
		list, err := s.informations(ctx, spans, r)
		if err != nil {
			return nil, false, err
		}
		objective, means, next := 0.0, make([][]float64, len(spans)), make([]*span, len(spans))
		for k := range spans {
			if means[k], _, err = list[k].solve(s.penalties(r)); err != nil {
				return nil, false, err
			}
			objective += list[k].square - floats.Dot(list[k].h, means[k])
		}
		if spans[0].u != nil && math.Abs(last-objective) <= tolerance*objective {
			return spans, true, nil
		}
		last = objective
		for k, x := range spans {
			s.tick()
			nodes := make([]*kernel.Tasks, len(s.held))
			for i, h := range s.held {
				nodes[i] = s.linear(h, x.set, means[k], r.Intercept)
			}
			u, err := s.directions(ctx, nodes, x.u, rank, r.Direction, iterations)
			if err != nil {
				return nil, false, err
			}
			next[k] = s.newSpan(x.set, u)
		}
		spans = next
	}
	return spans, false, nil
}

// directions runs the accelerated method of package difalt along the tree: U = argmin sum_t min_b |y_t - X_t
// U b|^2 + ridge |b|^2, from a start or, without one, from the spectral initialisation. The result has the
// same bits at all nodes.
func (s *frame) directions(ctx context.Context, nodes []*kernel.Tasks, start *kernel.Basis, rank int, ridge float64,
	iterations int) (*kernel.Basis, error) {
	p := &difalt.Problem{Nodes: nodes}
	for range nodes {
		if start != nil {
			p.U0 = append(p.U0, start)
		}
	}
	precision := 1e-6
	if iterations == trialIterations {
		precision = 1e-2
	}
	solver, err := difalt.NewSolver(p, s.net, difalt.Options{
		Method: difalt.Accelerated, Rank: rank, Iterations: iterations, Ridge: ridge, Tolerance: precision, Seed: s.c.Seed,
		Workers: s.c.Workers, Codec: consensus.Float64, AnyFeatures: true,
	})
	if err != nil {
		return nil, err
	}
	defer solver.Close()
	status := difalt.Running
	for status == difalt.Running && err == nil {
		status, err = solver.Step(ctx)
	}
	if err != nil && !errors.Is(err, difalt.ErrDiverged) { // a run that has diverged has the best basis that it found
		return nil, err
	}
	if status == difalt.Canceled {
		if err = s.check(ctx, ctx.Err()); err == nil { // the context of the node that stops has ended
			err = errUneven("a run that ended without a node that stops")
		}
		return nil, err
	}
	res, err := solver.Result()
	if err != nil {
		return nil, err
	}
	return res.U[0], nil
}
