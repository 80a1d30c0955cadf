package model

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Table is rows of samples, as a *dataset.Table of package dataset is.
type Table interface {
	// Features and Tasks return names.
	Features() []string
	Tasks() []string
	Rows() int
	// Task returns the task of a row, an index of Tasks.
	Task(row int) int
	// X sets dst, one entry a feature, to the features of a row, NaN where they are
	// missing, and returns it.
	X(dst []float64, row int) []float64
	// Y returns the target of a row, if the table has targets.
	Y(row int) float64
	HasTarget() bool
}

// ErrUnknownTask is in the chain of errors about tasks that a model does not know. PredictAny predicts for these too.
var ErrUnknownTask = errors.New("the model does not know")

// Predict returns the prediction for features x of a task: the expected target, or, with Scaling.LogTarget, its
// median, the exponential of the expected logarithm, which counts as at most 8 TargetScale off
// Scaling.Target. It does not allocate unless it fails. An unknown task is an error that is ErrUnknownTask; so are features that are
// infinite, or so large that the prediction is.
func (m *Model) Predict(task string, x []float64) (float64, error) {
	t, ok := m.index[task]
	if !ok {
		return 0, unknownTask(task)
	}
	if err := m.checkLength(x); err != nil {
		return 0, err
	}
	y := m.predict(t, x)
	if why := refusal(y, x); why != nil {
		return 0, fmt.Errorf("task %q: %w", task, why)
	}
	return y, nil
}

func (m *Model) checkLength(x []float64) error {
	if len(x) != len(m.features) {
		return fmt.Errorf("x has %d features, the model %d", len(x), len(m.features))
	}
	return nil
}

// refusal returns an error if the prediction for features x is not finite, unless one of these is NaN.
func refusal(y float64, x []float64) error {
	if !math.IsInf(y, 0) && !math.IsNaN(y) {
		return nil
	}
	for i, v := range x {
		switch {
		case math.IsNaN(v):
			return nil
		case math.IsInf(v, 0):
			return fmt.Errorf("feature %d is %v", i, v)
		}
	}
	return errors.New("the features are so large that the prediction is not finite")
}

