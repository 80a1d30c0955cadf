package mixed

import (
	"context"
	"maps"
	"math"
	"slices"
)

const (
	// mostRank is the largest rank that is compared. After a rank whose evidence is patience nats below the
	// best one, no larger rank is tried.
	mostRank = 3
	patience = 4.0
	// curveNats is the least gain of curves, in nats. Larger ranks with curves are tried if curves gain
	// curveHelp, so that rounding does not decide.
	curveNats = 3.0
	curveHelp = .01
	// chanceNats is what the strength of a curve may gain where the truth is a straight line: in the mean up
	// to a quarter, the half of a chi-squared variable in every other table, and more in some.
	chanceNats = .3
	// polish is the number of iterations on all tasks that follow iterations on some.
	polish = 4
	// tauStart is exp(-1.5). As a constant it has equal bits on all processors.
	tauStart = 0.22313016014842982
)

// A choice is a candidate with its variance components.
type choice struct {
	Candidate
	s *stats
	optimum
}

// start returns the variance components that optimisation begins with at rank 0.
func (s *stats) start() *varianceComponents {
	q := &varianceComponents{sigma: []float64{0.5, 0.2, 0.2}, group: make([]int, s.p), noise: 0.4,
		tau: make([]float64, s.design.meanGroups())}
	for j, c := range s.columns {
		if c.Kind != PeriodColumn { // which has no deviations
			q.group[j] = int(c.Kind)
		}
	}
	if len(s.design.Curves) == 0 {
		q.sigma[curveGroup] = 0
	}
	for k := range q.tau {
		q.tau[k] = tauStart
	}
	return q
}

// A form is the model with curves or without them, and its optima.
type form struct {
	s    *stats
	ends map[int]*choice // by rank
	most int             // the largest rank that is tried
}

// newForm returns a form without optima.
func (f *fitter) newForm(s *stats) *form {
	o := &form{s: s, ends: map[int]*choice{}}
	o.most = min(mostRank, int(s.some.count)-1, s.directions())
	if f.Rank != nil {
		o.most = *f.Rank
	}
	return o
}

// end returns the choice at a rank. Before the first optimisation at this rank it has no optimum.
func (o *form) end(rank int) *choice {
	if o.ends[rank] == nil {
		c := o.s.candidate(rank)
		o.ends[rank] = &c
	}
	return o.ends[rank]
}

// best returns the rank with the largest penalised evidence.
func (o *form) best() (rank int) {
	rank = -1
	for r, c := range o.ends {
		if rank < 0 || c.Penalised > o.ends[rank].Penalised || c.Penalised == o.ends[rank].Penalised && r < rank {
			rank = r
		}
	}
	return rank
}

// optimiseRanks optimises at ranks 1, 2, ... after rank 0; each adds a direction to the optimum before. A
// given rank ends the list, otherwise the ranks end where the penalised evidence falls.
func (f *fitter) optimiseRanks(ctx context.Context, o *form) error {
	for r := 1; r <= o.most; r++ {
		f.track.stage(Stages[1], r, o.most+1)
		next, err := o.s.addDirection(ctx, o.ends[r-1].q, o.ends[r-1].m.mean)
		if err != nil {
			return err
		}
		c := o.end(r)
		list := c.leanOptimiser(next)
		if err := optimiseAll(ctx, list); err != nil {
			return err
		}
		c.keepHigher(&list.best)
		if f.Rank == nil && c.Penalised < o.ends[o.best()].Penalised-patience {
			break
		}
	}
	return nil
}

