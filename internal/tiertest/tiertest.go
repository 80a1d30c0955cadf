// Package tiertest runs tests on every CPU tier that the machine has.
package tiertest

import (
	"testing"

	"github.com/difalt/difalt/internal/tile"
)

// Each is Every for packages that call the tiles and have no code for a certain tier: with -short, which
// is for other builds and processors, it runs the test for the tier in use.
func Each(t *testing.T, f func(t *testing.T)) { on(t, testing.Short(), f) }

// Every runs a test once for every CPU tier of this machine and build. With the race detector, which sees
// nothing of a tier's assembly, it runs the test for the tier in use.
func Every(t *testing.T, f func(t *testing.T)) { on(t, false, f) }

func on(t *testing.T, one bool, f func(t *testing.T)) {
	before := tile.Active()
	defer func() {
		if err := tile.Use(before); err != nil {
			t.Error(err)
		}
	}()
	tiers := tile.Available()
	if tile.Race || one {
		tiers = []tile.Tier{before}
	}
	for _, tier := range tiers {
		if err := tile.Use(tier); err != nil {
			t.Fatal(err)
		}
		t.Run("tier="+tier.String(), f)
	}
}

// Edge returns a function that copies slices of up to n float64, each in place of the slice before. They lie
// at the beginning or the end of memory beyond which nothing can be read.
func Edge(t testing.TB, n int) func(x []float64, front bool) []float64 {
	mem := Guarded(t, n)
	return func(x []float64, front bool) []float64 {
		at := mem[len(mem)-len(x):]
		if front {
			at = mem[:len(x):len(x)]
		}
		copy(at, x)
		return at
	}
}
