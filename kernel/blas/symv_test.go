package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tiertest"
	gblas "gonum.org/v1/gonum/blas"
)

func TestSymv(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(15, 16))
		for n := 1; n < 120; n++ {
			ul, gap := triangles[n%2], n%3
			a, x, y := random(rng, n, n, gap), random(rng, n, 1, n%4), random(rng, n, 1, n%5)
			for i := range n {
				for j := range n {
					if outside(ul, i, j) {
						a.data[i*a.stride+j] = math.NaN() // is not read
					}
				}
			}
			alpha, beta, before := []float64{1, -0.3}[n%2], []float64{0, 1, -2}[n/2%3], y.clone()
			if beta == 0 {
				y.data[0] = math.NaN()
			}
			blas.Implementation{}.Dsymv(ul, n, alpha, a.data, a.stride, x.data, x.stride, beta, y.data, y.stride)
			if y.unguarded() {
				t.Fatalf("n = %d: wrote between entries", n)
			}
			for i := range n {
				var want exact
				want.add(beta, before.at(i, 0))
				for j := range n {
					v := a.at(i, j)
					if outside(ul, i, j) {
						v = a.at(j, i)
					}
					want.add(alpha*v, x.at(j, 0))
				}
				if !want.near(y.at(i, 0), n) {
					t.Fatalf("n = %d, %c: entry %d is %v, want %v", n, ul, i, y.at(i, 0), want.hi)
				}
			}
		}
	})
}

func TestSymm(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(17, 18))
		for at, s := range [][2]int{{1, 300}, {7, 50}, {16, 17}, {33, 9}, {64, 40}, {65, 3}, {100, 30}, {131, 66}} {
			for _, side := range []gblas.Side{gblas.Left, gblas.Right} {
				for _, ul := range triangles {
					checkSymm(t, rng, s[0], s[1], at, side, ul)
				}
			}
		}
	})
}

func checkSymm(t *testing.T, rng *rand.Rand, order, other, at int, side gblas.Side, ul gblas.Uplo) {
	t.Helper()
	m, n, gap := order, other, at%3
	if side == gblas.Right {
		m, n = n, m
	}
	a, b, c := random(rng, order, order, gap), random(rng, m, n, gap), random(rng, m, n, gap)
	for i := range order {
		for j := range order {
			if outside(ul, i, j) {
				a.data[i*a.stride+j] = math.NaN() // is not read
			}
		}
	}
	alpha, beta, before := []float64{1, -0.3}[at%2], []float64{0, 1, -2}[at%3], c.clone()
	if beta == 0 {
		c.data[0] = math.NaN()
	}
	blas.Implementation{}.Dsymm(side, ul, m, n, alpha, a.data, a.stride, b.data, b.stride, beta, c.data, c.stride)
	if c.unguarded() {
		t.Fatalf("order %d, %c%c: wrote between rows", order, side, ul)
	}
	entry := func(i, j int) float64 {
		if outside(ul, i, j) {
			i, j = j, i
		}
		return a.at(i, j)
	}
	for i := range m {
		for j := range n {
			var want exact
			want.add(beta, before.at(i, j))
			for k := range order {
				if side == gblas.Left {
					want.add(alpha*entry(i, k), b.at(k, j))
				} else {
					want.add(alpha*b.at(i, k), entry(k, j))
				}
			}
			if !want.near(c.at(i, j), order) {
				t.Fatalf("order %d, %c%c: entry (%d, %d) is %v, want %v", order, side, ul, i, j, c.at(i, j), want.hi)
			}
		}
	}
}