// optimiseFirst optimises at rank 0 without curves; the simpler methods keep step with it. Where rows far out
// count less after that, they do so in both forms, but not in the simpler methods.
func (f *fitter) optimiseFirst(ctx context.Context) (*form, error) {
	o, beside := f.newForm(f.plain), f.baselineOptimisers()
	f.track.stage(Stages[1], 0, o.most+1)
	first := o.end(0)
	list := append(slices.Clip(beside), first.newOptimiser(f.plain.start()))
	if err := optimiseAll(ctx, list...); err != nil {
		return nil, err
	}
	first.keepHigher(&list[len(beside)].best)
	if err := f.exceedIntercepts(ctx, first, beside); err != nil {
		return nil, err
	}
	if f.reports() {
		if err := f.takeBaselines(ctx, beside); err != nil {
			return nil, err
		}
	}
	if err := f.compareLogarithm(ctx, first, beside); err != nil {
		return nil, err
	}
	f.first = first.q
	bounded, err := f.bound(ctx, first)
	if err != nil {
		return nil, err
	}
	if bounded != first {
		o = f.newForm(f.plain)
		*o.end(0) = *bounded
	}
	o.end(0).m.keepMean()
	return o, nil
}

// bound lowers the weights of far rows in both forms, where that predicts better, and then returns the choice
// of rank 0. Otherwise it returns the first choice.
func (f *fitter) bound(ctx context.Context, first *choice) (*choice, error) {
	bounded, err := f.boundRows(ctx, first)
	if err != nil || bounded == first {
		return first, err
	}
	f.plain = bounded.s
	if f.curved == nil {
		return bounded, nil
	}
	f.curved.forget()
	some := f.curved.some
	if f.curved, err = newBoundedStats(ctx, f.rows, f.curved.design, f.Workers, f.plain.bounds); err != nil {
		return nil, err
	}
	f.curved.some = some
	return bounded, f.curved.hold(ctx)
}

// extend optimises at a rank above the last one, if this rank has no optimum.
func (o *form) extend(ctx context.Context, rank int) error {
	if o.ends[rank] != nil {
		return nil
	}
	start, err := o.s.addDirection(ctx, o.ends[rank-1].q, o.ends[rank-1].m.mean)
	if err != nil {
		return err
	}
	c := o.end(rank).leanOptimiser(start)
	err = optimiseAll(ctx, c)
	o.end(rank).keepHigher(&c.best)
	return err
}

