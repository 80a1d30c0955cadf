package tile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
)

// Sums of differences have the bits of the sum from first to last, on every tier: what one
// end of a link adds the other takes away.
func TestSumDifferences(t *testing.T) {
	tiertest.Every(t, func(t *testing.T) {
		r := newRun(t, rand.New(rand.NewPCG(5, 6)))
		for i := range 400 {
			n, count, vectors := r.rng.IntN(150), r.rng.IntN(20), 1+r.rng.IntN(12)
			r.at = fmt.Sprintf("n = %d, %d rows of %d", n, count, vectors)
			r.value = []func(*rand.Rand) float64{normal, special, tiny, huge, small}[i%5]
			r.start()
			x, ldx := r.padded("x", n, vectors)
			w, _ := r.dense("w", count, 1)
			rows, own := make([]int, count), r.rng.IntN(vectors)
			for k := range rows {
				rows[k] = r.rng.IntN(vectors)
			}
			sum := r.alloc(tile.Pad(n))
			tile.SumDifferences(sum, x, ldx, own, rows, w, n)
			r.finish("SumDifferences")
			for k, got := range sum {
				want := 0.0
				for i, row := range rows {
					d := x[row*ldx+k] - x[own*ldx+k]
					p := w[i] * d
					want += float64(p)
				}
				if math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Fatalf("%s: entry %d is %v, want %v", r.at, k, got, want)
				}
			}
		}
	})
}
