package mixed

import (
	"cmp"
	"context"
	"math"

	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// mostUnseenCost bounds the multiplications of leaving out every task: number of tasks times columns cubed.
const mostUnseenCost = 4e9

// chooseUnseen sets unseen to the simpler method by whose mean tasks without rows are predicted, and nil for
// the mean of the model. In the model a column has one slope within tasks and between them, and the rows
// within tasks determine it; a task without rows has no deviation, so that differences between tasks count in
// full. It takes one sum.
func (f *fitter) chooseUnseen(ctx context.Context, chosen *choice) error {
	s := chosen.s
	size := float64(s.p)
	if s.design.Axes != nil || s.tasks.count*size*size*size > mostUnseenCost {
		return nil
	}
	var pooled []*method
	for i := range f.baselines {
		if m := &f.baselines[i]; m.pooled && m.s.p <= s.p {
			pooled = append(pooled, m)
		}
	}
	own := make([]float64, len(s.packed)) // errors of tasks by the model
	ours := s.withoutTasks(ctx, chosen.m, s.meanDeviations(chosen.q), func(k int, squares float64, _ []float64) {
		own[k] = squares
	})
	totals := make([]*total, len(pooled))
	for i, m := range pooled {
		totals[i] = m.s.withoutTasks(ctx, m.m, m.s.meanDeviations(m.q), func(k int, squares float64, part []float64) {
			gain := own[k] - squares
			part[0] += gain
			part[1] += float64(gain * gain)
		})
		totals[i].err = cmp.Or(totals[i].err, ours.err)
		totals[i].unit = func(i int) float64 { return math.Exp2(float64(30 * (1 + i))) } // one task may be far off
	}
	decision, most := []float64{0}, 0.0
	const name = "gains of pooled ridge for tasks that are left out, and squares"
	if err := f.rows.tryThen(ctx, name, decision, func() {
		for i, t := range totals {
			if t.err == nil && t.v[0] > max(most, clearly*math.Sqrt(t.v[1])) {
				decision[0], most = float64(i+1), t.v[0]
			}
		}
	}, totals...); err != nil {
		return err
	}
	if i := int(decision[0]); i >= 1 && i <= len(pooled) {
		f.unseen = pooled[i-1]
	}
	return nil
}

// withoutTasks calls f with the squared error of every task of this owner, predicted by the mean that the
// other tasks give, exactly for given strengths. f also gets a part of a total of two numbers, which
// withoutTasks returns. d has the prior standard deviations of the mean.
func (s *stats) withoutTasks(ctx context.Context, m *meanPosterior, d []float64,
	f func(k int, squares float64, part []float64)) *total {
	sum, err := s.reduceOwn(ctx, s.tasks.own, 2, func(w *worker, k int, part []float64) error {
		if err := s.set(w, m.prior, k); err != nil {
			return err
		}
		own, h := w.solver.Information()
		less := &w.less
		less.m, less.h = dense.Grow(less.m, len(own)), dense.Grow(less.h, len(h))
		floats.SubTo(less.m, m.m, own)
		floats.SubTo(less.h, m.h, h)
		if _, err := less.solve(d); err != nil {
			return err
		}
		f(k, w.task.Residual(less.mean), part)
		return nil
	})
	if err != nil {
		sum = make([]float64, 2)
	}
	return &total{v: sum, err: err}
}

// unseenMean returns the mean that predicts tasks without rows, in the columns of the model; nil for the
// mean of the model.
func (f *fitter) unseenMean(columns int) []float64 {
	if f.unseen == nil {
		return nil
	}
	out := make([]float64, columns)
	copy(out, f.unseen.m.mean)
	return out
}

// followUnseen sets unseen to the method of the judged form, on all rows. It takes one sum where there is
// one.
func (f *fitter) followUnseen(ctx context.Context) error {
	judged := f.form.unseen
	if judged == nil {
		return nil
	}
	s := f.plain
	if len(judged.s.design.Curves) > 0 {
		if s = f.curved; s == nil {
			return nil
		}
	}
	q := judged.q.carry(judged.s, s)
	m, err := s.meanPosterior(ctx, s.tasks, q)
	if err == nil {
		f.unseen = &method{name: judged.name, s: s, q: q, m: m, pooled: true}
	}
	return err
}
