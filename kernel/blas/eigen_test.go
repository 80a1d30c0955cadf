package blas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// spectra are symmetric matrices whose eigenvalues are hard to tell apart, or lie far from one another.
var spectra = map[string]func(rng *rand.Rand, n int) []float64{
	"random":     weighted(1, func(int, int) float64 { return 1 }),
	"clusters":   weighted(2, func(int, int) float64 { return 1 }),
	"low rank":   weighted(1, func(i, _ int) float64 { return max(0, float64(min(1, 3-i))) }),
	"graded":     weighted(1, func(i, _ int) float64 { return math.Pow(10, -float64(i)/3) }),
	"graded up":  weighted(1, func(i, n int) float64 { return math.Pow(10, float64(i-n)/3) }),
	"indefinite": weighted(1, func(i, _ int) float64 { return float64(i%3 - 1) }),
	"tiny":       weighted(1, func(int, int) float64 { return 0x1p-520 }),
	"huge":       weighted(1, func(int, int) float64 { return 0x1p500 }),
	"zero":       entries(func(int, int, int) float64 { return 0 }),
	"one":        entries(func(i, j, _ int) float64 { return unit(i, j) }),
	"all ones":   entries(func(int, int, int) float64 { return 1 }),
	"tiny part": entries(func(i, j, n int) float64 {
		switch {
		case i < n/2 && j < n/2:
			return 1 / float64(1+i+j)
		case i >= n/2 && j >= n/2:
			return 1e-200 / float64(1+i+j)
		}
		return 0
	}),
	"far": entries(func(i, j, _ int) float64 { return unit(i, j) + 1e-300*float64(i+j) }),
	"Wilkinson": entries(func(i, j, n int) float64 { // pairs of eigenvalues that agree to many digits
		return unit(i, j)*math.Abs(float64(i)-float64(n-1)/2) + unit(i, j+1) + unit(i+1, j)
	}),
}

// weighted returns the function to sum_k weight(k, n) r_k r_k' for times n random vectors.
func weighted(times int, weight func(k, n int) float64) func(rng *rand.Rand, n int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		a := make([]float64, n*n)
		for k := range times * n {
			r, w := random(rng, 1, n, 0).data, weight(k, n)
			for i, x := range r {
				row := a[i*n:][:n]
				for j, y := range r {
					row[j] += w * (x * y)
				}
			}
		}
		return a
	}
}

// entries returns a function that makes a matrix of order n with the given entries.
func entries(entry func(i, j, n int) float64) func(rng *rand.Rand, n int) []float64 {
	return func(_ *rand.Rand, n int) []float64 {
		a := make([]float64, n*n)
		for i := range a {
			a[i] = entry(i/n, i%n, n)
		}
		return a
	}
}

// A V = V diag(w) and V'V = I to n rounding errors of the largest eigenvalue.
func TestSyev(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for name, matrix := range spectra {
			for _, n := range []int{1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 19, 20, 23, 24, 31, 33, 64, 75, 80, 81, 97} {
				ul, gap := triangles[n%2], n%3
				whole := matrix(rng, n)
				a := random(rng, n, n, gap)
				for i := range n {
					for j := range n {
						a.data[i*a.stride+j] = whole[i*n+j]
						if outside(ul, i, j) {
							a.data[i*a.stride+j] = 7 // is not read
						}
					}
				}
				w, work := make([]float64, n), make([]float64, 40*n)
				if !(blas.Lapack{}.Dsyev(lapack.EVCompute, ul, n, a.data, a.stride, w, work, len(work))) {
					t.Fatalf("%s, n = %d: no eigenvalues", name, n)
				}
				if a.unguarded() {
					t.Fatalf("%s, n = %d: wrote between rows", name, n)
				}
				if !slices.IsSorted(w) {
					t.Fatalf("%s, n = %d: eigenvalues %v", name, n, w)
				}
				checkEigen(t, name, n, whole, a, w)
				checkEigenvalues(t, name, n, ul, whole, w)
			}
		}
	})
}

// checkEigenvalues compares the eigenvalues that are found without vectors.
func checkEigenvalues(t *testing.T, name string, n int, ul gblas.Uplo, whole, want []float64) {
	t.Helper()
	a := &rowMajor{n, n, n, slices.Clone(whole)}
	w, work := make([]float64, n), make([]float64, 40*n)
	if !(blas.Lapack{}.Dsyev(lapack.EVNone, ul, n, a.data, a.stride, w, work, len(work))) {
		t.Fatalf("%s, n = %d: no eigenvalues without vectors", name, n)
	}
	size := max(math.Abs(want[0]), math.Abs(want[n-1]))
	for i, v := range w {
		if !(math.Abs(v-want[i]) <= 10*float64(n)*eps*size) {
			t.Fatalf("%s, n = %d: eigenvalue %d is %g without vectors, %g with them", name, n, i, v, want[i])
		}
	}
}

func checkEigen(t *testing.T, name string, n int, whole []float64, v *rowMajor, w []float64) {
	t.Helper()
	size, bound, vectors := max(math.Abs(w[0]), math.Abs(w[n-1])), 6*float64(n)*eps, v.dense()
	if off := orthonormal(vectors); !(off <= bound) {
		t.Fatalf("%s, n = %d: V'V is off by %g", name, n, off)
	}
	var residual, scaled mat.Dense
	residual.Mul(mat.NewDense(n, n, whole), vectors)
	scaled.Mul(vectors, mat.NewDiagDense(n, w))
	if off := furthest(&residual, &scaled); !(off <= bound*size) {
		t.Fatalf("%s, n = %d: A V - V diag(w) is %g", name, n, off)
	}
}

// furthest returns the largest difference of entries of two matrices, NaN if one is.
func furthest(a, b mat.Matrix) (off float64) {
	var d mat.Dense
	d.Sub(a, b)
	for _, v := range d.RawMatrix().Data {
		off = max(off, math.Abs(v))
	}
	return off
}

// orthonormal returns the largest difference of an entry of Q'Q from the unit matrix.
func orthonormal(q mat.Matrix) float64 {
	_, n := q.Dims()
	var gram mat.Dense
	gram.Mul(q.T(), q)
	return furthest(&gram, mat.NewDiagDense(n, slices.Repeat([]float64{1}, n)))
}

func unit(i, k int) float64 {
	if i == k {
		return 1
	}
	return 0
}

// Small matrices with parts of different sizes have the eigenvalues of the parts, each to its own precision.
func TestSyevParts(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, exponent := range []int{0, -60, -600} {
			for _, job := range []lapack.EVJob{lapack.EVNone, lapack.EVCompute} {
				small := math.Ldexp(1, exponent)
				a := []float64{
					3, 1, 0, 0, 0,
					1, 3, 0, 0, 0,
					0, 0, 2 * small, small, 0,
					0, 0, small, 2 * small, small,
					0, 0, 0, small, 2 * small,
				}
				want := []float64{(2 - math.Sqrt2) * small, 2 * small, (2 + math.Sqrt2) * small, 2, 4}
				slices.Sort(want)
				w, work := make([]float64, 5), make([]float64, 200)
				if !(blas.Lapack{}).Dsyev(job, gblas.Upper, 5, a, 5, w, work, len(work)) {
					t.Fatalf("2^%d: no eigenvalues", exponent)
				}
				for i, v := range w {
					if !(math.Abs(v-want[i]) <= 20*eps*want[i]) {
						t.Errorf("2^%d, %c: eigenvalue %d is %g, want %g", exponent, job, i, v, want[i])
					}
				}
			}
		}
	})
}
