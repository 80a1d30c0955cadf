package mixed

import (
	"context"
	"slices"
)

// AllRows is the name of the stage that Progress receives while [Options.Refit] fits a model to all rows.
const AllRows = "all rows"

// A judgedForm is the choice of a fit that the held-out rows have judged, with the comparison in its report.
// The fit to all rows starts from its variance components.
type judgedForm struct {
	whole     *rowList // the rows of positive weight of the table
	chosen    *choice
	onAxes    bool                // the design of the choice has axes, which are freed
	first     *varianceComponents // of rank 0 without curves
	noise     *taskNoise
	alike     bool
	level     float64 // of the noise in intervals
	slope     float64
	unseen    *pooling
	all       []choice
	compared  [2]int
	lessByLog float64
}

// refit fits a model to all rows of the table, held-out ones too, in the form of a model that held-out rows
// have judged. The report of that model gets the notes and the far rows of the new one, and keeps the errors
// and the candidates.
func (f *fitter) refit(ctx context.Context, old *Model, report *Report, form *judgedForm) (*Model, error) {
	in := *f.in
	in.HeldOut = make([]bool, len(f.in.HeldOut))
	for i, held := range f.in.HeldOut { // a row that has no logarithm stays held out
		in.HeldOut[i] = held && f.LogTarget && !(f.in.Table.Y(i) > 0)
	}
	f.freeAxes(old)
	next := &fitter{Options: f.Options, in: &in, form: form, digests: true}
	next.Sums = f.track.Sums
	if sums := report.Sums(); f.Progress != nil {
		next.Progress = func(p Progress) {
			done := slices.Index(Stages, p.Stage)
			f.Progress(Progress{Stage: AllRows, Done: done, Most: len(Stages), Sums: sums + p.Sums})
		}
	}
	if err := next.read(ctx); err != nil {
		return nil, err
	}
	next.chooseTasks()
	chosen, err := next.follow(ctx)
	if err != nil {
		return nil, err
	}
	next.all, next.compared, next.lessByLog = form.all, form.compared, form.lessByLog
	own := &Report{Converged: chosen.converged}
	m, err := next.conclude(ctx, chosen, own)
	if err != nil {
		return nil, err
	}
	report.Judged, report.Notes, report.Outliers = old, own.Notes, own.Outliers
	report.Converged = report.Converged && own.Converged
	return m, f.restoreAxes(ctx, old)
}

// repolish is the number of evaluations on all tasks where these are so expensive that forms were compared on
// some: the judged variance components belong to all tasks, too, so that few steps are left.
const repolish = 2

