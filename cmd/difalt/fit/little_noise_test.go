package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Correlated features, fewer rows than features in a task and little noise: the evidence is a narrow ridge, along
// which its climb must not end before it has arrived, at any rank.
func TestConvergesWithLittleNoise(t *testing.T) {
	const features, rank, along = 25, 3, 0.99
	rng := rand.New(rand.NewPCG(1, 5))
	tab, axes := emptyTable(t, features), [rank][features]float64{}
	for a := range axes {
		for j := range features {
			axes[a][j] = 0.3 * rng.NormFloat64() / math.Pow(1.5, float64(a))
		}
	}
	x := make([]float64, features)
	for k := range 100 {
		var b [rank]float64
		for a := range b {
			b[a] = rng.NormFloat64()
		}
		level := rng.NormFloat64()
		for range 10 {
			y, last := level+0.003*rng.NormFloat64(), 0.0
			for j := range x {
				x[j] = along*last + math.Sqrt(1-along*along)*rng.NormFloat64()
				last = x[j]
				for a := range b {
					y += x[j] * b[a] * axes[a][j]
				}
			}
			if err := tab.Append(fmt.Sprint(k), "", x, y); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := testConfig(t, 2, 0)
	c.Owners = false
	_, r := fit(t, assigned(t, tab, 2), c)
	if !r.Converged || r.Chosen.Rank != rank {
		t.Errorf("converged %v, rank %d of %d", r.Converged, r.Chosen.Rank, rank)
	}
}
