package lsq

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tiertest"
	"gonum.org/v1/gonum/blas/blas64"
)

// Tasks that are ill-conditioned, but of full rank beyond doubt, do without pivoting, which takes several
// times as long.
func TestIllConditionedNeedsNoPivots(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 5))
		for _, r := range []int{2, 4, 5, 10, 17, 40} {
			for _, n := range []int{r - 1, r, 3 * r} {
				a := blas64.GeneralCols{Rows: n, Cols: r, Stride: n, Data: make([]float64, n*r)}
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
				// A small block on the diagonal makes any matrix seem deficient in another way.
				a := product(rng, n, r, rank, 3, 1)
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

// Singular values that fall through the rounding of the largest without a gap leave a choice of ranks: hardly ever does
// any of them need pivots.
func TestSlowFallNeedsFewPivots(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 7))
		tasks, pivots := 0, 0
		for _, r := range []int{4, 6, 10, 16, 20, 40, 100} {
			for range 400 / r {
				for _, n := range []int{r - 1, r, 2 * r} {
					down := math.Pow(10, -18-12*rng.Float64()) // to what the singular values fall, about
					a := product(rng, n, r, min(n, r), 0, math.Pow(down, 1/float64(min(n, r))))
					y, b, ws := make([]float64, n), make([]float64, r), NewWorkspace(n, r)
					for i := range y {
						y[i] = rng.NormFloat64()
					}
					Solve(b, a, y, 0, ws)
					tasks++
					if ws.decomposed.c != 0 {
						pivots++
					}
				}
			}
		}
		if pivots > tasks/10 {
			t.Errorf("%d of %d tasks need pivots", pivots, tasks)
		}
		t.Logf("%d of %d tasks need pivots", pivots, tasks)
	})
}

// product returns a product of random n x rank and rank x r matrices with something added to their diagonals, and column q of the
// first times fall^q.
func product(rng *rand.Rand, n, r, rank int, diagonal, fall float64) blas64.GeneralCols {
	a := blas64.GeneralCols{Rows: n, Cols: r, Stride: n, Data: make([]float64, n*r)}
	left, right := make([]float64, n*rank), make([]float64, r*rank)
	for _, f := range [][]float64{left, right} {
		for i := range f {
			f[i] = rng.NormFloat64()
		}
		for q := range rank {
			f[q*rank+q] += diagonal
		}
	}
	for i := range left {
		left[i] *= math.Pow(fall, float64(i%rank))
	}
	for i := range n {
		for j := range r {
			a.Data[j*n+i] = dense.Dot(left[i*rank:][:rank], right[j*rank:])
		}
	}
	return a
}
