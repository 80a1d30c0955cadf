package sums

import (
	"math"

	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
)

// Data describes tasks: those of one node, or in the totals those of all nodes. It is a Record.
type Data struct {
	Features, Rank float64 // d and r, which all nodes have alike
	Tasks, Samples float64
	XX, YY         float64 // sums of squares of all features and of all responses
}

// Of describes the tasks of a node for a basis of rank r.
func Of(k *kernel.Tasks, r int) Data {
	xx, yy := sizes.Squares(k)
	return Data{
		Features: float64(k.Features()), Rank: float64(r), Tasks: float64(k.Len()), Samples: float64(k.TotalSamples()),
		XX: xx, YY: yy,
	}
}

// Fields implements Record.
func (d *Data) Fields(row *Row) {
	row.Number(&d.Tasks, 1)
	row.Number(&d.Samples, 1)
	row.Number(&d.XX, Squares)
	row.Number(&d.YY, Squares)
}

// MeanFeature returns m, the mean square of a feature.
func (d *Data) MeanFeature() float64 { return d.XX / (d.Samples * d.Features) }

// MeanResponse returns the mean square of a response.
func (d *Data) MeanResponse() float64 { return d.YY / d.Samples }

// PerTask returns n, the mean number of samples of a task.
func (d *Data) PerTask() float64 { return d.Samples / d.Tasks }

// Curvature returns n m. The Hessian of a task in the direction of its b_t is about n m |b_t|^2.
func (d *Data) Curvature() float64 { return d.PerTask() * d.MeanFeature() }

// Free returns the number of samples less the number of unknowns, T r + d r. It may be negative.
func (d *Data) Free() float64 { return d.Samples - d.Tasks*d.Rank - d.Features*d.Rank }

// NoiseEdge returns about the square of the largest singular value of a d x T matrix of independent entries of
// the given variance.
func (d *Data) NoiseEdge(variance float64) float64 {
	width := math.Sqrt(d.Features) + math.Sqrt(d.Tasks)
	return variance * width * width
}
