package tile_test

import (
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// besideSquares takes the rank for the length of sums, and either triangle. The other one stays.
func besideSquares[F tile.Float](r *run, s shape) {
	const side = tile.SquareRows
	m, n, upper, at := s.n, max(s.r, 1), s.d%2 > 0, tile.Layout{}
	var w []F
	if s.d%3 > 0 {
		rows, ldw := dense[F](r, "w", n, m)
		w, at = rows, tile.ByRows(ldw)
	} else {
		columns, ldw := dense[F](r, "w", m, n)
		w, at = columns, tile.ByColumns(ldw)
	}
	z, ldz := dense[F](r, "z", m, n)
	c, ldc := filled[F](r, m, m, m, 1)
	squares := alloc[F](r, m*side)
	clear(squares)
	for _, u := range updates[F]() {
		before := slices.Clone(c)
		r.call(func() { tile.TriangleOf(upper, c, ldc, squares, w, at, z, ldz, m, n, u) })
		product := func(want *sum, i, k int) {
			for j := range n {
				place := i*at.Down + (j+1)/2*at.Next + j/2*at.Across
				want.add(float64(u.Alpha)*float64(w[place]), float64(z[j*ldz+k]))
			}
		}
		entries(r, c, ldc, m, m, func(want *sum, k, i int) {
			if beside := k/side < i/side; k/side == i/side || beside == upper {
				want.add(float64(before[i*ldc+k]), 1)
				return
			}
			updated(want, u, before, i*ldc+k)
			product(want, i, k)
		})
		entries(r, squares, side, side, m, func(want *sum, k, i int) {
			if column := i/side*side + k; column < m {
				product(want, i, column)
			}
		})
	}
}
