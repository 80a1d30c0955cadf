package fit

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus/wire"
)

// ErrLeft is what Fit returns when the context of another node has ended before there was
// a model.
var ErrLeft = nodes.ErrLeft

// Fit trains a model on the tables of the nodes that live in this process: node i of
// the table is node Network.Hosted()[i], and the model knows its tasks. All processes of
// the network must call it; it fails at all nodes if it fails at one of them before the
// algorithm begins. When the context ends during the final run, Fit returns the model
// as far as it got, and the report's Result has the status Canceled; when it ends
// before there is an estimate, an error. A run that diverges is an error that is
// difalt.ErrDiverged if Config.Plain or with a step of the caller; else the evidence goes on from the best basis so far, and
// the report says that the fit has not converged. The model computes covariances of tasks from their rows when it is
// asked for them (model.Parameters.CovarianceOf): the table must stay as it is.
func Fit(ctx context.Context, t *dataset.Table, c Config) (*model.Model, *Report, error) {
	if t == nil || c.Network == nil {
		return nil, nil, errors.New("fit needs a table and a network")
	}
	if c.Privacy != (Privacy{}) {
		return fitPrivate(ctx, t, &c)
	}
	before := c.Network.Traffic()
	d, err := newDesign(ctx, t, &c)
	if err != nil {
		return nil, nil, err
	}
	r := &Report{Folds: d.folds}
	train := fitMixed
	if c.Plain {
		train = fitPlain
	}
	m, err := train(ctx, d, &c, r)
	if err != nil {
		return nil, nil, err
	}
	// What remains is short, and its results are wanted even after an interrupt.
	r.Traffic, err = d.totalTraffic(context.WithoutCancel(ctx), c.Network.Traffic().Minus(before))
	return m, r, err
}

// A beginning is a design with the candidates of rank 0, before tasks have noise of their own.
type beginning struct {
	*design
	first   *choice
	splines []method // of all features, to be compared with
	gain    float64  // see findings.byLog
}

// begin chooses transforms of features, and candidates of rank 0; compared asks for splines too.
func (d *design) begin(ctx context.Context, c *Config, compared bool) (b *beginning, err error) {
	b = &beginning{design: d}
	c.progress("columns", 0, 1)
	if b.splines, err = d.transform(ctx, c, parallel.Workers(c.Options.Workers), compared); err != nil {
		return nil, err
	}
	c.progress("columns", 1, 1)
	if err := d.reduce(ctx, c.Options.Seed); err != nil {
		return nil, err
	}
	rows, err := d.sufficientRows(ctx, parallel.Workers(c.Options.Workers))
	if err != nil {
		return nil, err
	}
	q := &question{
		rank: c.Rank, given: c.strengths(), continued: continuedPrior(c.Continue, d.width()), commonNoise: c.CommonNoise, progress: c.progress,
	}
	if rows.Count == 1 && c.Ridge == nil {
		q.given.Spread = 0
	}
	b.first, err = q.chooseNone(ctx, rows)
	return b, err
}