// optimiseCurves optimises with curves at the best rank without them and at the rank below. It goes on at
// the ranks next to the best one with curves until both neighbours of that one are done. Where curves do not
// help, the neighbour above is left out. A given rank is the only one.
func (f *fitter) optimiseCurves(ctx context.Context, plain, curved *form) error {
	best := plain.best()
	ranks := []int{best}
	if f.Rank != nil {
		ranks = []int{*f.Rank}
	} else if best > 0 {
		ranks = append(ranks, best-1)
	}
	for done := 0; len(ranks) > 0; done++ {
		f.track.stage(Stages[2], done, 0)
		if err := optimisePairs(ctx, plain, curved, ranks); err != nil {
			return err
		}
		ranks = nil
		if f.Rank != nil {
			break
		}
		at := curved.best()
		if at > 0 && curved.ends[at-1] == nil {
			ranks = append(ranks, at-1)
		}
		helps := curved.ends[at].Penalised > plain.ends[plain.best()].Penalised+curveHelp
		if helps && at < curved.most && curved.ends[at+1] == nil {
			ranks = append(ranks, at+1)
			if err := plain.extend(ctx, at+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// candidate returns a choice without an optimum.
func (s *stats) candidate(rank int) choice {
	return choice{Candidate: Candidate{Rank: rank, Curves: len(s.design.Curves) > 0}, s: s,
		optimum: optimum{evidence: math.Inf(-1)}}
}

// newOptimiser returns an optimiser of the form of the choice from q.
func (c *choice) newOptimiser(q *varianceComponents) *optimiser {
	return c.s.newOptimiser(c.s.some, q, iterations)
}

// leanOptimiser is newOptimiser where forms are compared alone.
func (c *choice) leanOptimiser(q *varianceComponents) *optimiser {
	o := c.newOptimiser(q)
	o.lean = true
	return o
}

// keepHigher keeps an optimum if it is higher than the optimum before.
func (c *choice) keepHigher(o *optimum) {
	if o.evidence > c.evidence {
		c.optimum = *o
		c.Evidence, c.Penalised = o.evidence, o.evidence-o.penalty-c.s.curvePenalty()
	}
}

// curvePenalty returns what all curves may gain by chance beyond the least gain of curves.
func (s *stats) curvePenalty() float64 {
	return max(float64(chanceNats*float64(len(s.design.Curves)))-curveNats, 0)
}

// optimisePairs optimises with curves at some ranks from the optima without them, and from there without
// curves again. So no form wins by its start. The ranks keep in step.
func optimisePairs(ctx context.Context, plain, curved *form, ranks []int) error {
	if err := restart(ctx, curved, plain, ranks); err != nil {
		return err
	}
	return restart(ctx, plain, curved, ranks)
}

// choose returns the best candidate with its variance components on all tasks, and sets all and baselines.
func (f *fitter) choose(ctx context.Context) (*choice, error) {
	f.chooseTasks()
	f.compared = [2]int{len(f.plain.some.own), len(f.plain.tasks.own)}
	for _, s := range []*stats{f.plain, f.curved} {
		if s == nil {
			continue
		}
		if err := s.hold(ctx); err != nil {
			return nil, err
		}
	}
	plain, err := f.optimiseFirst(ctx)
	if err != nil {
		return nil, err
	}
	forms := []*form{plain}
	if err := f.optimiseRanks(ctx, plain); err != nil {
		return nil, err
	}
	if f.curved != nil {
		forms = append(forms, f.newForm(f.curved))
		if err := f.optimiseCurves(ctx, forms[0], forms[1]); err != nil {
			return nil, err
		}
	}
	for _, o := range forms {
		for _, r := range slices.Sorted(maps.Keys(o.ends)) {
			c := *o.ends[r]
			c.m, c.z = nil, nil // matrices that nothing reads again
			f.all = append(f.all, c)
		}
	}
	var list []Candidate
	var places []int
	for i, c := range f.all {
		if f.Rank == nil || c.Rank == *f.Rank {
			list, places = append(list, c.Candidate), append(places, i)
		}
	}
	best := places[BestCandidate(list)]
	f.track.stage(Stages[3], 0, 0)
	c := &f.all[best]
	return c.finish(ctx, c.s.tasks)
}

// BestCandidate returns the place of the candidate whose penalised evidence decides for it, the first of
// equal ones. Between forms with curves and without, the later one needs 3 nats more. -1: the list is empty.
func BestCandidate(list []Candidate) int {
	best := -1
	for i, c := range list {
		margin := 0.0
		if best >= 0 && c.Curves != list[best].Curves {
			margin = curveNats
		}
		if best < 0 || c.Penalised > list[best].Penalised+margin {
			best = i
		}
	}
	return best
}

// finish returns the choice with a strength of its own for every linear column and every curve, with the
// common strength as prior, on tasks as optimiseAndPolish takes them. Axes are not features and keep the
// common strength.
func (c choice) finish(ctx context.Context, tasks *taskSet) (*choice, error) {
	s, q := c.s, *c.q
	if s.design.Axes == nil {
		q.group, q.sigma = make([]int, s.p), nil
		for j, column := range s.columns {
			if column.Kind == PeriodColumn { // which has no deviations
				continue
			}
			if j == 0 || column.Kind == LinearColumn || column.Index == 0 {
				q.sigma = append(q.sigma, c.q.sigma[column.Kind])
			}
			q.group[j] = len(q.sigma) - 1
		}
		q.common = slices.Clone(q.sigma)
	}
	end, err := s.optimiseAndPolish(ctx, tasks, &q, 3*iterations)
	if err != nil {
		return nil, err
	}
	c.optimum = *end
	return &c, nil
}

// optimiseAndPolish optimises on the tasks that optimisers use, and then a little on other ones, if these are
// wanted.
func (s *stats) optimiseAndPolish(ctx context.Context, tasks *taskSet, q *varianceComponents,
	most int) (*optimum, error) {
	end, err := s.optimise(ctx, s.some, q, most)
	if err == nil && tasks != s.some {
		converged := end.converged // on its tasks
		end, err = s.optimise(ctx, tasks, end.q, polish)
		if err == nil {
			end.converged = end.converged || converged
		}
	}
	return end, err
}