// follow returns the choice in the judged form: it optimises on all tasks from the judged variance
// components. It sets the noise of tasks where the form has some.
func (f *fitter) follow(ctx context.Context) (*choice, error) {
	form := f.form
	if f.plain.design.Axes != nil || form.onAxes {
		return f.followOnAxes(ctx)
	}
	f.track.stage(Stages[1], 0, 0)
	if err := f.plain.hold(ctx); err != nil {
		return nil, err
	}
	first := f.newForm(f.plain).end(0)
	c := first.newOptimiser(form.first)
	if err := optimiseAll(ctx, c); err != nil {
		return nil, err
	}
	first.keepHigher(&c.best)
	if _, err := f.bound(ctx, first); err != nil {
		return nil, err
	}
	s := f.plain
	if f.curved != nil {
		s = f.curved
	}
	s, err := f.samePeriods(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := f.followUnseen(ctx); err != nil {
		return nil, err
	}
	f.track.stage(Stages[3], 0, 0)
	if s.some != s.tasks {
		return f.followAll(ctx, s)
	}
	out, err := f.finishAgain(ctx, s)
	if err != nil || form.noise == nil {
		return out, err
	}
	noise, err := out.noiseOfTasks(ctx, s.tasks)
	if err != nil {
		return nil, err
	}
	if f.alike = form.alike && noise != nil; f.alike {
		f.noise = noise
	}
	if form.alike {
		return out, nil
	}
	if noise == nil {
		noise = form.noise
	}
	return f.followNoise(ctx, out, noise, polish)
}

// finishAgain returns the choice in the judged form that all rows decide on, the common strengths too. It
// starts from the judged ones.
func (f *fitter) finishAgain(ctx context.Context, s *stats) (*choice, error) {
	judged := f.form.chosen
	out := s.candidate(judged.Rank)
	out.Candidate = judged.Candidate
	common := s.newOptimiser(s.tasks, judged.q.carry(judged.s, s).shared(s), iterations)
	common.flatGain /= 10 // the end hardly depends on the start, which depends on the rows that were held out
	if err := optimiseAll(ctx, common); err != nil {
		return nil, err
	}
	out.optimum = common.best
	return out.finish(ctx, s.tasks)
}

// followAll returns the choice in the judged form where forms were compared on some tasks. It takes few
// evaluations on all of them, from the judged variance components with their common strengths: those of so
// many tasks differ little.
func (f *fitter) followAll(ctx context.Context, s *stats) (*choice, error) {
	judged := f.form.chosen
	out := s.candidate(judged.Rank)
	out.Candidate, out.converged = judged.Candidate, judged.converged
	out.q = judged.q.carry(judged.s, s)
	if f.form.noise != nil && !f.form.alike {
		return f.followNoise(ctx, &out, f.form.noise, repolish)
	}
	end, err := s.optimise(ctx, s.tasks, out.q, repolish)
	if err != nil {
		return nil, err
	}
	end.converged = end.converged || out.converged
	out.optimum = *end
	if f.form.alike {
		f.noise, err = out.noiseOfTasks(ctx, s.tasks)
		f.alike = f.noise != nil
	}
	return &out, err
}

// followNoise returns the choice with noise by task in its weights.
func (f *fitter) followNoise(ctx context.Context, alike *choice, noise *taskNoise, most int) (*choice, error) {
	loud, err := alike.weighTasks(ctx, alike.s.tasks, noise, most)
	if err != nil {
		return nil, err
	}
	f.noise = loud.noise
	return &loud.choice, nil
}

// samePeriods returns stats with the periods of the judged form, whose values come from all rows.
func (f *fitter) samePeriods(ctx context.Context, s *stats) (*stats, error) {
	var features []int
	for _, p := range f.form.chosen.s.design.Periods {
		features = append(features, p.Feature)
	}
	if features == nil {
		return s, nil
	}
	list, err := f.rows.periods(ctx, s.design, features)
	if err != nil || list == nil {
		return s, err
	}
	return s.withPeriods(ctx, list)
}

// followOnAxes is follow where one of the designs has axes. The designs then have other columns, so
// optimisation at the judged rank begins again.
func (f *fitter) followOnAxes(ctx context.Context) (*choice, error) {
	f.Rank = &f.form.chosen.Rank
	chosen, err := f.choose(ctx)
	if err == nil && !f.CommonNoise {
		return f.chooseNoise(ctx, chosen)
	}
	return chosen, err
}

// A columnKey names a column whatever columns the design has beside it.
type columnKey struct {
	kind           ColumnKind
	feature, index int
}

// shared returns variance components with one strength for all columns of a kind: the common one of these, or
// the strength of start if it is larger. An optimiser leaves strengths near 0 in very small steps.
func (q *varianceComponents) shared(s *stats) *varianceComponents {
	out := s.start()
	for j, g := range q.group {
		if s.columns[j].Kind != PeriodColumn {
			kind := s.columns[j].Kind
			out.sigma[kind] = max(out.sigma[kind], q.common[g])
		}
	}
	out.rank, out.w, out.noise, out.tau, out.fixed = q.rank, q.w, q.noise, q.tau, q.fixed
	return out
}

// carry returns the variance components of a design for another design of the features: the strengths of the
// groups of its columns, and the start for columns that only the other design has.
func (q *varianceComponents) carry(from, to *stats) *varianceComponents {
	key := func(c Column) columnKey { return columnKey{c.Kind, c.Feature, c.Index} }
	groups, means := map[columnKey]int{}, map[columnKey]float64{}
	for j, c := range from.columns {
		groups[key(c)], means[key(c)] = q.group[j], q.tau[from.group[j]]
	}
	out := to.start()
	out.rank, out.noise, out.fixed = q.rank, q.noise, q.fixed
	out.w = slices.Clone(q.w) // on the constant and the features, which both designs have
	start := out.sigma
	out.sigma = nil
	named := map[columnKey]int{} // group of the first column of a feature or a curve
	for j, c := range to.columns {
		k := key(c)
		k.index = 0
		if mean, found := means[k]; found && j > 0 {
			out.tau[to.group[j]] = mean
		}
		if c.Kind == PeriodColumn { // which has no deviations
			continue
		}
		g, known := named[k]
		if !known {
			g = len(out.sigma)
			named[k] = g
			sigma, common := start[c.Kind], start[c.Kind]
			if old, found := groups[k]; found {
				sigma = q.sigma[old]
				common = sigma
				if q.common != nil {
					common = q.common[old]
				}
			}
			out.sigma, out.common = append(out.sigma, sigma), append(out.common, common)
		}
		out.group[j] = g
	}
	return out
}