// fitMixed chooses a model by its evidence, and compares it with simpler ones.
func fitMixed(ctx context.Context, d *design, c *Config, r *Report) (*model.Model, error) {
	b, err := d.begin(ctx, c, true)
	if err != nil {
		return nil, err
	}
	others, dependent, err := d.baselines(ctx, b.first.rows, b.first.shrunken) // which do not weight tasks
	if err != nil {
		return nil, err
	}
	d.fold = nil // which only they needed
	others = slices.Insert(others, 1, b.splines...)
	judge := d.inUnits()
	judge.tally(ctx, others, b.first.rows.Workers)
	if b, err = b.byLogarithm(ctx, c); err != nil {
		return nil, err
	}
	rows := b.first.rows
	if d != b.design {
		d = b.design
		log := method{Score: Score{Method: ShrunkenLog, Ridge: 1 / b.first.shrunken.MeanVariance}, of: d}
		if log.theta, err = d.coefficients(ctx, rows, b.first.shrunken.Posterior()); err != nil {
			return nil, err
		}
		others = append(others, log)
	}
	f := &findings{dependent: dependent, outliers: d.left, judge: judge, byLog: b.gain}
	chosen, err := b.first.chooseNoise(ctx)
	if err != nil {
		return nil, err
	}
	if err = chosen.chooseRank(ctx); err == nil {
		err = chosen.weightedAgain(ctx)
	}
	if err != nil {
		return nil, err
	}
	tried := chosen.tried
	a := &algorithm{d.Group, c, c.Options}
	averaged, res, err := chosen.finish(ctx, a)
	if err != nil {
		return nil, err
	}
	r.Options, r.Result, r.Converged = a.options, res, averaged[0].converged
	if averaged, err = chosen.stack(ctx, d, averaged); err != nil {
		return nil, err
	}
	for _, k := range reported(tried, averaged) {
		r.Tried = append(r.Tried, k.report(chosen.zero, d.TargetScale))
	}
	m, err := d.conclude(context.WithoutCancel(ctx), c, r, f, chosen, averaged, others)
	if !rows.Alone() { // else there is nothing to count, nor to keep rows for
		r.disclosure = sync.OnceValue(func() Disclosure { return d.disclosure(chosen.rows, res, c.Options.Seed) })
	}
	return m, err
}

// conclude makes the model of candidates, the most probable first, and judges it.
func (d *design) conclude(ctx context.Context, c *Config, r *Report, f *findings, chosen *choice, averaged []*candidate, others []method) (*model.Model, error) {
	chosen.none = nil
	all, err := d.estimates(ctx, chosen.rows, averaged, chosen.stacked)
	if err != nil {
		return nil, err
	}
	top, e := averaged[0], all[0]
	e.goodness = d.goodness(chosen.moments, top.Point, e)
	if e.noise != nil {
		f.leastNoise, f.mostNoise = e.noise.Range(d.TargetScale)
	}
	if top.Noise <= 2*evidence.NoiseFloor {
		f.exact = math.Sqrt(top.Noise)
	}
	r.Chosen = top.report(chosen.zero, d.TargetScale)
	rows := chosen.rows
	*chosen = choice{rows: rows}
	m, err := d.model(c, &r.Options, rows, all)
	if err != nil {
		return nil, err
	}
	ours := method{Score: Score{Method: nameOf(r.Chosen.Rank), Ridge: r.Chosen.Ridge}, of: d, theta: e.theta}
	if err := f.judge.score(ctx, r, rows.Workers, append([]method{ours}, others...)); err != nil {
		return nil, err
	}
	meaning := explanation(&r.Chosen, c.Rank, d.width()-1, chosen.rows.Count == 1)
	if r.Verdict.Other == "" {
		r.Verdict.Text = unheldWords(&r.Chosen, c.Rank, meaning)
	} else {
		r.Verdict.Text = r.Verdict.words(&r.Chosen, meaning)
	}
	missed, err := d.missed(ctx, e.theta)
	if err != nil {
		return nil, err
	}
	if missed != "" {
		r.Verdict.Text += " " + missed
	}
	r.Notes = notes(c, d, r, f)
	return m, nil
}

// score sets what a report says about methods, of which the first is the model.
func (d *design) score(ctx context.Context, r *Report, workers int, methods []method) (err error) {
	d.tally(ctx, methods, workers)
	if r.Scores, err = d.scores(ctx, methods); err != nil {
		return err
	}
	r.tasks = d.taskScores(methods)
	r.Verdict, err = d.judge(ctx, r.Scores, methods)
	return err
}

// totalTraffic returns the traffic of all processes: what each has sent, and the rounds that
// all of them had to wait for.
func (d *design) totalTraffic(ctx context.Context, own wire.Traffic) (all wire.Traffic, err error) {
	z := d.Zeros(4)
	copy(z[0], []float64{float64(own.Messages), float64(own.Bytes), float64(own.Silent), float64(own.Lost)})
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return all, err
	}
	n := func(i int) int64 { return int64(sum[i]) }
	return wire.Traffic{Rounds: own.Rounds, Messages: n(0), Bytes: n(1), Silent: n(2), Lost: n(3)}, nil
}
