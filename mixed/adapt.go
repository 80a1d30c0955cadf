package mixed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// Adapt returns a model that has also learned the rows of a table. Coefficients of a task that is new to the
// model get their posterior distribution under the prior N(Mean, prior covariance + MeanCovariance). A model
// with Unseen has a prior mean between Unseen and Mean: the better the rows determine the level of the task,
// the nearer to Mean. So a task with few or uncertain rows is predicted nearly as one without rows. The
// coefficients of a known task are updated from their present distribution, so that its rows must be rows
// that the model has not seen. Mean, prior and other tasks stay as they are. If tasks differ by their noise,
// the noise of the table's tasks is estimated too. Rows count with their weights, and rows of weight 0 as
// absent. In a design with axes, the part of a row off the axes is noise of that row. So is the effect of a
// new value of a period. Errors name the task and the row, counted from 1, of targets and features that
// cannot be used; the error of a context that ends is its own.
func (m *Model) Adapt(ctx context.Context, t Table) (*Model, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if err := m.canLearn(t); err != nil {
		return nil, err
	}
	p, rows := m.p, make([][]int, len(t.Tasks()))
	p.Tasks = p.Tasks.clone()
	k, kept := &p.Tasks, p.Tasks.numbers()
	for i := range t.Rows() {
		rows[t.Task(i)] = append(rows[t.Task(i)], i)
	}
	for i, list := range rows {
		if len(list) == 0 {
			continue
		}
		sortRows(t, list)
		name := t.Tasks()[i]
		samples, err := m.samples(ctx, t, list, name)
		if err != nil {
			return nil, err
		}
		if list = presentRows(t, list); len(list) == 0 {
			continue
		}
		posterior, err := m.learn(ctx, name, samples)
		if err != nil {
			return nil, err
		}
		at, listed := m.index[name]
		if !listed {
			at = p.addTask(name)
		}
		if k.Covariances != nil {
			if kept += len(posterior.packed) - k.Covariances[at].numbers(); kept > mostCovariances {
				const format = "task %.60q: with its rows the model would keep more than %d MiB of covariances: " +
					"train a model with these rows"
				return nil, fmt.Errorf(format, name, mostCovariances>>17)
			}
		}
		k.set(at, posterior, len(list))
		if k.Digests != nil {
			k.Digests[at] += digestOf(t, list)
		}
	}
	return New(p)
}

// canLearn returns an error about a table whose rows the model cannot learn, whatever their numbers.
func (m *Model) canLearn(t Table) error {
	switch {
	case len(m.p.Mean) == 0:
		return errEmpty
	case isNoTable(t):
		return errNoTable
	case !slices.Equal(t.Features(), m.features):
		return fmt.Errorf("the table has the features %s, and the model %s", names(t.Features()), names(m.features))
	case !t.HasTarget():
		return errors.New("the table has no target column")
	case t.Rows() == 0:
		return errors.New("the table has no rows")
	case t.Weights() != nil && len(t.Weights()) != t.Rows():
		return fmt.Errorf("the table has %d weights for %d rows", len(t.Weights()), t.Rows())
	}
	return checkTable(t)
}

// learn returns the posterior of a task given samples.
func (m *Model) learn(ctx context.Context, task string, samples []sample) (*posterior, error) {
	known := m.Knows(task) // not a task of held-out rows alone
	if known && m.p.Tasks.Covariances == nil {
		const format = "task %.60q: the model does not keep covariances of known tasks, and cannot learn " +
			"more of their rows"
		return nil, fmt.Errorf(format, task)
	}
	before := m.prior(m.index[task], known)
	after, err := before.learn(ctx, samples)
	if err == nil && !known && m.p.Unseen != nil {
		return m.start(before, after, samples).learn(ctx, samples)
	}
	return after, err
}

// clone returns a copy whose numbers of tasks may change, but for those within covariances.
func (k *Tasks) clone() Tasks {
	out := *k
	out.Names, out.Samples, out.Theta = slices.Clone(k.Names), slices.Clone(k.Samples), slices.Clone(k.Theta)
	out.Noise, out.Freedom = slices.Clone(k.Noise), slices.Clone(k.Freedom)
	out.Covariances, out.Digests = slices.Clone(k.Covariances), slices.Clone(k.Digests)
	if g := k.Growth; g != nil {
		out.Growth = &Growth{slices.Clone(g.Level), slices.Clone(g.Slope)}
	}
	return out
}

// addTask adds a task without rows, and returns its place.
func (p *Parameters) addTask(name string) (at int) {
	k := &p.Tasks
	at = len(k.Names)
	k.Names, k.Samples, k.Theta = append(k.Names, name), append(k.Samples, 0), append(k.Theta, p.Mean...)
	if k.Digests != nil {
		k.Digests = append(k.Digests, 0)
	}
	if g := k.Growth; g != nil {
		g.Level, g.Slope = append(g.Level, p.Prior.Noise.Level), append(g.Slope, p.Prior.Noise.Slope)
	}
	if p.Prior.Noise.TaskFreedom > 0 {
		k.Noise, k.Freedom = append(k.Noise, 0), append(k.Freedom, 0)
	}
	if k.Covariances != nil {
		k.Covariances = append(k.Covariances, Covariance{})
	}
	return at
}

