//go:build !purego

package tile

import "unsafe"

// minPacked returns the smallest number of columns for which a panel, filled up with zeros to PackWidth
// columns, is faster than dot tiles with d features. A task with long rows seldom stays in the second-level
// cache: then dot tiles prefetch nothing, but panels do.
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

// packed returns 0 for float32: dot tiles convert samples on the way, and a pass that converts them first
// takes longer.
func packed(d, r, size int) int {
	if tiles.panel[4] == 0 || size != 8 {
		return 0
	}
	full := r &^ (PackWidth - 1)
	if r-full >= minPacked(d) {
		return r
	}
	return full
}

// transpose copies squares with as many entries as a vector has lanes, in float32 of 8, and returns the
// numbers of rows and columns that are done.
func transpose[F Float](dst []F, ldd int, src []F, lds, m, n int) (rows, columns int) {
	side, single := tiles.lanes, unsafe.Sizeof(F(0)) == 4
	if single {
		side = 8
	}
	if tiles.transposeSquares == 0 || m < side || n < side {
		return 0, 0
	}
	rows, columns = m/side*side, n/side*side
	_, _ = src[(rows-1)*lds+columns-1], dst[(columns-1)*ldd+rows-1]
	for i := 0; i < rows; i += side {
		if single {
			transposeSquares32Tile(as[float32](&dst[i]), ldd, as[float32](&src[i*lds]), lds, columns)
		} else {
			transposeSquaresTile(as[float64](&dst[i]), ldd, as[float64](&src[i*lds]), lds, columns)
		}
	}
	return rows, columns
}

// A hint is the memory that a tile of rows prefetches: as many rows as it has itself, stride bytes apart,
// from next on, step bytes of each for every 8 of its own features. With a step of zero it requests the same
// lines over and over, which costs nothing.
type hint struct {
	next         uintptr
	stride, step int
}

// panelRows does the next rows of a product of PackWidth columns, at most left, and returns how many.
func panelRows(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, left int, add bool, h hint) int {
	height := panelRowsOf(left)
	rows := min(height, left)
	for k := 0; k < PackWidth; k += 2 * tiles.lanes {
		panelTile(at(c, k), ldc, w, ldw, at(z, k), ldz, n, rows, add, h.next, h.stride, h.step, height)
		h = nothing(w)
	}
	return rows
}

// panelRowsOf returns the height of the tile for the next of left rows: the high one, or the low one where
// that computes no row of the rest in vain.
func panelRowsOf(left int) int {
	const low = 4
	high := 6 * tiles.lanes / 4
	if left > 2*low && left >= high || left == high {
		return high
	}
	return low
}

// nothing returns the hint that prefetches nothing but the line at p.
func nothing(p *float64) hint { return hint{next: uintptr(unsafe.Pointer(p))} }

// near returns how many features ahead of their use mulPacked prefetches those of the same rows, if they are
// long: far enough to cover the latency of memory, and near enough that what is under way for all rows of a
// tile fits in the first-level cache. It returns 0 for other rows.
func near(d int) int {
	if !longRows(8 * d) {
		return 0
	}
	return min(64, d/2) &^ (Width - 1)
}

// mulPacked takes as many rows at a time as a tile has, and all of their features: few streams through
// memory, while the packed basis comes from the second-level cache. Meanwhile it prefetches the rows of the
// next tile, or the same rows further on.
func mulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, h Hint) {
	if tiles.panel[4] == 0 || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	d = Pad(d)
	columns := (r + PackWidth - 1) &^ (PackWidth - 1)
	_, _ = x[(n-1)*ldx+d-1], p[columns*d-1]
	var sums [PackRows * PackWidth]float64 // the products, by rows
	for c := 0; c < r; c += PackWidth {
		next := h
		if c > 0 && near(d) == 0 {
			next.Next = 0 // they are there
		}
		for i := 0; i < n; {
			height := packedRows(&sums[0], &x[i*ldx], ldx, &p[c*d], d, i, n-i, next)
			Transpose(a[c*lda+i:], lda, sums[:], PackWidth, height, min(PackWidth, r-c))
			i += height
		}
	}
}

