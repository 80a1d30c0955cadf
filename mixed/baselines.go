package mixed

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/difalt/difalt/internal/rounded"
)

// A method predicts by the posterior mean of every task's coefficients; the mean of the task where s is nil.
type method struct {
	name  string
	ridge float64
	s     *stats
	m     *meanPosterior
	q     *varianceComponents

	pooled bool // tasks have no deviations
}

// curvedIterations is the number of iterations of a baseline with curves. The other optimisers of rank 0 take
// as many, so that these cost no further sum. Its error is then within 1 % of the error at the end in 19 of
// 20 tables.
const curvedIterations = 6

// A baseline is a special case of the model with strengths of the largest evidence: without deviations, with
// deviations of the intercept, or with deviations and without a mean.
type baseline struct {
	name   string
	sigma  [groups]float64
	mean   bool
	curves bool
}

// pooled reports whether tasks have no deviations.
func (b *baseline) pooled() bool { return slices.Max(b.sigma[:]) == 0 }

// simpler returns the baselines, with curves only where the model may have curves. Where no report is wanted,
// or another fit has reported their errors, it returns the one that rank 0 must exceed.
func (f *fitter) simpler() []baseline {
	list := []baseline{
		{Pooled, [groups]float64{}, true, false}, {Intercepts, [groups]float64{0.5}, true, false},
		{Separate, [groups]float64{0.5, 0.3}, false, false},
	}
	if !f.reports() {
		return list[1:2]
	}
	if f.curved != nil {
		list = append(list, baseline{PooledCurves, [groups]float64{}, true, true},
			baseline{InterceptsCurves, [groups]float64{0.5}, true, true})
	}
	return list
}

// reports reports whether the errors of baselines are wanted.
func (f *fitter) reports() bool { return !f.bare && f.form == nil }

// baselineOptimisers returns the optimisers of the baselines and, where it is to be compared, of rank 0 with
// the logarithm of the target.
func (f *fitter) baselineOptimisers() (list []*optimiser) {
	for _, b := range f.simpler() {
		s, most := f.plain, iterations
		if b.curves {
			s, most = f.curved, curvedIterations
		}
		q := s.start()
		q.sigma = slices.Clone(b.sigma[:])
		if !b.mean {
			q.tau[0], q.fixed = leastTau, true
		}
		c := s.newOptimiser(s.some, q, most)
		c.lean = !b.pooled() || !f.plain.canLeaveOut()
		list = append(list, c)
	}
	if s := f.plain; f.rows.compares {
		list = append(list, s.withLogarithm().newOptimiser(s.some, s.start(), iterations))
	}
	return list
}

// Starts of exceedIntercepts at most, and the factor of the slopes' strength from one to the next.
const (
	weakStarts = 6
	weaker     = 0.5
)

// exceedIntercepts starts rank 0 again where its optimum is clearly lower than the optimum of ridge with
// intercepts, which it contains: slopes of strength 0. Slopes of many columns can stand for the intercepts of
// tasks. From there the steps to stronger intercepts are so short that the optimiser ends. The new start has
// the intercepts of the simpler form, and ever weaker slopes.
func (f *fitter) exceedIntercepts(ctx context.Context, first *choice, beside []*optimiser) error {
	at := slices.IndexFunc(f.simpler(), func(b baseline) bool { return b.name == Intercepts })
	simpler, start := &beside[at].best, first.q.clone()
	start.sigma[constantGroup] = simpler.q.sigma[constantGroup]
	for k := 0; k < weakStarts && first.evidence < simpler.evidence-nearlyFlat; k++ {
		c := first.newOptimiser(start.clone())
		if err := optimiseAll(ctx, c); err != nil {
			return err
		}
		first.keepHigher(&c.best)
		start.sigma[linearGroup] *= weaker
	}
	return nil
}