// set sets the posterior of a task that has learned more rows.
func (k *Tasks) set(at int, posterior *posterior, rows int) {
	if k.Covariances != nil {
		k.Covariances[at] = Covariance{Packed: posterior.packed}
	}
	copy(k.Theta[at*len(posterior.theta):], posterior.theta)
	k.Samples[at] += rows
	if k.Noise != nil {
		k.Noise[at], k.Freedom[at] = posterior.noise, posterior.freedom
	}
}

// samples returns the rows of a task that have a weight above 0.
func (m *Model) samples(ctx context.Context, t Table, rows []int, task string) ([]sample, error) {
	list := make([]sample, 0, len(rows))
	for j, row := range rows {
		if err := ctx.Err(); j%samplesAtOnce == 0 && err != nil {
			return nil, err
		}
		s, err := m.sample(t, row)
		if err != nil {
			return nil, rowError(t, row, "%s, task %q: %w", placeOf(t, row), task, err)
		}
		if s.weight > 0 {
			list = append(list, s)
		}
	}
	return list, nil
}

// presentRows returns the rows of a list that have a weight above 0.
func presentRows(t Table, rows []int) []int {
	in := &Input{Table: t}
	return slices.DeleteFunc(slices.Clone(rows), func(row int) bool { return in.weight(row) == 0 })
}

// sortRows sorts rows by their contents, so that the posterior has equal bits for every order of rows.
func sortRows(t Table, rows []int) {
	keys, x, in := make(map[int]uint64, len(rows)), make([]float64, len(t.Features())), &Input{Table: t}
	for _, i := range rows {
		keys[i] = rowKey(t.X(x, i), t.Y(i))
	}
	slices.SortFunc(rows, func(a, b int) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(in.weight(a), in.weight(b)))
	})
}

// A Table holds rows of samples; a *Data is one. If a table has a method Place(row int) string, errors about
// a row name the place that it returns, such as a line of a file.
type Table interface {
	Features() []string // names
	Tasks() []string    // names
	Rows() int
	Task(row int) int // index in Tasks
	// X sets dst, one entry per feature, to the features of a row, NaN where they are missing, and
	// returns it.
	X(dst []float64, row int) []float64
	HasTarget() bool
	Y(row int) float64
	Weights() []float64 // weights of the rows; nil: all are 1
	Schema() *Schema    // columns of the features
}

// placeOf returns the place of a row in words: that which the table gives by a method Place(row int) string,
// or the number of the row from 1.
func placeOf(t Table, row int) string {
	if b, ok := t.(*bounded); ok {
		return placeOf(b.Table, row)
	}
	if own, ok := t.(interface{ Place(row int) string }); ok {
		return own.Place(row)
	}
	return fmt.Sprintf("row %d of the table", row+1)
}

// A RowError is an error about a row of a table, whose text names its place.
type RowError struct {
	Table Table
	Row   int // of the table, from 0
	Err   error
}

// Error returns the text of Err.
func (e *RowError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RowError) Unwrap() error { return e.Err }

// rowError returns an error about a row of a table.
func rowError(t Table, row int, format string, args ...any) error {
	if b, ok := t.(*bounded); ok {
		t = b.Table
	}
	return &RowError{t, row, fmt.Errorf(format, args...)}
}

// A sample is a row of a table: its columns in the design, its standardised target and its weight. Its
// distance from the axes of the design, if there are any, stands apart: the column is 0. spread is the
// variance of effects of values that the model has not learned.
type sample struct {
	z         []float64
	y, weight float64
	distance  float64
	spread    float64
}

// Numbers of rows to learn from are bounded, in standard deviations of the training rows. The square of a
// farther feature would take all digits of the covariances; a farther target gives coefficients that a model
// does not hold.
const (
	farthest       = 1 << 26
	farthestTarget = 1e20
)

// sample returns a row of a table, or the first number of it that cannot be used.
func (m *Model) sample(t Table, row int) (sample, error) {
	s := sample{z: make([]float64, len(m.p.Mean)), y: m.p.Target.Standardize(t.Y(row)), weight: 1}
	x := t.X(make([]float64, len(m.features)), row)
	d := &m.p.Design
	d.Apply(s.z, x)
	for j, v := range x {
		if scale := d.Scale[j]; scale > 0 && !(math.Abs((d.filled(x, j)-d.Center[j])/scale) <= farthest) {
			const format = "feature %q is %v: it is infinite, or too far from the training rows to learn from"
			return s, fmt.Errorf(format, m.features[j], v)
		}
	}
	if at := d.distance(); at >= 0 {
		s.distance, s.z[at] = s.z[at], 0
	}
	s.spread = m.newValues(x)
	if !(math.Abs(s.y) <= farthestTarget) {
		why := "it must be finite, and not so far from the training rows"
		if m.p.Target.Log {
			why = "the model is of the target's logarithm: it must be finite and positive"
		}
		return s, fmt.Errorf("the target is %v: %s", t.Y(row), why)
	}
	if list := t.Weights(); list != nil {
		s.weight = list[row]
	}
	if !(s.weight >= 0) || !finite(s.weight) {
		return s, fmt.Errorf("the weight is %v: it must be finite and not negative", s.weight)
	}
	return s, nil
}

