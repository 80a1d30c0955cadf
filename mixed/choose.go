package mixed

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	mostRank   = 3   // largest rank that is compared
	patience   = 4.0 // nats below the best rank after which no larger one is tried
	curveNats  = 3.0 // least gain of curves, in nats
	curveHelp  = .01 // gain from which larger ranks are tried with curves: rounding does not decide
	climbCost  = 5e8 // multiplications per iteration on all tasks above which climbs use some of them
	climbTasks = 60  // least number of these

	polish       = 4                   // iterations on all tasks after a climb on some
	tauStart     = 0.22313016014842982 // exp(-1.5): constants have the same bits on all processors
	ridgeStart   = 0.3                 // standard deviation of the slopes whose main axis starts a direction
	leastLoading = 0.05
)

// A choice is a candidate with its strengths.
type choice struct {
	Candidate
	s *stats
	climbed
}

// start returns the strengths that a climb of rank 0 begins with.
func (s *stats) start() *strengths {
	q := &strengths{sigma: []float64{0.5, 0.2, 0.2}, group: make([]int, s.p), noise: 0.4,
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

// A form is the model with curves or without them, and the ends of its climbs.
type form struct {
	s    *stats
	ends map[int]*choice // by rank
	most int             // the largest rank that is tried
}

// newForm returns a form before its first climb.
func (f *fitter) newForm(s *stats) *form {
	o := &form{s: s, ends: map[int]*choice{}}
	o.most = min(mostRank, int(s.some.count)-1, s.directions())
	if f.Rank != nil {
		o.most = *f.Rank
	}
	return o
}

// end returns the end at a rank, which may be before its first climb.
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

// climbRanks climbs at rank 1, 2, ... after rank 0; each adds a direction to those before. A given rank ends
// the list, otherwise the ranks end where the penalised evidence falls.
func (f *fitter) climbRanks(ctx context.Context, o *form) error {
	for r := 1; r <= o.most; r++ {
		f.track.stage(Stages[1], r, o.most+1)
		next, err := o.s.addDirection(ctx, o.ends[r-1].q, o.ends[r-1].m.mean)
		if err != nil {
			return err
		}
		c := o.end(r)
		list := c.newClimb(next)
		if err := climbAll(ctx, list); err != nil {
			return err
		}
		c.take(&list.best)
		if f.Rank == nil && c.Penalised < o.ends[o.best()].Penalised-patience {
			break
		}
	}
	return nil
}

// climbFirst climbs at rank 0 without curves; the simpler methods climb in step. Where rows far out count
// less after that, they do so in both forms, but not in the simpler methods.
func (f *fitter) climbFirst(ctx context.Context) (*form, error) {
	o, beside := f.newForm(f.plain), f.baselineClimbs()
	f.track.stage(Stages[1], 0, o.most+1)
	first := o.end(0)
	list := append(slices.Clip(beside), first.newClimb(f.plain.start()))
	if err := climbAll(ctx, list...); err != nil {
		return nil, err
	}
	first.take(&list[len(beside)].best)
	if err := f.takeBaselines(ctx, beside); err != nil {
		return nil, err
	}
	if err := f.compareLogarithm(ctx, first, beside); err != nil {
		return nil, err
	}
	f.first = first.q
	bounded, err := f.bound(ctx, first)
	if err != nil || bounded == first {
		return o, err
	}
	o = f.newForm(f.plain)
	*o.end(0) = *bounded
	return o, nil
}

// bound lets rows far out count less in both forms, where that predicts better, and returns the choice of
// rank 0 then; otherwise the first choice.
func (f *fitter) bound(ctx context.Context, first *choice) (*choice, error) {
	bounded, err := f.boundRows(ctx, first)
	if err != nil || bounded == first {
		return first, err
	}
	f.plain = bounded.s
	if f.curved == nil {
		return bounded, nil
	}
	some := f.curved.some
	if f.curved, err = newBoundedStats(ctx, f.rows, f.curved.design, f.Workers, f.plain.bounds); err != nil {
		return nil, err
	}
	f.curved.some = some
	return bounded, f.curved.holdSome(ctx)
}

// extend climbs at a rank above the last one, if this rank has no end.
func (o *form) extend(ctx context.Context, rank int) error {
	if o.ends[rank] != nil {
		return nil
	}
	start, err := o.s.addDirection(ctx, o.ends[rank-1].q, o.ends[rank-1].m.mean)
	if err != nil {
		return err
	}
	c := o.end(rank).newClimb(start)
	err = climbAll(ctx, c)
	o.end(rank).take(&c.best)
	return err
}

// climbCurves climbs with curves at the best rank without them and at the rank before, and then at the ranks
// next to the best one with curves until this one has both neighbours, or those of less rank alone where
// curves do not help. A given rank is the only one.
func (f *fitter) climbCurves(ctx context.Context, plain, curved *form) error {
	best := plain.best()
	ranks := []int{best}
	if f.Rank != nil {
		ranks = []int{*f.Rank}
	} else if best > 0 {
		ranks = append(ranks, best-1)
	}
	for done := 0; len(ranks) > 0; done++ {
		f.track.stage(Stages[2], done, 0)
		if err := climbPairs(ctx, plain, curved, ranks); err != nil {
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

// candidate returns a choice before its first climb.
func (s *stats) candidate(rank int) choice {
	return choice{Candidate: Candidate{Rank: rank, Curves: len(s.design.Curves) > 0}, s: s,
		climbed: climbed{evidence: math.Inf(-1)}}
}

// newClimb returns a climb to the strengths of the choice.
func (c *choice) newClimb(q *strengths) *climb { return c.s.newClimb(c.s.some, q, iterations) }

// take keeps the end of a climb if it is higher than the one before.
func (c *choice) take(end *climbed) {
	if end.evidence > c.evidence {
		c.climbed = *end
		c.Evidence, c.Penalised = end.evidence, end.evidence-c.s.rankPenalty(c.s.some, c.Rank)
	}
}

// strengthsOf converts strengths between the forms. It adds curves of some strength, or so weak that they
// change nothing yet, or removes them.
func (s *stats) strengthsOf(q *strengths, weak bool) *strengths {
	out, tiny := s.start(), math.Sqrt(q.noise/s.tasks.rows)
	if weak {
		out.sigma[curveGroup] = min(out.sigma[curveGroup], tiny)
		for k := range out.tau {
			out.tau[k] = max(tiny, leastTau)
		}
	}
	copy(out.sigma, q.sigma[:curveGroup])
	out.tau[0], out.rank, out.w, out.noise = q.tau[0], q.rank, q.w, q.noise
	return out
}

// climbPairs climbs with curves at some ranks from the ends without them, and from there without curves
// again, so that no form wins by its start. Where the end with curves is lower, which is then no top of the
// form that contains the other one, it climbs once more from curves that change nothing yet. The ranks climb
// in step.
func climbPairs(ctx context.Context, plain, curved *form, ranks []int) error {
	if err := climbFrom(ctx, curved, plain, ranks, false); err != nil {
		return err
	}
	lower := func(r int) bool { return curved.end(r).evidence < plain.end(r).evidence }
	for range 2 {
		low := slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return !lower(r) })
		if err := climbFrom(ctx, curved, plain, low, true); err != nil {
			return err
		}
		if err := climbFrom(ctx, plain, curved, ranks, true); err != nil {
			return err
		}
		ranks = slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return !lower(r) })
	}
	return nil
}

// climbFrom climbs with one form from the ends of the other one at some ranks.
func climbFrom(ctx context.Context, to, from *form, ranks []int, weak bool) error {
	var list []*climb
	for _, r := range ranks {
		list = append(list, to.end(r).newClimb(to.s.strengthsOf(from.end(r).q, weak)))
	}
	if len(list) == 0 {
		return nil
	}
	err := climbAll(ctx, list...)
	for i, r := range ranks {
		to.end(r).take(&list[i].best)
	}
	return err
}

// rankPenalty returns half the number of free loadings of a rank times the logarithm of the number of tasks.
func (s *stats) rankPenalty(tasks *taskSet, rank int) float64 {
	free := float64(s.loadings()*rank - rank*(rank-1)/2)
	return free / 2 * math.Log(max(tasks.count, 2))
}

// loadings returns the number of loadings of a direction, those off the axes of a design included.
func (s *stats) loadings() int {
	if s.design.Axes == nil {
		return s.directions()
	}
	n := 1
	for _, scale := range s.design.Scale {
		if scale > 0 {
			n++
		}
	}
	return n
}

// directions returns the number of columns that loadings act on: the constant and the features that vary.
func (s *stats) directions() (n int) {
	for _, a := range s.active[:s.linear] {
		if a {
			n++
		}
	}
	return n
}

// climbTasks returns the tasks of climbs of forms with at most that number of columns: all, or some where an
// iteration would be expensive, evenly spaced by the means of their targets. Several owners take all: the
// totals of some of the tasks would disclose those of the others.
func (s *stats) climbTasks(width int) *taskSet {
	if s.rows.sums.Owners() > 1 {
		return s.tasks
	}
	cost, p := 0.0, float64(width)
	for _, k := range s.tasks.own {
		cost += min(float64(len(s.rows.of(k))), p) * p * p * 3.5
	}
	n := len(s.tasks.own)
	keep := max(int(float64(n)*climbCost/cost), climbTasks)
	if keep >= n {
		return s.tasks
	}
	all, taken := s.byLevel(), map[int]bool{}
	for i := range keep {
		taken[all[i*n/keep]] = true
	}
	set := &taskSet{count: float64(keep)}
	for _, k := range s.tasks.own {
		if taken[k] {
			set.own = append(set.own, k)
			set.rows += float64(len(s.rows.of(k)))
		}
	}
	return set
}

// byLevel returns the tasks of this owner by the means of their targets, which count as equal where rounding
// alone may make them differ, then by the sums of squares of their standardised features: an order that does
// not depend on units, names, and places of rows, tasks and columns.
func (s *stats) byLevel() []int {
	const parts = 1e9 // of a deviation, to which means are compared
	r, read, x := s.rows, s.rows.reader(), make([]float64, len(s.design.Scale))
	level, squares := make([]float64, len(r.names)), make([]float64, len(r.names))
	for _, k := range s.tasks.own {
		level[k] = math.Round(parts * r.meanOf(k))
		for _, i := range r.of(k) {
			s.design.standardise(x, read(int(i)), nil)
			squares[k] += floats.Dot(x, x)
		}
	}
	out := slices.Clone(s.tasks.own)
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(level[a], level[b]), cmp.Compare(squares[a], squares[b]))
	})
	return out
}

