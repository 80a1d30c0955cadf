package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Fit trains a model on a table whose tasks have nodes. When the context ends
// during the final run, it returns the model as far as it got, and the report's
// Result has the status Canceled; when it ends before there is an estimate, the
// context's error.
func Fit(ctx context.Context, t *dataset.Table, c Config) (*Model, *Report, error) {
	if err := c.check(t); err != nil {
		return nil, nil, err
	}
	d, err := newDesign(ctx, t, &c)
	if err != nil {
		return nil, nil, err
	}
	f := &fitter{design: d, c: &c, report: &Report{Folds: d.folds}}
	unit, err := d.unit(ctx)
	if err != nil {
		return nil, nil, err
	}
	f.tuned = f.tunedTasks()
	for _, tasks := range f.tuned {
		f.report.TunedTasks += len(tasks)
	}
	f.report.Exposed = d.exposed(c.Mean == MeanShared || c.TuneRidge || c.Tune)
	if c.Mean == MeanShared || c.Baselines {
		f.progress("pooled ridge", 0, 1)
		if f.pooled, err = d.fitPooled(ctx, decades(-2, 6, unit)); err != nil {
			return nil, nil, err
		}
		f.progress("pooled ridge", 1, 1)
	}
	chosen, err := f.choose(ctx, decades(-2, 4, unit))
	if err != nil {
		return nil, nil, err
	}
	if c.Baselines {
		f.progress("one ridge per task", 0, 1)
		f.single = d.fitSingle(slices.Concat(f.tuned...), decades(-2, 6, unit), workersFor(c.Options.Workers))
		f.progress("one ridge per task", 1, 1)
	}
	problem := f.pack(chosen.MeanRidge)
	res, err := f.run(ctx, problem, chosen, 0)
	if err != nil {
		return nil, nil, err
	}
	f.report.Result, f.report.Chosen = res, chosen
	f.sent(res)
	// What is left is short, and its results are wanted even after an interrupt.
	ctx = context.WithoutCancel(ctx)
	if err := f.spectrum(ctx, problem, chosen); err != nil {
		return nil, nil, err
	}
	m, err := f.model(ctx, res, chosen)
	if err != nil {
		return nil, nil, err
	}
	if err := f.score(ctx, m); err != nil {
		return nil, nil, err
	}
	f.report.Traffic = f.report.Traffic.Plus(f.own())
	return m, f.report, nil
}

// A fitter holds what the steps of Fit share.
type fitter struct {
	*design
	c      *Config
	pooled *pooled // nil if nobody asks for it
	single *single // likewise
	report *Report
	tuned  dataset.Layout // tasks that take part in trials
	// The scaled rows of every node and task, less the shared mean, by set: for training,
	// and held out. They take the place of the table, which may be released.
	packed [2][]*kernel.Tasks
}

func (f *fitter) progress(stage string, done, total int) {
	if f.c.Progress != nil {
		f.c.Progress(stage, done, total)
	}
}

// sent counts the communication of a run. A mixer of the caller's counts by
// itself, with that of the consensus.
func (f *fitter) sent(res *difalt.Result) {
	if f.c.Network.Mixer == nil {
		f.report.Traffic = f.report.Traffic.Plus(res.InitTraffic).Plus(res.Last.Traffic)
	}
}

// own is the communication of the consensus.
func (f *fitter) own() topology.Traffic { return f.mixer.Traffic().Minus(f.before) }

// mean returns the shared coefficients of the training rows outside of a fold; -1
// is no fold.
func (f *fitter) mean(fold int, ridge float64) []float64 {
	if f.c.Mean == MeanNone {
		return make([]float64, f.width())
	}
	return f.pooled.theta(fold, ridge)
}

// residual returns what packs the rows of a table, scaled and less the shared mean.
func (f *fitter) residual(mean []float64) func(z []float64, i int) float64 {
	if f.c.Mean == MeanNone {
		return f.row
	}
	return func(z []float64, i int) float64 {
		y := f.row(z, i)
		return y - dot(z, mean)
	}
}

// problem returns the problem of a trial: the training rows outside of a fold.
func (f *fitter) problem(fold int, meanRidge float64) *difalt.Problem {
	return f.newProblem(f.t.Pack(f.tuned, f.without(fold), f.width(), f.residual(f.mean(fold, meanRidge))))
}

func (f *fitter) newProblem(nodes []*kernel.Tasks) *difalt.Problem {
	return &difalt.Problem{Nodes: nodes, U0: f.c.U0, Start: f.c.Start, Truth: f.c.Truth}
}

