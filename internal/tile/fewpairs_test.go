package tile_test

import (
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// complexProduct takes the rank for the number of rows, and W by rows or by columns. Each product has signs
// of its own.
func complexProduct[F tile.Float](r *run, s shape) {
	m, n, cols := s.r%20, max(s.n%40, 1), 2*(1+s.d%23)
	rows, terms := m, n
	if s.d%2 > 0 {
		rows, terms = n, m
	}
	w, ldw := dense[F](r, "w", 2*terms, rows)
	down, across := ldw, 2
	if s.d%2 > 0 {
		down, across = 2, ldw
	}
	z, ldz := dense[F](r, "z", cols, n)
	c, ldc := filled[F](r, cols, cols, m, 1)
	by, signs := someSigns[F](s.d + s.n)
	for _, u := range updates[F]() {
		before := slices.Clone(c)
		r.call(func() { tile.ComplexProduct(c, ldc, w, down, across, z, ldz, m, n, cols, u, &signs) })
		entries(r, c, ldc, cols, m, func(want *sum, k, i int) {
			updated(want, u, before, i*ldc+k)
			for j := range n {
				at, row := i*down+j*across, z[j*ldz:]
				want.add(float64(u.Alpha*by[k%2])*float64(w[at]), float64(row[k]))
				want.add(float64(u.Alpha*by[2+k%2])*float64(w[at+1]), float64(row[k^1]))
			}
		})
	}
}
