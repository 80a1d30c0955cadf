package fit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
)

// Where coefficients outnumber tasks by far, and tasks differ by nothing but their level, no rank is found in their noise: neither with numbers
// nor with the levels of a category as features.
func TestNoRankInNoise(t *testing.T) {
	inFull(t)
	seeds := uint64(1)
	if longtest.Enabled() {
		seeds = 10
	}
	for _, levels := range []bool{false, true} {
		for seed := range seeds {
			rng := rand.New(rand.NewPCG(seed+1, 31))
			const features = 100
			tab := emptyTable(t, features)
			for task := range 8 {
				level := rng.NormFloat64()
				for range 120 {
					x := make([]float64, features)
					if levels {
						x[rng.IntN(features)] = 1
					} else {
						for j := range x {
							x[j] = rng.NormFloat64()
						}
					}
					if err := tab.Append(fmt.Sprint(task), "", x, level+rng.NormFloat64()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := tab.AssignBlocks(1); err != nil {
				t.Fatal(err)
			}
			c := testConfig(t, 1, 0)
			c.Starts = 1
			if _, r := fit(t, tab, c); r.Chosen.Rank > 0 {
				t.Errorf("levels %v, seed %d: rank %d of evidence %v", levels, seed, r.Chosen.Rank, r.Chosen.Evidence)
			}
		}
	}
}
