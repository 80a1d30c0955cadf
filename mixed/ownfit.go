package mixed

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// OwnFits is the name of the stage of [Report.OwnFits].
const OwnFits = "own fits"

// An OwnFit compares the model of several owners with a fit of the rows of a single owner, on the held-out
// rows of this owner.
type OwnFit struct {
	// Table is the name of the owner's table, Input.Name.
	Table string `json:"table,omitempty"`
	// Text is a sentence or two.
	Text string `json:"text"`
	// Own are the errors of the owner's fit, and Shared the errors of the model of all owners.
	Own    Errors `json:"own"`
	Shared Errors `json:"shared"`
	// Gain is 1 - RMSE of the shared model / RMSE of the owner's fit, and Low to High its 95 % interval,
	// as in a Verdict.
	Gain float64 `json:"gain"`
	Low  float64 `json:"gain_low"`
	High float64 `json:"gain_high"`
}

// An ownedTable is the table of an owner in this process, with the scorer of the shared model.
type ownedTable struct {
	in      *Input
	options Options
	shared  *scorer
}

// OwnFits fits every table of this process alone, and compares the shared model with these fits. Where the
// rows of all owners have decided against curves, these fits have none. It takes the time of these fits, and
// sends nothing: nobody learns the result but the caller. Reports of one owner, and of private trainings,
// have none. The error comes from a context that ends.
func (r *Report) OwnFits(ctx context.Context) (list []OwnFit, err error) {
	if ctx == nil {
		return nil, errNoContext
	}
	for i := range r.owned {
		fit, err := r.owned[i].compare(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, *fit)
	}
	return list, nil
}

// aloneOptions returns the options of the fits of single owners. Curves that all rows do not support are not
// compared again: of the rows of one owner they need as much evidence, and take most of the time.
func (r *Report) aloneOptions(o Options) Options {
	compared, chosen := false, false
	for _, c := range r.Candidates {
		compared = compared || c.Curves
		chosen = chosen || c.Curves && c.Chosen
	}
	o.NoCurves = o.NoCurves || compared && !chosen
	return o
}

// compare fits the table alone.
func (t *ownedTable) compare(ctx context.Context) (*OwnFit, error) {
	nan := math.NaN()
	out := &OwnFit{Table: t.in.Name, Gain: nan, Low: nan, High: nan}
	shared, err := t.shared.heldOut(ctx)
	if err != nil {
		return nil, err
	}
	none := tally{}.Errors(1)
	out.Own, out.Shared = none, none
	ours := tally{}
	for _, k := range t.shared.rows.list {
		ours.add(shared[k])
	}
	if ours.Rows == 0 {
		out.Text = "No rows of this owner were held out, so the shared model is not compared with the owner's own fit."
		return out, nil
	}
	out.Shared = ours.Errors(t.shared.unit)
	alone, err := t.alone(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		const format = "The rows of this owner alone cannot be fitted (%s), " +
			"so the shared model is not compared with an own fit."
		out.Text = fmt.Sprintf(format, err)
		return out, nil
	}
	// Sums of squares count in units of the shared model.
	ratio := alone.unit / t.shared.unit
	own, err := alone.heldOut(ctx)
	if err != nil {
		return nil, err
	}
	theirs, c, squares := tally{}, comparison{}, 0.0
	for _, k := range t.shared.rows.list {
		e := own[k]
		theirs.add(e)
		if e.Rows > 0 {
			a, b := shared[k].Squares, e.Squares*ratio*ratio
			squares += float64(a * a)
			c.tasks, c.product, c.square = c.tasks+1, c.product+float64(a*b), c.square+float64(b*b)
		}
	}
	out.Own = theirs.Errors(alone.unit)
	out.setGain(ours.Squares, theirs.Squares*ratio*ratio, ours.Rows*exactNoise, c, squares)
	if less := alone.f.lessByLog; less > logGain {
		const hint = " Own training rows that are left out are predicted better by the logarithm of the " +
			"target, with an RMSE %.0f %% lower: all owners may try --log-target."
		out.Text += fmt.Sprintf(hint, 100*less)
	}
	return out, nil
}

// alone returns the scorer of a fit of the table without other owners. If the rank of all owners is too
// large, it takes the largest possible one.
func (t *ownedTable) alone(ctx context.Context) (*scorer, error) {
	f := &fitter{Options: t.options, in: t.in, bare: true}
	_, _, err := f.fit(ctx)
	if rank := new(RankError); errors.As(err, &rank) && rank.Most >= 0 {
		o := t.options
		o.Rank = &rank.Most
		f = &fitter{Options: o, in: t.in, bare: true}
		_, _, err = f.fit(ctx)
	}
	return f.alone, err
}

// predictAlone sets the coefficients of all tasks and the scorer of the model alone.
func (f *fitter) predictAlone(ctx context.Context, chosen *choice) (err error) {
	f.theta, err = chosen.coefficients(ctx)
	chosen.m.keepMean()
	f.alone = f.scorerOf([]method{{name: Ours, s: chosen.s, m: chosen.m}})
	return err
}

// setGain sets the gain and the text from sums of squares of the shared model and of the owner's fit; sums
// of at most exact belong to exact predictions.
func (f *OwnFit) setGain(ours, other, exact float64, c comparison, squares float64) {
	if ours <= exact && other <= exact {
		f.Text = "Both the shared model and the owner's own fit predict the held-out rows of this owner exactly."
		return
	}
	f.Gain = 1 - math.Sqrt(ours/other)
	if ours > exact && other > exact {
		f.Low, f.High = c.interval(ours, other, squares)
	}
	const format = "On the held-out rows of this owner the RMSE of the shared model, %s, is %s the owner's own fit, " +
		"of its rows alone (%s)."
	f.Text = fmt.Sprintf(format, number(f.Shared.RMSE), amount(f.Gain), number(f.Own.RMSE))
	if math.IsNaN(f.Low) {
		return
	}
	f.Text += gainInterval(f.Low, f.High)
	switch {
	case f.Low > 0:
		f.Text += ": the shared model predicts these rows better."
	case f.High < 0:
		f.Text += ": the own fit predicts these rows better."
	case f.Gain < -clearGain:
		f.Text += ": too few tasks to be sure, but the own fit is the better guess."
	case f.Gain > clearGain:
		f.Text += ": too few tasks to be sure, but the shared model is the better guess."
	default:
		f.Text += ": these rows are inconclusive."
	}
}

// add adds the sums of another tally.
func (t *tally) add(o tally) {
	t.Rows += o.Rows
	t.Squares += o.Squares
	t.Absolute += o.Absolute
	t.Targets += o.Targets
	t.TargetSquares += o.TargetSquares
}

// heldOut returns the tallies of the held-out rows of every task, of the first method.
func (s *scorer) heldOut(ctx context.Context) ([]tally, error) {
	first := s.f.scorerOf(s.methods[:1])
	list := make([]tally, len(s.rows.names))
	_, err := s.f.plain.reduceOwn(ctx, s.rows.list, 0, func(_ *worker, k int, _ []float64) error {
		return first.task(ctx, k, func(errors taskErrors) { list[k] = errors[0][1] })
	})
	return list, err
}
