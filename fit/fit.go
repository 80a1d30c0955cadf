package fit

import (
	"context"
	"errors"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Fit trains a model on the tables of the nodes that live in this process: node i of
// the table is node Network.Hosted()[i], and the model knows its tasks. All processes of
// the network must call it; it fails at all nodes if it fails at one of them before the
// algorithm begins. When the context ends during the final run, Fit returns the model
// as far as it got, and the report's Result has the status Canceled; when it ends
// before there is an estimate, an error. A run that diverges is an error that is
// difalt.ErrDiverged.
func Fit(ctx context.Context, t *dataset.Table, c Config) (*model.Model, *Report, error) {
	if c.Network == nil {
		return nil, nil, errors.New("fit needs a network")
	}
	before := c.Network.Traffic()
	d, err := newDesign(ctx, t, &c)
	if err != nil {
		return nil, nil, err
	}
	f := &fitter{design: d, c: &c, report: &Report{Folds: d.folds}}
	unit, err := d.unit(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := f.tunedTasks(ctx); err != nil {
		return nil, nil, err
	}
	if err := f.findExposed(ctx); err != nil {
		return nil, nil, err
	}
	chosen, err := f.chooseAll(ctx, unit)
	if err != nil {
		return nil, nil, err
	}
	problem := f.pack(chosen.MeanRidge)
	if err := f.startFinal(ctx, problem, chosen); err != nil {
		return nil, nil, err
	}
	res, err := f.run(ctx, seat{net: c.Network}, problem, chosen, 0)
	if err != nil {
		return nil, nil, err
	}
	f.report.Result, f.report.Chosen, f.report.Options = res, chosen, c.Options
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
	f.sent = f.sent.Plus(c.Network.Traffic().Minus(before))
	f.report.Traffic, err = f.totalTraffic(ctx, f.sent)
	return m, f.report, err
}

// A fitter holds what the steps of Fit share.
type fitter struct {
	*design
	c      *Config
	pooled *pooled // nil if nobody asks for it
	single *single // likewise
	report *Report
	tuned  dataset.Layout // tasks that take part in trials
	large  bool           // see largeBytes
	step   float64        // eta, of the first run
	// By rank - 1: of search on all training rows, and, by fold, of the last trial.
	found [][]*kernel.Basis
	warm  [][][]*kernel.Basis
	sent  consensus.Traffic // over other networks than c.Network
	// The scaled rows of every node and task, less the shared mean, by set: for training,
	// and held out. They take the place of the table, which may be released.
	packed [2][]*kernel.Tasks
}

func (f *fitter) progress(stage string, done, total int) {
	if f.c.Progress != nil {
		f.c.Progress(stage, done, total)
	}
}

// chooseAll fits the shared mean and the baselines, and returns the setting of the
// final run.
func (f *fitter) chooseAll(ctx context.Context, unit float64) (chosen Candidate, err error) {
	if !f.c.NoMean || f.c.Baselines {
		f.progress("pooled ridge", 0, 1)
		if f.pooled, err = f.fitPooled(ctx, decades(-2, 6, unit)); err != nil {
			return chosen, err
		}
		f.progress("pooled ridge", 1, 1)
	}
	if f.c.Auto {
		if f.c.Options, err = difalt.Auto(ctx, f.problem(-1, 0), f.net, f.c.Options); err != nil {
			return chosen, err
		}
	}
	if chosen, err = f.choose(ctx, decades(-2, 4, unit)); err != nil {
		return chosen, err
	}
	if f.c.Baselines {
		f.progress("one ridge per task", 0, 1)
		if f.single, err = f.fitSingle(ctx, f.tuned, decades(-2, 6, unit), workersFor(f.c.Options.Workers)); err != nil {
			return chosen, err
		}
		f.progress("one ridge per task", 1, 1)
	}
	return chosen, nil
}

// mean returns the shared coefficients of the training rows outside of a fold; -1
// is no fold.
func (f *fitter) mean(fold int, ridge float64) []float64 {
	if f.c.NoMean {
		return make([]float64, f.Width())
	}
	return f.pooled.theta(fold, ridge)
}

// residual returns what packs the rows of a table, scaled and less the shared mean.
func (f *fitter) residual(mean []float64) func(z []float64, i int) float64 {
	if f.c.NoMean {
		return f.row
	}
	return func(z []float64, i int) float64 {
		y := f.row(z, i)
		return y - floats.Dot(z, mean)
	}
}

// problem returns the problem of a trial: the training rows outside of a fold.
func (f *fitter) problem(fold int, meanRidge float64) *difalt.Problem {
	return f.newProblem(f.t.Pack(f.tuned, f.without(fold), f.Width(), f.residual(f.mean(fold, meanRidge))))
}

// newProblem returns the problem of packed rows. Where the nodes have agreed on the
// Gram matrix, it says how features vary together: as collinear columns do, plain steps
// would take thousands of iterations.
func (f *fitter) newProblem(nodes []*kernel.Tasks) *difalt.Problem {
	p := &difalt.Problem{Nodes: nodes, U0: f.c.U0, Start: f.c.Start, Truth: f.c.Truth}
	if f.pooled != nil && f.Width() <= maxMoments {
		p.Moments = mat.NewSymDense(f.Width(), nil)
		p.Moments.ScaleSym(1/float64(f.pooled.all.n), f.pooled.all.zz)
	}
	return p
}

// maxMoments is the number of features from which on steps by their moments take more
// time than they save.
const maxMoments = 500

// pack packs the rows for training and those held out, and returns the problem of
// the former. It releases the table if the caller allows.
func (f *fitter) pack(meanRidge float64) *difalt.Problem {
	fill := f.residual(f.mean(-1, meanRidge))
	if f.c.Release {
		f.packed[set(true)], f.packed[set(false)] = f.t.PackAndRelease(f.layout, f.train, f.Width(), fill)
	} else {
		f.packed[set(true)] = f.t.Pack(f.layout, f.train, f.Width(), fill)
		held := make([]bool, len(f.train))
		for i, on := range f.train {
			held[i] = !on
		}
		f.packed[set(false)] = f.t.Pack(f.layout, held, f.Width(), fill)
	}
	return f.newProblem(f.packed[set(true)])
}

// startFinal sets where the final run starts: at what search has found, if there was a
// choice.
func (f *fitter) startFinal(ctx context.Context, p *difalt.Problem, c Candidate) (err error) {
	if p.U0 != nil || p.Start != nil {
		return nil
	}
	if f.found != nil {
		p.U0 = f.found[c.Rank-1]
	} else if f.c.Starts > 1 {
		f.progress("starts", 0, 1)
		p.U0, err = f.search(ctx, p, c)
		f.progress("starts", 1, 1)
	}
	return err
}

// model assembles the model of a result.
func (f *fitter) model(ctx context.Context, res *difalt.Result, c Candidate) (*model.Model, error) {
	r, tasks := c.Rank, len(f.t.Tasks())
	p := model.Parameters{
		Method: f.c.Options.Method.String(), Schema: *f.t.Schema(),
		TaskColumn: f.c.TaskColumn, TargetColumn: f.c.TargetColumn,
		Scaling: f.Scaling, Mean: slices.Clone(f.mean(-1, c.MeanRidge)),
		Nodes: slices.Clone(f.t.Nodes()), U: res.U, Tasks: slices.Clone(f.t.Tasks()),
		NodeOf: make([]int, tasks), Samples: f.t.Samples(f.train),
		B: make([]float64, tasks*r), Precision: make([]float64, tasks*r*r), Ridge: c.Ridge,
	}
	for g, tasks := range f.layout {
		for i, k := range tasks {
			p.NodeOf[k] = g
			copy(p.B[k*r:][:r], res.B[g][i*r:])
		}
	}
	if err := f.estimateNoise(ctx, &p); err != nil {
		return nil, err
	}
	return model.New(p)
}

// estimateNoise sets the precisions, and the noise variance: the squared errors on
// training rows over what is left of their number when the parameters are taken off,
// which are sum_t tr A_t'A_t (A_t'A_t + ridge I)^-1 for the coefficients, with
// A_t = X_t U, and d r - r^2 for the basis and d for the mean.
func (f *fitter) estimateNoise(ctx context.Context, m *model.Parameters) error {
	d, r := m.U[0].Dims()
	z := f.zeros(2)
	row, p := make([]float64, d), make([]float64, r)
	for g, tasks := range f.layout {
		rows := f.packed[set(true)][g]
		for i, k := range tasks {
			gram, b := m.Precision[k*r*r:][:r*r], m.B[k*r:][:r]
			for s, y := range rows.Y(i) {
				rows.Row(row, i, s)
				project(p, row, m.U[g])
				addOuter(gram, p)
				e := y - floats.Dot(p, b)
				z[g][0] += e * e
			}
			z[g][1] += effective(gram, r, m.Ridge)
			for j := range r {
				gram[j*r+j] += m.Ridge
			}
		}
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	left := float64(f.total) - sum[1] - float64(d*r-r*r)
	if !f.c.NoMean {
		left -= float64(d)
	}
	if left > 0 {
		m.NoiseVariance = sum[0] / left
	}
	return nil
}

// project sets p to u' z.
func project(p, z []float64, u *kernel.Basis) {
	for j := range p {
		p[j] = floats.Dot(z, u.Col(j))
	}
}

// addOuter adds p p' to the square matrix gram.
func addOuter(gram, p []float64) {
	for i, v := range p {
		floats.AddScaled(gram[i*len(p):][:len(p)], v, p)
	}
}

// effective returns tr G (G + ridge I)^-1, the number of parameters that ridge
// regression spends, for a Gram matrix G: sum of s / (s + ridge) over its
// eigenvalues s, without those that are zero to rounding.
func effective(gram []float64, r int, ridge float64) float64 {
	values := eigenvalues(gram, r)
	if values == nil {
		return float64(r) // at most
	}
	sum := 0.0
	for _, s := range values {
		if s > 1e-14*values[0] {
			sum += s / (s + ridge)
		}
	}
	return sum
}

// eigenvalues returns those of a Gram matrix (r x r) in descending order, nil if they
// cannot be found. They are found in units of its trace: gonum's routine panics on
// entries beyond 1e150.
func eigenvalues(gram []float64, r int) []float64 {
	trace := 0.0
	for j := range r {
		trace += gram[j*r+j]
	}
	if trace == 0 {
		return make([]float64, r)
	}
	a := slices.Clone(gram)
	for i := range a {
		a[i] /= trace
	}
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(r, a), false) {
		return nil
	}
	values := e.Values(nil) // ascending
	slices.Reverse(values)
	floats.Scale(trace, values)
	return values
}

// totalTraffic returns the traffic of all processes: what each has sent, and the rounds that
// all of them had to wait for.
func (f *fitter) totalTraffic(ctx context.Context, own consensus.Traffic) (all consensus.Traffic, err error) {
	z := f.zeros(4)
	z[0] = append(z[0][:0], float64(own.Messages), float64(own.Bytes), float64(own.Silent), float64(own.Lost))
	sum, err := f.sum(ctx, z)
	if err != nil {
		return all, err
	}
	n := func(i int) int64 { return int64(sum[i]) }
	return consensus.Traffic{Rounds: own.Rounds, Messages: n(0), Bytes: n(1), Silent: n(2), Lost: n(3)}, nil
}
