package tile_test

import (
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

func TestFMAPeak(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		if one, ten := tile.FMAPeak(1), tile.FMAPeak(10); one <= 0 || ten != 10*one {
			t.Errorf("FMAPeak(1), FMAPeak(10) = %v, %v", one, ten)
		}
	})
}
