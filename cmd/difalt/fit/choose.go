package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

const (
	mostRank   = 3   // largest rank that is compared
	patience   = 4.0 // nats below the best rank after which no larger one is tried
	curveNats  = 3.0 // least gain of curves, in nats
	climbCost  = 5e8 // multiplications per iteration on all tasks above which climbs use some of them
	climbTasks = 60  // least number of these

	polish       = 4   // iterations on all tasks after a climb on some
	ridgeStart   = 0.3 // standard deviation of the slopes whose main axis starts a direction
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
	q := &strengths{sigma: []float64{0.5, 0.2, 0.2}, group: make([]int, s.p), noise: 0.4, tau: make([]float64, 1+len(s.design.Curves))}
	for j, c := range s.columns {
		q.group[j] = int(c.Kind)
	}
	if len(s.design.Curves) == 0 {
		q.sigma[curveGroup] = 0
	}
	for k := range q.tau {
		q.tau[k] = math.Exp(-1.5)
	}
	return q
}

// ranks climbs at rank 0, 1, ... and returns every end; from the second on directions are added to those
// before. A given rank ends the list, otherwise ranks end where the penalised evidence falls.
func (s *stats) ranks(ctx context.Context, given *int, progress func(rank int)) (list []choice, err error) {
	tasks := s.climbTasks()
	most := min(mostRank, len(tasks)-1, s.directions())
	if given != nil {
		most = *given
	}
	q, best := s.start(), math.Inf(-1)
	for r := 0; r <= most; r++ {
		progress(r)
		if r > 0 {
			if q, err = s.addDirection(ctx, tasks, list[r-1].q); err != nil {
				return nil, err
			}
		}
		c := s.candidate(r)
		if err := c.climb(ctx, q); err != nil {
			return nil, err
		}
		list = append(list, c)
		best = max(best, c.Penalised)
		if given == nil && c.Penalised < best-patience {
			break
		}
	}
	return list, nil
}

// candidate returns a choice before its first climb.
func (s *stats) candidate(rank int) choice {
	return choice{Candidate: Candidate{Rank: rank, Curves: len(s.design.Curves) > 0}, s: s, climbed: climbed{evidence: math.Inf(-1)}}
}

// climb climbs from strengths and keeps the end if it is better than the one before.
func (c *choice) climb(ctx context.Context, q *strengths) error {
	tasks := c.s.climbTasks()
	end, err := c.s.climb(ctx, tasks, q, iterations)
	if err == nil && end.evidence > c.evidence {
		c.climbed = *end
		c.Evidence, c.Penalised = end.evidence, end.evidence-c.s.rankPenalty(tasks, c.Rank)
	}
	return err
}

// strengthsOf returns the strengths of the other form: of one without curves with curves so weak that they
// change nothing yet, of one with curves without them.
func (s *stats) strengthsOf(q *strengths) *strengths {
	out, weak := s.start(), math.Sqrt(q.noise/s.rowsTotal(s.tasks))
	if out.sigma[curveGroup] > 0 {
		out.sigma[curveGroup] = weak
	}
	for k := range out.tau {
		out.tau[k] = max(weak, leastTau)
	}
	copy(out.sigma, q.sigma[:curveGroup])
	out.tau[0], out.rank, out.w, out.noise = q.tau[0], q.rank, q.w, q.noise
	return out
}

// climbAgain climbs every rank with curves once more from the end of the other form, so that no form wins by
// its start: with curves where the end without them is higher, which is then no top of the form that contains
// the other one, and always without curves. It returns the choices without curves.
func climbAgain(ctx context.Context, plain, curved []choice) ([]choice, error) {
	for r := range curved {
		if r == len(plain) {
			plain = append(plain, plain[0].s.candidate(r))
		}
		for range 2 {
			if curved[r].evidence < plain[r].evidence {
				if err := curved[r].climb(ctx, curved[r].s.strengthsOf(plain[r].q)); err != nil {
					return nil, err
				}
			}
			if err := plain[r].climb(ctx, plain[r].s.strengthsOf(curved[r].q)); err != nil {
				return nil, err
			}
			if curved[r].evidence >= plain[r].evidence {
				break
			}
		}
	}
	return plain, nil
}

