package model

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel/lsq"
)

// Fit trains a model on a table whose tasks have nodes. When the context ends
// during the final run, it returns the model as far as it got, and the report's
// Result has the status Canceled; when it ends before there is an estimate, the
// context's error.
func Fit(ctx context.Context, t *dataset.Table, c Config) (*Model, *Report, error) {
	if err := c.check(t); err != nil {
		return nil, nil, err
	}
	d, err := newDesign(t, &c)
	if err != nil {
		return nil, nil, err
	}
	f := &fitter{design: d, c: &c, report: &Report{Folds: d.folds}}
	if c.Mean == MeanShared || c.Baselines {
		f.progress("pooled ridge", 0, 1)
		f.pooled = d.fitPooled(decades(-2, 6, d.unit()))
		f.progress("pooled ridge", 1, 1)
	}
	ridge := c.Ridge
	var tried []Tried
	if c.TuneRidge {
		if ridge, tried, err = f.tune(ctx, decades(-2, 4, d.unit())); err != nil {
			return nil, nil, err
		}
	}
	res, err := f.run(ctx, -1, ridge)
	if err != nil {
		return nil, nil, err
	}
	f.report.Result = res
	m := f.model(res, ridge)
	f.score(m, ridge, tried)
	return m, f.report, nil
}

// A fitter holds what the steps of Fit share.
type fitter struct {
	*design
	c      *Config
	pooled *pooled // nil if nobody asks for it
	report *Report
}

func (f *fitter) progress(stage string, done, total int) {
	if f.c.Progress != nil {
		f.c.Progress(stage, done, total)
	}
}

// mean returns the shared coefficients of the training rows outside of a fold; -1
// is no fold.
func (f *fitter) mean(fold int) []float64 {
	switch {
	case f.c.Mean == MeanNone:
		return make([]float64, f.width())
	case fold < 0:
		return f.pooled.theta
	}
	return f.pooled.fold[fold]
}

// problem packs the residuals of the shared mean, of the training rows outside of
// a fold.
func (f *fitter) problem(fold int) *difalt.Problem {
	mean := f.mean(fold)
	none := f.c.Mean == MeanNone
	return &difalt.Problem{
		Nodes: f.t.Pack(f.layout, f.without(fold), f.width(), func(z []float64, i int) float64 {
			y := f.row(z, i)
			if none {
				return y
			}
			return y - dot(z, mean)
		}),
		U0: f.c.U0, Start: f.c.Start, Truth: f.c.Truth,
	}
}

// run runs the algorithm on the training rows outside of a fold. The final run, on
// all of them, is observed.
func (f *fitter) run(ctx context.Context, fold int, ridge float64) (*difalt.Result, error) {
	o := f.c.Options
	o.Ridge = ridge
	if fold >= 0 {
		o.Observer, o.Logger = nil, nil
		return difalt.Run(ctx, f.problem(fold), f.c.Network, o)
	}
	if f.c.Progress != nil {
		observe := o.Observer
		total := o.Iterations
		o.Observer = func(r *difalt.Record) {
			f.progress("iterations", r.Iteration, max(total, r.Iteration))
			if observe != nil {
				observe(r)
			}
		}
	}
	return difalt.Run(ctx, f.problem(fold), f.c.Network, o)
}

// model assembles the model of a result.
func (f *fitter) model(res *difalt.Result, ridge float64) *Model {
	r := f.c.Options.Rank
	m := &Model{
		scaling: f.scaling, rank: r, ridge: ridge, method: f.c.Options.Method,
		features:   append([]string(nil), f.t.Features()...),
		tasks:      append([]string(nil), f.t.Tasks()...),
		nodes:      append([]string(nil), f.t.Nodes()...),
		mean:       append([]float64(nil), f.mean(-1)...),
		samples:    f.t.Samples(f.train),
		u:          res.U,
		taskColumn: f.c.TaskColumn, targetColumn: f.c.TargetColumn,
		b:      make([]float64, len(f.t.Tasks())*r),
		nodeOf: make([]int, len(f.t.Tasks())),
	}
	place(m, f.layout, res.B)
	m.finish()
	return m
}

// place copies the coefficients of every node to the tasks of the model.
func place(m *Model, l dataset.Layout, b [][]float64) {
	for g, tasks := range l {
		for i, k := range tasks {
			m.nodeOf[k] = g
			copy(m.b[k*m.rank:][:m.rank], b[g][i*m.rank:])
		}
	}
}

// score fills in the report.
func (f *fitter) score(m *Model, ridge float64, tried []Tried) {
	k := f.yardstick()
	var sse, pooledSSE [2]float64
	x := make([]float64, len(f.center))
	z := make([]float64, f.width())
	for i, on := range f.train {
		e := f.t.Y(i) - m.predict(f.t.Task(i), f.t.X(x, i))
		sse[set(on)] += e * e
		if f.c.Baselines {
			e := f.row(z, i)
			e -= dot(z, f.pooled.theta)
			pooledSSE[set(on)] += e * e
		}
	}
	r := f.report
	r.Scores = []Score{k.score(Ours, ridge, tried, sse)}
	if f.c.Baselines {
		r.Scores = append(r.Scores, k.score(Pooled, f.pooled.ridge, f.pooled.tried, pooledSSE))
		f.progress("one ridge per task", 0, 1)
		ridge, tried, sse := f.fitSingle(decades(-2, 6, f.unit()))
		f.progress("one ridge per task", 1, 1)
		r.Scores = append(r.Scores, k.score(Single, ridge, tried, sse))
	}
	for g, tasks := range f.layout {
		for i, k := range tasks {
			name := f.t.Tasks()[k]
			if m.samples[k] < f.c.Options.Rank {
				r.FewRows = append(r.FewRows, fmt.Sprintf("%q (%d rows)", name, m.samples[k]))
			}
			if r.Result.Tasks[g][i] != lsq.OK {
				r.Singular = append(r.Singular, fmt.Sprintf("%q (%v)", name, r.Result.Tasks[g][i]))
			}
		}
	}
}
