package tile_test

import (
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// someSigns returns the signs of a number, as factors and for the tiles.
func someSigns[F tile.Float](number int) (by [4]F, signs tile.PairSigns[F]) {
	for k := range by {
		by[k] = 1 - 2*F(number>>k%2)
	}
	return by, tile.NewPairSigns(by[0], by[1], by[2], by[3])
}

func turnPairs[F tile.Float](r *run, s shape) {
	src, _ := dense[F](r, "src", 2*s.d, 1)
	own, swapped := alloc[F](r, 2*s.d), alloc[F](r, 2*s.d)
	by, signs := someSigns[F](s.n)
	r.call(func() { tile.TurnPairs(own, swapped, src, &signs) })
	for k, v := range src {
		if !r.same(float64(own[k]), float64(by[k%2]*v), k, 0) ||
			!r.same(float64(swapped[k^1]), float64(by[2+k%2^1]*v), k, 1) {
			return
		}
	}
}

func combinePairs[F tile.Float](r *run, s shape) {
	x, _ := dense[F](r, "x", 2*s.d, 1)
	y, _ := filled[F](r, 2*s.d, 2*s.d, 1, 1)
	before := slices.Clone(y)
	by, signs := someSigns[F](s.n)
	r.call(func() { tile.CombinePairs(y, x, &signs) })
	entries(r, y, 0, 2*s.d, 1, func(want *sum, k, _ int) {
		want.add(float64(before[k]), float64(by[k%2]))
		want.add(float64(x[k^1]), float64(by[2+k%2]))
	})
}

func splitPairs[F tile.Float](r *run, s shape) {
	src, _ := dense[F](r, "src", 2*s.d, 1)
	re, im := alloc[F](r, s.d), alloc[F](r, s.d)
	r.call(func() { tile.SplitPairs(re, im, src) })
	for k, v := range src {
		if !r.same(float64([][]F{re, im}[k%2][k/2]), float64(v), k, 0) {
			return
		}
	}
}
