package fit

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A method predicts by the posterior mean of every task's coefficients; the mean of the task where s is nil.
type method struct {
	name  string
	ridge float64
	s     *stats
	m     *moments
}

// baselines are special cases of the model without curves, with strengths of the largest evidence: no
// deviations, deviations of the intercept, and deviations without a mean.
func (f *fitter) baselines(ctx context.Context) (list []method, err error) {
	s := f.plain
	for _, b := range []struct {
		name  string
		sigma []float64
		mean  bool
	}{{Pooled, make([]float64, groups), true}, {Intercepts, []float64{0.5, 0, 0}, true}, {Separate, []float64{0.5, 0.3, 0}, false}} {
		q := s.start()
		q.sigma = b.sigma
		if !b.mean {
			q.tau[0], q.fixed = leastTau, true
		}
		end, err := s.climb(ctx, s.climbTasks(), q, iterations)
		if err != nil {
			return nil, err
		}
		m, err := s.moments(ctx, s.tasks, end.q)
		if err != nil {
			return nil, err
		}
		strength := end.q.tau[0]
		if !b.mean {
			strength = end.q.sigma[linearGroup]
		}
		list = append(list, method{b.name, end.q.noise / (strength * strength), s, m})
	}
	return append(list, method{name: TaskMean}), nil
}

// A scorer predicts the rows of tasks with several methods.
type scorer struct {
	f            *fitter
	methods      []method
	order        []int32 // all rows by task
	start        []int
	center, unit float64 // of the target itself
}

// task returns the errors of one task and, in theta, the first method's coefficients.
func (s *scorer) task(k int, theta []float64) (TaskErrors, error) {
	out := make(TaskErrors, len(s.methods))
	x := make([]float64, len(s.f.t.Features()))
	for i := range s.methods {
		m := &s.methods[i]
		coefficients, row := theta, []float64{1}
		if m.s == nil {
			coefficients = []float64{s.mean(k)}
		} else {
			if row = make([]float64, m.s.p); i > 0 {
				coefficients = make([]float64, m.s.p)
			}
			if err := m.s.coefficients(m.m, k, coefficients, nil); err != nil {
				return nil, err
			}
		}
		for _, at := range s.order[s.start[k]:s.start[k+1]] {
			r := int(at)
			if m.s != nil {
				m.s.design.Apply(row, s.f.t.X(x, r))
			}
			set := 0
			if !s.f.trains(r) {
				set = 1
			}
			y := s.f.rows.target.Restore(floats.Dot(row, coefficients))
			out[i][set].Add((s.f.t.Y(r)-s.center)/s.unit, (y-s.center)/s.unit)
		}
	}
	return out, nil
}

// mean returns the weighted mean of the standardised targets of a task's training rows.
func (s *scorer) mean(k int) float64 {
	sum, weights := 0.0, 0.0
	for _, i := range s.f.rows.of(k) {
		w := s.f.rows.weight(int(i))
		sum += w * s.f.rows.target.Standardize(s.f.t.Y(int(i)))
		weights += w
	}
	return sum / max(weights, 1e-300)
}

// score fills the report's scores and verdict and keeps the coefficients of the first method.
func (f *fitter) score(ctx context.Context, report *Report, methods []method) error {
	f.progress(Stages[4], 0)
	raw := f.rows.newTarget("", false)
	s := &scorer{f: f, methods: methods, center: raw.Center, unit: raw.Scale}
	s.order, s.start = byTask(f.t, func(int) bool { return true })
	p, n := methods[0].s.p, len(methods)
	f.theta = make([]float64, len(f.t.Tasks())*p)
	all := make([]int, len(f.t.Tasks()))
	for k := range all {
		all[k] = k
	}
	sums, err := f.plain.reduce(ctx, all, n*ScoreSize, func(_ *worker, k int, part []float64) error {
		errors, err := s.task(k, f.theta[k*p:][:p])
		if err == nil {
			errors.AddTo(part)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range methods {
		report.Scores = append(report.Scores, Score{Method: m.name, Ridge: m.ridge})
	}
	report.Verdict = Summarise(report.Scores, sums, s.unit)
	report.tasks = func(yield func(TaskScore) bool) {
		theta := make([]float64, p)
		for k, name := range f.t.Tasks() {
			errors, err := s.task(k, theta)
			if err != nil || !yield(errors.Score(name, s.unit)) { // it was computed before
				return
			}
		}
	}
	return nil
}

// logIterations is the number of iterations after which evidences with and without the logarithm are
// compared.
const logIterations = 6

// compareLogarithm sets moreByLog, the gain of evidence on rows if a positive target is replaced by its
// logarithm. Both evidences are without curves and directions.
func (f *fitter) compareLogarithm(ctx context.Context, r *rows) error {
	positive := !slices.ContainsFunc(f.rows.order, func(i int32) bool { return !(f.t.Y(int(i)) > 0) })
	if f.LogTarget || !positive {
		return nil
	}
	for _, log := range []bool{true, false} {
		r.target = r.newTarget("", log)
		s, err := newStats(ctx, r, f.plain.design, f.Workers)
		if err != nil {
			return err
		}
		tasks := s.climbTasks()
		end, err := s.climb(ctx, tasks, s.start(), logIterations)
		if err != nil {
			return err
		}
		gain := end.evidence - s.rowsTotal(tasks)*math.Log(r.target.Scale)
		if !log {
			f.moreByLog -= gain
			continue
		}
		f.moreByLog = gain
		for _, k := range tasks {
			for _, i := range r.of(k) {
				f.moreByLog -= math.Log(f.t.Y(int(i)))
			}
		}
	}
	return nil
}
