package mixed

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

// A Prediction is a predicted target with its standard errors, in the target's unit.
type Prediction struct {
	// Value is the expected target, or the median of its distribution if [Target].Log is set.
	Value float64
	// StandardError is the error of the expected target, and SampleError the error of a single target, which
	// includes noise: 95 % of the distribution are within 1.96 of them of Value. They include the
	// uncertainty of mu and of the task's deviation; for an unseen task, the spread of tasks; for an
	// unseen level of a category, the spread of its levels; for a new value of a period, the spread of
	// the effects of values.
	StandardError, SampleError float64
	// Low and High are the ends of the 95 % interval of a single target.
	Low, High float64
	// Known reports whether the task, the levels of all categories and the values of all periods were in
	// the training rows.
	Known bool
}

// ErrOverflow is the error of a prediction, or of its standard errors, beyond the range of numbers. It is
// about one row: other rows of a table may have predictions.
var ErrOverflow = errors.New("the features are so large that the prediction overflows")

// errErrors is ErrOverflow of standard errors alone.
var errErrors = fmt.Errorf("%w in its standard errors", ErrOverflow)

// stackWidth is the largest number of columns for which predictions do not allocate.
const stackWidth = 128

// Predict returns the predicted target for the table features x of a task, one entry per [Model.Features],
// where NaN counts as missing. It is the expected target, or the median if [Target].Log is set. An unseen
// task has the coefficients mu or [Parameters].Unseen; known is then false. Features of a category that are
// all 0 are an unseen level; it has the mean effect of the training rows, and known is false too. A new
// value of a period has the effect 0 beside the column's line and curve; known is false. A wrong length of
// x and infinite features are errors, and a prediction that overflows is [ErrOverflow].
func (m *Model) Predict(task string, x []float64) (y float64, known bool, err error) {
	var stack [stackWidth]float64
	t, z, known, err := m.find(task, x, stack[:])
	if err != nil {
		return 0, false, err
	}
	y, err = m.restore(m.expected(t, z))
	return y, known, err
}

// PredictError returns the prediction of [Model.Predict] with its standard errors. Its error wraps
// [ErrOverflow] where these overflow, although Predict may return a prediction.
func (m *Model) PredictError(task string, x []float64) (p Prediction, err error) {
	var stack [stackWidth]float64
	t, z, known, err := m.find(task, x, stack[:])
	if err != nil {
		return p, err
	}
	expected := m.expected(t, z)
	if p.Value, err = m.restore(expected); err != nil {
		return p, err
	}
	v := m.variance(t, z)
	for i := range m.levels {
		if c := &m.levels[i]; c.unseen(x) {
			v += m.levelVariance(t, c)
		}
	}
	v += m.newValues(x)
	p.Known = known
	p.StandardError = m.errorOf(p.Value, math.Sqrt(v))
	sample := math.Sqrt(v + float64(m.noise(t)*m.growing(t).Factor(expected)))
	p.SampleError = m.errorOf(p.Value, sample)
	far := float64(normal95 * sample * m.p.Target.Scale)
	p.Low, p.High = p.Value-far, p.Value+far
	if m.p.Target.Log {
		p.Low, p.High = p.Value*rounded.Exp(-far), p.Value*rounded.Exp(far)
	}
	if !finite(p.SampleError) || !finite(p.Low) || !finite(p.High) {
		return Prediction{}, errErrors
	}
	return p, nil
}

// find returns the index of a task, -1 for an unseen one, and the columns of the features x, on the
// stack if they fit. known is false for an unseen task or level. Errors are a wrong length of x and
// infinite features.
func (m *Model) find(task string, x, stack []float64) (t int, z []float64, known bool, err error) {
	if len(m.p.Mean) == 0 {
		return 0, nil, false, errEmpty
	}
	if len(x) != len(m.features) {
		return 0, nil, false, fmt.Errorf("the row has %d features, the model %d", len(x), len(m.features))
	}
	for j, v := range x {
		if math.IsInf(v, 0) {
			return 0, nil, false, fmt.Errorf("feature %q is %v", m.features[j], v)
		}
	}
	t = m.taskOf(task)
	known = t >= 0
	if w := len(m.p.Mean); w > len(stack) {
		stack = make([]float64, w)
	}
	z = stack[:len(m.p.Mean)]
	var unseen []category
	for _, c := range m.levels {
		if c.unseen(x) {
			known = false
			unseen = append(unseen, c)
		}
	}
	for i := range m.p.Design.Periods {
		p := &m.p.Design.Periods[i]
		known = known && (math.IsNaN(x[p.Feature]) || p.place(x[p.Feature]) >= 0)
	}
	m.p.Design.apply(z, x, unseen)
	return t, z, known, nil
}

