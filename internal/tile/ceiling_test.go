package tile_test

import (
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// A ceiling that skipped some of the memory, or of the work, would be too high.
func TestCeilings(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		x := make([]float64, 0, 1100)
		want := 0.0
		for len(x) < cap(x) {
			// Small integers add up without rounding in any order.
			if got := tile.ReadSum(x, false); got != want {
				t.Fatalf("ReadSum of %d numbers = %v, want %v", len(x), got, want)
			}
			if got := tile.ReadSum(x, true); got != want {
				t.Fatalf("ReadSum in four streams of %d numbers = %v, want %v", len(x), got, want)
			}
			v := float64(1 + len(x)%97)
			x, want = append(x, v), want+v
		}
		if one, ten := tile.FMAPeak(1), tile.FMAPeak(10); one <= 0 || ten != 10*one {
			t.Errorf("FMAPeak(1), FMAPeak(10) = %v, %v", one, ten)
		}
	})
}
