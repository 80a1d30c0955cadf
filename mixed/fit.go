package mixed

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
)

// A fitter holds the state of a fit.
type fitter struct {
	Options
	in            *Input
	rows          *rows
	plain, curved *stats    // without curves, and with them (nil: the design has no curves)
	tooWide       bool      // curves were left out for the number of columns
	theta         []float64 // coefficients of every task of the table
	all           []choice  // the compared forms
	baselines     []method
	noise         *taskNoise // nil: all tasks have one variance
	alike         bool       // the noise of tasks is for intervals only: their rows count alike
	freedom       float64    // degrees of freedom of the noise
	level, slope  float64    // of the noise in intervals, see [Noise]
	unseen        *pooling   // predicts tasks without rows; nil: the mean of the model does
	farRows       []outlier  // the farthest first
	without       withoutSummary
	lessByLog     float64 // relative decrease of the error with the target's logarithm; 0: no gain
	track         *tracker
	compared      [2]int              // own tasks on which forms were compared, and all
	first         *varianceComponents // of rank 0 without curves
	digests       bool                // of rows are kept in the model: not in a private one
	lean          bool                // the model has no covariances and digests: it is replaced
	bare          bool                // only predictions are wanted: there is neither a model nor a report
	alone         *scorer             // of a bare fit
	form          *judgedForm         // that a fit to all rows follows; nil: forms are compared
}

var (
	errNoContext = errors.New("mixed: need a context")
	errNoTable   = errors.New("there is no table")
)

