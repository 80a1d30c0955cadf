package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
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

// A triangle times the solution is the right side to rounding; nothing but the solution is written.
func TestTrsv(t *testing.T) {
	sizes := []int{24, 25, 31, 32, 40, 63, 100, 129}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		for at, n := range sizes {
			a := triangular(rng, n, at%3)
			for _, ul := range triangles {
				for _, tA := range []gblas.Transpose{gblas.NoTrans, gblas.Trans, gblas.ConjTrans} {
					for _, d := range diagonals {
						b := random(rng, 1, n+1, 0).data
						b[n] = guardWord
						x := slices.Clone(b)
						blas.Implementation{}.Dtrsv(ul, tA, d, n, a.data, a.stride, x[:n], 1)
						if math.Float64bits(x[n]) != math.Float64bits(guardWord) || a.unguarded() {
							t.Fatalf("n = %d: wrote beyond an operand", n)
						}
						for i := range n {
							var sum exact
							for j := range n {
								row, column := i, j
								if tA != gblas.NoTrans {
									row, column = j, i
								}
								switch {
								case i == j && d == gblas.Unit:
									sum.add(1, x[j])
								case !outside(ul, row, column):
									sum.add(a.at(row, column), x[j])
								}
							}
							sum.add(-1, b[i])
							if !sum.near(0, 2*n) {
								t.Fatalf("n = %d %c%c%c: row %d is off by %g", n, ul, tA, d, i, sum.hi)
							}
						}
					}
				}
			}
		}
	})
}

// conditions returns the estimates of an implementation for a matrix with triangles.
func conditions(l interface {
	Dgecon(norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64
	Dpocon(ul gblas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64
	Dtrcon(norm lapack.MatrixNorm, ul gblas.Uplo, d gblas.Diag, n int, a []float64, lda int, work []float64, iwork []int) float64
}, a *rowMajor, anorm float64) (all []float64) {
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

// With wrong arguments the panics are gonum's.
func TestConditionsRefuseAsGonum(t *testing.T) {
	const n = 30
	x, integers := make([]float64, 4*n*n), make([]int, n)
	for i := range n {
		x[i*(n+1)] = 1
	}
	panicOf := func(f func()) (msg any) {
		defer func() { msg = recover() }()
		f()
		return nil
	}
	type level2 interface {
		Dtrsv(ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n int, a []float64, lda int, x []float64, incX int)
	}
	type estimates interface {
		Dgecon(norm lapack.MatrixNorm, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64
		Dpocon(ul gblas.Uplo, n int, a []float64, lda int, anorm float64, work []float64, iwork []int) float64
		Dtrcon(norm lapack.MatrixNorm, ul gblas.Uplo, d gblas.Diag, n int, a []float64, lda int, work []float64, iwork []int) float64
	}
	for name, f := range map[string]func(b level2, l estimates){
		"trsv, uplo":      func(b level2, _ estimates) { b.Dtrsv('X', 'N', 'N', n, x, n, x, 1) },
		"trsv, transpose": func(b level2, _ estimates) { b.Dtrsv('U', 'X', 'N', n, x, n, x, 1) },
		"trsv, diagonal":  func(b level2, _ estimates) { b.Dtrsv('U', 'N', 'X', n, x, n, x, 1) },
		"trsv, n":         func(b level2, _ estimates) { b.Dtrsv('U', 'N', 'N', -1, x, n, x, 1) },
		"trsv, stride":    func(b level2, _ estimates) { b.Dtrsv('U', 'N', 'N', n, x, n-1, x, 1) },
		"trsv, increment": func(b level2, _ estimates) { b.Dtrsv('U', 'N', 'N', n, x, n, x, 0) },
		"trsv, short a":   func(b level2, _ estimates) { b.Dtrsv('U', 'N', 'N', n, x[:n*n-1], n, x, 1) },
		"trsv, short x":   func(b level2, _ estimates) { b.Dtrsv('U', 'N', 'N', n, x, n, x[:n-1], 1) },
		"gecon, norm":     func(_ level2, l estimates) { l.Dgecon('X', n, x, n, 1, x, integers) },
		"gecon, work":     func(_ level2, l estimates) { l.Dgecon('O', n, x, n, 1, x[:4*n-1], integers) },
		"gecon, integers": func(_ level2, l estimates) { l.Dgecon('O', n, x, n, 1, x, integers[:n-1]) },
		"gecon, anorm":    func(_ level2, l estimates) { l.Dgecon('O', n, x, n, -1, x, integers) },
		"pocon, uplo":     func(_ level2, l estimates) { l.Dpocon('X', n, x, n, 1, x, integers) },
		"pocon, short a":  func(_ level2, l estimates) { l.Dpocon('U', n, x[:n*n-1], n, 1, x, integers) },
		"pocon, work":     func(_ level2, l estimates) { l.Dpocon('U', n, x, n, 1, x[:3*n-1], integers) },
		"trcon, norm":     func(_ level2, l estimates) { l.Dtrcon('X', 'U', 'N', n, x, n, x, integers) },
		"trcon, uplo":     func(_ level2, l estimates) { l.Dtrcon('O', 'X', 'N', n, x, n, x, integers) },
		"trcon, diagonal": func(_ level2, l estimates) { l.Dtrcon('O', 'U', 'X', n, x, n, x, integers) },
		"trcon, stride":   func(_ level2, l estimates) { l.Dtrcon('O', 'U', 'N', n, x, n-1, x, integers) },
	} {
		want := panicOf(func() { f(reference.Implementation{}, lapackreference.Implementation{}) })
		got := panicOf(func() { f(blas.Implementation{}, blas.Lapack{}) })
		if want == nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: panic %v, want %v", name, got, want)
		}
	}
}
