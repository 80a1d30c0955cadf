package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/lapack"
)

// Norms of matrices are those of the definition, for all lengths of rows, and NaN if an entry is.
func TestLange(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 62))
		for n := range 40 {
			for _, m := range []int{1, 2, 5, 33} {
				a, work := random(rng, m, n, n%3), make([]float64, n)
				largest, rows, columns := 0.0, 0.0, make([]float64, n+1)
				for i := range m {
					sum := 0.0
					for j := range n {
						v := math.Abs(a.data[i*a.stride+j])
						largest = max(largest, v)
						sum += v
						columns[j] += v
					}
					rows = max(rows, sum)
				}
				column := 0.0
				for _, v := range columns {
					column = max(column, v)
				}
				for norm, want := range map[lapack.MatrixNorm]float64{lapack.MaxAbs: largest, lapack.MaxRowSum: rows, lapack.MaxColumnSum: column} {
					got := blas.Lapack{}.Dlange(norm, m, n, a.data, a.stride, work)
					if !(math.Abs(got-want) <= 1e-14*want) || norm == lapack.MaxAbs && got != want {
						t.Fatalf("%d x %d, %c: %v, want %v", m, n, norm, got, want)
					}
					if n == 0 {
						continue
					}
					k := (m-1)*a.stride + n/2
					before := a.data[k]
					a.data[k] = math.NaN()
					if got := (blas.Lapack{}).Dlange(norm, m, n, a.data, a.stride, work); !math.IsNaN(got) {
						t.Fatalf("%d x %d with NaN, %c: %v", m, n, norm, got)
					}
					a.data[k] = before
				}
			}
		}
	})
}
