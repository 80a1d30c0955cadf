package model

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/mixedmodel"
)

// A Prediction is what a model says about a row.
type Prediction struct {
	// Y is the prediction, StandardError that of the expected target, and SampleError that of a single target: 95 in 100 lie
	// within 1.96 of them of Y. See PredictError; NaN where they are not known.
	Y, StandardError, SampleError float64
	// Known says that the task, and the levels of all categorical columns, were among the training rows.
	Known bool
}

// PredictAny is Predict for any task. That of one that the model does not know is by the mean that all tasks share; known is
// then false. Features of a categorical column that are all 0 are a level that the model does not know, of
// which the prediction is that of a level without effect, and known is false too. Other errors are those of Predict.
func (m *Model) PredictAny(task string, x []float64) (y float64, known bool, err error) {
	t, known, err := m.find(task, x)
	if err != nil {
		return 0, false, err
	}
	y = m.predict(t, x)
	return y, known, refusal(y, x)
}

// PredictAnyError returns the prediction of PredictAny with its standard errors. Those of a task that the model does
// not know count what tasks differ by, as the prior says and as well as that is known (by Satterthwaite's degrees of freedom), the error of the shared mean, and the
// noise of a usual task; those of a level that it does not know what the known levels differ by.
func (m *Model) PredictAnyError(task string, x []float64) (p Prediction, err error) {
	t, known, err := m.find(task, x)
	if err != nil {
		return p, err
	}
	p.Y, p.Known = m.predict(t, x), known
	if err := refusal(p.Y, x); err != nil {
		return p, err
	}
	p.StandardError = m.standardError(t, x)
	for _, b := range m.levels {
		if isNew(x[b.first:][:b.n]) {
			p.StandardError = math.Hypot(p.StandardError, m.levelDeviation(t, b))
		}
	}
	p.SampleError = math.Hypot(p.StandardError, m.noise[t])
	return p, nil
}

// find returns the place of a task, or that of one without rows; known is false for that, and for new levels.
func (m *Model) find(task string, x []float64) (t int, known bool, err error) {
	if m.index == nil {
		return 0, false, unknownTask(task)
	}
	if err := m.checkLength(x); err != nil {
		return 0, false, err
	}
	t, known = m.index[task]
	if !known {
		t = len(m.p.Tasks)
	}
	return t, known && !slices.ContainsFunc(m.levels, func(b block) bool { return isNew(x[b.first:][:b.n]) }), nil
}

// A block is the features of a categorical column.
type block struct{ first, n int }

// isNew reports whether features of levels are those of another level.
func isNew(x []float64) bool { return !slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) }

// freshVariance returns that of z' theta of a task without rows, for z along Directions: times what makes up for
// degrees of freedom that are few, where strengths are estimated from few tasks.
func (m *Model) freshVariance(z []float64) float64 {
	v, slopes := m.fresh.Covary(z, z)
	freedom := 2 * v * v / m.fresh.Uncertain(slopes) // infinite if the prior is known
	if !(freedom > 1) {
		freedom = 1
	}
	return max(v, 0) * math.Pow(mixedmodel.Interval95(freedom), 2)
}

// levelDeviation returns the standard deviation of the effect of a level that is not known, in the unit of the target: effects of levels
// are about 0 in the mean, as the ridge sees to, and the known ones say how far.
func (m *Model) levelDeviation(t int, b block) float64 {
	s, k := &m.p.Scaling, len(m.p.Scaling.Center)
	first := s.place(b.first)
	z, sum := make([]float64, s.Width()), 0.0
	for j := first; j < first+b.n; j++ {
		z[j] = 1 / s.Scale[j]
		effect := m.theta[t*k+j] / s.TargetScale
		sum += effect*effect + m.variance(t, z)
		z[j] = 0
	}
	return math.Sqrt(sum/float64(b.n)) * s.TargetScale * mixedmodel.Interval95(float64(max(b.n-1, 1)))
}
