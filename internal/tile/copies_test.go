package tile_test

import "github.com/difalt/difalt/internal/tile"

func copyRows[F tile.Float](r *run, s shape) {
	from, stride := dense[F](r, "from", s.d, s.n)
	to, down := columns[F](r, s.d, s.n, 1)
	r.call(func() { tile.CopyRows(to, down, from, stride, s.d, s.n) })
	entries(r, to, down, s.d, s.n, func(want *sum, j, i int) {
		r.same(float64(to[i*down+j]), float64(from[i*stride+j]), i, j)
		want.add(float64(from[i*stride+j]), 1)
	})
}

// copyPanels checks each panel, and that nothing beside the columns of the last one was written.
func copyPanels[F tile.Float](r *run, s shape) {
	from, stride := dense[F](r, "from", s.d, s.n)
	width := tile.PanelWidth[F]()
	apart, last := s.n*width+r.rng.IntN(3), (max(s.d, 1)-1)/width
	size := 0
	if s.n > 0 && s.d > 0 {
		size = last*apart + (s.n-1)*width + s.d - last*width
	}
	panels := alloc[F](r, size)
	r.call(func() { tile.CopyPanels(panels, apart, from, stride, s.d, s.n) })
	for p := 0; p*width < s.d && s.n > 0; p++ {
		panel, first := panels[p*apart:], p*width
		entries(r, panel, width, min(width, s.d-first), s.n, func(want *sum, j, i int) {
			r.same(float64(panel[i*width+j]), float64(from[i*stride+first+j]), i, first+j)
			want.add(float64(from[i*stride+first+j]), 1)
		})
	}
}