// addDirection returns strengths with one more column of loadings: half the leading principal axis of ridge
// deviations from a mean, off the columns before.
func (s *stats) addDirection(ctx context.Context, q *strengths, mean []float64) (*strengths, error) {
	l, ridge := s.linear, *q
	ridge.sigma, ridge.rank, ridge.w = []float64{q.sigma[0] + 0.05, ridgeStart, 0}, 0, nil
	t := s.solveOwn(ctx, s.prior(&ridge), s.some, l*l, func(w *worker, _ int, part []float64) {
		w.solver.Score(w.u, mean)
		w.solver.Deviation(w.v, w.u)
		blas64.Syr(1, dense.Vector(w.v[:l]), dense.Symmetric(l, part))
	})
	t.order = l
	var out *strengths
	w := make([]float64, l*(q.rank+1))
	err := s.rows.decide(ctx, "slopes b b'", w, func() {
		out = q.withDirection(t.v, l, s.some.count)
		copy(w, out.w)
	}, t)
	if err != nil {
		return nil, err
	}
	copy(out.w, w)
	s.bar(out.w)
	return out, nil
}

// withDirection returns strengths with one more column of loadings of length l, from the sum of b b' over so
// many tasks.
func (q *strengths) withDirection(sum []float64, l int, tasks float64) *strengths {
	dense.Mirror(l, sum)
	axis, length := leading(sum, l, orthonormal(q.w, l, q.rank))
	floats.Scale(max(math.Sqrt(length/tasks)/2, leastLoading), axis)
	out := q.clone()
	out.rank++
	out.w = append(out.w, axis...)
	for g, sigma := range out.sigma {
		if sigma > 0 {
			out.sigma[g] = max(sigma, 0.02)
		}
	}
	return out
}

