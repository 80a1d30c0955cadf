package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// leastTimes returns the least time of a run of each function, in seconds, over turns of all of them.
func leastTimes(runs ...func()) []float64 {
	const turn, budget = 2 * time.Millisecond, 100 * time.Millisecond
	best, counts := make([]float64, len(runs)), make([]int, len(runs))
	for round, start := 0, time.Now(); round < 6 || time.Since(start) < budget; round++ {
		for i, run := range runs {
			if round == 0 {
				run()
				best[i], counts[i] = math.Inf(1), 1
			}
			before := time.Now()
			for range counts[i] {
				run()
			}
			best[i] = min(best[i], time.Since(before).Seconds()/float64(counts[i]))
			counts[i] = max(1, min(int(turn.Seconds()/best[i]), 1000))
		}
	}
	return best
}

// BenchmarkComplex reports the time of complex routines on matrices of an order, gonum's as a multiple of it,
// and for products their time as a multiple of Dgemm's.
func BenchmarkComplex(b *testing.B) {
	for _, n := range []int{2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, 100, 200, 500} {
		rng := rand.New(rand.NewPCG(3, 4))
		x, y, z := randomComplex[complex128](rng, n*n), randomComplex[complex128](rng, n*n),
			randomComplex[complex128](rng, n*n)
		triangle := randomComplex[complex128](rng, n*n) // nearly one, so that solutions stay what they are
		for i := range triangle {
			triangle[i] *= 1e-9
		}
		for i := range n {
			triangle[i*(n+1)] = 1
		}
		u, v, w := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, n, n, 0)
		real := func() { blas.Implementation{}.Dgemm('N', 'N', n, n, n, 1, u.data, n, v.data, n, 0, w.data, n) }
		for _, c := range []struct {
			name string
			run  func(f gblas.Complex128)
		}{
			{"Zgemm NN", func(f gblas.Complex128) { f.Zgemm('N', 'N', n, n, n, 1, x, n, y, n, 0, z, n) }},
			{"Zgemm NC", func(f gblas.Complex128) { f.Zgemm('N', 'C', n, n, n, 1, x, n, y, n, 0, z, n) }},
			{"Zgemm CN", func(f gblas.Complex128) { f.Zgemm('C', 'N', n, n, n, 1, x, n, y, n, 0, z, n) }},
			{"Zherk N", func(f gblas.Complex128) { f.Zherk('U', 'N', n, n, 1, x, n, 0, z, n) }},
			{"Zherk C", func(f gblas.Complex128) { f.Zherk('L', 'C', n, n, 1, x, n, 0, z, n) }},
			{"Zsyrk N", func(f gblas.Complex128) { f.Zsyrk('L', 'N', n, n, 1, x, n, 0, z, n) }},
			{"Zsyrk T", func(f gblas.Complex128) { f.Zsyrk('U', 'T', n, n, 1, x, n, 0, z, n) }},
			{"Zhemm L", func(f gblas.Complex128) { f.Zhemm('L', 'U', n, n, 1, x, n, y, n, 0, z, n) }},
			{"Zhemm R", func(f gblas.Complex128) { f.Zhemm('R', 'L', n, n, 1, x, n, y, n, 0, z, n) }},
			{"Ztrsm L", func(f gblas.Complex128) { f.Ztrsm('L', 'L', 'N', 'N', n, n, 1, triangle, n, y, n) }},
			{"Ztrsm R", func(f gblas.Complex128) { f.Ztrsm('R', 'U', 'C', 'N', n, n, 1, triangle, n, y, n) }},
			{"Zgemv N", func(f gblas.Complex128) { f.Zgemv('N', n, n, 1, x, n, y, 1, 0, z, 1) }},
			{"Zgemv T", func(f gblas.Complex128) { f.Zgemv('T', n, n, 1, x, n, y, 1, 0, z, 1) }},
			{"Zgemv C", func(f gblas.Complex128) { f.Zgemv('C', n, n, 1, x, n, y, 1, 0, z, 1) }},
			{"Zgeru", func(f gblas.Complex128) { f.Zgeru(n, n, 1e-9, x, 1, y, 1, z, n) }},
			{"Zgerc", func(f gblas.Complex128) { f.Zgerc(n, n, 1e-9, x, 1, y, 1, z, n) }},
		} {
			b.Run(fmt.Sprintf("%s %d", c.name, n), func(b *testing.B) {
				var t []float64
				for b.Loop() {
					t = leastTimes(func() { c.run(blas.Implementation{}) }, func() {
						c.run(reference.Implementation{})
					}, real)
				}
				b.ReportMetric(t[0]*1e9, "ns/call")
				b.ReportMetric(t[1]/t[0], "gonum")
				b.ReportMetric(t[0]/t[2], "Dgemm")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
