//go:build !race

package blas_test

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/internal/tiertest"
)

// Memory for blocks is kept (with the race detector sync.Pool drops some of what it is given).
func TestLevel3DoesNotAllocate(t *testing.T) {
	const n = 70
	rng := rand.New(rand.NewPCG(11, 12))
	a, b, c := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, 2*n, n, 0)
	tiertest.Each(t, func(t *testing.T) {
		if got := testing.AllocsPerRun(50, func() { level3(n, a.data, b.data, c.data) }); got >= 1 {
			t.Errorf("%g allocations", got)
		}
	})
}
