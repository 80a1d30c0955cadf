package blas_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
)

// The best lengths of work of routines of reflectors are gonum's, for a query and after a call.
func TestBestLengthsOfWork(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for range 200 {
			n, k := 1+rng.IntN(60), 0
			m := n + rng.IntN(300)
			k = 1 + rng.IntN(n)
			tall, wide, c, tau := random(rng, m, n, rng.IntN(3)), random(rng, n, m, rng.IntN(3)), random(rng, m, n,
				0), make([]float64, n)
			type call func(l lapack.Float64, work []float64, lwork int)
			for name, f := range map[string]call{
				"Dgeqrf": func(l lapack.Float64, work []float64, lwork int) {
					l.Dgeqrf(m, n, tall.data, tall.stride, tau, work, lwork)
				},
				"Dgelqf": func(l lapack.Float64, work []float64, lwork int) {
					l.Dgelqf(n, m, wide.data, wide.stride, tau, work, lwork)
				},
				"Dorgqr": func(l lapack.Float64, work []float64, lwork int) {
					l.Dorgqr(m, n, k, tall.data, tall.stride, tau[:k], work, lwork)
				},
				"Dorglq": func(l lapack.Float64, work []float64, lwork int) {
					l.Dorglq(n, m, k, wide.data, wide.stride, tau[:k], work, lwork)
				},
				"Dormqr": func(l lapack.Float64, work []float64, lwork int) {
					l.Dormqr(gblas.Left, gblas.Trans, m, n, k, tall.data, tall.stride, tau[:k], c.data, c.stride,
						work, lwork)
				},
				"Dormlq": func(l lapack.Float64, work []float64, lwork int) {
					l.Dormlq(gblas.Left, gblas.NoTrans, m, n, k, wide.data, wide.stride, tau[:k], c.data, c.stride,
						work, lwork)
				},
			} {
				want, got := make([]float64, 1), make([]float64, 1)
				f(lapackreference.Implementation{}, want, -1)
				f(blas.Lapack{}, got, -1)
				if got[0] != want[0] {
					t.Fatalf("%s of %d x %d, %d reflectors: a query answers %v, want %v", name, m, n, k, got[0],
						want[0])
				}
				work := make([]float64, int(want[0]))
				f(blas.Lapack{}, work, len(work))
				if work[0] != want[0] {
					t.Fatalf("%s of %d x %d, %d reflectors: work[0] is %v, want %v", name, m, n, k, work[0], want[0])
				}
			}
		}
	})
}

// Dgesvd computes with the length of work that it answers, and refuses a query that gonum refuses.
func TestWorkOfDgesvd(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, s := range [][2]int{{1, 1}, {3, 3}, {5, 40}, {40, 5}, {70, 50}, {300, 2}} {
			m, n := s[0], s[1]
			q := min(m, n)
			a, values := random(rng, m, n, min(1, m-1)), make([]float64, q)
			u, vt := make([]float64, m*q), make([]float64, q*n)
			for _, job := range []lapack.SVDJob{lapack.SVDStore, lapack.SVDNone} {
				work := make([]float64, 1)
				ask := func(lda int) bool {
					return blas.Lapack{}.Dgesvd(job, job, m, n, a.data, lda, values, u, q, vt, n, work, -1)
				}
				if !ask(a.stride) {
					t.Fatalf("%d x %d: a query returns false", m, n)
				}
				work = make([]float64, int(work[0]))
				if !(blas.Lapack{}).Dgesvd(job, job, m, n, a.data, a.stride, values, u, q, vt, n, work, len(work)) {
					t.Fatalf("%d x %d: no values", m, n)
				}
				refused(t, fmt.Sprintf("%d x %d: a query with rows %d apart", m, n, n-1), func() { ask(n - 1) })
			}
		}
	})
}

// refused fails unless a call panics.
func refused(t *testing.T, what string, call func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s does not panic", what)
		}
	}()
	call()
}
