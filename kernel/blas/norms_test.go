package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
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
				for norm, want := range map[lapack.MatrixNorm]float64{lapack.MaxAbs: largest, lapack.MaxRowSum: rows,
					lapack.MaxColumnSum: column} {
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

// Norms of vectors whose squares overflow or underflow are gonum's, of any length and increment.
func TestNormsOfExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tiertest.Every(t, func(t *testing.T) {
		for _, size := range []float64{0, 5e-324, 3e-318, 1e-309, 1e-200, 1e200, 1e300, 1e308} {
			for _, n := range []int{1, 2, 7, 63, 64, 65, 127, 128, 129, 1000, 70000} {
				for _, inc := range []int{1, 3} {
					x := make([]float64, n*inc)
					for i := range n {
						x[i*inc] = math.Trunc(size*rng.Float64()/5e-324) * 5e-324
						if size > 1e-300 {
							x[i*inc] = size * rng.NormFloat64() / 4
						}
					}
					got, want := blas.Implementation{}.Dnrm2(n, x, inc), reference.Implementation{}.Dnrm2(n, x, inc)
					if !(math.Abs(got-want) <= 1e-13*want+5e-324) && got != want {
						t.Errorf("norm of %d numbers of size %g, %d apart: %g, want %g", n, size, inc, got, want)
					}
					for _, special := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
						x[n/2*inc] = special
						got, want = blas.Implementation{}.Dnrm2(n, x, inc), math.Abs(special)
						if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
							t.Errorf("norm of %d numbers of size %g with %g: %g", n, size, special, got)
						}
					}
				}
			}
		}
	})
}
