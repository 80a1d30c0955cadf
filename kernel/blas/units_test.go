package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/lapack"
)

// Columns and rows may be in any units, in any order: singular values have relative errors of some rounding
// errors, the smallest ones too, and so have the vectors of values that are apart. Errors of gonum are
// relative to the largest value.
func TestGesvdUnits(t *testing.T) {
	units := func(rng *rand.Rand) float64 { return math.Pow(10, math.Floor(16*rng.Float64()-8)) }
	kinds := map[string]func(rng *rand.Rand, i, j, n int, rows, columns []float64) float64{
		"columns": func(_ *rand.Rand, _, j, _ int, _, columns []float64) float64 { return columns[j] },
		"rows":    func(_ *rand.Rand, i, _, _ int, rows, _ []float64) float64 { return rows[i] },
		"both":    func(_ *rand.Rand, i, j, _ int, rows, columns []float64) float64 { return rows[i] * columns[j] },
		"rising": func(_ *rand.Rand, _, j, n int, _, _ []float64) float64 {
			return math.Pow(10, 16*float64(j)/float64(n))
		},
		"falling": func(_ *rand.Rand, _, j, n int, _, _ []float64) float64 {
			return math.Pow(10, -16*float64(j)/float64(n))
		},
	}
	shapes := [][2]int{{8, 5}, {7, 6}, {5, 11}, {14, 13}, {30, 4}, {4, 30}, {260, 3}}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 82))
		for _, shape := range shapes {
			for name, unit := range kinds {
				m, n := shape[0], shape[1]
				a, rows, columns := random(rng, m, n, 0), make([]float64, m), make([]float64, n)
				for i := range rows {
					rows[i] = units(rng)
				}
				for j := range columns {
					columns[j] = units(rng)
				}
				for i := range m {
					for j := range n {
						a.data[i*n+j] *= unit(rng, i, j, n, rows, columns)
					}
				}
				checkUnits(t, name, a)
			}
		}
	})
}

func checkUnits(t *testing.T, name string, a *rowMajor) {
	t.Helper()
	wide := a.rows < a.cols
	tall := a
	if wide {
		tall = a.transposed()
	}
	want, left := exactSVD(tall.rows, tall.cols, func(i, j int) float64 { return tall.data[i*tall.stride+j] })
	for _, job := range []lapack.SVDJob{lapack.SVDNone, lapack.SVDStore, lapack.SVDAll} {
		d := newSingular(job, job, a, 0)
		d.compute(blas.Lapack{}, job, job)
		if err := closeTo(d.s, want, 1e-12); err != nil {
			t.Errorf("%s, %d x %d, %c: %v", name, a.rows, a.cols, job, err)
		}
		if job == lapack.SVDNone {
			continue
		}
		vectors := d.u
		if wide {
			vectors = d.vt.transposed()
		}
		for k, vector := range left {
			apart := (k == 0 || want[k-1] > 2*want[k]) && (k == len(want)-1 || want[k] > 2*want[k+1])
			if off := vectorOff(vectors, k, vector); apart && !(off <= 1e-12) {
				t.Errorf("%s, %d x %d, %c: vector %d is off by %.1g", name, a.rows, a.cols, job, k, off)
			}
		}
	}
}

// vectorOff returns the largest difference of column k of a matrix and a vector, whose sign is open.
func vectorOff(m *rowMajor, k int, vector []float64) float64 {
	same, opposite := 0.0, 0.0
	for i, v := range vector {
		x := m.data[i*m.stride+k]
		same, opposite = max(same, math.Abs(x-v)), max(opposite, math.Abs(x+v))
	}
	return min(same, opposite)
}