// rankPenalty returns half the number of free loadings of a rank times the logarithm of the number of tasks.
func (s *stats) rankPenalty(tasks []int, rank int) float64 {
	free := float64(s.directions()*rank - rank*(rank-1)/2)
	return free / 2 * math.Log(max(float64(len(tasks)), 2))
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

// climbTasks returns the tasks of the climbs: all, or evenly spaced ones where an iteration would be
// expensive.
func (s *stats) climbTasks() []int {
	cost, p := 0.0, float64(max(s.p, s.wide))
	for _, k := range s.tasks {
		cost += min(float64(len(s.rows.of(k))), p) * p * p * 3.5
	}
	n := len(s.tasks)
	keep := max(int(float64(n)*climbCost/cost), climbTasks)
	if keep >= n {
		return s.tasks
	}
	list := make([]int, keep)
	for i := range list {
		list[i] = s.tasks[i*n/keep]
	}
	return list
}

// addDirection returns q with one more column of loadings: half the leading principal axis of ridge
// deviations, off the columns before.
func (s *stats) addDirection(ctx context.Context, tasks []int, q *strengths) (*strengths, error) {
	l := s.linear
	ridge := &strengths{sigma: []float64{q.sigma[0] + 0.05, ridgeStart, 0}, group: q.group, noise: q.noise, tau: q.tau}
	m, err := s.moments(ctx, tasks, ridge)
	if err != nil {
		return nil, err
	}
	sum, err := s.solve(ctx, m.prior, tasks, l*l, func(w *worker, _ int, part []float64) {
		w.solver.Score(w.u, m.mean)
		w.solver.Deviation(w.v, w.u)
		blas64.Syr(1, dense.Vector(w.v[:l]), dense.Symmetric(l, part))
	})
	if err != nil {
		return nil, err
	}
	dense.Mirror(l, sum)
	axis, length := leading(sum, l, orthonormal(q.w, l, q.rank))
	floats.Scale(max(math.Sqrt(length/float64(len(tasks)))/2, leastLoading), axis)
	out := *q
	out.rank++
	out.w = append(append([]float64(nil), q.w...), axis...)
	out.sigma = slices.Clone(q.sigma)
	for g, sigma := range out.sigma {
		if sigma > 0 {
			out.sigma[g] = max(sigma, 0.02)
		}
	}
	return &out, nil
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

// choose returns the best candidate with its strengths on all tasks, and sets all.
func (f *fitter) choose(ctx context.Context) (*choice, error) {
	if f.curved != nil {
		f.plain.wide = f.curved.p // evidences are of the same tasks
	}
	f.compared = len(f.plain.climbTasks())
	var lists [2][]choice
	for i, s := range []*stats{f.plain, f.curved} {
		if s == nil {
			continue
		}
		var err error
		lists[i], err = s.ranks(ctx, f.Rank, func(rank int) { f.progress(Stages[1+i], float64(rank)/(mostRank+1)) })
		if err != nil {
			return nil, err
		}
	}
	plain, err := climbAgain(ctx, lists[0], lists[1])
	if err != nil {
		return nil, err
	}
	f.all = slices.Concat(plain, lists[1])
	f.plain.wide = 0
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
	return f.all[best].finish(ctx)
}

// finish returns the choice with a strength of its own for every linear column and every curve, with the
// common strength as prior, on all tasks.
func (c choice) finish(ctx context.Context) (*choice, error) {
	s, q := c.s, *c.q
	q.group, q.sigma = make([]int, s.p), nil
	for j, column := range s.columns {
		if j == 0 || column.Kind == mixed.Linear || column.Index == 0 {
			q.sigma = append(q.sigma, c.q.sigma[column.Kind])
		}
		q.group[j] = len(q.sigma) - 1
	}
	q.common = slices.Clone(q.sigma)
	tasks := s.climbTasks()
	end, err := s.climb(ctx, tasks, &q, 3*iterations)
	if err == nil && len(tasks) < len(s.tasks) {
		converged := end.converged // on its tasks
		end, err = s.climb(ctx, s.tasks, end.q, polish)
		if err == nil {
			end.converged = end.converged || converged
		}
	}
	if err != nil {
		return nil, err
	}
	c.climbed = *end
	return &c, nil
}
