package lsq

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tiertest"
)

// Tasks that are ill-conditioned, but of full rank beyond doubt, do without pivoting, which takes several
// times as long.
func TestIllConditionedNeedsNoPivots(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 5))
		for _, r := range []int{2, 4, 5, 10, 17, 40} {
			for _, n := range []int{r - 1, r, 3 * r} {
				a := blas.ColumnMajor{Rows: n, Cols: r, Stride: n, Data: make([]float64, n*r)}
				for i := range a.Data {
					a.Data[i] = rng.NormFloat64()
				}
				for i := range n { // all but parallel, of samples where these are fewer
					if n < r && i > 0 {
						for j := range r {
							a.Data[j*n+i] = a.Data[j*n] + 1e-9*a.Data[j*n+i]
						}
					} else if n >= r {
						a.Data[(r-1)*n+i] = a.Data[i] + 1e-9*a.Data[(r-1)*n+i]
					}
				}
				y, b, ws := make([]float64, n), make([]float64, r), NewWorkspace(n, r)
				y[0] = 1
				want := OK
				if n < r {
					want = Underdetermined
				}
				if status := Solve(b, a, y, 0, ws); status != want || ws.decomposed.c != 0 {
					t.Errorf("%d x %d: status %v, pivots %v", n, r, status, ws.decomposed.c != 0)
				}
			}
		}
	})
}

// Tasks that are deficient in a plain way, and all with fewer samples than columns that are not,
// do without it, too.
func TestPlainDeficiencyNeedsNoPivots(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 3))
		for _, r := range []int{2, 3, 4, 5, 8, 10, 16, 17, 40, 100} {
			for _, shape := range [][2]int{{r, 1}, {r, r / 2}, {r, r - 1}, {2 * r, r - 1}, {r - 1, r - 1}, {r - 1, (r + 1) / 2}, {r / 2, r / 2}} {
				n, rank := shape[0], shape[1]
				a := blas.ColumnMajor{Rows: n, Cols: r, Stride: n, Data: make([]float64, n*r)}
				left, right := make([]float64, n*rank), make([]float64, r*rank)
				for _, f := range [][]float64{left, right} {
					for i := range f {
						f[i] = rng.NormFloat64()
					}
					// A small block on the diagonal makes any matrix seem deficient in another way.
					for q := range rank {
						f[q*rank+q] += 3
					}
				}
				for i := range n {
					for j := range r {
						a.Data[j*n+i] = blas.Dot(left[i*rank:][:rank], right[j*rank:])
					}
				}
				y, b, ws := make([]float64, n), make([]float64, r), NewWorkspace(n, r)
				for i := range y {
					y[i] = rng.NormFloat64()
				}
				want := RankDeficient
				if n < r {
					want = Underdetermined
				}
				if status := Solve(b, a, y, 0, ws); status != want {
					t.Errorf("%d x %d of rank %d: status %v", n, r, rank, status)
				}
				if ws.decomposed.c != 0 {
					t.Errorf("%d x %d of rank %d needs pivots", n, r, rank)
				}
			}
		}
	})
}
