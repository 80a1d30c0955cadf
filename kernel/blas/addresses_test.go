package blas_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
)

// TestAddressesChangeNoBit: results in complex64 have the same bits wherever operands begin. gonum's inner
// products, which take pairs of numbers at even addresses, do not.
func TestAddressesChangeNoBit(t *testing.T) {
	if !tiled() {
		t.Skip("gonum computes")
	}
	i := blas.Implementation{}
	calls := map[string]func(n int, a, x, y []complex64){
		"gemv":             func(n int, a, x, y []complex64) { i.Cgemv('N', n, n, 1, a, n, x, 1, 0, y, 1) },
		"gemv of a column": func(n int, a, x, y []complex64) { i.Cgemv('N', 600, 1, 1, a, 1, x, 1, 0, y, 1) },
		"gemv of rows":     func(n int, a, x, y []complex64) { i.Cgemv('N', 3, 200, 1, a, 200, x, 1, 0, y, 1) },
		"gemv, increment":  func(n int, a, x, y []complex64) { i.Cgemv('N', n, n, 1, a, n, x, 2, 0, y, 1) },
		"gemv transposed":  func(n int, a, x, y []complex64) { i.Cgemv('T', n, n, 1, a, n, x, 1, 0, y, 1) },
		"geru": func(n int, a, x, y []complex64) {
			i.Cgeru(n, n, 1, x, 1, x[50:], 1, a, n)
			copy(y, a[:n*n])
		},
		"syrk":            func(n int, a, x, y []complex64) { i.Csyrk('U', 'N', n, n, 1, a, n, 0, y, n) },
		"herk":            func(n int, a, x, y []complex64) { i.Cherk('L', 'N', n, n, 1, a, n, 0, y, n) },
		"herk transposed": func(n int, a, x, y []complex64) { i.Cherk('L', 'C', n, n, 1, a, n, 0, y, n) },
		"hemm":            func(n int, a, x, y []complex64) { i.Chemm('L', 'U', n, n, 1, a, n, x, n, 0, y, n) },
		"gemm":            func(n int, a, x, y []complex64) { i.Cgemm('N', 'T', n, n, n, 1, a, n, x, n, 0, y, n) },
		"trsm": func(n int, a, x, y []complex64) {
			copy(y, x[:n*n])
			i.Ctrsm('R', 'U', 'T', 'U', n, n, 1, a, n, y, n)
			i.Ctrsm('R', 'L', 'C', 'U', n, n, 1, a, n, y, n)
			i.Ctrsm('L', 'L', 'N', 'U', n, n, 1, a, n, y, n)
		},
		"her2k": func(n int, a, x, y []complex64) { i.Cher2k('U', 'N', n, n, 1, a, n, x, n, 0, y, n) },
		"syr2k": func(n int, a, x, y []complex64) { i.Csyr2k('L', 'N', n, n, 1, a, n, x, n, 0, y, n) },
		"her2k of few rows": func(n int, a, x, y []complex64) {
			i.Cher2k('L', 'N', 5, 5*n, 1, a, 5*n, x, 5*n, 0, y, 5)
			i.Csyr2k('U', 'N', 5, 5*n, 1, a, 5*n, x, 5*n, 1, y, 5)
		},
		"trmm": func(n int, a, x, y []complex64) {
			copy(y, x[:n*n])
			i.Ctrmm('R', 'U', 'T', 'N', n, n, 1, a, n, y, n)
			i.Ctrmm('R', 'L', 'C', 'U', 2, n, 1, a, n, y, n)
			i.Ctrmm('L', 'L', 'C', 'U', n, n, 1, a, n, y, n)
		},
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 25; n++ {
		numbers := make([]complex64, 700)
		for k := range numbers {
			numbers[k] = complex(rng.Float32()-.5, rng.Float32()-.5) / complex64(complex(float64(n), 0))
		}
		for name, call := range calls {
			results := func(shift int) []complex64 {
				y := make([]complex64, 700)
				a, x := make([]complex64, 701), make([]complex64, 701)
				copy(a[shift:], numbers)
				copy(x[shift:], numbers)
				call(n, a[shift:], x[shift:], y)
				return y
			}
			if !slices.Equal(results(0), results(1)) {
				t.Errorf("%s of size %d has other bits at another address", name, n)
			}
		}
	}
}
