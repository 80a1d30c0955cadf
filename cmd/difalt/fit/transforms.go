package fit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
)

const (
	// What the evidence has to gain by a curve, in -2 log, and by a feature that is clipped or a logarithm: that has no more coefficients.
	curveCost, plainCost = 12, 4
	// Alternatives are tried that promise so many times that, or by which tasks differ by so many standard errors.
	leastPromise, leastDiffer = 0.25, 3
	// Of more features transforms are not looked for; a caller may ask for so many curves; and so many rows and tasks of all nodes choose, about.
	mostTransformed, mostCurves, mostChoosingRows, mostChoosingTasks = 40, 100, 50000, 1000
	// MostBends is how many features a curve adds to a table.
	MostBends = 5
	// A strength of curves beside that of what is linear is looked for in steps of a factor, up to so far.
	strengthFactor, mostStrength = 3, 100
)

// A transformer chooses what takes the place of features by the evidence of rank 0.
type transformer struct {
	d       *design // rows by which it chooses
	workers int
	chosen  []*alternative // of every feature; nil is as it is
	best    *candidate
	given   evidence.Strengths
	failed  map[*alternative]float64 // what was promised by alternatives that were no better
}

// transform takes curves of the features that the caller names, or lets the evidence choose where there are few enough features to look at, and returns, if that is
// compared, what curves of all features make to be compared with. Between owners it tells nothing to choose by.
func (d *design) transform(ctx context.Context, c *Config, workers int, compared bool) (splines []method, err error) {
	forced := len(c.Curves) > 0
	if !forced && !d.chooses() {
		return nil, nil
	}
	own, err := d.thinned(ctx)
	if err != nil {
		return nil, err
	}
	t := &transformer{d: own, workers: workers, chosen: make([]*alternative, len(d.Center)), given: evidence.Unknown(), failed: map[*alternative]float64{}}
	if d.Tasks == 1 {
		t.given.Spread = 0 // else it is all, nothing is left for the mean, and by that promises are made
	}
	var alternatives []*alternative
	if d.chooses() {
		if alternatives, err = own.alternatives(ctx, own.numbers(), model.Clipped, model.Logarithmic, model.Curved, model.LogCurved); err != nil {
			return nil, err
		}
		if compared {
			if splines, err = d.fitSplines(ctx, alternatives, workers); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case forced:
		err = t.force(ctx, c.Curves)
	case c.Curves == nil && len(alternatives) > 0:
		err = t.choose(ctx, alternatives)
	}
	if err != nil {
		return nil, err
	}
	d.limit(alternatives)
	*d = *d.transformed(t.chosen)
	return splines, nil
}

// limit makes features count as what the training rows say something about: at most as far beyond their ends as 96 % of them are apart. What
// a straight effect would be farther away, or one of which tasks differ, nobody has seen.
func (d *design) limit(alternatives []*alternative) {
	if alternatives == nil {
		return
	}
	k := len(d.Fill)
	d.Least, d.Most = slices.Repeat([]float64{-math.MaxFloat64}, k), slices.Repeat([]float64{math.MaxFloat64}, k)
	for _, a := range alternatives {
		d.Least[a.Feature], d.Most[a.Feature] = a.least, a.most
	}
}

// chooses reports whether the evidence may choose transforms: of few features, and where nobody else hears of what it is made.
func (d *design) chooses() bool {
	k := len(d.Center)
	return !d.owners && !d.equalTarget && k <= mostTransformed && k <= d.total
}

// numbers are the features that are neither levels nor constant.
func (d *design) numbers() (list []int) {
	_, isLevel := d.columns()
	for j := range d.t.Features() {
		if !isLevel[j] && !slices.Contains(d.constant, j) {
			list = append(list, j)
		}
	}
	return list
}

// thinned returns a design with fewer training rows, evenly of all nodes, where there are very many.
func (d *design) thinned(ctx context.Context) (*design, error) {
	own := *d
	stride := func(n, most int) int { return max(n/most, 1) }
	tasks, rows := stride(d.Tasks, mostChoosingTasks), stride(d.total, mostChoosingRows)
	if tasks == 1 && rows == 1 {
		return &own, nil
	}
	rows = max(rows/tasks, 1)
	own.train, own.layout = make([]bool, len(d.train)), make([][]int, len(d.layout))
	for g, list := range d.layout {
		for i := 0; i < len(list); i += tasks {
			own.layout[g] = append(own.layout[g], list[i])
			at := 0
			d.eachTraining(list[i:i+1], func(i int) {
				own.train[i] = at%rows == 0
				at++
			})
		}
	}
	sum, err := own.sumTraining(ctx, 1, func(_ int, out []float64) { out[0]++ })
	if err != nil {
		return nil, err
	}
	own.total = int(sum[0])
	return &own, nil
}

// force takes a curve of each of the given columns, and between nodes that are not owners the strengths that the evidence chooses.
func (t *transformer) force(ctx context.Context, columns []string) error {
	names := t.d.t.Features()
	var features []int
	for _, name := range columns {
		j := slices.Index(names, name)
		if j < 0 {
			return fmt.Errorf("column %q cannot be a curve: the features are %s", name, text.Names(names))
		}
		features = append(features, j)
	}
	if len(columns) > mostCurves {
		return fmt.Errorf("there are %d columns that should be curves: at most %d can be", len(columns), mostCurves)
	}
	slices.Sort(features)
	curves, err := t.d.alternatives(ctx, slices.Compact(features), model.Curved)
	if err != nil {
		return err
	}
	for _, a := range curves {
		t.chosen[a.Feature] = a
	}
	for _, j := range features {
		if t.chosen[j] == nil {
			return fmt.Errorf("column %q cannot be a curve: it has fewer than three different values in the training rows, or they are too large or too small", names[j])
		}
	}
	if t.d.owners {
		return nil
	}
	if t.best, err = t.evaluate(ctx, t.chosen); err != nil {
		return err
	}
	for _, a := range curves {
		if _, err := t.try(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// choose tries what promises most, and again what promises more after that.
func (t *transformer) choose(ctx context.Context, alternatives []*alternative) (err error) {
	if t.best, err = t.evaluate(ctx, t.chosen); err != nil {
		return err
	}
	for range 2 {
		if changed, err := t.improve(ctx, alternatives); err != nil || !changed {
			return err
		}
	}
	return nil
}

// improve tries what promises most first, all alternatives of a feature one after the other, and reports whether anything was better.
func (t *transformer) improve(ctx context.Context, alternatives []*alternative) (changed bool, err error) {
	promises, err := t.d.transformed(t.chosen).screen(ctx, t.best.Point, alternatives)
	if err != nil {
		return false, err
	}
	best := make([]float64, len(t.chosen)) // of every feature
	for _, p := range promises {
		best[p.Feature] = max(best[p.Feature], p.gain)
	}
	slices.SortStableFunc(promises, func(a, b screened) int { return cmp.Compare(best[b.Feature], best[a.Feature]) })
	for _, p := range promises {
		if p.gain < leastPromise*p.cost() && p.differ < leastDiffer || p.gain < 2*t.failed[p.alternative] {
			continue
		}
		better, err := t.try(ctx, p.alternative)
		if err != nil {
			return false, err
		}
		if changed = changed || better; !better {
			t.failed[p.alternative] = p.gain
		}
	}
	return changed, nil
}

// try takes an alternative if it is better than what there is, and reports whether it is.
func (t *transformer) try(ctx context.Context, a *alternative) (found bool, err error) {
	if a.Width() == 1 {
		return t.takeBetter(ctx, a)
	}
	for _, factor := range []float64{1. / strengthFactor, strengthFactor} {
		for s := 1.0; s > 1./mostStrength && s < mostStrength; s *= factor {
			if s == 1 && factor > 1 {
				continue // it is known
			}
			better, err := t.takeBetter(ctx, a.stronger(s))
			if err != nil {
				return false, err
			}
			if found = found || better; !better && s != 1 {
				break
			}
		}
	}
	return found, nil
}

// takeBetter takes an alternative as it is if it is better than what there is.
func (t *transformer) takeBetter(ctx context.Context, a *alternative) (bool, error) {
	next := slices.Clone(t.chosen)
	next[a.Feature] = a
	k, err := t.evaluate(ctx, next)
	if err != nil || !(k.evidence+a.cost() < t.best.evidence+t.chosen[a.Feature].cost()) {
		return false, err
	}
	t.best, t.chosen = k, next
	return true, nil
}

// cost is what the evidence has to gain by an alternative.
func (a *alternative) cost() float64 {
	switch {
	case a == nil:
		return 0
	case a.Width() > 1:
		return curveCost
	}
	return plainCost
}

// transformed returns the design with transforms in place of features; nil are as they are.
func (d *design) transformed(chosen []*alternative) *design {
	own := *d
	own.Center, own.Scale, own.Transforms = nil, nil, nil
	for j, a := range chosen {
		if a == nil {
			own.Center = append(own.Center, d.Center[j])
			own.Scale = append(own.Scale, d.Scale[j])
			continue
		}
		own.Transforms = append(own.Transforms, a.Transform)
		own.Center = append(own.Center, a.center...)
		own.Scale = append(own.Scale, a.scale...)
	}
	return &own
}

// How near to its top a climb comes that chooses a transform, in -2 log likelihood, and with how many steps.
const nearTop, choosingSteps = 0.3, 20

// evaluate returns the candidate of rank 0 of the largest evidence with transforms, from that of the best so far.
func (t *transformer) evaluate(ctx context.Context, chosen []*alternative) (*candidate, error) {
	own := t.d.transformed(chosen)
	rows, err := own.sufficientRows(ctx, t.workers)
	if err != nil {
		return nil, err
	}
	var start *evidence.Point
	if t.best != nil {
		start = &evidence.Point{Prior: t.best.Prior.Clone()}
		start.W, start.Slopes = rows.Width, t.slopes(own)
	} else if start, _, err = rows.Start(ctx, rows.FirstGuess(), t.given); err != nil {
		return nil, err
	}
	t.given.Apply(start.Prior)
	pt, _, err := rows.Maximize(ctx, start, nil, t.given, nearTop, choosingSteps)
	if err != nil {
		return nil, err
	}
	alike, ok := pt.Alike()
	if !ok {
		return nil, errOutOfRange
	}
	return judged(alike, pt), nil
}

// slopes returns those of the best candidate for the inputs of another design of the same features; nil if they are all 1.
func (t *transformer) slopes(of *design) (slopes []float64) {
	if t.best.Slopes == nil {
		return nil
	}
	before := t.d.transformed(t.chosen).featureOf()
	for _, j := range of.featureOf() {
		slopes = append(slopes, t.best.Slopes[slices.Index(before, j)])
	}
	return slopes
}

// featureOf returns the feature of every input.
func (d *design) featureOf() (list []int) {
	transforms := d.Transforms
	for j := range d.t.Features() {
		n := 1
		if len(transforms) > 0 && transforms[0].Feature == j {
			n, transforms = transforms[0].Width(), transforms[1:]
		}
		list = append(list, slices.Repeat([]int{j}, n)...)
	}
	return list
}

// Splines are fitted up to so many coefficients of a task, and so many squares of them in all tasks: they are there to be compared with.
const mostSplineWidth, mostSplineWork = 120, 3e7

// fitSplines fits curves of all columns that can have one, the same for all tasks, with an intercept for each task that is shrunken towards that of all: what
// the model has to be compared with if effects are not straight. It is for a design without transforms, and the alternatives of its features. No method is returned
// where there are no curves, or where so many tasks take long.
func (d *design) fitSplines(ctx context.Context, alternatives []*alternative, workers int) (methods []method, err error) {
	chosen := make([]*alternative, len(d.Center))
	for _, a := range alternatives {
		if a.Kind == model.Curved {
			chosen[a.Feature] = a
		}
	}
	curved := d.transformed(chosen)
	if w := curved.width(); w == d.width() || w > mostSplineWidth || float64(d.Tasks)*float64(w*w) > mostSplineWork {
		return nil, nil
	}
	rows, err := curved.sufficientRows(ctx, workers)
	if err != nil {
		return nil, err
	}
	intercepts := evidence.Unknown()
	intercepts.Spread = 0
	start, _, err := rows.Start(ctx, rows.FirstGuess(), intercepts)
	if err != nil {
		return nil, err
	}
	pt, _, err := rows.Maximize(ctx, start, nil, intercepts, nearTop, 1)
	if err != nil {
		return nil, err
	}
	m := method{Score: Score{Method: Splines, Ridge: 1 / pt.MeanVariance}, of: curved}
	m.theta, err = curved.coefficients(ctx, rows, pt.Posterior())
	return []method{m}, err
}