// orthonormal returns a basis of the r columns of w, l entries each, one after the other.
func orthonormal(w []float64, l, r int) []float64 {
	out := make([]float64, 0, l*r)
	for a := range r {
		out = append(out, off(w[a*l:][:l], out)...)
	}
	return out
}

// off returns the unit vector along the part of v that is orthogonal to orthonormal columns.
func off(v, columns []float64) []float64 {
	out := slices.Clone(v)
	for l := len(v); len(columns) > 0; columns = columns[l:] {
		floats.AddScaled(out, -floats.Dot(out, columns[:l]), columns[:l])
	}
	if n := floats.Norm(out, 2); n > 0 {
		floats.Scale(1/n, out)
	} else {
		out[0] = 1
	}
	return out
}

// leading returns the leading eigenvector of the symmetric l x l matrix a off orthonormal columns, and its
// eigenvalue, by power iteration from the row of the largest diagonal entry: near enough to begin a climb.
func leading(a []float64, l int, columns []float64) (axis []float64, value float64) {
	best := 0
	for i := range l {
		if a[i*l+i] > a[best*l+best] {
			best = i
		}
	}
	next := slices.Clone(a[best*l:][:l])
	for range 100 {
		axis = off(next, columns)
		blas64.Symv(1, dense.Symmetric(l, a), dense.Vector(axis), 0, dense.Vector(next))
	}
	return axis, max(floats.Dot(axis, next), 0)
}

