package qr_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel/internal/tiertest"
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
