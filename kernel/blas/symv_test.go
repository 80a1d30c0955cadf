package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
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
