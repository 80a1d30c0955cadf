// Package sizes measures the numbers of tasks: their largest entries and their sums of squares.
package sizes

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
)

// Largest returns the largest absolute values of the features and of the responses: 0 without samples, and
// NaN if one of them is NaN. It reads all samples.
func Largest(k *kernel.Tasks) (x, y float64) {
	eachRow(k, func(row []float64) { x = max(x, tile.MaxAbs(row)) })
	for t := range k.Len() {
		y = max(y, tile.MaxAbs(k.Y(t)))
	}
	return x, y
}

// Squares returns the sums of x^2 over all features of all samples and of y^2 over all responses, which may
// overflow or underflow. It reads all samples.
func Squares(k *kernel.Tasks) (x, y float64) {
	eachRow(k, func(row []float64) { x += tile.Dot(row, row) })
	return x, Responses(k)
}

// Responses returns the sum of y^2 over all responses, which may overflow or underflow.
func Responses(k *kernel.Tasks) (y float64) {
	for t := range k.Len() {
		y += tile.Dot(k.Y(t), k.Y(t))
	}
	return y
}

// MeanSquare returns the mean of x^2 over all features of the samples of a task, which may overflow or
// underflow: 0 without samples.
func MeanSquare(k *kernel.Tasks, task int) (x float64) {
	row, n := make([]float64, k.Features()), k.Samples(task)
	for i := range n {
		k.Row(row, task, i)
		x += tile.Dot(row, row) / float64(n*len(row))
	}
	return x
}

func eachRow(k *kernel.Tasks, f func(row []float64)) {
	row := make([]float64, k.Features())
	for t := range k.Len() {
		for i := range k.Samples(t) {
			f(k.Row(row, t, i))
		}
	}
}

// Finite reports whether no entry of v is NaN or infinite.
func Finite(v []float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
