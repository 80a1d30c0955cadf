package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tiertest"
	gblas "gonum.org/v1/gonum/blas"
)

// positive returns a symmetric matrix whose least eigenvalue is about 1, of which only a triangle is told.
func positive(rng *rand.Rand, n, gap int, ul gblas.Uplo) (m, whole *rowMajor) {
	r := random(rng, n, n, 0)
	m, whole = random(rng, n, n, gap), random(rng, n, n, 0)
	for i := range n {
		for j := range n {
			v := 0.0
			for l := range n {
				v += r.at(min(i, j), l) * r.at(max(i, j), l)
			}
			if i == j {
				v++
			}
			whole.data[i*n+j] = v
			if m.data[i*m.stride+j] = v; outside(ul, i, j) {
				m.data[i*m.stride+j] = math.NaN()
			}
		}
	}
	return m, whole
}

func TestPotrf(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, n := range []int{1, 2, 7, 16, 31, 32, 33, 47, 64, 65, 100, 131} {
			for _, ul := range triangles {
				a, whole := positive(rng, n, n%3, ul)
				if !(blas.Lapack{}.Dpotrf(ul, n, a.data, a.stride)) {
					t.Fatalf("n = %d, %c: not positive definite", n, ul)
				}
				if a.unguarded() {
					t.Fatalf("n = %d, %c: wrote between rows", n, ul)
				}
				for i := range n {
					for j := range n {
						if outside(ul, i, j) {
							if !math.IsNaN(a.at(i, j)) {
								t.Fatalf("n = %d, %c: wrote entry (%d, %d)", n, ul, i, j)
							}
							continue
						}
						var got exact
						for l := range min(i, j) + 1 {
							if ul == gblas.Upper {
								got.add(a.at(l, i), a.at(l, j))
							} else {
								got.add(a.at(i, l), a.at(j, l))
							}
						}
						if !got.near(whole.at(i, j), n) {
							t.Fatalf("n = %d, %c: entry (%d, %d) of the product is %v, want %v", n, ul, i, j, got.hi, whole.at(i, j))
						}
					}
				}
			}
		}
	})
}

// A matrix with one eigenvalue that is not positive has no factor, wherever the pivot shows it; nor has one of numbers that are none.
func TestPotrfOfIndefinite(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for _, n := range []int{1, 5, 33, 70} {
			for _, ul := range triangles {
				for _, at := range []int{0, n / 3, n - 1} {
					for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
						a, _ := positive(rng, n, 0, ul)
						a.data[at*a.stride+at] = v
						if (blas.Lapack{}.Dpotrf(ul, n, a.data, a.stride)) {
							t.Errorf("n = %d, %c: a factor with %g in diagonal entry %d", n, ul, v, at)
						}
					}
				}
				// Less one and a half times its inverse on a diagonal entry: by a hair indefinite there.
				a, whole := positive(rng, n, 0, ul)
				unit := make([]float64, n)
				unit[n-1] = 1
				factor := a.clone()
				blas.Lapack{}.Dpotrf(ul, n, factor.data, factor.stride)
				last := factor.at(n-1, n-1)
				for _, f := range []float64{0.999, 1.001} {
					b := a.clone()
					b.data[(n-1)*b.stride+n-1] = whole.at(n-1, n-1) - f*last*last
					if got := (blas.Lapack{}.Dpotrf(ul, n, b.data, b.stride)); got != (f < 1) {
						t.Errorf("n = %d, %c: %t with %g of the last pivot taken away", n, ul, got, f)
					}
				}
			}
		}
	})
}
