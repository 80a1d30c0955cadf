package tile_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// Slices that are one entry too short for a shape panic before a tile reads or writes beyond them.
func TestShortSlices(t *testing.T) {
	const n, d, r = 5, 16, 3
	type slices struct{ a, b, c, e []float64 }
	for name, op := range map[string]struct {
		lens [4]int // of a, b, c and e
		f    func(s slices)
	}{
		"MulBasis": {[4]int{r * n, n * d, r * d, 0},
			func(s slices) { tile.MulBasis(s.a, n, s.b, d, s.c, d, n, d, r, nil) }},
		"MulTransposed": {[4]int{d, n * d, n, 0}, func(s slices) {
			tile.MulTransposed(s.a, s.b, d, s.c, n, d, nil)
		}},
		"Residual": {[4]int{n, r * n, r, n}, func(s slices) { tile.Residual(s.a, s.b, n, s.c, s.e, n, r) }},
		"RankUpdate": {[4]int{r * d, n * d, n * r, 0},
			func(s slices) { tile.RankUpdate(s.a, d, s.b, d, s.c, r, n, d, r) }},
		"Orthogonalize": {[4]int{r, r * n, n, tile.LeastSquaresWork(n, r)}, func(s slices) {
			tile.Orthogonalize(s.a, s.b, n, n, r, s.c, s.e, 0)
		}},
		"SolveUpper": {[4]int{r * n, r * r, r, 0}, func(s slices) {
			for i := range s.c {
				s.c[i] = 1
			}
			tile.SolveUpper(s.a, n, s.b, r, s.c, n, r)
		}},
		"MulPacked": {[4]int{r * n, n * d, tile.PackedLen(d, r), 0}, func(s slices) {
			tile.MulPacked(s.a, n, s.b, d, s.c, n, d, r, nil)
		}},
		"Panel": {[4]int{n * tile.PackWidth, n * r, r * tile.PackWidth, 0}, func(s slices) {
			tile.Panel(s.a, tile.PackWidth, s.b, tile.ByRows(r), s.c, tile.PackWidth, n, r, tile.PackWidth,
				tile.Update[float64]{Alpha: 1}, tile.Ahead{})
		}},
		"Panel32": {[4]int{n * 7, n * r, r * 7, 0}, func(s slices) {
			tile.Panel(make([]float32, len(s.a)), 7, make([]float32, len(s.b)), tile.ByRows(r),
				make([]float32, len(s.c)), 7, n, r, 7, tile.Update[float32]{Alpha: 1}, tile.Ahead{})
		}},
		"RowDots32": {[4]int{n, n * r, r, 0}, func(s slices) {
			tile.RowDots(make([]float32, len(s.a)), make([]float32, len(s.b)), r, make([]float32, len(s.c)), n, r)
		}},
		"AddRows32": {[4]int{r, n * r, n, 0}, func(s slices) {
			tile.AddRows(make([]float32, len(s.a)), make([]float32, len(s.b)), r, make([]float32, len(s.c)), n, r)
		}},
		"AddOuter32": {[4]int{n * r, n, r, 0}, func(s slices) {
			tile.AddOuter(make([]float32, len(s.a)), r, make([]float32, len(s.b)), make([]float32, len(s.c)), n, r)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tiertest.Every(t, func(t *testing.T) {
				if tile.Active() == tile.Generic {
					t.Skip("Go checks bounds itself")
				}
				for short := -1; short < len(op.lens); short++ { // -1: none
					lens := op.lens
					if short >= 0 {
						if lens[short]--; lens[short] < 0 {
							continue
						}
					}
					make := func(n int) []float64 { return make([]float64, n) }
					msg := panicOf(func() { op.f(slices{make(lens[0]), make(lens[1]), make(lens[2]), make(lens[3])}) })
					if _, bounds := msg.(runtime.Error); bounds != (short >= 0) {
						t.Errorf("operand %d too short: panic %v", short, fmt.Sprint(msg))
					}
				}
			})
		})
	}
}

func panicOf(f func()) (msg any) {
	defer func() { msg = recover() }()
	f()
	return nil
}
