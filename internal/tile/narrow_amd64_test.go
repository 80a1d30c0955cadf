//go:build !purego

package tile

import (
	"slices"
	"testing"
)

// Short products have equal bits with and without tiles of few rows.
func TestFewRows(t *testing.T) {
	t.Run("float64", testFewRows[float64])
	t.Run("float32", testFewRows[float32])
}

func testFewRows[F Float](t *testing.T) {
	before := tiles
	defer func() { tiles = before }()
	for _, tier := range Available()[1:] {
		tiles = operationsOf(tier)
		width := PanelWidth[F]()
		for m := 1; m <= 14; m++ {
			for cols := 1; cols <= 2*width+3; cols++ {
				for _, byColumns := range []bool{false, true} {
					n, at, ldc := 1+(m+cols)%5, ByRows(9), cols+2
					if byColumns {
						at = ByColumns(m + 3)
					}
					w, z := nonzeros[F](at.index(m-1, n-1)+1, 3), nonzeros[F]((n-1)*(cols+1)+cols, 5)
					for _, u := range []Update[F]{{1, 0}, {1, 1}, {-.75, 0}, {.5, -2}} {
						var results [2][]F
						for way := range results {
							if tiles = operationsOf(tier); way == 1 {
								tiles.panelFew = operations{}.panelFew
							}
							c := nonzeros[F](m*ldc, 7)
							Panels(c, ldc, w, at, z, cols+1, width, m, n, cols, u)
							results[way] = c
						}
						if !slices.Equal(results[0], results[1]) {
							t.Fatalf("%v: %d x %d of %d terms, by columns %v, %v: other bits", tier, m, cols, n, byColumns, u)
						}
					}
				}
			}
		}
	}
}

// nonzeros returns n numbers that have no short binary form.
func nonzeros[F Float](n, from int) []F {
	x := make([]F, n)
	for i := range x {
		x[i] = 1 / F(i+from)
	}
	return x
}

// Products have equal bits with and without the tiles of AVX2 that a processor which splits vectors uses: for
// panels one behind the other, which tiles of few rows do not take.
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
					panel := n*width + 3
					w, z := nonzeros[F](m*n, 3), nonzeros[F]((cols/width+1)*panel, 5)
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
						Panels(c, cols+apart, w, ByRows(n), z, width, panel, m, n, cols, u)
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