// chooseTasks sets the tasks of climbs: the same ones for both forms.
func (f *fitter) chooseTasks() {
	width := f.plain.p
	if f.curved != nil {
		width = max(width, f.curved.p)
	}
	f.plain.some = f.plain.climbTasks(width)
	if f.curved != nil {
		f.curved.some = f.plain.some
	}
}

// choose returns the best candidate with its strengths on all tasks, and sets all and baselines.
func (f *fitter) choose(ctx context.Context) (*choice, error) {
	f.chooseTasks()
	f.compared = [2]int{len(f.plain.some.own), len(f.plain.tasks.own)}
	for _, s := range []*stats{f.plain, f.curved} {
		if s == nil {
			continue
		}
		if err := s.holdSome(ctx); err != nil {
			return nil, err
		}
	}
	plain, err := f.climbFirst(ctx)
	if err != nil {
		return nil, err
	}
	forms := []*form{plain}
	if err := f.climbRanks(ctx, plain); err != nil {
		return nil, err
	}
	if f.curved != nil {
		forms = append(forms, f.newForm(f.curved))
		if err := f.climbCurves(ctx, forms[0], forms[1]); err != nil {
			return nil, err
		}
	}
	for _, o := range forms {
		for _, r := range slices.Sorted(maps.Keys(o.ends)) {
			f.all = append(f.all, *o.ends[r])
		}
	}
	best := -1
	for i, c := range f.all {
		if f.Rank != nil && c.Rank != *f.Rank {
			continue
		}
		margin := 0.0
		if best >= 0 && c.Curves != f.all[best].Curves {
			margin = curveNats
		}
		if best < 0 || c.Penalised > f.all[best].Penalised+margin {
			best = i
		}
	}
	f.track.stage(Stages[3], 0, 0)
	return f.all[best].finish(ctx)
}

// finish returns the choice with a strength of its own for every linear column and every curve, with the
// common strength as prior, on all tasks. Axes, which are no features, keep the common strength.
func (c choice) finish(ctx context.Context) (*choice, error) {
	s, q := c.s, *c.q
	if s.design.Axes == nil {
		q.group, q.sigma = make([]int, s.p), nil
		for j, column := range s.columns {
			if j == 0 || column.Kind == LinearColumn || column.Index == 0 {
				q.sigma = append(q.sigma, c.q.sigma[column.Kind])
			}
			q.group[j] = len(q.sigma) - 1
		}
		q.common = slices.Clone(q.sigma)
	}
	end, err := s.climbToAll(ctx, &q, 3*iterations)
	if err != nil {
		return nil, err
	}
	c.climbed = *end
	return &c, nil
}

// climbToAll climbs on the tasks of climbs, and then a little on all tasks where these are more.
func (s *stats) climbToAll(ctx context.Context, q *strengths, most int) (*climbed, error) {
	end, err := s.climb(ctx, s.some, q, most)
	if err == nil && s.some != s.tasks {
		converged := end.converged // on its tasks
		end, err = s.climb(ctx, s.tasks, end.q, polish)
		if err == nil {
			end.converged = end.converged || converged
		}
	}
	return end, err
}
