// Package tiertest runs tests on every CPU tier that the machine has.
package tiertest

import (
	"testing"

	"github.com/difalt/difalt/kernel/internal/tile"
)

// Each runs a test once for every CPU tier of this machine and build.
func Each(t *testing.T, f func(t *testing.T)) {
	before := tile.Active()
	defer func() {
		if err := tile.Use(before); err != nil {
			t.Error(err)
		}
	}()
	for _, tier := range tile.Available() {
		if err := tile.Use(tier); err != nil {
			t.Fatal(err)
		}
		t.Run("tier="+tier.String(), f)
	}
}
