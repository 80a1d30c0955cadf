//go:build !purego

package tile

import (
	"slices"
	"testing"
)

// Products have equal bits with and without the tiles of AVX2 that a processor which splits vectors uses.
func TestNarrowPanels(t *testing.T) {
	t.Run("float64", testNarrowPanels[float64])
	t.Run("float32", testNarrowPanels[float32])
}

func testNarrowPanels[F Float](t *testing.T) {
	before := tiles
	defer func() { tiles = before }()
	narrow := operationsOf(AVX2)
	width := PanelWidth[F]()
	for _, tier := range Available()[1:] {
		for _, m := range []int{1, 3, 4, 5, 6, 7, 9, 11, 12, 13, 20, 33} {
			for cols := 1; cols < 4*width; cols += 5 {
				n := 7 + cols%2*shortRows
				for _, u := range []Update[F]{{1, 0}, {1, 1}, {.5, -2}} {
					const apart = 5 // from the end of a row of C to the next one
					w, z := make([]F, m*n), make([]F, n*cols)
					for i := range w {
						w[i] = 1 / F(i+3)
					}
					for i := range z {
						z[i] = 1 / F(i+5)
					}
					var results [2][]F
					for way := range results {
						tiles = operationsOf(tier)
						if way == 1 {
							tiles.addNarrow(&narrow)
						}
						c := make([]F, m*(cols+apart))
						for i := range c {
							c[i] = F(i)
						}
						Panels(c, cols+apart, w, ByRows(n), z, cols, width, m, n, cols, u)
						results[way] = c
					}
					if !slices.Equal(results[0], results[1]) {
						t.Errorf("%v: %d x %d, %v: other bits", tier, m, cols, u)
					}
				}
			}
		}
	}
}