// packedRows multiplies the next of left rows, from row i on, by a panel z, and returns how many.
func packedRows(sums, rows *float64, ldx int, z *float64, d, i, left int, h Hint) int {
	near := near(d)
	ahead := hint{stride: 8 * ldx, step: 8 * Width}
	if near == 0 {
		if ahead.next = h.Next + uintptr(8*i*ldx); h.Next == 0 {
			ahead = nothing(rows)
		}
		return panelRows(sums, PackWidth, rows, ldx, z, PackWidth, d, left, false, ahead)
	}
	// The rows' own features a little ahead, and in the end the first ones of the rows that follow.
	ahead.next = uintptr(unsafe.Pointer(at(rows, near)))
	height := panelRows(sums, PackWidth, rows, ldx, z, PackWidth, d-near, left, false, ahead)
	switch {
	case height < left:
		ahead.next = uintptr(unsafe.Pointer(at(rows, height*ldx)))
	case h.Next != 0:
		ahead.next = h.Next
	default:
		ahead = nothing(rows)
	}
	return panelRows(sums, PackWidth, at(rows, d-near), ldx, at(z, (d-near)*PackWidth), PackWidth, near, left, true, ahead)
}

func rotateRows(z []float64, ldz int, c, s []float64, n int) {
	if tiles.rotate == 0 || n == 0 {
		rotateGeneric(z, ldz, c, s, n)
		return
	}
	_, _, _ = z[n*ldz+RotateWidth-1], c[n-1], s[n-1]
	for k := 0; k < RotateWidth; k += 4 * tiles.lanes {
		rotateTile(&z[k], ldz, &c[0], &s[0], n)
	}
}

func mulPanel[F Float](c []F, ldc int, w []F, ldw int, z []F, ldz, m, n, cols int, add bool) {
	if tiles.panel[4] == 0 || m == 0 || n == 0 || cols == 0 {
		panelGeneric(c, ldc, w, ldw, z, ldz, m, n, cols, add)
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+cols-1]
	lanes, single := tiles.lanes, unsafe.Sizeof(F(0)) == 4
	if single {
		lanes *= 2
	}
	for i := 0; i < m; {
		height := panelRowsOf(m - i)
		rows := min(height, m-i)
		for k := 0; k < cols; {
			part := min(2*lanes, cols-k)
			if part < 2*lanes {
				part = min(lanes, part)
			}
			c, w, z := &c[i*ldc+k], &w[i*ldw], &z[k]
			if single {
				panelPart32(as[float32](c), ldc, as[float32](w), ldw, as[float32](z), ldz, n, rows, part, add, height)
			} else {
				panelPart64(as[float64](c), ldc, as[float64](w), ldw, as[float64](z), ldz, n, rows, part, add, height)
			}
			k += part
		}
		i += rows
	}
}

// panelPart64 computes two vectors of columns of a tile of rows, or one or a part of one.
func panelPart64(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, rows, cols int, add bool, height int) {
	if cols <= tiles.lanes {
		panelHalfTile(c, ldc, w, ldw, z, ldz, n, rows, cols, add, height)
		return
	}
	h := nothing(w)
	panelTile(c, ldc, w, ldw, z, ldz, n, rows, add, h.next, h.stride, h.step, height)
}

// panelPart32 is panelPart64 in float32.
func panelPart32(c *float32, ldc int, w *float32, ldw int, z *float32, ldz, n, rows, cols int, add bool, height int) {
	if cols <= 2*tiles.lanes {
		panel32HalfTile(c, ldc, w, ldw, z, ldz, n, rows, cols, add, height)
		return
	}
	panel32Tile(c, ldc, w, ldw, z, ldz, n, rows, add, height)
}
