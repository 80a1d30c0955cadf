package fit

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"github.com/difalt/difalt/model"
)

// Fit trains a model on the tables of the nodes that live in this process: node i of
// the table is node Network.Hosted()[i], and the model knows its tasks. All processes of
// the network must call it; it fails at all nodes if it fails at one of them before the
// algorithm begins. When the context ends during the final run, Fit returns the model
// as far as it got, and the report's Result has the status Canceled; when it ends
// before there is an estimate, an error. A run that diverges is an error that is
// difalt.ErrDiverged if Config.Plain or with a step of the caller; else the evidence goes on from the best basis so far, and
// the report says that the fit has not converged.
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
	var m *model.Model
	if c.Plain {
		m, err = f.plain(ctx)
	} else {
		m, err = f.fit(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	f.report.Options = c.Options
	// What is left is short, and its results are wanted even after an interrupt.
	f.report.Traffic, err = f.totalTraffic(context.WithoutCancel(ctx), c.Network.Traffic().Minus(before))
	return m, f.report, err
}

// A fitter holds what the steps of Fit share.
type fitter struct {
	*design
	c        *Config
	evidence *evidence
	noises   *noises // of the model
	// The least and the largest standard deviation of the noise of a task; 0 if all have the same.
	quietest, loudest float64
	report            *Report
	shrunken          *point          // see fitShrunken
	before            strengths       // where climbs at rank 0 start
	whitened          *difalt.Problem // what bases are found for
	step              float64         // eta, of the first run
	mostRank          int             // that was tried
	levels            *contender      // of intercepts only; nil where strengths are given
	contenders        []*contender    // the best of rank 0, and of every rank after it up to the best
	outliers          int             // training rows far off
	// What the evidence chooses with them where it is more than without.
	carried *contender
	// Features that are combinations of others.
	dependent   []int
	chosenNoise float64
}

func (f *fitter) progress(stage string, done, total int) {
	if f.c.Progress != nil {
		f.c.Progress(stage, done, total)
	}
}

// fit chooses a model by its evidence, and compares it with simpler ones.
func (f *fitter) fit(ctx context.Context) (*model.Model, error) {
	if err := f.reduce(ctx, f.c.Options.Seed); err != nil {
		return nil, err
	}
	f.progress("reading rows", 0, 1)
	if err := f.newEvidence(ctx); err != nil {
		return nil, err
	}
	f.progress("reading rows", 1, 1)
	chosen, none, err := f.choose(ctx)
	if err != nil {
		return nil, err
	}
	others, err := f.baselines(ctx) // which do not weigh tasks
	if err != nil {
		return nil, err
	}
	var outliers []int
	if outliers, f.outliers, err = f.outlying(ctx, none); err != nil {
		return nil, err
	}
	if chosen, none, err = f.weigh(ctx, chosen, none); err != nil {
		return nil, err
	}
	if chosen, err = f.soberly(ctx, chosen, none, outliers); err != nil {
		return nil, err
	}
	for _, c := range f.report.Tried {
		f.mostRank = max(f.mostRank, c.Rank)
	}
	if err := f.findExposed(ctx); err != nil {
		return nil, err
	}
	if err := f.finish(ctx, chosen, none); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	p, theta, err := f.posterior(ctx, chosen)
	if err != nil {
		return nil, err
	}
	f.report.Chosen, f.chosenNoise = f.candidate(chosen, none.value), chosen.noise
	m, err := f.model(p, theta)
	if err != nil {
		return nil, err
	}
	ours := method{name: Ours, ridge: f.report.Chosen.Ridge, theta: theta}
	if err := f.score(ctx, append([]method{ours}, others...)); err != nil {
		return nil, err
	}
	f.note()
	return m, nil
}

// newEvidence compresses the rows of every task.
func (f *fitter) newEvidence(ctx context.Context) error {
	workers := workersFor(f.c.Options.Workers)
	e := &evidence{assembly: f.assembly, tasks: f.compress(workers), w: f.width(), total: float64(f.total), workers: workers}
	z := f.zeros(1)
	for g, tasks := range f.layout {
		z[g][0] = float64(len(tasks))
	}
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	e.count = sum[0]
	f.evidence = e
	return nil
}

// finish runs the algorithm at the chosen rank until it converges, observed, and climbs to the top
// of the evidence.
func (f *fitter) finish(ctx context.Context, c *contender, none *point) error {
	f.report.Converged = c.converged
	if c.Rank == 0 {
		k := f.c.known()
		if c.Spread == 0 {
			k.spread = 0
		}
		pt, converged, err := f.evidence.maximize(ctx, c.point, nil, k, closely, stepsMost)
		if err != nil {
			return err
		}
		c.point, f.report.Converged = pt, converged
		return nil
	}
	p := *f.whitened
	p.U0 = c.bases
	ridge := f.ridgeOf(none, c.Rank)
	res, err := f.run(ctx, &p, c.Rank, ridge, f.c.Options.Iterations, true)
	if err != nil {
		return err
	}
	f.report.Result = res
	if res.Status == difalt.Canceled {
		f.report.Converged = false
		return nil
	}
	pt, converged, err := f.evidence.maximize(ctx, c.point, c.scale, f.c.known(), closely, stepsMost)
	if err != nil {
		return err
	}
	f.report.Converged = converged && res.Status == difalt.Converged
	c.point, err = f.lengthen(ctx, pt)
	return err
}

// lengthen sets the lengths of the loadings to those of the largest likelihood: their prior has as many entries to a length as
// there are coefficients, and where these are more than tasks the length of the largest density is far too short, for all
// that the directions stay.
func (f *fitter) lengthen(ctx context.Context, pt *point) (*point, error) {
	pt.Rotate()
	long, _, err := f.evidence.maximize(ctx, pt, nil, f.c.known(), closely, stepsMost)
	if err != nil {
		return nil, err
	}
	long.scale = pt.scale
	return long, nil
}

// posterior returns what is known about coefficients: of all tasks together, and of every hosted
// one, in the order of the table. The point of the contender becomes that of its principal axes, with the noise that
// spent says.
func (f *fitter) posterior(ctx context.Context, c *contender) (*mixedmodel.Posterior, [][]float64, error) {
	c.Rotate()
	pt, err := f.reach(ctx, c.point)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.evidence.information(ctx, pt)
	if err != nil {
		return nil, nil, err
	}
	if f.noises, err = f.evidence.noises(ctx, pt); err != nil {
		return nil, nil, err
	}
	spent := f.spent(info, pt)
	pt.noise *= spent
	c.point = pt
	p := pt.given()
	p.Freedom = f.noises.total / spent
	if f.evidence.weight != nil && f.noises.Freedom > 0 {
		f.noises.scaled(spent)
		p.NoisePrior = f.noises.NoisePrior
		if err := f.rangeOfNoise(ctx); err != nil {
			return nil, nil, err
		}
	}
	p.Uncertainty = uncertainty(info, pt.scale, pt.W)
	theta, err := f.coefficients(p)
	return p, theta, err
}

// reach returns a point, or what its prior gives with the weights of the evidence if it is of others.
func (f *fitter) reach(ctx context.Context, pt *point) (*point, error) {
	at, err := f.evidence.reach(ctx, pt)
	if err != nil {
		return nil, err
	}
	if math.IsInf(at.value, 0) {
		return nil, errors.New("the strengths are out of range")
	}
	at.scale = pt.scale
	return at, nil
}

// mostCovariances is the number of entries up to which a model has the covariance of the
// coefficients of every task.
const mostCovariances = 1 << 23

// model assembles the model.
func (f *fitter) model(p *mixedmodel.Posterior, theta [][]float64) (*model.Model, error) {
	w, tasks := f.width(), len(f.t.Tasks())
	out := f.parameters()
	out.Directions = f.directions
	out.Mean = f.expand(p.Mean)
	out.Prior = priorOf(p)
	f.ownNoise(&out)
	keep := f.evidence.count*float64(w*(w+1)/2) <= mostCovariances
	for k := range tasks {
		out.Theta = append(out.Theta, f.expand(theta[k])...)
	}
	if !keep {
		return model.New(out)
	}
	packed := w * (w + 1) / 2
	out.Covariance = make([]float64, tasks*packed)
	type place struct{ g, i, k int }
	var places []place
	for g, list := range f.layout {
		for i, k := range list {
			places = append(places, place{g, i, k})
		}
	}
	parallel(f.evidence.workers, len(places), func(_, at int) {
		s := places[at]
		_, cov, _ := p.Coefficients(&f.evidence.tasks[s.g][s.i], true)
		dst := out.Covariance[s.k*packed:][:packed]
		for i := range w {
			dst = dst[copy(dst, cov[i*w+i:(i+1)*w]):]
		}
	})
	return model.New(out)
}

// priorOf returns a prior in the form in which models keep it.
func priorOf(p *mixedmodel.Posterior) model.Prior {
	return model.Prior{
		Rank: p.Rank, Loadings: p.Loadings, Intercept: p.Intercept, Spread: p.Spread, MeanVariance: p.MeanVariance,
		MeanCovariance: p.MeanCovariance, Noise: p.Noise, Freedom: p.Freedom, NoisePrior: model.NoisePrior(p.NoisePrior), Uncertainty: p.Uncertainty,
	}
}

// parameters are those that do not depend on the kind of model.
func (f *fitter) parameters() model.Parameters {
	p := model.Parameters{
		Method: f.c.Options.Method.String(), Schema: *f.t.Schema(),
		TaskColumn: f.c.TaskColumn, TargetColumn: f.c.TargetColumn, Scaling: f.Scaling,
		Nodes: slices.Clone(f.t.Nodes()), Tasks: slices.Clone(f.t.Tasks()),
		NodeOf: make([]int, len(f.t.Tasks())), Samples: f.t.Samples(f.train),
	}
	for g, tasks := range f.layout {
		for _, k := range tasks {
			p.NodeOf[k] = g
		}
	}
	return p
}

// auto lets difalt.Auto choose how nodes agree.
func (f *fitter) auto(ctx context.Context, p *difalt.Problem) (err error) {
	if f.c.Auto {
		o := f.c.Options
		o.Rank = max(f.c.Rank, 1)
		f.c.Options, err = difalt.Auto(ctx, p, f.net, o)
	}
	return err
}

// continued returns the loadings of Config.Continue, if they are of a rank, and for every hosted
// node the basis of what they span.
func (f *fitter) continued(rank int) (*mixedmodel.Prior, []*kernel.Basis) {
	if f.c.Continue == nil {
		return nil, nil
	}
	was := f.c.Continue.Parameters()
	if was.Prior.Rank != rank || was.Width() != f.width() {
		return nil, nil
	}
	p := &mixedmodel.Prior{
		W: was.Width(), Rank: rank, Loadings: slices.Clone(was.Prior.Loadings),
		Intercept: was.Prior.Intercept, Spread: was.Prior.Spread, MeanVariance: was.Prior.MeanVariance,
	}
	u := kernel.NewBasis(p.W, rank)
	for a := range rank {
		copy(u.Col(a), p.Column(a))
	}
	u.Orthonormalize(make([]float64, rank*rank), make([]float64, qr.WorkLen(rank)))
	bases := make([]*kernel.Basis, len(f.layout))
	for g := range bases {
		bases[g] = u
	}
	return p, bases
}

// totalTraffic returns the traffic of all processes: what each has sent, and the rounds that
// all of them had to wait for.
func (f *fitter) totalTraffic(ctx context.Context, own wire.Traffic) (all wire.Traffic, err error) {
	z := f.zeros(4)
	z[0] = append(z[0][:0], float64(own.Messages), float64(own.Bytes), float64(own.Silent), float64(own.Lost))
	sum, err := f.sum(ctx, z)
	if err != nil {
		return all, err
	}
	n := func(i int) int64 { return int64(sum[i]) }
	return wire.Traffic{Rounds: own.Rounds, Messages: n(0), Bytes: n(1), Silent: n(2), Lost: n(3)}, nil
}
