package blas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/lapack"
)

// spectra are symmetric matrices whose eigenvalues are hard to tell apart, or lie far from one another.
var spectra = map[string]func(rng *rand.Rand, n int) []float64{
	"random":   func(rng *rand.Rand, n int) []float64 { return product(rng, n, n, nil) },
	"low rank": func(rng *rand.Rand, n int) []float64 { return product(rng, n, 3, nil) },
	"graded": func(rng *rand.Rand, n int) []float64 {
		return product(rng, n, n, func(i int) float64 { return math.Pow(10, -float64(i)/3) })
	},
	"graded up": func(rng *rand.Rand, n int) []float64 {
		return product(rng, n, n, func(i int) float64 { return math.Pow(10, float64(i-n)/3) })
	},
	"indefinite": func(rng *rand.Rand, n int) []float64 {
		return product(rng, n, n, func(i int) float64 { return float64(i%3 - 1) })
	},
	"clusters": func(rng *rand.Rand, n int) []float64 { return product(rng, n, 2*n, func(int) float64 { return 1 }) },
	"zero":     func(_ *rand.Rand, n int) []float64 { return make([]float64, n*n) },
	"one": func(_ *rand.Rand, n int) []float64 {
		a := make([]float64, n*n)
		for i := range n {
			a[i*n+i] = 1
		}
		return a
	},
	"all ones": func(_ *rand.Rand, n int) []float64 { return slices.Repeat([]float64{1}, n*n) },
	"tiny": func(rng *rand.Rand, n int) []float64 {
		return product(rng, n, n, func(int) float64 { return 0x1p-520 })
	},
	"huge": func(rng *rand.Rand, n int) []float64 { return product(rng, n, n, func(int) float64 { return 0x1p500 }) },
	"Wilkinson": func(_ *rand.Rand, n int) []float64 { // pairs of eigenvalues that agree to many digits
		a := make([]float64, n*n)
		for i := range n {
			a[i*n+i] = math.Abs(float64(i) - float64(n-1)/2)
			if i > 0 {
				a[i*n+i-1], a[(i-1)*n+i] = 1, 1
			}
		}
		return a
	},
}

// product returns sum_k weight(k) r_k r_k' for k random vectors.
func product(rng *rand.Rand, n, k int, weight func(i int) float64) []float64 {
	a := make([]float64, n*n)
	for l := range k {
		r, w := random(rng, 1, n, 0).data, 1.0
		if weight != nil {
			w = weight(l)
		}
		for i := range n {
			for j := range n {
				a[i*n+j] += w * (r[i] * r[j])
			}
		}
	}
	return a
}

// A V = V diag(w) and V'V = I to n rounding errors of the largest eigenvalue.
func TestSyev(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(13, 14))
		for name, matrix := range spectra {
			for _, n := range []int{23, 24, 31, 33, 64, 75} {
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
			}
		}
	})
}

func checkEigen(t *testing.T, name string, n int, whole []float64, v *rowMajor, w []float64) {
	t.Helper()
	size, bound := max(math.Abs(w[0]), math.Abs(w[n-1])), 4*float64(n)*eps
	if off := orthonormal(v, n, n, func(i, k int) float64 { return v.at(k, i) }); off > bound {
		t.Fatalf("%s, n = %d: V'V is off by %g", name, n, off)
	}
	for i := range n {
		for k := range n {
			var residual exact
			for j := range n {
				residual.add(whole[i*n+j], v.at(j, k))
			}
			residual.add(-w[k], v.at(i, k))
			if math.Abs(residual.hi+residual.lo) > bound*size {
				t.Fatalf("%s, n = %d: A v - w v is %g, entry %d of vector %d", name, n, residual.hi, i, k)
			}
		}
	}
}

func unit(i, k int) float64 {
	if i == k {
		return 1
	}
	return 0
}
