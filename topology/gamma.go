package topology

import (
	"math"
	"math/cmplx"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// gammaLimit is the smallest gamma that counts as divergence of W^k.
	gammaLimit = 1 - 1e-12
	// denseNodes is the size of the largest symmetric W whose eigenvalues are all computed.
	denseNodes = 256
	// powerSteps bounds the products of the power iteration.
	powerSteps = 2000
	// powerStream separates its start from other uses of a seed.
	powerStream = 0x706f776572 // "power"
)

// Gamma returns gamma(W) = max(|lambda_2|, |lambda_L|): a round of AGREE multiplies the distance from
// agreement by this factor in the long run. It is 0 for a single node.
//
// For more than 256 nodes, with symmetric weights or those of a rule, Gamma is a lower bound from a power
// iteration of at most 2000 steps: accurate to about 1e-6 on graphs with a spectral gap of .01, and too
// small by a few thousandths on long rings and paths. The first call takes the time.
func (w *Weights) Gamma() float64 { return w.gamma() }

// measure returns gamma(W), or NaN if the eigenvalues did not converge.
func (w *Weights) measure() float64 {
	n := w.Len()
	switch {
	case n == 1:
		return 0
	case w.stationary == nil:
		return w.largest()
	case n > denseNodes:
		return w.power()
	}
	var eig mat.EigenSym
	if !eig.Factorize(w.symmetrised(), false) {
		return math.NaN()
	}
	values := eig.Values(nil) // ascending; one of them is 1
	one := 0
	for i, v := range values {
		if math.Abs(v-1) < math.Abs(values[one]-1) {
			one = i
		}
	}
	values[one] = 0
	return max(math.Abs(floats.Min(values)), math.Abs(floats.Max(values)))
}

// largest returns gamma of a W that is not similar to a known symmetric matrix.
func (w *Weights) largest() (gamma float64) {
	var eig mat.Eigen
	if !eig.Factorize(w.Dense(), mat.EigenNone) {
		return math.NaN()
	}
	values := eig.Values(nil)
	one := 0
	for i, v := range values {
		if cmplx.Abs(v-1) < cmplx.Abs(values[one]-1) {
			one = i
		}
	}
	for i, v := range values {
		if i != one {
			gamma = max(gamma, cmplx.Abs(v))
		}
	}
	return gamma
}

// symmetrised returns S of stationary.
func (w *Weights) symmetrised() *mat.SymDense {
	s := mat.NewSymDense(w.Len(), nil)
	for i, links := range w.links {
		s.SetSym(i, i, w.diagonal[i])
		for k, j := range w.graph.Neighbors(i) {
			s.SetSym(i, j, links[k]*w.stationary[i]/w.stationary[j])
		}
	}
	return s
}

// times computes y = S x.
func (w *Weights) times(y, x []float64) {
	q := w.stationary
	for i, links := range w.links {
		sum := 0.0
		for k, j := range w.graph.Neighbors(i) {
			sum += links[k] / q[j] * x[j]
		}
		y[i] = w.diagonal[i]*x[i] + q[i]*sum
	}
}

// power returns a lower bound on gamma(W) from a power iteration with S^2, orthogonal to the eigenvector
// for 1: the length of S x for a unit vector x.
func (w *Weights) power() (gamma float64) {
	n := w.Len()
	rng := rand.New(rand.NewPCG(uint64(n), powerStream))
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for range powerSteps {
		floats.AddScaled(x, -floats.Dot(w.stationary, x), w.stationary)
		unit(x)
		w.times(y, x)
		length := floats.Norm(y, 2)
		if !(length > 0) {
			break
		}
		gamma = max(gamma, length)
		x, y = y, x
	}
	return gamma
}

// unit divides v by its length.
func unit(v []float64) []float64 {
	floats.Scale(1/floats.Norm(v, 2), v)
	return v
}