// isNoTable reports whether t is nil or a nil pointer to a table.
func isNoTable(t Table) bool {
	v := reflect.ValueOf(t)
	return t == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// Fit trains a model on the training rows of a table or, with [Options.Sums], on those of all owners; the
// model then has the tasks of this one. The error names the option, task or row that it is about; it is the
// context's where that has ended. Fit does not change the table.
func Fit(ctx context.Context, in Input, o Options) (*Model, *Report, error) {
	if ctx == nil {
		return nil, nil, errNoContext
	}
	if err := o.check(&in); err != nil {
		return nil, nil, ownFault(err)
	}
	f := &fitter{Options: o, in: &in}
	return f.fit(ctx)
}

func (f *fitter) fit(ctx context.Context) (*Model, *Report, error) {
	if err := f.read(ctx); err != nil {
		return nil, nil, err
	}
	return f.train(ctx)
}

// train chooses a form of the designs that were read, and returns its model.
func (f *fitter) train(ctx context.Context) (*Model, *Report, error) {
	chosen, err := f.choose(ctx)
	if err != nil {
		return nil, nil, err
	}
	if chosen, err = f.choosePeriods(ctx, chosen); err != nil {
		return nil, nil, err
	}
	if !f.CommonNoise {
		if chosen, err = f.chooseNoise(ctx, chosen); err != nil {
			return nil, nil, err
		}
	}
	if f.bare {
		return nil, nil, f.predictAlone(ctx, chosen)
	}
	report := &Report{Converged: chosen.converged, Owners: f.rows.sums.Owners(), TaskCount: int(f.rows.tasks.count)}
	for _, c := range f.all {
		c.Chosen = c.Rank == chosen.Rank && c.Curves == chosen.Curves
		report.Candidates = append(report.Candidates, c.Candidate)
	}
	again := f.Refit && f.in.heldOut(func(int) bool { return true }) > 0
	f.digests, f.lean = !again, again
	out, err := f.conclude(ctx, chosen, report)
	if err != nil {
		return nil, nil, err
	}
	if !again {
		return out, report, nil
	}
	form := &judgedForm{
		f.rows.whole, chosen, chosen.s.design.Axes != nil, f.first, f.noise, f.alike, f.level, f.slope, f.unseen,
		f.all, f.compared, f.lessByLog,
	}
	if out, err = f.refit(ctx, out, report, form); err != nil {
		return nil, nil, err
	}
	return out, report, nil
}

// conclude returns the model of the chosen variance components and completes the report.
func (f *fitter) conclude(ctx context.Context, chosen *choice, report *Report) (*Model, error) {
	f.freedom = chosen.freedom()
	effects, err := f.effects(chosen, chosen.m)
	if err != nil {
		return nil, err
	}
	f.track.stage(Stages[4], 0, 0)
	// Before there are coefficients of all tasks and their covariances: both take much memory for a while.
	if err := f.setGrowth(ctx, chosen); err != nil {
		return nil, err
	}
	if err := f.score(ctx, report, chosen); err != nil {
		return nil, err
	}
	if err := f.findOutliers(ctx, chosen); err != nil {
		return nil, err
	}
	if f.form == nil {
		if err := f.chooseUnseen(ctx, chosen); err != nil {
			return nil, err
		}
	}
	out, err := f.model(ctx, chosen, chosen.m, effects)
	if err != nil {
		return nil, err
	}
	report.Notes, report.Totals = f.notes(chosen, chosen.m, report), f.rows.totals
	report.Outliers = f.outliers()
	if f.rows.guard != nil {
		report.Notes = append(report.Notes, f.rows.guard.did...)
	}
	f.keepMeans(chosen)
	return out, nil
}

// forms returns the stats of all forms that were compared.
func (f *fitter) forms(chosen *choice) []*stats {
	list := []*stats{f.plain, chosen.s}
	if f.curved != nil {
		list = append(list, f.curved)
	}
	for i := range f.all {
		list = append(list, f.all[i].s)
	}
	for i := range f.baselines {
		if s := f.baselines[i].s; s != nil {
			list = append(list, s)
		}
	}
	return list
}

// keepMeans frees the totals and the matrices of the model and of the simpler methods. Only errors of tasks
// follow from them after that.
func (f *fitter) keepMeans(chosen *choice) {
	for _, s := range f.forms(chosen) {
		s.total, s.gram, s.idle = nil, nil, new(sync.Pool)
	}
	chosen.m.keepMean()
	for i := range f.baselines {
		f.baselines[i].m.keepMean()
	}
}

// read makes the designs and reads the data of all tasks.
func (f *fitter) read(ctx context.Context) (err error) {
	f.track = newTracker(&f.Options)
	f.Sums = f.track
	f.track.stage(Stages[0], 0, 0)
	if f.form == nil {
		f.rows, err = newRows(ctx, f.in, &f.Options)
	} else {
		f.rows, err = describeRows(ctx, f.in, &f.Options, f.form.whole)
	}
	if err != nil {
		return err
	}
	r := f.rows
	plain := r.newDesign()
	if err := r.setAxes(ctx, &plain); err != nil {
		return err
	}
	if f.plain, err = newStats(ctx, r, &plain, f.Workers); err != nil {
		return err
	}
	tasks, columns := int(r.tasks.count), f.plain.directions()
	if most := min(maxRank, tasks-1, columns); f.Rank != nil && (*f.Rank < 0 || *f.Rank > most) {
		why := fmt.Sprintf("with %d tasks and %d columns that vary", tasks, columns)
		return &Error{&RankError{*f.Rank, most, why}, "the rank is too large", false}
	}
	if f.NoCurves || plain.Axes != nil || f.form != nil && !f.form.chosen.Curves {
		return nil
	}
	curved, tooWide, err := r.addCurves(ctx, plain, f.plain.within)
	f.tooWide = tooWide
	if err == nil && len(curved.Curves) > 0 {
		f.curved, err = newStats(ctx, r, &curved, f.Workers)
	}
	return err
}

// model returns the model of the chosen variance components.
func (f *fitter) model(ctx context.Context, chosen *choice, m *meanPosterior, effects *Estimate) (*Model, error) {
	s, r := chosen.s, f.rows
	var covariances []Covariance
	var strengths *Strengths
	if !f.lean {
		var err error
		if covariances, strengths, err = chosen.covariances(ctx, f.freedom, mostCovariances); err != nil {
			return nil, err
		}
	}
	for _, s := range f.forms(chosen) { // before the model takes more memory
		s.forget()
	}
	design := *s.design
	design.Periods = chosen.described()
	p := Parameters{
		Estimator: "evidence", Schema: *r.schema, Design: design, Target: r.target,
		Mean: m.mean, MeanCovariance: dense.Pack(nil, s.p, m.c), Effects: effects,
		Prior:    *m.prior,
		Tasks:    Tasks{Column: f.TaskColumn, Names: f.in.Table.Tasks(), Theta: f.theta},
		Goodness: s.goodness(m, chosen),
	}
	p.Prior.Freedom, p.Prior.Noise.Freedom = s.tasks.count-1, f.freedom
	for k := range f.in.Table.Tasks() {
		p.Tasks.Samples = append(p.Tasks.Samples, len(r.of(k)))
	}
	if f.digests {
		p.Tasks.Digests = r.digests()
	}
	if n := f.noise; n != nil {
		p.Prior.Noise = Noise{Variance: n.usual, TaskFreedom: n.freedom}
		p.Tasks.Noise, p.Tasks.Freedom = n.variances, n.freedoms
		if f.alike {
			p.Prior.Noise.Alike = chosen.q.noise
		}
	}
	p.Prior.Noise.Level, p.Prior.Noise.Slope = f.level, f.slope
	p.Tasks.Covariances, p.Tasks.Strengths = covariances, strengths
	if mean := f.unseenMean(m.mean); mean != nil {
		p.Unseen = &Unseen{Mean: mean}
	}
	p.Tasks.keep(f.present())
	return New(p)
}

// digests returns the sum of the digests of the training rows of every task.
func (r *rows) digests() []uint32 {
	list, read := make([]uint32, len(r.in.Table.Tasks())), r.newReader()
	for k := range list {
		rows := r.of(k)
		read.each(rows, func(at int, x []float64) { list[k] += digest(x, r.in.Table.Y(int(rows[at]))) })
	}
	return list
}

// present reports which tasks have rows of positive weight: other ones count as absent.
func (f *fitter) present() []bool {
	list := make([]bool, len(f.in.Table.Tasks()))
	for i := range f.in.Table.Rows() {
		if f.in.weight(i) > 0 {
			list[f.in.Table.Task(i)] = true
		}
	}
	return list
}

// keep leaves out the tasks that are not present.
func (t *Tasks) keep(present []bool) {
	if !slices.Contains(present, false) {
		return
	}
	all := *t
	p := len(all.Theta) / len(present)
	t.Names, t.Samples, t.Theta, t.Noise, t.Freedom, t.Covariances, t.Digests = nil, nil, nil, nil, nil, nil, nil
	for k, on := range present {
		if !on {
			continue
		}
		t.Names, t.Samples = append(t.Names, all.Names[k]), append(t.Samples, all.Samples[k])
		if all.Digests != nil {
			t.Digests = append(t.Digests, all.Digests[k])
		}
		t.Theta = append(t.Theta, all.Theta[k*p:][:p]...)
		if all.Noise != nil {
			t.Noise, t.Freedom = append(t.Noise, all.Noise[k]), append(t.Freedom, all.Freedom[k])
		}
		if all.Covariances != nil {
			t.Covariances = append(t.Covariances, all.Covariances[k])
		}
	}
}

// goodness returns the shares of the training rows' variance that the mean and the deviations explain: m'Gm
// and tr S G, where G is the covariance of the columns.
func (s *stats) goodness(m *meanPosterior, chosen *choice) Goodness {
	p, n := s.p, s.tasks.rows
	g := slices.Clone(s.total)
	dense.Mirror(p, g)
	moved := make([]float64, p)
	dense.Symv(1/n, dense.Symmetric(p, g), dense.Vector(m.mean), 0, dense.Vector(moved))
	center := rounded.Dot(g[:p], m.mean) / n
	fixed := max(rounded.Dot(m.mean, moved)-float64(center*center), 0)
	random := rounded.Dot(m.prior.Covariance(), g) / n
	all := fixed + random + chosen.q.noise
	return Goodness{Evidence: chosen.evidence, R2Marginal: fixed / all, R2Conditional: (fixed + random) / all}
}

// weakCurve is the least prior standard deviation of a curve's mean among the effects.
const weakCurve = 0.3

// effects returns the mean under a nearly flat prior, so that its covariance has all uncertainty. The prior
// deviation is 30 target deviations for linear columns, and at least weakCurve for columns of curves.
func (f *fitter) effects(chosen *choice, m *meanPosterior) (*Estimate, error) {
	s := chosen.s
	if s.design.Axes != nil {
		return nil, nil // without its prior the mean is unknown off the axes: all effects would be, too
	}
	d := s.meanDeviations(chosen.q)
	for j, c := range s.columns {
		switch {
		case c.Curve >= 0:
			d[j] = max(d[j], weakCurve)
		case c.Period < 0 && s.active[j]:
			d[j] = constantSD0
		}
	}
	flat := meanPosterior{m: m.m, h: m.h}
	_, err := flat.solve(d)
	return &Estimate{Mean: flat.mean, Covariance: dense.Pack(nil, s.p, flat.c), Freedom: s.tasks.count - 1}, err
}
