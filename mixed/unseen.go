package mixed

import (
	"context"

	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/floats"
)

// mostUnseenCost bounds the multiplications of leaving out every task: number of tasks times columns cubed.
const mostUnseenCost = 4e9

// leastApart is the least squared difference of two predictions that counts, as a share of the squared error:
// a smaller one is rounding.
const leastApart = 1e-10

// toldShare is the least share of a pooled mean in a note.
const toldShare = 0.5

// A pooling predicts tasks without rows: by the mean of the model, plus a share of the difference of the
// mean of a pooled method from it.
type pooling struct {
	method *method
	share  float64 // above 0, and at most 1
}

// A leftOut compares the means of the model and of a pooled method for tasks that are left out. The errors of
// a task by the mean of the model are e, and d are the differences of the two predictions. By the mean
// between the two its errors are e - share d.
type leftOut struct {
	product, apart           float64 // sums over tasks of a = e'd and of b = d'd
	products, mixed, squares float64 // sums of a a, a b and b b
}

// leftOutSize is the number of sums of a leftOut.
const leftOutSize = 5

// leftOutOf returns the comparison from its sums.
func leftOutOf(v []float64) leftOut { return leftOut{v[0], v[1], v[2], v[3], v[4]} }

// addLeftOut adds a task to the sums of a leftOut. It has the task's squared errors by the mean of the model,
// by the pooled mean, and by the mean half way between them.
func addLeftOut(sums []float64, model, pooled, half float64) {
	both := float64(2*half) - float64((model+pooled)/2) // the product of the errors
	a, b := model-both, max(model+pooled-float64(2*both), 0)
	floats.Add(sums, []float64{a, b, a * a, a * b, b * b})
}

// share returns the share of the pooled mean. The least squared error of tasks that are left out is at c,
// sum a over sum b, with the standard error s over the tasks. The best factor of such an estimate is c^2 /
// (c^2 + s^2) for the true c. The square of an estimate is c^2 + s^2 in the mean, so that the factor is 1
// less s^2 over the square, and 0 where this is negative. The share is at most 1.
func (l leftOut) share(tasks float64) float64 {
	if !(l.apart > 0) || !(l.product > 0) || !(tasks > 1) {
		return 0
	}
	c := l.product / l.apart
	variance := tasks / (tasks - 1) * max(l.products-float64(2*c*l.mixed)+float64(c*c*l.squares), 0) / l.apart / l.apart
	return min(c*max(1-variance/c/c, 0), 1)
}

// gain returns how much less the squared errors of tasks that are left out are with a share of the pooled
// mean.
func (l leftOut) gain(share float64) float64 {
	return share * (float64(2*l.product) - float64(share*l.apart))
}

// canLeaveOut reports whether every task may be left out in turn, from matrices of this design.
func (s *stats) canLeaveOut() bool {
	size := float64(s.p)
	return s.design.Axes == nil && s.tasks.count*size*size*size <= mostUnseenCost
}

// chooseUnseen sets unseen, nil where the mean of the model predicts tasks without rows. In the model a
// column has one slope within tasks and between them, and the rows within tasks determine it. A task without
// rows has no deviation, so that differences between tasks count in full. The pooled mean is right about
// these whatever tasks are like, but less certain. chooseUnseen takes one sum.
func (f *fitter) chooseUnseen(ctx context.Context, chosen *choice) error {
	s := chosen.s
	if !s.canLeaveOut() {
		return nil
	}
	var pooled []*method
	for i := range f.baselines {
		m := &f.baselines[i]
		// Its columns are the first ones.
		if m.pooled && (len(m.s.design.Curves) == 0 || len(s.design.Curves) > 0) {
			pooled = append(pooled, m)
		}
	}
	t := s.compareLeftOut(ctx, chosen, pooled)
	decision, most := []float64{0, 0}, 0.0
	const name = "tasks that are left out, by the model and by pooled ridge"
	if err := f.rows.tryThen(ctx, name, decision, func() {
		for i := 0; i < len(pooled) && t.err == nil; i++ {
			l := leftOutOf(t.v[i*leftOutSize:])
			if share := l.share(s.tasks.count); l.gain(share) > most {
				decision[0], decision[1], most = float64(i+1), share, l.gain(share)
			}
		}
	}, t); err != nil {
		return err
	}
	if i := int(decision[0]); i >= 1 && i <= len(pooled) && decision[1] > 0 && decision[1] <= 1 {
		f.unseen = &pooling{pooled[i-1], decision[1]}
	}
	return nil
}

