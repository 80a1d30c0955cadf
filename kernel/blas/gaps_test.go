package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// Numbers between the rows of a matrix are not read: few columns of any stride, with NaN between them.
func TestNothingBetweenRowsIsRead(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(31, 32))
		for k := 1; k <= 5; k++ {
			for _, n := range []int{1, 3, 8, 25, 49, 70} {
				for stride := k; stride <= k+4; stride++ {
					a, c, want := make([]float64, n*stride), make([]float64, n*n), make([]float64, n*n)
					for i := range a {
						if a[i] = rng.NormFloat64(); i%stride >= k {
							a[i] = math.NaN()
						}
					}
					for _, ul := range triangles {
						clear(c)
						clear(want)
						blas.Implementation{}.Dsyrk(ul, gblas.NoTrans, n, k, -1, a, stride, 1, c, n)
						reference.Implementation{}.Dsyrk(ul, gblas.NoTrans, n, k, -1, a, stride, 1, want, n)
						if err := alike(c, want); err != nil {
							t.Fatalf("A A' of %d x %d, stride %d, %c: %v", n, k, stride, ul, err)
						}
						blas.Implementation{}.Dgemm(
							gblas.NoTrans, gblas.Trans, n, n, k, 1, a, stride, a, stride, 0, c, n)
						reference.Implementation{}.Dgemm(
							gblas.NoTrans, gblas.Trans, n, n, k, 1, a, stride, a, stride, 0, want, n)
						if err := alike(c, want); err != nil {
							t.Fatalf("A B' of %d x %d, stride %d: %v", n, k, stride, err)
						}
					}
				}
			}
		}
	})
}
