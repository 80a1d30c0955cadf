package blas

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// TestOrderedComplex: ordered has the bits of gonum on amd64 for complex numbers too.
func TestOrderedComplex(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum's assembly is amd64's")
	}
	type routines interface {
		gblas.Complex128
		gblas.Complex64
	}
	rng := rand.New(rand.NewPCG(73, 74))
	transposes := []gblas.Transpose{gblas.NoTrans, gblas.Trans, gblas.ConjTrans}
	for range 3000 {
		m, n, k := 1+rng.IntN(9), 1+rng.IntN(9), 1+rng.IntN(9)
		incs := []int{1, 1, 2, -1, -3}
		incX, incY := incs[rng.IntN(5)], incs[rng.IntN(5)]
		tA, tB := transposes[rng.IntN(3)], transposes[rng.IntN(3)]
		alpha := []complex128{1, 1i, .7 - .2i}[rng.IntN(3)]
		beta := []complex128{0, 1, -.3 + .5i}[rng.IntN(3)]
		a, b, c := make([]complex128, 100), make([]complex128, 100), make([]complex128, 100)
		a32, b32, c32 := make([]complex64, 100), make([]complex64, 100), make([]complex64, 100)
		for i := range a {
			a[i], b[i] = complex(rng.NormFloat64(), rng.NormFloat64()), complex(rng.NormFloat64(), rng.NormFloat64())
			c[i] = complex(rng.NormFloat64(), rng.NormFloat64())
			a32[i], b32[i], c32[i] = complex64(a[i]), complex64(b[i]), complex64(c[i])
		}
		for name, call := range map[string]func(f routines, c []complex128, c32 []complex64){
			"gemm": func(f routines, c []complex128, _ []complex64) {
				f.Zgemm(tA, tB, m, n, k, alpha, a, 10, b, 10, beta, c, 10)
			},
			"gemv": func(f routines, c []complex128, c32 []complex64) {
				f.Zgemv(tA, m, n, alpha, a, 10, b, incX, beta, c, incY)
				f.Cgemv(gblas.Trans, m, n, complex64(alpha), a32, 10, b32, incX, complex64(beta), c32, incY)
			},
			"geru": func(f routines, c []complex128, c32 []complex64) {
				f.Zgeru(m, n, alpha, a, incX, b, incY, c, 10)
				f.Cgeru(m, n, complex64(alpha), a32, incX, b32, incY, c32, 10)
			},
			"gerc": func(f routines, c []complex128, c32 []complex64) {
				f.Zgerc(m, n, alpha, a, incX, b, incY, c, 10)
				f.Cgerc(m, n, complex64(alpha), a32, incX, b32, incY, c32, 10)
			},
		} {
			got, want, got32, want32 := slices.Clone(c), slices.Clone(c), slices.Clone(c32), slices.Clone(c32)
			call(ordered{}, got, got32)
			call(reference.Implementation{}, want, want32)
			for i := range c {
				same := sameBits(real(got[i]), real(want[i])) && sameBits(imag(got[i]), imag(want[i]))
				if !same || got32[i] != want32[i] {
					t.Fatalf("%s %c %c of %d x %d x %d, increments %d and %d, alpha %v, beta %v: entry %d "+
						"is %v, want %v",
						name, tA, tB, m, n, k, incX, incY, alpha, beta, i, got[i], want[i])
				}
			}
		}
	}
}

func sameBits(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) }
