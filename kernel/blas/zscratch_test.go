package blas

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

func best(runs ...func()) []float64 {
	b := make([]float64, len(runs))
	for i := range b {
		b[i] = 1e9
	}
	for range 60 {
		for i, r := range runs {
			t := time.Now()
			for range 200 {
				r()
			}
			b[i] = min(b[i], float64(time.Since(t).Nanoseconds())/200)
		}
	}
	return b
}

func TestScratch(t *testing.T) {
	if os.Getenv("SCRATCH") == "" {
		t.Skip()
	}
	for _, n := range []int{96, 100, 104, 128, 300} {
		a, x, s := make([]float64, n*n), make([]float64, n), make([]float64, n)
		for i := range a {
			a[i] = rand.NormFloat64()
		}
		for i := range x {
			x[i] = rand.NormFloat64()
		}
		blas64.Use(Implementation{})
		A, X, Y := mat.NewDense(n, n, a), mat.NewVecDense(n, x), mat.NewVecDense(n, s)
		fmt.Println(n, best(func() { tile.RowDots(s, a, n, x, n, n) },
			func() { Implementation{}.Dgemv('N', n, n, 1, a, n, x, 1, 0, s, 1) },
			func() { Y.MulVec(A, X) }))
	}
}
