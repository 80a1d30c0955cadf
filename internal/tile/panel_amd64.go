//go:build !purego

package tile

import "unsafe"

// minPacked returns the number of columns from which a panel, though it is filled up with
// zeros to PackWidth columns, is faster than dot tiles for d features. Of long rows a task
// seldom stays in the second-level cache: then dot tiles prefetch nothing, but panels do.
func minPacked(d int) int {
	switch {
	case d < 256:
		return PackWidth
	case d < 2048:
		return 14
	case d < 4096:
		return 13
	}
	return 9
}

func packed(d, r int) int {
	if !accelerated() {
		return 0
	}
	full := r &^ (PackWidth - 1)
	if r-full >= minPacked(d) {
		return r
	}
	return full
}

// transpose takes squares of as many entries as a vector has lanes, and returns of how many rows and columns.
func transpose(dst []float64, ldd int, src []float64, lds, m, n int) (rows, columns int) {
	lanes := lanes()
	rows, columns = m/lanes*lanes, n/lanes*lanes
	if !accelerated() || rows == 0 || columns == 0 {
		return 0, 0
	}
	_, _ = src[(rows-1)*lds+columns-1], dst[(columns-1)*ldd+rows-1]
	for i := 0; i < rows; i += lanes {
		transposeSquaresTile(&dst[i], ldd, &src[i*lds], lds, columns)
	}
	return rows, columns
}

// tileHeight returns the height of the tallest tile for left rows.
func tileHeight(left int) int {
	switch {
	case active == AVX512 && left >= 12:
		return 12
	case active == AVX512 && left >= 4:
		return 4
	case active == AVX2 && left >= 6:
		return 6
	case left >= 2:
		return 2
	}
	return 1
}

// A hint says what a tile of rows prefetches: as many rows as it has itself, stride
// bytes apart, from next on, step bytes of each for every 8 of its own features. A step
// of zero names the same lines over and over, which costs nothing. near is for
// memory that is used so soon that the tallest tiles bring it into the first-level cache.
type hint struct {
	next         uintptr
	stride, step int
	near         bool
}

// panelTile does a tile of a height from tileHeight and PackWidth columns.
func panelTile(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, height int, add bool, h hint) {
	if active == AVX512 {
		panel_avx512(c, ldc, w, ldw, z, ldz, n, height, add, h)
		return
	}
	const half = PackWidth / 2
	panel_avx2(c, ldc, w, ldw, z, ldz, n, height, add, h)
	panel_avx2(at(c, half), ldc, w, ldw, at(z, half), ldz, n, height, add, nothing(w))
}

// nothing returns the hint that prefetches nothing but the line at p.
func nothing[F Float](p *F) hint { return hint{next: uintptr(unsafe.Pointer(p))} }

// near returns how many features ahead of their use mulPacked prefetches those of
// the same rows: far enough to cover the latency of memory, and near enough that what is
// under way for all rows of a tile fits in the first-level cache. Without a schedule that
// is so for long rows.
func (h Hint) near(d, size int) int {
	near := 0
	if h.Schedule != nil {
		near = h.Near
	} else if longRows(d * size) {
		near = near64.Near
	}
	return min(near, d/2) &^ (Width - 1)
}

