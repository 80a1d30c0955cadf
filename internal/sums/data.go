package sums

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// Data describes the tasks of one node or, in the totals, of all nodes. It is a Record.
type Data struct {
	Features, Rank float64 // d and r, which all nodes have alike
	Tasks, Samples float64
	XX, YY         float64 // sums of squares of all features and of all responses
	// Wide is set in the totals if XX or YY of a node does not fit into a row: Complete sums them.
	Wide bool
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
	xx, yy := d.XX, d.YY
	if !row.reading && !(fits(xx) && fits(yy)) {
		d.Wide, xx, yy = true, 0, 0
	}
	row.Number(&xx, Squares)
	row.Number(&yy, Squares)
	row.Flag(&d.Wide)
	if row.reading {
		d.XX, d.YY = xx, yy
	}
}

// fits reports whether a sum in the unit Squares has all digits of v.
func fits(v float64) bool { return v == 0 || v >= 0x1p-30 && v <= 0x1p80 }

// Complete sets XX and YY of the totals d, if the row of a node did not have them: own[i] describes hosted
// node i. All nodes call it together.
func (d *Data) Complete(ctx context.Context, net consensus.Sums, own []Data) error {
	if !d.Wide {
		return nil
	}
	squares := make([][]float64, len(own))
	for i, node := range own {
		squares[i] = []float64{node.XX, node.YY}
	}
	units, err := Units(ctx, net, squares)
	if err != nil {
		return err
	}
	for i := range squares {
		floats.Div(squares[i], units)
	}
	if err := net.Sum(ctx, squares); err != nil {
		return err
	}
	d.XX, d.YY, d.Wide = squares[0][0]*units[0], squares[0][1]*units[1], false
	return nil
}

// Energy is the unit of sums of squares of residuals: a power of two near the sum of squares of the
// responses, which no such sum exceeds; 1 if all responses are zero.
func (d *Data) Energy() float64 {
	if d.YY == 0 {
		return 1
	}
	_, exponent := math.Frexp(d.YY)
	return math.Ldexp(1, exponent)
}

// Coefficient is the unit of coefficients: a power of two near the root of the mean square of a response over
// the mean square of a feature; 1 if all responses are zero.
func (d *Data) Coefficient() float64 {
	if d.YY == 0 {
		return 1
	}
	return math.Ldexp(1, -int(math.Round(rounded.Log2(d.MeanFeature()/d.MeanResponse())/2)))
}

// MeanFeature returns m, the mean square of a feature.
func (d *Data) MeanFeature() float64 { return d.XX / (d.Samples * d.Features) }

// SizeOf returns the ratio of two mean squares, of the features of a task and of all features, as a power of
// four: 1 where they differ by less than a factor of two, as tasks of one unit do by chance, and without
// samples.
func (d *Data) SizeOf(k *kernel.Tasks, task int) float64 {
	size := sizes.MeanSquare(k, task) / d.MeanFeature()
	if !(size > 0) {
		return 1
	}
	return math.Ldexp(1, 2*int(math.Round(rounded.Log2(size)/2)))
}

// MeanResponse returns the mean square of a response.
func (d *Data) MeanResponse() float64 { return d.YY / d.Samples }

// PerTask returns n, the mean number of samples of a task.
func (d *Data) PerTask() float64 { return d.Samples / d.Tasks }

// Curvature returns n m. The Hessian of a task in the direction of its b_t is about n m |b_t|^2.
func (d *Data) Curvature() float64 { return d.PerTask() * d.MeanFeature() }

// Free returns the number of samples less the number of unknowns, T r + d r. It may be negative.
func (d *Data) Free() float64 {
	return d.Samples - float64(d.Tasks*d.Rank) - float64(d.Features*d.Rank)
}

// NoiseEdge returns about the square of the largest singular value of a d x T matrix of independent entries
// of the given variance.
func (d *Data) NoiseEdge(variance float64) float64 {
	width := math.Sqrt(d.Features) + math.Sqrt(d.Tasks)
	return variance * width * width
}
