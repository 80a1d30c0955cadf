//go:build !race

package blas_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/lapack"
)

// Memory for blocks is kept (with the race detector sync.Pool drops some of what it is given).
func TestLevel3DoesNotAllocate(t *testing.T) {
	const n = 70
	rng := rand.New(rand.NewPCG(11, 12))
	a, b, c := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, 2*n, n, 0)
	triangle := triangular(rng, n, 0)
	tiertest.Each(t, func(t *testing.T) {
		if !tiled() {
			t.Skip("gonum's own products allocate")
		}
		if got := testing.AllocsPerRun(50, func() { level3(n, a.data, b.data, c.data) }); got >= 1 {
			t.Errorf("%g allocations", got)
		}
		x, y := randomComplex[complex128](rng, n*n), randomComplex[complex128](rng, n*n)
		products := func() {
			i := blas.Implementation{}
			i.Zgemm('C', 'T', n, n, n, 2, x, n, x, n, 0, y, n)
			i.Zherk('U', 'N', n, n, 1, x, n, 0, y, n)
			i.Zhemm('L', 'U', n, n, 1, x, n, x, n, 0, y, n)
			i.Zgemv('N', n, n, 1, x, n, x, 1, 0, y, 1)
			i.Zgerc(n, n, 0.5, x, 1, x, 1, y, n)
			clear(y)
			i.Ztrsm('R', 'U', 'N', 'U', n, n, 1, x, n, y, n)
		}
		if got := testing.AllocsPerRun(50, products); got >= 1 {
			t.Errorf("%g allocations with complex numbers", got)
		}
		work, integers := make([]float64, 4*n), make([]int, n)
		estimate := func() { blas.Lapack{}.Dgecon(lapack.MaxColumnSum, n, triangle.data, n, 1, work, integers) }
		if got := testing.AllocsPerRun(50, estimate); got >= 1 {
			t.Errorf("%g allocations in an estimate of the condition", got)
		}
	})
}
