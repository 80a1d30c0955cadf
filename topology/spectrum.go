package topology

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

const (
	// gammaLimit is where W^k counts as not converging at all.
	gammaLimit = 1 - 1e-12
	// denseNodes is up to how many nodes all eigenvalues of a dense W are computed where two would do.
	denseNodes = 256
)

// A Spectrum describes the eigenvalues of W except the one that is 1, by values and their
// weights. Up to 256 nodes, and where W is not similar to a symmetric matrix, Values are all L - 1
// eigenvalues, with equal Shares. For more nodes about 500 values stand for all of them. Then the mean of a
// function over them has a relative error of about 1/sqrt(4 L) if it depends on all eigenvalues, and a larger one if it depends on few.
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

// Spectrum returns the eigenvalues of W except the one that is 1. It is read only.
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
	// A computed imaginary part may be as large as the root of the rounding unit if an eigenvalue is a
	// multiple one.
	s.real = !slices.ContainsFunc(s.Values, func(v complex128) bool { return math.Abs(imag(v)) > 1e-7 })
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

const (
	// ritzTolerance is how near to an eigenvalue extremes comes, as a part of the norm.
	ritzTolerance = 1e-12
	// lanczosStream keeps the random start apart from other uses of a seed.
	lanczosStream = 0x6c616e637a6f73 // "lanczos"
)

// A lanczos makes the tridiagonal matrix T of a symmetric n x n matrix, step by step, with the
// unit vector known taken out: T has alpha on its diagonal and beta beside it. times computes y = A x. It
// needs three vectors, and one product a step.
//
// There is no reorthogonalisation: vectors lose their orthogonality as eigenvalues are
// found, and then find them again. That harms who counts eigenvalues, but neither who wants the
// outermost nor who wants weighted means over all.
type lanczos struct {
	times        func(y, x []float64)
	known        []float64
	v, before, w []float64
	alpha, beta  []float64
}

// newLanczos returns the steps from a start of which rng draws every number.
func newLanczos(known []float64, times func(y, x []float64), draw func() float64) *lanczos {
	n := len(known)
	l := &lanczos{times: times, known: known, v: make([]float64, n), before: make([]float64, n), w: make([]float64, n)}
	for i := range l.w {
		l.w[i] = draw()
	}
	return l
}

// step makes T larger by one, and returns what beta would be next: if that is nothing, the
// eigenvalues of T are eigenvalues of A.
func (l *lanczos) step() (next float64) {
	l.before, l.v, l.w = l.v, l.w, l.before
	if len(l.alpha) > 0 {
		l.beta = append(l.beta, floats.Norm(l.v, 2))
	}
	// The known vector is taken out of every start, or rounding would find it again.
	floats.AddScaled(l.v, -floats.Dot(l.known, l.v), l.known)
	unit(l.v)
	l.times(l.w, l.v)
	if k := len(l.beta); k > 0 {
		floats.AddScaled(l.w, -l.beta[k-1], l.before)
	}
	a := floats.Dot(l.w, l.v)
	floats.AddScaled(l.w, -a, l.v)
	l.alpha = append(l.alpha, a)
	return floats.Norm(l.w, 2)
}

// extremes returns the least and the largest eigenvalue of a symmetric n x n matrix but for
// that of the unit vector known, n > 1, of which none is larger than norm. It ends when
// |beta s|, of the last entry of the eigenvectors of T, says that both ends are eigenvalues
// to the tolerance: that is so with rounding, too (Paige, Accuracy and effectiveness of the
// Lanczos algorithm for the symmetric eigenproblem, 1980).
func extremes(norm float64, known []float64, times func(y, x []float64)) (low, high float64) {
	n := len(known)
	l := newLanczos(known, times, rand.New(rand.NewPCG(uint64(n), lanczosStream)).NormFloat64)
	for next := 1; ; {
		beta := l.step()
		// Looking at T costs more than a step, and so is done ever less often. In exact
		// arithmetic there are n-1 steps; rounding takes a few times as many.
		k := len(l.alpha)
		if k < next && beta > ritzTolerance*norm && k < 20*n {
			continue
		}
		next += 1 + next/8
		high, last := largestOf(l.alpha, l.beta, 1)
		low, first := largestOf(l.alpha, l.beta, -1)
		if beta*max(first, last) <= ritzTolerance*norm || k >= 20*n {
			return -low, high
		}
	}
}

const (
	densitySteps  = 64 // of each start
	densityStarts = 8
)

// density returns values and their shares that stand for all eigenvalues of a symmetric matrix but that of
// the unit vector known: means of functions over them are those over the eigenvalues as
// random vectors see them (Golub and Meurant, Matrices, moments and quadrature, 2010).
func density(known []float64, times func(y, x []float64)) (values []complex128, shares []float64) {
	rng := rand.New(rand.NewPCG(uint64(len(known)), lanczosStream))
	for range densityStarts {
		l := newLanczos(known, times, rng.NormFloat64)
		for len(l.alpha) < densitySteps && l.step() > 0 {
		}
		t := mat.NewSymDense(len(l.alpha), nil)
		for i, a := range l.alpha {
			t.SetSym(i, i, a)
			if i > 0 {
				t.SetSym(i-1, i, l.beta[i-1])
			}
		}
		var eig mat.EigenSym
		if !eig.Factorize(t, true) {
			panic(notConverged)
		}
		var s mat.Dense
		eig.VectorsTo(&s)
		for i, v := range eig.Values(nil) {
			values, shares = append(values, complex(v, 0)), append(shares, s.At(0, i)*s.At(0, i)/densityStarts)
		}
	}
	return values, shares
}

// largestOf returns the largest eigenvalue of the symmetric tridiagonal matrix with the
// diagonal sign*alpha and beta beside it, and the size of the last entry of its unit
// eigenvector.
func largestOf(alpha, beta []float64, sign float64) (value, last float64) {
	n := len(alpha)
	lo, hi := math.Inf(-1), math.Inf(-1)
	for i, a := range alpha { // Gershgorin
		radius := 0.0
		if i > 0 {
			radius += beta[i-1]
		}
		if i < n-1 {
			radius += beta[i]
		}
		lo, hi = max(lo, sign*a), max(hi, sign*a+radius)
	}
	above := func(x float64) bool { // some eigenvalue is above x: T - x I is not negative definite
		pivot := -1.0
		for i, a := range alpha {
			b := 0.0
			if i > 0 {
				b = beta[i-1]
			}
			if pivot = sign*a - x - b*b/pivot; !(pivot < 0) {
				return true
			}
		}
		return false
	}
	for x := (lo + hi) / 2; lo < x && x < hi; x = (lo + hi) / 2 {
		if above(x) {
			lo = x
		} else {
			hi = x
		}
	}
	// Inverse iteration from a start without a zero, with what is singular but for rounding:
	// that makes it quick.
	shift := hi + 0x1p-50*(math.Abs(hi)+math.Abs(lo))
	s := make([]float64, n)
	for i := range s {
		s[i] = 1 / float64(1+i)
	}
	for range 3 {
		t := lapack64.Tridiagonal{N: n, D: make([]float64, n), DL: append([]float64(nil), beta...), DU: append([]float64(nil), beta...)}
		for i, a := range alpha {
			t.D[i] = sign*a - shift
		}
		if !lapack64.Gtsv(blas.NoTrans, t, blas64.General{Rows: n, Cols: 1, Stride: 1, Data: s}) {
			return hi, 1 // look again after the next step
		}
		floats.Scale(1/floats.Norm(s, 2), s)
	}
	return hi, math.Abs(s[n-1])
}