// PredictBatch sets dst[i] to the prediction for a row of features of task tasks[i],
// x[i*k : (i+1)*k] for the k features of the model. It does not allocate unless it
// fails. What is an error of Predict, and a wrong length, are errors, and dst is then unspecified.
func (m *Model) PredictBatch(dst []float64, tasks []string, x []float64) error {
	k := len(m.features)
	if len(dst) != len(tasks) || len(x) != len(tasks)*k {
		return fmt.Errorf("%d tasks with %d features each need %d predictions and %d numbers in x: there are %d and %d",
			len(tasks), k, len(tasks), len(tasks)*k, len(dst), len(x))
	}
	for i, name := range tasks {
		var err error
		if dst[i], err = m.Predict(name, x[i*k:][:k]); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// predict returns the prediction for features of a task or, after the last, of one without rows.
func (m *Model) predict(t int, x []float64) float64 { return m.p.Scaling.inTarget(m.linear(t, x)) }

// linear returns x' theta of a task in the unit of the target, or of its logarithm.
func (m *Model) linear(t int, x []float64) float64 {
	y, s, theta := m.bias[t], &m.p.Scaling, m.scaled(t)
	at, first := 0, 0 // features and inputs that came
	for i := range s.Transforms {
		c := &s.Transforms[i]
		y = s.addShifted(y, theta, x, at, first, c.Feature-at)
		first += c.Feature - at
		var stack [mostInputs]float64
		inputs := stack[:c.Width()]
		c.Apply(inputs, s.within(c.Feature, x[c.Feature]))
		for k, v := range inputs {
			y += s.inTable(theta, first+k) * (v - s.Center[first+k])
		}
		at, first = c.Feature+1, first+len(inputs)
	}
	return s.addShifted(y, theta, x, at, first, len(s.Center)-first)
}

// Beyond returns the first of the features x that counts as another value, since it is farther than the training rows say anything about: see
// Scaling; -1 if none is. Predict takes it as the nearest that counts, and PredictError's standard error as it is.
func (m *Model) Beyond(x []float64) int {
	for j, v := range x {
		if m.p.Scaling.within(j, v) != v && !math.IsNaN(v) {
			return j
		}
	}
	return -1
}

// addShifted returns y + theta' (x - center) for n features from one on, as they count, which are inputs from first on.
func (s *Scaling) addShifted(y float64, theta, x []float64, from, first, n int) float64 {
	for i := range n {
		y += s.inTable(theta, first+i) * (s.within(from+i, x[from+i]) - s.Center[first+i])
	}
	return y
}

// inTable returns coefficient j in the units of the table, with the logarithm of the target if the model is of that.
func (s *Scaling) inTable(theta []float64, j int) float64 {
	return theta[j] / s.Scale[j] * s.TargetScale
}

// FillMissing puts, in place of every NaN among features x of one row, the mean of
// that feature over the training rows, and returns the number of them. Predict takes
// NaN as it is, and returns NaN. It panics unless x has as many entries as the model has
// features.
func (m *Model) FillMissing(x []float64) (filled int) {
	if len(x) != len(m.features) {
		panic("model: x has another length than the features of the model")
	}
	return m.p.Scaling.fillMissing(x)
}

// PredictTable returns the prediction for every row of a table with the model's
// features, with FillMissing for those that are missing. Tasks that the model does
// not know are an error that names them.
func (m *Model) PredictTable(t Table) ([]float64, error) {
	if err := m.checkFeatures(t); err != nil {
		return nil, err
	}
	unknown := slices.DeleteFunc(slices.Clone(t.Tasks()), func(name string) bool { _, ok := m.index[name]; return ok })
	if len(unknown) > 0 {
		return nil, unknownTask(unknown...)
	}
	out, x := make([]float64, t.Rows()), make([]float64, len(m.features))
	for i := range out {
		m.FillMissing(t.X(x, i))
		var err error
		if out[i], err = m.Predict(t.Tasks()[t.Task(i)], x); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return out, nil
}

func (m *Model) checkFeatures(t Table) error {
	if !slices.Equal(t.Features(), m.features) {
		return fmt.Errorf("the table has the features %q, the model %q", t.Features(), m.features)
	}
	return nil
}

// unknownTask names tasks that the model does not know.
func unknownTask(names ...string) error {
	if len(names) == 1 {
		return fmt.Errorf("%w task %q: add it with adapt", ErrUnknownTask, names[0])
	}
	return fmt.Errorf("%w tasks %s: add them with adapt", ErrUnknownTask, text.Names(names))
}

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
	deviation := m.deviation(t, x)
	for _, b := range m.levels {
		if b.isNew(x) {
			deviation = math.Hypot(deviation, m.levelDeviation(t, b))
		}
	}
	p.StandardError, p.SampleError = m.errorOf(p.Y, deviation), m.errorOf(p.Y, math.Hypot(deviation, m.noise[t]))
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
	return t, known && !slices.ContainsFunc(m.levels, func(b categorical) bool { return b.isNew(x) }), nil
}

// isNew reports whether features x are of a level that is not among those of the column.
func (c *categorical) isNew(x []float64) bool {
	return !slices.ContainsFunc(x[c.First:][:c.Levels], func(v float64) bool { return v != 0 })
}

// levelDeviation returns the standard deviation of the effect of a level that is not known, in what Unit says: effects of levels
// are about 0 in the mean, as the ridge sees to, and the known ones say how far.
func (m *Model) levelDeviation(t int, b categorical) float64 {
	s, theta := &m.p.Scaling, m.scaled(t)
	first := s.place(b.First)
	z, sum := make([]float64, s.Width()), 0.0
	for j := first; j < first+b.Levels; j++ {
		z[j] = 1 / s.Scale[j]
		effect := s.inTable(theta, j) / s.TargetScale
		sum += effect*effect + m.variance(t, z)
		z[j] = 0
	}
	return math.Sqrt(sum/float64(b.Levels)) * s.TargetScale * mixedmodel.Interval95(float64(max(b.Levels-1, 1)))
}
