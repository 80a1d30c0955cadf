package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
)

var diagonals = []gblas.Diag{gblas.NonUnit, gblas.Unit}

// triangular returns a matrix whose triangles are well-conditioned, also with ones on the diagonal.
func triangular(rng *rand.Rand, n, gap int) *rowMajor {
	a := random(rng, n, n, gap)
	for i := range n {
		for j := range n {
			a.data[i*a.stride+j] /= float64(n)
		}
		a.data[i*(a.stride+1)] += 2
	}
	return a
}

// conditions returns the estimates of an implementation for a matrix with triangles.
func conditions(l lapack.Float64, a *rowMajor, anorm float64) (all []float64) {
	n := a.rows
	work, integers := make([]float64, 4*n), make([]int, n)
	for _, norm := range []lapack.MatrixNorm{lapack.MaxColumnSum, lapack.MaxRowSum} {
		all = append(all, l.Dgecon(norm, n, a.data, a.stride, anorm, work, integers))
		for _, ul := range triangles {
			for _, d := range diagonals {
				all = append(all, l.Dtrcon(norm, ul, d, n, a.data, a.stride, work, integers))
			}
		}
	}
	for _, ul := range triangles {
		all = append(all, l.Dpocon(ul, n, a.data, a.stride, anorm, work, integers))
	}
	return all
}

// Estimates of condition numbers are gonum's to rounding, for matrices of any size, and for those that are
// singular, overflow or hold NaN: to the bit there.
func TestConditionsAsGonum(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(73, 74))
		for _, n := range []int{1, 2, 7, 24, 50, 90} {
			for name, spoil := range map[string]func(a *rowMajor){
				"plain":    func(*rowMajor) {},
				"graded":   func(a *rowMajor) { a.data[(n/2)*(a.stride+1)] = 1e-9 },
				"singular": func(a *rowMajor) { a.data[(n/2)*(a.stride+1)] = 0 },
				"overflow": func(a *rowMajor) {
					for i := range n {
						a.data[i*(a.stride+1)] = 1e-200
					}
				},
				"large": func(a *rowMajor) {
					for i := range n {
						for j := range n {
							a.data[i*a.stride+j] *= 1e160
						}
					}
				},
				"NaN": func(a *rowMajor) { a.data[(n-1)*a.stride] = math.NaN() },
			} {
				a := triangular(rng, n, 2)
				spoil(a)
				for _, anorm := range []float64{0, 1, 1e160, math.Inf(1), math.NaN()} {
					want, got := conditions(lapackreference.Implementation{}, a, anorm), conditions(blas.Lapack{}, a, anorm)
					for i, w := range want {
						same := math.Float64bits(got[i]) == math.Float64bits(w) || math.IsNaN(w) && math.IsNaN(got[i])
						if !same && !(math.Abs(got[i]-w) <= 1e-10*w) {
							t.Errorf("%s, n = %d, |A| = %g, estimate %d: %g, gonum's is %g", name, n, anorm, i, got[i], w)
						}
					}
				}
			}
		}
	})
}
