package features

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// Sums of squares of features of these sizes neither overflow nor underflow.
const leastSize, greatestSize = 1e-100, 1e100

// StandardizeOne is Standardize for tasks of one machine. It also divides the responses by a power of two
// near the largest of them: Scaling.Unit. Numbers may have any size; a *kernel.DataError names the task and
// the row of a number that is not finite.
func StandardizeOne(k *kernel.Tasks) (*kernel.Tasks, *Scaling, error) {
	if k == nil || k.Len() == 0 {
		return nil, nil, errors.New("features: there are no tasks")
	}
	x, y := sizes.Largest(k)
	if !(x <= math.MaxFloat64 && y <= math.MaxFloat64) {
		return nil, nil, k.CheckFinite()
	}
	before := 1.0 // the unit of the responses until their means are taken away
	if y != 0 && (y < leastSize || y > greatestSize) {
		before = powerOfTwo(y)
	}
	s, squares := momentsOne(k)
	var units []float64
	if x > greatestSize || slices.Min(squares) < leastSize*leastSize {
		units = unitsOf(k)
	}
	if units != nil || before != 1 {
		k = divided(k, units, before)
		s, squares = momentsOne(k)
	}
	unit := 0.0
	for t := range k.Len() {
		unit = max(unit, rootUnit(k, t))
	}
	s.setDeviations(squares, freedom(k, unit), unit)
	standard := s.apply(0, k)
	if k.TotalSamples() > 0 && standard.TotalSamples() == 0 {
		return nil, nil, errors.New("features: no task has two samples: its intercept explains the only one")
	}
	responses := responsesOf(standard)
	after := powerOfTwo(rounded.MaxNorm(responses))
	for i := range responses {
		responses[i] /= after
	}
	standard = standard.WithResponses(responses)
	s.Unit = before * after
	floats.Scale(before, s.Responses[0])
	for j, unit := range units {
		s.Deviations[j] *= unit
		for t := range k.Len() {
			s.Means[0][t*len(units)+j] *= unit
		}
	}
	return standard, s, nil
}

// momentsOne returns a Scaling with the means of one node, and the sums of squares of its features.
func momentsOne(k *kernel.Tasks) (s *Scaling, squares []float64) {
	means, responses, squares := moments(k)
	s = &Scaling{Deviations: make([]float64, k.Features()), Unit: 1}
	s.Means, s.Responses = [][]float64{means}, [][]float64{responses}
	return s, squares
}

// unitsOf returns a unit for each feature, nil if all are 1. For features too large or too small for sums of
// their squares it is a power of two near their largest entry, and otherwise 1.
func unitsOf(k *kernel.Tasks) []float64 {
	largest := make([]float64, k.Features())
	eachRow(k, 1, func(row []float64) {
		for j, v := range row {
			largest[j] = max(largest[j], math.Abs(v))
		}
	})
	units, other := slices.Repeat([]float64{1}, len(largest)), false
	for j, v := range largest {
		if v != 0 && (v < leastSize || v > greatestSize) {
			units[j], other = powerOfTwo(v), true
		}
	}
	if !other {
		return nil
	}
	return units
}

// divided returns tasks whose features are divided by units, unless these are nil, and responses by unit.
func divided(k *kernel.Tasks, units []float64, unit float64) *kernel.Tasks {
	samples := make([]int, k.Len())
	for t := range samples {
		samples[t] = k.Samples(t)
	}
	b, row := kernel.NewBuilder(k.Features(), samples, k.Storage()), make([]float64, k.Features())
	for t, n := range samples {
		for i := range n {
			weight := k.Weight(t, i)
			root := math.Sqrt(weight)
			k.Row(row, t, i)
			if units != nil {
				floats.Div(row, units)
			}
			floats.Scale(1/root, row)
			b.SetWeightedRow(t, i, row, k.Y(t)[i]/unit/root, weight)
		}
	}
	return b.Tasks()
}

// responsesOf returns the responses of all samples, task after task.
func responsesOf(k *kernel.Tasks) (y []float64) {
	for t := range k.Len() {
		y = append(y, k.Y(t)...)
	}
	return y
}

// powerOfTwo returns a power of two near v, at most v, and 1 for 0.
func powerOfTwo(v float64) float64 {
	if v == 0 {
		return 1
	}
	return math.Ldexp(1, math.Ilogb(v))
}

// Center returns the tasks without the means of every task, and these means: of the features of task t at
// [t*d : (t+1)*d], and of its responses at [t]. Like Standardize it makes n - 1 rows of n; like
// StandardizeOne it is for one machine, but it changes no unit. It panics if k is nil.
func Center(k *kernel.Tasks) (centred *kernel.Tasks, means, responses []float64) {
	if k == nil {
		panic("features: there are no tasks")
	}
	s, _ := momentsOne(k)
	for j := range s.Deviations {
		s.Deviations[j] = 1
	}
	return s.apply(0, k), s.Means[0], s.Responses[0]
}
