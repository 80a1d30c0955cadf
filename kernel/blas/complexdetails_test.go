package blas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
)

// Products that fill a triangle skip no zeros: a NaN of an operand reaches its whole row and column, for
// every size and tier.
func TestComplexTrianglesSkipNoZeros(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for n := 1; n <= 40; n++ {
			for choice := range 8 {
				const k = 3
				ul, trans, hermitian := triangles[choice%2], choice/2%2 == 1, choice/4 == 1
				s := complexArguments[complex128]{n: n, k: k, ul: ul, tA: gblas.NoTrans, alpha: 1, lda: k, ldc: n}
				s.a, s.c = make([]complex128, n*k), make([]complex128, n*n)
				at := n / 2 * k // the row of op(A) with the NaN
				r := complexRoutines[complex128]()[3]
				if trans {
					s.tA, s.lda, at = gblas.Trans, n, n/2
				}
				if hermitian {
					r = complexRoutines[complex128]()[2]
					if trans {
						s.tA = gblas.ConjTrans
					}
				}
				s.a[at] = complex(math.NaN(), 0)
				c, _ := s.outcome(complex128s(blas.Implementation{}), &r)
				for i, v := range c {
					row, column := i/n, i%n
					want := (row == n/2 || column == n/2) && !outside(ul, row, column)
					if isFinite(v) == want {
						t.Fatalf("%s %c%c, order %d: entry %d, %d is %v", r.name, ul, s.tA, n, row, column, v)
					}
				}
			}
		}
	})
}

// Each part of a product is within the bound of the sum of its own products, which three multiplications of
// complex numbers would not keep: their imaginary parts have errors of the size of the real ones.
func TestComplexProductError(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(53, 25))
		for _, n := range []int{6, 20, 70} {
			k := 4 * n
			a, b, c := randomComplex[complex64](rng, n*k), randomComplex[complex64](rng, k*n), make([]complex64, n*n)
			for i := range a { // real parts are larger by far
				a[i], b[i] = complex(float32(rng.NormFloat64()), 1e-5*imag(a[i])),
					complex(float32(rng.NormFloat64()), 1e-5*imag(b[i]))
			}
			blas.Implementation{}.Cgemm('N', 'N', n, n, k, 1, a, k, b, n, 0, c, n)
			for i := range n {
				for j := range n {
					var re, im, sizeRe, sizeIm float64
					for l := range k {
						x, xi := parts(a[i*k+l])
						y, yi := parts(b[l*n+j])
						re += x*y - xi*yi
						im += x*yi + xi*y
						sizeRe += math.Abs(x*y) + math.Abs(xi*yi)
						sizeIm += math.Abs(x*yi) + math.Abs(xi*y)
					}
					nu := 2 * float64(k) * 0x1p-24
					bound := nu / (1 - nu)
					v, vi := parts(c[i*n+j])
					if math.Abs(v-re) > bound*sizeRe || math.Abs(vi-im) > bound*sizeIm {
						t.Fatalf("%d: %g, %g, want %g, %g within %g, %g", n, v, vi, re, im, bound*sizeRe, bound*sizeIm)
					}
				}
			}
		}
	})
}

// Use registers complex numbers too.
func TestUseRegistersComplexNumbers(t *testing.T) {
	defer restore()()
	defer cblas128.Use(cblas128.Implementation())
	defer cblas64.Use(cblas64.Implementation())
	blas.Use()
	if _, ok := cblas128.Implementation().(*blas.Registered); !ok {
		t.Errorf("complex128: %T", cblas128.Implementation())
	}
	if _, ok := cblas64.Implementation().(*blas.Registered); !ok {
		t.Errorf("complex64: %T", cblas64.Implementation())
	}
}

// A triangle of any order refuses a transposition that does not exist, and leaves B as it was.
func TestComplexTrianglesRefuseTranspositions(t *testing.T) {
	const unknown = gblas.Transpose('X')
	tiertest.Each(t, func(t *testing.T) {
		for _, order := range []int{1, 4, 8, 14, 33, 100} {
			for _, side := range []gblas.Side{gblas.Left, gblas.Right} {
				a, b := make([]complex128, order*order), make([]complex128, order*order)
				for i := range b {
					a[i], b[i] = 3, 2
				}
				before := slices.Clone(b)
				var f blas.Implementation
				for name, call := range map[string]func(
					s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha complex128,
					a []complex128, lda int, b []complex128, ldb int,
				){"Ztrmm": f.Ztrmm, "Ztrsm": f.Ztrsm} {
					got := panicOf(func() {
						call(side, gblas.Lower, unknown, gblas.NonUnit, order, order, 2, a, order, b, order)
					})
					if got != "blas: illegal transpose" || !slices.Equal(b, before) {
						t.Errorf("%s of order %d, side %c: panic %v, B changed: %v", name, order, side, got,
							!slices.Equal(b, before))
					}
				}
			}
		}
	})
}