// pack packs the rows for training and those held out, and returns the problem of
// the former. It releases the table if the caller allows.
func (f *fitter) pack(meanRidge float64) *difalt.Problem {
	fill := f.residual(f.mean(-1, meanRidge))
	if f.c.Release {
		f.packed[set(true)], f.packed[set(false)] = f.t.PackAndRelease(f.layout, f.train, f.width(), fill)
	} else {
		f.packed[set(true)] = f.t.Pack(f.layout, f.train, f.width(), fill)
		held := make([]bool, len(f.train))
		for i, on := range f.train {
			held[i] = !on
		}
		f.packed[set(false)] = f.t.Pack(f.layout, held, f.width(), fill)
	}
	return f.newProblem(f.packed[set(true)])
}

// run runs the algorithm on a problem. The final run is observed, the others say
// how many threads they may use.
func (f *fitter) run(ctx context.Context, p *difalt.Problem, c Candidate, workers int) (*difalt.Result, error) {
	o := f.c.Options
	o.Rank, o.Ridge = c.Rank, c.Ridge
	if workers > 0 {
		o.Workers = workers
		o.Observer, o.Logger = nil, nil
	} else if f.c.Progress != nil {
		observe := o.Observer
		total := o.Iterations
		o.Observer = func(r *difalt.Record) {
			f.progress("iterations", r.Iteration, max(total, r.Iteration))
			if observe != nil {
				observe(r)
			}
		}
	}
	return difalt.Run(ctx, p, f.c.Network, o)
}

// model assembles the model of a result.
func (f *fitter) model(ctx context.Context, res *difalt.Result, c Candidate) (*Model, error) {
	r, tasks := c.Rank, len(f.t.Tasks())
	m := &Model{
		scaling: f.scaling, rank: r, ridge: c.Ridge, method: f.c.Options.Method,
		features:   append([]string(nil), f.t.Features()...),
		schema:     f.t.Schema().Clone(),
		tasks:      append([]string(nil), f.t.Tasks()...),
		nodes:      append([]string(nil), f.t.Nodes()...),
		mean:       append([]float64(nil), f.mean(-1, c.MeanRidge)...),
		samples:    f.t.Samples(f.train),
		u:          res.U,
		taskColumn: f.c.TaskColumn, targetColumn: f.c.TargetColumn,
		b:         make([]float64, tasks*r),
		precision: make([]float64, tasks*r*r),
		nodeOf:    make([]int, tasks),
	}
	for g, tasks := range f.layout {
		for i, k := range tasks {
			m.nodeOf[k] = g
			copy(m.b[k*r:][:r], res.B[g][i*r:])
		}
	}
	m.finish()
	return m, f.estimateNoise(ctx, m)
}

// estimateNoise sets the model's precisions, and its noise variance: the squared
// errors on training rows over what is left of their number when the parameters
// are taken off, which are sum_t tr A_t'A_t (A_t'A_t + ridge I)^-1 for the
// coefficients, with A_t = X_t U, and d r - r^2 for the basis and d for the mean.
func (f *fitter) estimateNoise(ctx context.Context, m *Model) error {
	r, d := m.rank, m.width()
	z := f.perNode(2)
	row, p := make([]float64, d), make([]float64, r)
	for g, tasks := range f.layout {
		rows := f.packed[set(true)][g]
		for i, k := range tasks {
			gram, b := m.precision[k*r*r:][:r*r], m.b[k*r:][:r]
			for s, y := range rows.Y(i) {
				addOuter(gram, rows.Row(row, i, s), p, m.u[g])
				e := y - dot(p, b)
				z[g][0] += e * e
			}
			z[g][1] += effective(gram, r, m.ridge)
			addDiagonal(gram, r, m.ridge)
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	left := float64(f.total) - sum[1] - float64(d*r-r*r)
	if f.c.Mean == MeanShared {
		left -= float64(d)
	}
	if left > 0 {
		m.noise = sum[0] / left
	}
	m.factor()
	return nil
}

// exposed names the nodes with a single training row, or value of a feature, of all
// or in a fold of the cross-validation: their sums tell it to their neighbours.
func (d *design) exposed(folds bool) (names []string) {
	if len(d.layout) == 1 {
		return nil
	}
	x := make([]float64, len(d.t.Features()))
	for g := range d.layout {
		// Of rows, and of values of every feature if some are missing; the last is of all.
		n := make([][]int, d.folds+1)
		for f := range n {
			n[f] = make([]int, 1+len(x))
		}
		d.eachTraining(g, func(i int) {
			own, all := n[d.fold[i]], n[d.folds]
			own[0]++
			all[0]++
			if d.t.Missing() == nil {
				return
			}
			for j, v := range d.t.X(x, i) {
				if !math.IsNaN(v) {
					own[1+j]++
					all[1+j]++
				}
			}
		})
		if !folds {
			n = n[d.folds:]
		}
		if slices.ContainsFunc(n, func(n []int) bool { return slices.Contains(n, 1) }) {
			names = append(names, fmt.Sprintf("%q", d.t.Nodes()[g]))
		}
	}
	return names
}