// mulPacked takes as many rows at a time as a tile has, and all of their features: few
// streams through memory, while the packed basis comes from the second-level cache.
// Meanwhile it prefetches the rows of the next tile, or the same rows further on.
func mulPacked[F Float](a []float64, lda int, x []F, ldx int, p []float64, n, d, r int, h Hint) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	d = Pad(d)
	size := int(unsafe.Sizeof(x[0]))
	columns := (r + PackWidth - 1) &^ (PackWidth - 1)
	_, _ = x[(n-1)*ldx+d-1], p[columns*d-1]
	t := panelTiles[F]{ldx: ldx, d: d, near: h.near(d, size)}
	if size == 4 {
		t.wide = p[columns*d:][:PackRows*wideDepth]
	}
	for c := 0; c < r; c += PackWidth {
		t.p = p[c*d:]
		for i := 0; i < n; {
			height := tileHeight(n - i)
			rows := x[i*ldx:]
			switch {
			case t.near > 0:
				following := h.Next
				if i+height < n {
					following = uintptr(unsafe.Pointer(&x[(i+height)*ldx]))
				}
				t.mulLong(rows, height, following)
			case h.Next != 0 && c == 0:
				t.mul(rows, 0, d, height, h.Next+uintptr(i*ldx*size), false)
			default:
				t.mul(rows, 0, d, height, 0, false)
			}
			for j := range min(PackWidth, r-c) {
				col := a[(c+j)*lda+i:][:height]
				for k := range col {
					col[k] = t.sums[k*PackWidth+j]
				}
			}
			i += height
		}
	}
}

// panelTiles multiplies tiles of rows of stride ldx and d features by the panel p.
type panelTiles[F Float] struct {
	ldx, d int
	near   int // how many features ahead long rows are prefetched, 0 if they are not
	p      []float64
	wide   []float64                     // a part of the rows in float64, where they are float32
	sums   [PackRows * PackWidth]float64 // the products, by rows
}

// mulLong multiplies height long rows. It prefetches their own features a little ahead,
// and at their end the first features of as many rows from next on.
func (t *panelTiles[F]) mulLong(rows []F, height int, next uintptr) {
	cut := t.d - t.near
	t.mul(rows, 0, cut, height, uintptr(unsafe.Pointer(&rows[t.near])), true)
	t.mul(rows, cut, t.d, height, next, true)
}

// mul multiplies some features of height rows, and adds the products to the sums, or
// sets these if it starts from feature 0. Meanwhile it prefetches as many features of
// the rows from next on, if next is not 0.
func (t *panelTiles[F]) mul(rows []F, from, to, height int, next uintptr, near bool) {
	size := int(unsafe.Sizeof(rows[0]))
	h := hint{next, t.ldx * size, Width * size, near}
	if next == 0 {
		h = nothing(&rows[0])
	}
	if x, ok := any(rows).([]float64); ok {
		panelTile(&t.sums[0], PackWidth, &x[from], t.ldx, &t.p[from*PackWidth], PackWidth, to-from, height, from > 0, h)
		return
	}
	x := any(rows).([]float32)
	for k := from; k < to; k += wideDepth {
		count := min(wideDepth, to-k)
		widenTile(&t.wide[0], wideDepth, &x[k], t.ldx, height, count)
		panelTile(&t.sums[0], PackWidth, &t.wide[0], wideDepth, &t.p[k*PackWidth], PackWidth, count, height, k > 0, h)
		h.next += uintptr(count / Width * h.step)
	}
}

func rotateRows(z []float64, ldz int, c, s []float64, n int) {
	if !accelerated() || n == 0 {
		rotateGeneric(z, ldz, c, s, n)
		return
	}
	_, _, _ = z[n*ldz+RotateWidth-1], c[n-1], s[n-1]
	rotateTile(&z[0], ldz, &c[0], &s[0], n)
	if active == AVX2 { // half as many columns at a time
		rotateTile(&z[RotateWidth/2], ldz, &c[0], &s[0], n)
	}
}

func mulPanel(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n int, add bool) {
	if !accelerated() || m == 0 || n == 0 {
		panelGeneric(c, ldc, w, ldw, z, ldz, m, n, add)
		return
	}
	_, _, _ = c[(m-1)*ldc+PackWidth-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+PackWidth-1]
	for i := 0; i < m; {
		height := tileHeight(m - i)
		panelTile(&c[i*ldc], ldc, &w[i*ldw], ldw, &z[0], ldz, n, height, add, nothing(&w[i*ldw]))
		i += height
	}
}
