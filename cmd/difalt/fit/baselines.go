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

// errorsPerTask are the tallies of one task: of every method, on training rows and on the others.
type errorsPerTask [][2]Tally

// A scorer predicts the rows of tasks with several methods.
type scorer struct {
	f            *fitter
	methods      []method
	order        []int32 // all rows by task
	start        []int
	center, unit float64 // of the target itself
}

// task returns the errors of one task and, in theta, the first method's coefficients.
func (s *scorer) task(k int, theta []float64) (errorsPerTask, error) {
	out := make(errorsPerTask, len(s.methods))
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
			w := m.s.worker(m.m.prior)
			err := w.solver.Set(m.s.task(w, k))
			if err == nil {
				w.solver.Coefficients(coefficients, nil, m.m.mean, nil)
			}
			if m.s.idle.Put(w); err != nil {
				return nil, m.s.complain(k, err)
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
	const fields = 5
	sum, err := f.plain.reduce(ctx, nil, all, n*(2*fields+3), func(_ *worker, k int, part []float64) error {
		errors, err := s.task(k, f.theta[k*p:][:p])
		if err != nil {
			return err
		}
		for i, e := range errors {
			to := part[i*(2*fields+3):][:2*fields+3]
			for set, t := range e {
				floats.Add(to[set*fields:(set+1)*fields], []float64{t.Rows, t.Squares, t.Absolute, t.Targets, t.TargetSquares})
			}
			if e[1].Rows > 0 {
				c := Comparison{}
				c.Add(e[1].Squares - errors[0][1].Squares)
				floats.Add(to[2*fields:], []float64{c.Tasks, c.Difference, c.Square})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var comparisons []Comparison
	for i, m := range methods {
		v := sum[i*(2*fields+3):]
		tally := func(v []float64) Tally { return Tally{v[0], v[1], v[2], v[3], v[4]} }
		report.Scores = append(report.Scores, Score{m.name, m.ridge, tally(v).Errors(s.unit), tally(v[fields:]).Errors(s.unit)})
		comparisons = append(comparisons, Comparison{v[2*fields], v[2*fields+1], v[2*fields+2]})
	}
	report.Verdict = NewVerdict(report.Scores, comparisons, s.unit)
	report.tasks = func(yield func(TaskScore) bool) {
		theta := make([]float64, p)
		for k, name := range f.t.Tasks() {
			errors, err := s.task(k, theta)
			if err != nil {
				return // it was computed before
			}
			score := TaskScore{Task: name}
			for _, e := range errors {
				score.Train, score.Test = append(score.Train, e[0].Errors(s.unit)), append(score.Test, e[1].Errors(s.unit))
			}
			if !yield(score) {
				return
			}
		}
	}
	return nil
}

// logIterations is the number of iterations after which evidences with and without the logarithm are
// compared.
const logIterations = 6

// compareLogarithm sets moreByLog, the gain of evidence if a positive target is replaced by its logarithm.
// Both evidences are without curves and directions, on the rows of plain, the data without curves.
func (f *fitter) compareLogarithm(ctx context.Context, plain *stats) error {
	r := plain.rows
	positive := !slices.ContainsFunc(r.order, func(i int32) bool { return !(f.t.Y(int(i)) > 0) })
	if f.LogTarget || !positive {
		return nil
	}
	tasks := plain.climbTasks()
	logged := *r
	logged.target = r.newTarget("", true)
	evidence := func(of *rows) (float64, error) {
		s := plain
		if of != r {
			var err error
			if s, err = newStats(ctx, of, plain.design, f.Workers); err != nil {
				return 0, err
			}
		}
		end, err := s.climb(ctx, tasks, s.start(), logIterations)
		if err != nil {
			return 0, err
		}
		return end.evidence - s.rowsTotal(tasks)*math.Log(of.target.Scale), nil
	}
	straight, err := evidence(r)
	if err != nil {
		return err
	}
	log, err := evidence(&logged)
	if err != nil {
		return err
	}
	for _, k := range tasks {
		for _, i := range r.of(k) {
			log -= math.Log(f.t.Y(int(i)))
		}
	}
	f.moreByLog = max(log-straight, 0)
	return nil
}
