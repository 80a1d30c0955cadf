package qr_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/qr"
)

// Factor reads and writes nothing but its arguments, wherever they are.
func TestFactorStaysInside(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		const most = 64 * 24
		rng := rand.New(rand.NewPCG(33, 34))
		a, r, work := tiertest.Edge(t, most), tiertest.Edge(t, most), tiertest.Edge(t, most)
		for i := range 400 {
			n, front := 1+rng.IntN(20), i%3 == 0
			m, diagonal := n+rng.IntN(40), float64(i%2)*100 // which makes columns nearly orthogonal
			q := newFactorisation(m, n, m+rng.IntN(2), n+rng.IntN(2), func(i, j int) float64 {
				if i == j {
					return diagonal + rng.NormFloat64()
				}
				return rng.NormFloat64()
			})
			q.a, q.r = a(q.a[:(n-1)*q.lda+m], front), r(q.r[:(n-1)*q.ldr+n], front)
			qr.Factor(q.matrices(work(make([]float64, qr.WorkLen(n)), front)))
			q.in, q.a, q.r = q.in[:len(q.a)], slices.Clone(q.a), append(slices.Clone(q.r), untouched)
			if q.check(t); t.Failed() {
				t.Fatalf("%d x %d", m, n)
			}
		}
	})
}

// Columns of one length that are not nearly orthogonal, up to all but parallel ones: Q'Q is I to
// rounding, as for orthogonal columns.
func TestFactorEqualAngles(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range []int{2, 3, 5, 9} {
			for _, cosine := range []float64{0.2, 0.36, 0.45, 0.7, 0.9, 0.99, 1 - 1e-4, 1 - 1e-8, 1 - 1e-12} {
				m, left := 4*n, math.Sqrt(1-cosine)
				q := newFactorisation(m, n, m+1, n, func(i, j int) float64 {
					switch i {
					case 0:
						return math.Sqrt(cosine)
					case j + 1:
						return left
					}
					return 0
				})
				q.factor()
				q.check(t)
				for j := range n {
					for k := range j + 1 {
						want := 0.0
						if j == k {
							want = 1
						}
						if got := dense.Dot(q.a[j*q.lda:][:m], q.a[k*q.lda:][:m]); !(math.Abs(got-want) <= 8*0x1p-52) {
							t.Errorf("n = %d, cosine %v: q_%d'q_%d is off by %g", n, cosine, j, k, got-want)
						}
					}
				}
			}
		}
	})
}