// A posterior is the distribution of a task's coefficients, N(theta, packed), and the variance of its noise.
type posterior struct {
	theta, packed  []float64
	noise, freedom float64 // freedom 0: the variance is known
	alike          float64 // variance of all samples in their weights; 0: noise
}

// prior returns the distribution of task t before its new rows, or the distribution of an unseen task.
func (m *Model) prior(t int, known bool) *posterior {
	p := &posterior{theta: m.p.Mean, noise: m.p.Prior.Noise.Variance, freedom: m.p.Prior.Noise.TaskFreedom}
	if p.freedom > 0 {
		p.alike = m.p.Prior.Noise.Alike
	}
	if known {
		p.theta, p.packed = m.theta(t), m.covariance(t)
		if m.p.Tasks.Noise != nil {
			p.noise, p.freedom = m.p.Tasks.Noise[t], m.p.Tasks.Freedom[t]
		}
		return p
	}
	p.packed = dense.Pack(nil, len(p.theta), m.p.Prior.Covariance())
	floats.Add(p.packed, m.p.MeanCovariance)
	return p
}

// emSteps is the number of EM steps for the variance of a task's noise, whose prior is scaled inverse
// chi-squared: the sum of squared residuals and of their variances, over the degrees of freedom.
const emSteps = 10

// learn returns the posterior given samples.
func (prior *posterior) learn(ctx context.Context, samples []sample) (*posterior, error) {
	if prior.alike > 0 {
		p, err := prior.given(ctx, samples, prior.alike)
		if err != nil {
			return nil, err
		}
		r := prior.residuals(p, samples)
		p.freedom = prior.freedom + max(r.rows-r.spent/prior.alike, 0)
		p.noise = (float64(prior.freedom*prior.noise) + r.squares) / p.freedom
		return p, nil
	}
	p, err := prior.given(ctx, samples, prior.noise)
	for i := 0; i < emSteps && prior.freedom > 0 && err == nil; i++ {
		r := prior.residuals(p, samples)
		freedom := prior.freedom + max(r.rows-r.spent/p.noise, 0)
		p, err = prior.given(ctx, samples,
			(float64(prior.freedom*prior.noise)+r.squares+r.spent)/(prior.freedom+r.rows))
		if err == nil {
			p.freedom = freedom
		}
	}
	return p, err
}

// residuals are sums over samples of positive weight: of squares at the coefficients, of their variances
// about these, and the number of samples.
type residuals struct{ squares, spent, rows float64 }

// residuals returns the residuals of a posterior given the samples with its noise.
func (prior *posterior) residuals(p *posterior, samples []sample) (r residuals) {
	for _, s := range samples {
		if s.weight > 0 {
			share := p.noise / s.weight / prior.noiseOf(s, p.noise)
			r.squares += float64(s.weight * square(share*(s.y-rounded.Dot(s.z, p.theta))))
			r.spent += float64(s.weight*share*share*quadratic(p.packed, s.z)) + float64(p.noise*(1-share))
			r.rows++
		}
	}
	return r
}

// samplesAtOnce is the number of samples between two checks of the context.
const samplesAtOnce = 64

// noiseOf returns the variance of a sample about its expectation along the axes and at known values of
// periods, for noise of the given variance.
func (prior *posterior) noiseOf(s sample, noise float64) float64 {
	return noise/s.weight + float64(square(s.distance)*prior.packed[len(prior.packed)-1]) + s.spread
}

// given returns the posterior given samples with noise of the given variance, one sample after the other.
// For a sample z with target y and noise of variance e, theta ~ N(theta, C) becomes
//
//	g = C z,  v = z'g + e,  theta + g (y - z'theta)/v,  C - g g'/v.
func (prior *posterior) given(ctx context.Context, samples []sample, noise float64) (*posterior, error) {
	p := &posterior{theta: slices.Clone(prior.theta), packed: slices.Clone(prior.packed), noise: noise}
	c := blas64.SymmetricPacked{Uplo: blas.Upper, N: len(p.theta), Data: p.packed}
	theta, g := dense.Vector(p.theta), dense.Vector(make([]float64, len(p.theta)))
	for i, s := range samples {
		if i%samplesAtOnce == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		if z := dense.Vector(s.z); s.weight > 0 {
			dense.Spmv(1, c, z, 0, g)
			// Rounding may make the first term negative.
			v := max(dense.Dot(z, g), 0) + prior.noiseOf(s, noise)
			dense.Axpy((s.y-dense.Dot(z, theta))/v, g, theta)
			dense.Spr(-1/v, g, c)
		}
	}
	return p, nil
}
