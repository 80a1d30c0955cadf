package tile_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
)

// TestSameBitsOnProcessors: what operations write has the hashes of testdata/bits.txt on every processor with
// FMA, but on the tiers that a line names.
func TestSameBitsOnProcessors(t *testing.T) {
	tiertest.Hashes(t, "testdata/bits.txt", func() map[string]string {
		all := map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(checks)) {
			r := newRun(t, rand.New(rand.NewPCG(5, 6)))
			r.value = func(rng *rand.Rand) float64 {
				// Logarithms, of which package math computes large numbers, differ in the
				// last bit.
				return float64(float32(normal(rng)))
			}
			sizes := rand.New(rand.NewPCG(7, 8))
			for range 100 {
				r.try(name, shape{sizes.IntN(40), 1 + sizes.IntN(150), sizes.IntN(20)})
			}
			for _, large := range []shape{{37, 1300, 7}, {40, 1030, 17}} { // in blocks, and in panels
				r.try(name, large)
			}
			all[name] = fmt.Sprintf("%016x", uint64(r.hash))
		}
		return all
	})
}
