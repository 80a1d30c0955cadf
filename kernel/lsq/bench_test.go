package lsq_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
)

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
		} {
			ws, x := lsq.NewWorkspace(c.p.n, r), make([]float64, r)
			b.Run(fmt.Sprintf("r=%d/%s", r, c.name), func(b *testing.B) {
				for b.Loop() {
					lsq.Solve(x, c.p.matrix(), c.p.y, 0, ws)
				}
			})
		}
	}
}
