package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Noise returns the standard deviation of the noise of a single target about its
// expected value, in what Unit says: the usual one where tasks differ by it.
func (m *Model) Noise() float64 {
	return math.Sqrt(m.usual) * m.p.Scaling.TargetScale
}

// TaskNoise returns the standard deviation of the noise of a task, in what Unit says, with what is
// not known about it: 95 of 100 targets lie within 1.96 of it of their expected value, as by
// Student's t about an estimate. An unknown task is an error.
func (m *Model) TaskNoise(task string) (float64, error) {
	t, ok := m.index[task]
	if !ok {
		return 0, unknownTask(task)
	}
	return m.noise[t], nil
}

// stackWidth is the largest number of features for which PredictError does not allocate.
const stackWidth = 64

// PredictError returns the prediction of Predict and its standard error: the
// standard deviation, in the unit of the target, of the expected target of x by the
// posterior distribution of the coefficients of the task. That counts the task's own rows, the
// error of what tasks share, and to first order that of representation and strengths.
// It says how far the prediction may be from the expected target;
// a single target also has noise, so that its standard deviation about the prediction is
// sqrt(standardError^2 + TaskNoise^2). With Scaling.LogTarget all that is so of the logarithm, and the standard error is what makes
// the interval of 1.96 of them on either side of y hold 95 % of what the distribution says of the target: see PredictAnyError for that of single targets. The standard error is NaN where the covariance of
// coefficients is not known.
func (m *Model) PredictError(task string, x []float64) (y, standardError float64, err error) {
	y, err = m.Predict(task, x)
	if err != nil {
		return 0, 0, err
	}
	return y, m.errorOf(y, m.deviation(m.index[task], x)), nil
}

// errorOf returns the standard error of a prediction y whose linear predictor has a standard deviation.
func (m *Model) errorOf(y, deviation float64) float64 {
	if !m.p.Scaling.LogTarget {
		return deviation
	}
	return y * relativeError(deviation)
}

// relativeError returns e with which exp(s z), for a standard normal z, lies with a probability of 95 % within 1.96 e of 1: s where that is small.
func relativeError(s float64) float64 {
	within := func(far float64) float64 {
		return distuv.UnitNormal.CDF(math.Log1p(far)/s) - distuv.UnitNormal.CDF(math.Log1p(-min(far, 1))/s)
	}
	low, high := 0.0, math.Expm1(mixedmodel.Normal95*s) // which the upper end alone needs
	if !(s > 0) || math.IsInf(high, 0) {
		return high
	}
	for range 60 {
		if middle := (low + high) / 2; within(middle) < 0.95 {
			low = middle
		} else {
			high = middle
		}
	}
	return high / mixedmodel.Normal95
}

// deviation returns the standard deviation of the linear predictor.
func (m *Model) deviation(t int, x []float64) float64 {
	s := &m.p.Scaling
	var stack [stackWidth]float64
	z := stack[:min(s.Width(), stackWidth)]
	if s.Width() > stackWidth {
		z = make([]float64, s.Width())
	}
	s.fillMissing(z[:copy(z, x)])
	s.apply(z) // farther than a feature counts the error still grows
	return math.Sqrt(m.variance(t, z)) * s.TargetScale
}

// variance returns that of z' theta for scaled features z, of a task or, after the last, of one without rows; NaN if it is not known.
func (m *Model) variance(t int, z []float64) float64 {
	along, outside := z, 0.0
	if m.p.Directions != nil {
		along, outside = m.project(slices.Clone(z))
	}
	v := outside * m.outside
	w := m.p.Width()
	switch {
	case t == len(m.p.Tasks):
		return v + m.freshVariance(slices.Clone(along))
	case m.covariance() == nil:
		return math.NaN()
	}
	return v + max(quadratic(m.covariance()[t*w*(w+1)/2:][:w*(w+1)/2], along), 0)
}

// quadratic returns z' C z for the upper triangle of C by rows. z stays on the stack, as it would
// not if it were given to assembly.
func quadratic(packed, z []float64) (sum float64) {
	for i, v := range z {
		sum -= packed[0] * v * v
		for j, u := range z[i:] {
			sum += 2 * v * packed[j] * u
		}
		packed = packed[len(z)-i:]
	}
	return sum
}

// project returns scaled features along Directions, and the squared length of what is
// outside of them.
func (m *Model) project(z []float64) (along []float64, outside float64) {
	if m.p.Directions == nil {
		return z, 0
	}
	k, p := len(m.p.Scaling.Center), m.p.Width()-1
	along = make([]float64, p+1)
	outside = floats.Dot(z[:k], z[:k])
	for j := range p {
		along[j] = floats.Dot(m.p.Directions[j*k:][:k], z[:k])
		outside -= along[j] * along[j]
	}
	along[p] = z[k]
	return along, max(outside, 0)
}

// Covariance returns the posterior covariance of the coefficients of a task for scaled features, the
// constant last, in what Unit says: w x w, along Directions if the model has them. It
// returns an error if it is not known.
func (m *Model) Covariance(task string) (*mat.SymDense, error) {
	t, ok := m.index[task]
	if !ok {
		return nil, unknownTask(task)
	}
	all := m.covariance()
	if all == nil {
		return nil, fmt.Errorf("the model has no covariances: there were too many tasks and features to keep them, or it is that of a plain fit")
	}
	w := m.p.Width()
	out := mat.NewSymDense(w, nil)
	packed := all[t*w*(w+1)/2:]
	unit := m.p.Scaling.TargetScale * m.p.Scaling.TargetScale
	for i := range w {
		for j := i; j < w; j++ {
			out.SetSym(i, j, packed[j-i]*unit)
		}
		packed = packed[w-i:]
	}
	return out, nil
}