// takeBaselines sets the methods of the baselines from the ends of their optimisers.
func (f *fitter) takeBaselines(ctx context.Context, optimisers []*optimiser) error {
	var list []*evaluation
	for _, c := range optimisers[:len(f.simpler())] {
		list = append(list, &evaluation{s: c.s, tasks: c.s.tasks, q: c.best.q, m: c.best.m})
		c.best.m = nil
	}
	if f.plain.some != f.plain.tasks && len(list) > 0 {
		if err := evaluateEvidence(ctx, list, nil, nil); err != nil {
			return err
		}
	}
	for i, b := range f.simpler() {
		e := list[i]
		if e.err != nil {
			return e.err
		}
		deviation := e.q.tau[0]
		if !b.mean {
			deviation = e.q.sigma[linearGroup]
		}
		f.baselines = append(f.baselines, method{
			name: b.name, ridge: e.q.noise / (deviation * deviation), s: e.s, m: e.m, q: e.q,
			pooled: b.pooled(),
		})
		if optimisers[i].lean {
			e.m.keepMean()
		}
	}
	f.baselines = append(f.baselines, method{name: TaskMean})
	return nil
}

// compareLogarithm sets lessByLog: the relative decrease of the root mean square error if a positive target
// is replaced by its logarithm, and 0 where the target is fitted exactly. The error is of all rows at rank 0
// without curves, each predicted without itself, in the unit of the target. The logarithm stands at the end
// of the last optimiser. It takes one sum.
func (f *fitter) compareLogarithm(ctx context.Context, plain *choice, optimisers []*optimiser) error {
	if !f.rows.compares {
		return nil
	}
	last := optimisers[len(optimisers)-1]
	log := last.s.candidate(0)
	log.optimum = last.best
	totals, gain := []*total{plain.errorsOfTargets(ctx), log.errorsOfTargets(ctx)}, make([]float64, 1)
	const name = "squared errors of rows without the row, of the target and by its logarithm"
	err := f.rows.tryThen(ctx, name, gain, func() {
		if plain.q.exact() || totals[0].err != nil || totals[1].err != nil { // the latter are out of range
			return
		}
		gain[0] = 1 - math.Sqrt(totals[1].v[0]/max(totals[0].v[0], 1e-300))
	}, totals...)
	f.lessByLog = gain[0]
	return err
}

// A scorer predicts the rows of tasks with several methods.
type scorer struct {
	f            *fitter
	methods      []method
	design       *Design  // the widest without periods; it begins with every other design
	first        *Design  // of the first method, if it has periods; otherwise nil
	rows         *rowList // with held-out ones
	center, unit float64  // of the target itself
	farthest     float64  // error that counts
	idle         sync.Pool
	cut          atomic.Bool // an error was so large that it counts as less
}

// A scratch holds what a goroutine needs to predict.
type scratch struct {
	read         *reader
	row, first   []float64   // of the two designs
	coefficients [][]float64 // of every method
	errors       taskErrors
}

// scorerOf returns a scorer of methods. The first one is the model.
func (f *fitter) scorerOf(methods []method) *scorer {
	s := &scorer{f: f, methods: methods, center: f.rows.raw.Center, unit: f.rows.raw.Scale, design: f.plain.design}
	if d := methods[0].s.design; d.Periods != nil {
		s.first = d
	}
	s.rows, s.farthest = f.rows.whole, farthestAlone
	if f.rows.guard != nil {
		s.farthest = farthestError
	}
	for _, m := range s.methods {
		if m.s != nil && m.s.design != s.first && m.s.p > s.design.Width() {
			s.design = m.s.design
		}
	}
	s.idle.New = func() any {
		w := &scratch{read: f.rows.newReader(), row: make([]float64, s.design.Width())}
		w.first = w.row
		if s.first != nil {
			w.first = make([]float64, s.first.Width())
		}
		for _, m := range s.methods {
			n := 1
			if m.s != nil {
				n = m.s.p
			}
			w.coefficients = append(w.coefficients, make([]float64, n))
		}
		w.errors = make(taskErrors, len(s.methods))
		return w
	}
	return s
}

// task calls f with the errors of one task, which are valid until it returns.
func (s *scorer) task(ctx context.Context, k int, f func(taskErrors)) error {
	w := s.idle.Get().(*scratch)
	defer s.idle.Put(w)
	clear(w.errors)
	for i := range s.methods {
		m, c := &s.methods[i], w.coefficients[i]
		switch {
		case i == 0:
			copy(c, s.f.theta[k*len(c):])
		case m.s == nil:
			c[0] = s.f.rows.meanOf(k)
		default:
			if err := m.s.coefficients(ctx, m.m, k, c, nil); err != nil {
				return err
			}
		}
	}
	for list := range slices.Chunk(s.rows.of(k), batch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.read.each(list, func(at int, x []float64) { s.row(w, int(list[at]), x) })
	}
	f(w.errors)
	return nil
}

