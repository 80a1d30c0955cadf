package lsq_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
)

func withValues(rng *rand.Rand, n, r int, value func(q, k int) float64) problem {
	p := random(rng, n, r)
	p.values(rng, value)
	return p
}

// BenchmarkSolve compares problems without a unique solution with one that has as many
// samples as columns.
func BenchmarkSolve(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, r := range []int{4, 10, 20, 40, 100, 256} {
		for _, c := range []struct {
			name string
			p    problem
		}{
			{"n=r", random(rng, r, r)},
			{"n=r-1", random(rng, r-1, r)},
			{"n=r/2", random(rng, r/2, r)},
			{"rank=r-1", ofRank(rng, r, r, r-1)},
			{"rank=r/2", ofRank(rng, r, r, r/2)},
			{"n=r-1,rank=r-2", ofRank(rng, r-1, r, r-2)},
			{"n=r,one of 1e-10", withValues(rng, r, r, func(q, k int) float64 { return math.Pow(1e-10, float64(q/(k-1))) })},
			{"n=r,down to 1e-20", withValues(rng, r, r, func(q, k int) float64 { return math.Pow(1e-20, float64(q)/float64(k)) })},
		} {
			ws, x := lsq.NewWorkspace(c.p.n, r), make([]float64, r)
			b.Run(fmt.Sprintf("r=%d/%s", r, c.name), func(b *testing.B) {
				for b.Loop() {
					lsq.Solve(x, c.p.matrix(), c.p.y, lsq.Options{}, ws)
				}
			})
		}
	}
}
