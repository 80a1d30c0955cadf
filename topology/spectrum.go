package topology

import (
	"math"
	"math/cmplx"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// gammaLimit is where W^k counts as not converging at all.
	gammaLimit = 1 - 1e-12
	// denseNodes is up to how many nodes all eigenvalues of a dense W are computed where two would do.
	denseNodes = 256
)

// A Spectrum is of the eigenvalues of W but the one that is 1: values, and what share each
// has of them. Up to 256 nodes, and where W is not similar to a symmetric matrix, values are all L - 1
// eigenvalues with equal shares; of more nodes some 500 stand for all, and means of functions over them
// are off by about a part in the root of 4 L if they depend on all eigenvalues, more if on few.
type Spectrum struct {
	Values []complex128
	Shares []float64 // their sum is 1
	real   bool      // all eigenvalues are
}

// Gamma returns gamma(W) = max(|lambda_2|, |lambda_L|), the factor by which a
// round of AGREE shrinks the distance from agreement in the long run; 0 for a
// single node. Of more than 256 nodes it is known to 1e-12, and the first call may take
// seconds for thousands of nodes on a poorly connected graph; longer for given weights
// that are not symmetric.
func (w *Weights) Gamma() float64 { return w.gamma() }

// Spectrum returns the eigenvalues of W but the one that is 1. It is read only.
func (w *Weights) Spectrum() *Spectrum { return w.spectrum() }

// RealEigenvalues reports whether all eigenvalues of W are real, as Chebyshev
// polynomials of W need; those of all rules are.
func (w *Weights) RealEigenvalues() bool { return w.stationary != nil || w.spectrum().real }

// largest returns gamma(W).
func (w *Weights) largest() float64 {
	if w.Len() > denseNodes && w.stationary != nil {
		low, high := w.extremes()
		return max(math.Abs(low), math.Abs(high))
	}
	gamma := 0.0
	for _, v := range w.spectrum().Values {
		gamma = max(gamma, cmplx.Abs(v))
	}
	return gamma
}

// extremes returns the least and the largest eigenvalue of W but 1, for more than one node.
func (w *Weights) extremes() (low, high float64) {
	norm := 0.0 // the largest absolute row sum of W bounds its eigenvalues
	for i, links := range w.links {
		norm = max(norm, math.Abs(w.diagonal[i])+floats.Norm(links, 1))
	}
	return extremes(norm, w.stationary, w.times)
}

// times computes y = S x; see Weights.stationary.
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

// measure returns the spectrum: by way of a dense matrix, unless nodes are many. It has a NaN if
// eigenvalues did not converge, which WeightsOf refuses.
func (w *Weights) measure() *Spectrum {
	n := w.Len()
	if w.stationary != nil && n > denseNodes {
		values, shares := density(w.stationary, w.times)
		return &Spectrum{values, shares, true}
	}
	s := &Spectrum{Values: make([]complex128, n), Shares: slices.Repeat([]float64{1 / float64(n-1)}, n-1)}
	if w.stationary != nil {
		var eig mat.EigenSym
		if !eig.Factorize(w.symmetrised(), false) {
			panic(notConverged)
		}
		for i, v := range eig.Values(nil) {
			s.Values[i] = complex(v, 0)
		}
	} else {
		var eig mat.Eigen
		if !eig.Factorize(w.Dense(), mat.EigenNone) {
			return &Spectrum{Values: []complex128{cmplx.NaN()}, Shares: []float64{1}}
		}
		eig.Values(s.Values)
	}
	s.Values = withoutOne(s.Values)
	s.real = !slices.ContainsFunc(s.Values, isComplex)
	return s
}

const notConverged = "topology: the eigenvalues of a finite symmetric matrix did not converge"

// symmetrised returns S_ij = sqrt(W_ij W_ji) off the diagonal and W_ii on it: W itself where
// it is symmetric, and similar to it where some diagonal scaling makes it so and weights are
// positive.
func (w *Weights) symmetrised() *mat.SymDense {
	s := mat.NewSymDense(w.Len(), nil)
	for i := range w.Len() {
		for j, v := range w.Row(i) {
			if other := w.At(j, i); v != other {
				v = math.Sqrt(v * other)
			}
			s.SetSym(i, j, v)
		}
	}
	return s
}

// isComplex reports whether an eigenvalue is not real. Its computed imaginary part
// may be as large as the root of the rounding unit if it is a multiple one.
func isComplex(v complex128) bool { return math.Abs(imag(v)) > 1e-7 }

// withoutOne removes the value that is nearest to 1.
func withoutOne(values []complex128) []complex128 {
	one := 0
	for i, v := range values {
		if cmplx.Abs(v-1) < cmplx.Abs(values[one]-1) {
			one = i
		}
	}
	return slices.Delete(values, one, one+1)
}

// unit divides v by its length.
func unit(v []float64) []float64 {
	floats.Scale(1/floats.Norm(v, 2), v)
	return v
}