// compareLeftOut returns the sums of a leftOut for each pooled method over the tasks of this owner. The
// methods have the first columns of the choice.
func (s *stats) compareLeftOut(ctx context.Context, chosen *choice, pooled []*method) *total {
	ours, size := s.meanDeviations(chosen.q), leftOutSize*len(pooled)
	sum, err := s.reduceOwn(ctx, s.tasks.own, size, func(w *worker, k int, part []float64) error {
		own, err := s.meanWithout(w, k, chosen.m, ours)
		for i, m := range pooled {
			if err == nil {
				err = m.s.compareTask(w, k, own, m, part[i*leftOutSize:][:leftOutSize])
			}
		}
		return err
	})
	if err != nil {
		sum = make([]float64, size)
	}
	t := &total{v: sum, err: err}
	t.grows = func(i int) bool { // but for products with errors
		return i%leftOutSize != 0 && i%leftOutSize != 3
	}
	t.unit = func(i int) float64 { // one task may be far off
		if i%leftOutSize < 2 {
			return 1 << 30
		}
		return 1 << 60
	}
	return t
}

// compareTask adds the task of a worker to the sums of a leftOut. own is the mean of the model without the
// task, and the worker's solver has the task.
func (s *stats) compareTask(w *worker, k int, own []float64, m *method, sums []float64) error {
	other := s.worker(w.ctx)
	defer s.idle.Put(other)
	pooled, err := s.meanWithout(other, k, m.m, s.meanDeviations(m.q))
	if err != nil {
		return err
	}
	clear(w.u)
	copy(w.u, pooled)
	by, byPooled := w.task.Residual(own), w.task.Residual(w.u)
	floats.Add(w.u, own)
	floats.Scale(.5, w.u)
	half := w.task.Residual(w.u)
	if by+byPooled-float64(2*half) > leastApart*(by+byPooled) {
		addLeftOut(sums, by, byPooled, half)
	}
	return nil
}

// meanWithout returns the mean that the tasks other than task k give, exactly for given variance components.
// It is valid until the next call with the worker, whose solver then has the task. d has the prior standard
// deviations of the mean.
func (s *stats) meanWithout(w *worker, k int, m *meanPosterior, d []float64) ([]float64, error) {
	if err := s.set(w, m.prior, k); err != nil {
		return nil, err
	}
	own, h := w.solver.Information()
	less := &w.less
	less.m, less.h = own, h // in the memory of the solver
	floats.SubTo(less.m, m.m, own)
	floats.SubTo(less.h, m.h, h)
	_, err := less.solve(d)
	return less.mean, err
}

// unseenMean returns the mean that predicts tasks without rows; nil where the mean of the model does.
func (f *fitter) unseenMean(mean []float64) []float64 {
	if f.unseen == nil {
		return nil
	}
	out := make([]float64, len(mean))
	copy(out, f.unseen.method.m.mean)
	for j, v := range mean {
		out[j] = v + float64(f.unseen.share*(out[j]-v))
	}
	return out
}

// followUnseen sets unseen as in the judged form, with the method on all rows. It takes one sum where
// there is one.
func (f *fitter) followUnseen(ctx context.Context) error {
	if f.form.unseen == nil {
		return nil
	}
	judged := f.form.unseen.method
	s := f.plain
	if len(judged.s.design.Curves) > 0 {
		if s = f.curved; s == nil {
			return nil
		}
	}
	q := judged.q.carry(judged.s, s)
	m, err := s.meanPosterior(ctx, s.tasks, q)
	if err == nil {
		f.unseen = &pooling{&method{name: judged.name, s: s, q: q, m: m, pooled: true}, f.form.unseen.share}
	}
	return err
}

// start returns the distribution before any rows of a task that is new to the model. before has the mean of
// the model, and learned is its posterior given the samples. Without rows the mean is Unseen. Differences
// between the rows of a task follow the slopes within tasks, so that the start is Mean once its level is
// known. In between, Unseen has the share of the level's variance, at the mean of the rows, that they do not
// determine.
func (m *Model) start(before, learned *posterior, samples []sample) *posterior {
	place, weights := make([]float64, len(m.p.Mean)), 0.0
	for _, s := range samples {
		rounded.AddScaled(place, s.weight, s.z)
		weights += s.weight
	}
	left := 1.0
	if weights > 0 {
		floats.Scale(1/weights, place)
		if all := quadratic(before.packed, place); all > 0 {
			left = min(quadratic(learned.packed, place)/all, 1)
		}
	}
	out := *before
	out.theta = make([]float64, len(m.p.Mean))
	for j, v := range before.theta {
		out.theta[j] = v + float64(left*(m.p.Unseen.Mean[j]-v))
	}
	return &out
}
