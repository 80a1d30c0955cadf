package fit

import (
	"context"
	"math"
)

const (
	// How finely quantiles are counted: what lies on one side of the mean in so many bins, and a bin with quantiles again in so many.
	coarseBins, fineBins = 256, 64
	// How many deviations from its mean a value counts as at most, and how near to it bins are equally wide.
	farthest, nearest = 1e6, 0.01
)

// bins take values of a feature to places from 0, in bins that are ever wider away from the mean.
type bins struct{ center, scale float64 }

func (b bins) place(v float64) float64 {
	z := math.Min(math.Max((v-b.center)/b.scale, -farthest), farthest)
	return coarseBins*(1+math.Asinh(z/nearest)/math.Asinh(farthest/nearest)) + 0.5
}

func (b bins) value(place float64) float64 {
	return b.center + b.scale*nearest*math.Sinh(((place-0.5)/coarseBins-1)*math.Asinh(farthest/nearest))
}

// quantiles returns those of probabilities in increasing order of some features, over the training rows of all nodes, to about
// a thousandth of their distance from the mean. The nodes count rows in bins, and once more in parts of those
// bins that hold a quantile. Missing values do not count. Equal quantiles have the same bits.
func (d *design) quantiles(ctx context.Context, features []int, probabilities []float64) ([][]float64, error) {
	const all = 2*coarseBins + 1
	x := make([]float64, len(d.t.Features()))
	each := func(i int, visit func(f int, place float64)) {
		d.t.X(x, i)
		for f, j := range features {
			if !math.IsNaN(x[j]) {
				visit(f, bins{d.Fill[j], d.Scale[j]}.place(x[j]))
			}
		}
	}
	counts, err := d.sumTraining(ctx, all*len(features), func(i int, out []float64) {
		each(i, func(f int, place float64) { out[f*all+int(place)]++ })
	})
	if err != nil {
		return nil, err
	}
	// Of every feature and probability: the bin of the quantile, and what part of the rows there lies below it.
	held, part := make([][]int, len(features)), make([][]float64, len(features))
	for f := range features {
		held[f], part[f] = quantileBins(counts[f*all:][:all], probabilities)
	}
	n := len(probabilities) * fineBins
	fine, err := d.sumTraining(ctx, n*len(features), func(i int, out []float64) {
		each(i, func(f int, place float64) {
			bin, within := math.Modf(place)
			for k, index := range held[f] {
				if index == int(bin) {
					out[f*n+k*fineBins+int(within*fineBins)]++
				}
			}
		})
	})
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(features))
	for f, j := range features {
		for k, index := range held[f] {
			within, _ := quantileBins(fine[f*n+k*fineBins:][:fineBins], part[f][k:k+1])
			out[f] = append(out[f], bins{d.Fill[j], d.Scale[j]}.value(float64(index)+(float64(within[0])+0.5)/fineBins))
		}
	}
	return out, nil
}

// quantileBins returns the bins with the quantiles of probabilities, and what part of the rows there lies below each.
func quantileBins(counts, probabilities []float64) (held []int, part []float64) {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	below, bin := 0.0, 0
	for _, p := range probabilities {
		for bin < len(counts)-1 && (counts[bin] == 0 || below+counts[bin] < p*total) {
			below += counts[bin]
			bin++
		}
		held, part = append(held, bin), append(part, math.Max(p*total-below, 0)/math.Max(counts[bin], 1))
	}
	return held, part
}