// row adds the errors of a row with features x.
func (s *scorer) row(w *scratch, row int, x []float64) {
	set := 0
	if !s.f.in.trains(row) {
		set = 1
	} else if !s.f.rows.counts(row) {
		return
	}
	s.design.Apply(w.row, x)
	if s.first != nil {
		s.first.Apply(w.first, x)
	}
	target := (s.f.in.Table.Y(row) - s.center) / s.unit
	for i, c := range w.coefficients {
		columns := w.row
		if i == 0 {
			columns = w.first
		}
		z := rounded.Dot(columns[:len(c)], c)
		y := (s.f.rows.target.Restore(z) - s.center) / s.unit
		w.errors[i][set].count(target, y, s.farthest)
		if s.f.rows.target.limits(z) || !(math.Abs(target-y) <= farthestError) {
			s.cut.Store(true)
		}
	}
}

// meanOf returns the weighted mean of the standardised targets of a task's training rows.
func (r *rows) meanOf(task int) float64 {
	sum, weights := 0.0, 0.0
	for _, i := range r.of(task) {
		w := r.weight(int(i))
		sum += float64(w * r.standardized(int(i), r.target.Log))
		weights += w
	}
	return sum / max(weights, 1e-300)
}

// scoreUnit returns the unit of a number of addTo in a total.
func scoreUnit(i int) float64 {
	switch i % scoreSize {
	case 1, 6, 11: // squares
		return 1 << 30
	case 12: // squares of sums of squares
		return 1 << 60
	}
	return 1
}

// score sets the coefficients of all tasks and, but for a fit to all rows, the report's scores and verdict.
func (f *fitter) score(ctx context.Context, report *Report, chosen *choice) error {
	var err error
	f.theta, err = chosen.coefficients(ctx)
	if f.form != nil {
		return err
	}
	s := f.scorerOf(append([]method{{name: Ours, s: chosen.s, m: chosen.m}}, f.baselines...))
	sums := make([]float64, len(s.methods)*scoreSize)
	if err == nil {
		sums, err = s.sum(ctx)
	}
	t := &total{v: sums, err: err, grows: scoreGrows, unit: scoreUnit}
	if err = f.rows.add(ctx, "errors of methods", t); err != nil {
		return err
	}
	for _, m := range s.methods {
		report.Scores = append(report.Scores, Score{Method: m.name, Ridge: m.ridge})
	}
	report.Verdict = summarise(report.Scores, sums, s.unit)
	if f.rows.guard != nil {
		for i := range report.Scores {
			report.Scores[i].Train.MAE, report.Scores[i].Test.MAE = math.NaN(), math.NaN()
		}
	}
	report.scorer = s
	report.tasks = func(yield func(TaskScore) bool) {
		for k, name := range f.in.Table.Tasks() {
			more := true
			err := s.task(context.Background(), k, func(errors taskErrors) { more = yield(errors.score(name, s.unit)) })
			if err != nil || !more { // it was computed before
				return
			}
		}
	}
	return nil
}

// sum returns the sums of the errors of all tasks of this owner that are in totals. Where a task is out of
// range they are 0.
func (s *scorer) sum(ctx context.Context) ([]float64, error) {
	size := len(s.methods) * scoreSize
	g := s.f.rows.guard
	sums, err := s.f.plain.reduceOwn(ctx, s.rows.list, size, func(_ *worker, k int, part []float64) error {
		return s.task(ctx, k, func(errors taskErrors) {
			if g.scores(k) {
				errors.addTo(part)
			}
		})
	})
	switch {
	case err != nil:
		sums = make([]float64, size)
	case g != nil && s.cut.Load():
		sums = make([]float64, size)
		g.note(true, "The errors of this owner are in no total: some are larger than %.0e deviations.", farthestError)
	case g != nil: // a sum of absolute errors bends at every row, and shows its target
		for i := range s.methods {
			sums[i*scoreSize+2], sums[i*scoreSize+7] = 0, 0
		}
		g.roundErrors(sums)
	}
	return sums, err
}
