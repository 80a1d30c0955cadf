package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// Products with factors of few nonzero entries are those of all entries: also where zeros meet NaN, and where
// the nonzero entries are in one row or column.
func TestSparseFactors(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(71, 72))
		for _, size := range [][3]int{{200, 60, 150}, {70, 130, 90}, {300, 40, 20}, {40, 40, 40}, {200, 4, 5200}} {
			for at := range 24 {
				m, n, k := size[0], size[1], size[2]
				tA := transposes[at%2]
				a, b, c := random(rng, m, k, at%3), random(rng, k, n, at%2), random(rng, m, n, 1)
				if tA == gblas.Trans {
					a = random(rng, k, m, at%3)
				}
				thinOut(rng, a, at%4)
				if at%5 == 0 {
					b.data[rng.IntN(k*n)/n*b.stride+rng.IntN(n)] = math.NaN()
				}
				want := c.clone()
				for i := range m {
					for j := range n {
						sum := 0.0
						for l := range k {
							at := i*a.stride + l
							if tA == gblas.Trans {
								at = l*a.stride + i
							}
							sum += a.data[at] * b.data[l*b.stride+j]
						}
						want.data[i*want.stride+j] = 2*sum - want.data[i*want.stride+j]
					}
				}
				blas.Implementation{}.Dgemm(tA, gblas.NoTrans, m, n, k, 2, a.data, a.stride, b.data, b.stride, -1,
					c.data, c.stride)
				if err := alike(c.data, want.data); err != nil {
					t.Fatalf("%v %c, pattern %d: %v", size, tA, at, err)
				}
			}
		}
		testSparseSquares(t, rng)
	})
}

// testSparseSquares checks X'X for one-hot and other sparse rows.
func testSparseSquares(t *testing.T, rng *rand.Rand) {
	for at := range 16 {
		n, k, ul := 60, 200, triangles[at%2]
		x, c := random(rng, k, n, at%3), random(rng, n, n, 1)
		thinOut(rng, x, at%4)
		if at%5 == 0 {
			x.data[rng.IntN(k)*x.stride+rng.IntN(n)] = math.Inf(1)
		}
		want := c.clone()
		for i := range n {
			for j := range n {
				if outside(ul, i, j) {
					continue
				}
				sum := 0.0
				for l := range k {
					sum += x.data[l*x.stride+i] * x.data[l*x.stride+j]
				}
				want.data[i*want.stride+j] = 3*sum + 2*want.data[i*want.stride+j]
			}
		}
		blas.Implementation{}.Dsyrk(ul, gblas.Trans, n, k, 3, x.data, x.stride, 2, c.data, c.stride)
		if err := alike(c.data, want.data); err != nil {
			t.Fatalf("%c, pattern %d: %v", ul, at, err)
		}
	}
}

// thinOut sets most entries of a matrix to zero, in one of four patterns.
func thinOut(rng *rand.Rand, a *rowMajor, pattern int) {
	hot := rng.IntN(a.cols)
	for i := range a.rows {
		one := rng.IntN(a.cols)
		for j := range a.cols {
			keep := rng.IntN(50) == 0
			switch pattern {
			case 1:
				keep = j == one
			case 2:
				keep = j == hot
			case 3:
				keep = i == 3
			}
			if !keep {
				a.data[i*a.stride+j] = 0
			}
		}
	}
}