// newValues returns the variance of the effects of those values of periods in x that the model has not
// learned: missing ones, too.
func (m *Model) newValues(x []float64) (sum float64) {
	for i, v := range m.periods {
		if p := &m.p.Design.Periods[i]; p.place(x[p.Feature]) < 0 {
			sum += v
		}
	}
	return sum
}

// unseen reports whether the features x belong to none of the levels of the category.
func (c *category) unseen(x []float64) bool {
	for _, v := range x[c.first:][:c.levels] {
		if v != 0 {
			return false
		}
	}
	return true
}

// theta returns the coefficients of task t, or of tasks without rows for t = -1.
func (m *Model) theta(t int) []float64 {
	switch {
	case t < 0 && m.p.Unseen != nil:
		return m.p.Unseen.Mean
	case t < 0:
		return m.p.Mean
	}
	w := len(m.p.Mean)
	return m.p.Tasks.Theta[t*w:][:w]
}

// expected returns the standardised prediction of task t for the columns z.
func (m *Model) expected(t int, z []float64) (sum float64) {
	for j, v := range m.theta(t) {
		sum += float64(v * z[j])
	}
	return sum
}

// restore returns the predicted target of a standardised prediction.
func (m *Model) restore(z float64) (float64, error) {
	y := m.p.Target.Restore(z)
	if !finite(y) || !finite(z) {
		return 0, ErrOverflow
	}
	return y, nil
}

// levelVariance returns the variance of the effect of an unseen level of a category in task t: the mean
// square of the differences of its known levels from their mean over the training rows, with their
// uncertainty. A common part of all levels is not distinguishable from the constant, so that only differences
// count.
func (m *Model) levelVariance(t int, c *category) float64 {
	theta, d := m.theta(t), &m.p.Design
	var terms []term // the negative mean of the levels
	for j := c.first; j < c.first+c.levels; j++ {
		if d.Scale[j] > 0 {
			terms = append(terms, term{j, -d.Center[j] / d.Scale[j]})
		}
	}
	sum, difference := 0.0, make([]float64, len(theta))
	for i, level := range terms {
		terms[i].factor += 1 / d.Scale[level.feature]
		d.combination(difference, d.length(), terms...)
		sum += square(rounded.Dot(difference, theta)) + m.variance(t, difference)
		terms[i] = level
	}
	return sum / max(float64(len(terms)-1), 1) * c.widening
}

// errorOf returns the standard error of a prediction in the target's unit, where the standardised
// prediction has the standard deviation s.
func (m *Model) errorOf(y, s float64) float64 {
	s *= m.p.Target.Scale
	if m.p.Target.Log {
		return y * relativeError(s)
	}
	return s
}

// relativeError returns the e for which exp(s Z), with a standard normal Z, is within 1.96 e of 1
// with probability 95 %. It is near s for small s.
func relativeError(s float64) float64 {
	if !(s > 0) {
		return s
	}
	if far := rounded.Expm1(normal90 * s); far >= 1 { // exp(s Z) is never below 1 - far
		return far / normal95
	}
	// The solution is between 0, and 1 or the end of the interval in the logarithm. The steps are
	// Newton's where these stay between the bounds.
	low, high := 0.0, min(rounded.Expm1(normal95*s), 1)
	far := high * (1 - float64(s/4))
	for range 60 {
		up, down := rounded.Log1p(far)/s, rounded.Log1p(-far)/s
		within := float64(normalWithin(up)) + float64(normalWithin(-down))
		if within < .95 {
			low = far
		} else {
			high = far
		}
		next := far - (within-.95)*s/(normalDensity(up)/(1+far)+normalDensity(down)/(1-far))
		if !(low < next && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-far) <= 1e-15*far {
			break
		}
		far = next
	}
	return far / normal95
}
