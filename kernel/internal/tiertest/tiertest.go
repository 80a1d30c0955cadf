// Package tiertest runs tests on every CPU tier that the machine has.
package tiertest

import (
	"testing"

	"github.com/difalt/difalt/kernel/internal/tile"
)

// Each is Every for what calls the tiles and has no code of its own for a tier: with -short, which is for other builds
// and processors, it runs the test for the tier in use.
func Each(t *testing.T, f func(t *testing.T)) { on(t, testing.Short(), f) }

// Every runs a test once for every CPU tier of this machine and build, and with the race detector,
// which sees the same of each tier, for the one in use.
func Every(t *testing.T, f func(t *testing.T)) { on(t, false, f) }

func on(t *testing.T, one bool, f func(t *testing.T)) {
	before := tile.Active()
	defer func() {
		if err := tile.Use(before); err != nil {
			t.Error(err)
		}
	}()
	tiers := tile.Available()
	if racing || one {
		tiers = []tile.Tier{before}
	}
	for _, tier := range tiers {
		if err := tile.Use(tier); err != nil {
			t.Fatal(err)
		}
		t.Run("tier="+tier.String(), f)
	}
}
