package mixed

import "math"

// errorSteps is the number of steps into which a standard error is divided where sums of errors are rounded.
const errorSteps = 4

// roundErrors rounds the sums of addTo of this owner, of several methods, the model first, to a small part
// of their standard errors. A report has no more digits than that, and more digits disclose rows. The mean
// of the model is known to all. If targets are whole numbers, a sum of squared errors of a dozen rows with
// 15 digits has one solution.
func (g *guard) roundErrors(sums []float64) {
	if g.LeastLevel == 0 {
		return
	}
	model, first := sums[:scoreSize], 0.0 // squared errors of the model on held-out rows, rounded
	squares, ownSquares := model[6], model[12]
	for i := 0; i < len(sums); i += scoreSize {
		v := sums[i:][:scoreSize]
		for _, set := range [][]float64{v[:5], v[5:10]} {
			rows, spread := set[0], set[4]
			if rows == 0 {
				continue
			}
			set[3] = coarsened(set[3], math.Sqrt(spread))
			set[4] = coarsened(spread, spread*math.Sqrt(2/rows))
		}
		v[1] = coarsened(v[1], v[1]*math.Sqrt(2/max(v[0], 1)))
		gap := max(v[12]-2*v[11]+ownSquares, 0) // squares of differences of the errors of tasks
		apart := v[6] - squares
		if i == 0 {
			v[6] = coarsened(v[6], math.Sqrt(v[12]))
			v[12] = coarsened(v[12], v[12])
			v[11], first = v[12], v[6]
			continue
		}
		v[6] = max(first+coarsened(apart, math.Sqrt(gap)), 0)
		v[12] = coarsened(v[12], v[12])
		v[11] = (v[12] + model[12] - coarsened(gap, gap)) / 2
	}
}

// coarsened returns the nearest multiple of the largest power of two that is a small part of a standard
// error.
func coarsened(v, deviation float64) float64 {
	if !(deviation > 0) {
		return v
	}
	unit := powerOfTwo(deviation / errorSteps)
	return math.Round(v/unit) * unit
}
