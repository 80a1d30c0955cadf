package topology

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	lapack "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

const (
	// gammaLimit is the smallest gamma that counts as divergence of W^k.
	gammaLimit = 1 - 1e-12
	// denseNodes is the size of the largest symmetric W whose eigenvalues are all computed.
	denseNodes = 256
	// lanczosSteps bounds the products with a larger W.
	lanczosSteps = 500
	// lanczosCheck is the number of steps between two checks of the eigenvalues.
	lanczosCheck = 25
	// exhausted is the length of a remainder that is rounding.
	exhausted = 1e-14
	// startStream separates the start of the iteration from other uses of a seed.
	startStream = 0x706f776572 // "power"
)

// Gamma returns gamma(W) = max(|lambda_2|, |lambda_L|): a round of AGREE multiplies the distance from
// agreement by this factor in the long run. It is 0 for a single node.
//
// For more than 256 nodes, with symmetric weights or the weights of a rule, Gamma is a lower bound from a
// Lanczos iteration of at most 500 steps: accurate to about 1e-9 on graphs with a spectral gap of .001, and
// too small by about 1e-5 on rings and paths of thousands of nodes. With other weights its time grows with
// the cube of the number of nodes. The first call takes the time.
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
		return w.lanczos()
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
			sum += float64(links[k] / q[j] * x[j])
		}
		y[i] = float64(w.diagonal[i]*x[i]) + float64(q[i]*sum)
	}
}

// lanczos returns a lower bound on gamma(W): the largest magnitude of a Ritz value of S on a Krylov space
// that is orthogonal to the eigenvector for 1. Rounding adds copies of Ritz values, and none outside the
// spectrum (Paige, The computation of eigenvalues and eigenvectors of very large sparse matrices, 1971).
func (w *Weights) lanczos() (gamma float64) {
	n, q := w.Len(), w.stationary
	rng := rand.New(rand.NewPCG(uint64(n), startStream))
	x, before, y := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	floats.AddScaled(x, -floats.Dot(q, x), q)
	unit(x)
	var diagonal, beside []float64 // of the tridiagonal matrix of S in the Krylov space
	length := 0.0
	for step := 1; step <= min(lanczosSteps, n-1); step++ {
		w.times(y, x)
		floats.AddScaled(y, -length, before)
		diagonal = append(diagonal, floats.Dot(x, y))
		floats.AddScaled(y, -diagonal[step-1], x)
		floats.AddScaled(y, -floats.Dot(q, y), q)
		length = floats.Norm(y, 2)
		last := step == min(lanczosSteps, n-1) || length <= exhausted
		if last || step%lanczosCheck == 0 {
			larger := largestOf(diagonal, beside)
			if last || larger <= gamma*(1+exhausted) {
				return max(gamma, larger)
			}
			gamma = larger
		}
		beside = append(beside, length)
		floats.Scale(1/length, y)
		before, x, y = x, y, before
	}
	return gamma
}

// largestOf returns the largest magnitude of an eigenvalue of a symmetric tridiagonal matrix, or NaN.
func largestOf(diagonal, beside []float64) float64 {
	values := slices.Clone(diagonal)
	if !(lapack.Implementation{}).Dsterf(len(values), values, slices.Clone(beside)) {
		return math.NaN()
	}
	return max(math.Abs(floats.Min(values)), math.Abs(floats.Max(values)))
}

// unit divides v by its length.
func unit(v []float64) []float64 {
	floats.Scale(1/floats.Norm(v, 2), v)
	return v
}
