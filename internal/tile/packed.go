package tile

import "unsafe"

// Packed returns the number of the first columns of a basis that MulPacked multiplies faster than MulBasis:
// 0, r, or a multiple of PackWidth. The basis has d features and rank r, a number of a sample size bytes.
// It is 0 on tiers without tiles. It is also 0 for float32: dot tiles convert samples on the way, and a pass
// that converts them first takes longer.
func Packed(d, r, size int) int {
	if tiles.panel[lowPanel] == 0 || size != 8 {
		return 0
	}
	full := r &^ (PackWidth - 1)
	if r-full >= minPacked(d) {
		return r
	}
	return full
}

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

// PackBasis copies a d x r basis to panels of PackWidth columns for MulPacked, each by
// rows, the last one filled up with zero columns:
//
//	p[(c*Pad(d)+k)*PackWidth+j] = u[(c*PackWidth+j)*ldu+k],  k < Pad(d).
func PackBasis(p, u []float64, ldu, d, r int) {
	d = Pad(d)
	for c := 0; c < r; c += PackWidth {
		panel, columns := p[c*d:][:PackWidth*d], min(PackWidth, r-c)
		if columns < PackWidth {
			clear(panel)
		}
		Transpose(panel, PackWidth, u[c*ldu:], ldu, columns, d)
	}
}

// MulPacked computes A = X U for a basis from PackBasis; see mulPackedGeneric. It takes as many rows at a
// time as a tile has, and all of their features: few streams through memory, while the packed basis comes
// from the second-level cache. It prefetches as many bytes as x has. Near describes the prefetches of long
// rows: the plan must then have the address of the rows that follow x.
func MulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, plan *PrefetchPlan) {
	d = Pad(d)
	raceRead(x, n, d, ldx)
	raceRead(p, 1, PackedLen(d, r), 0) // and a is transposed into
	if n > 0 && d > 0 && r > 0 {
		_, _ = x[(n-1)*ldx+d-1], p[PackedLen(d, r)-1]
	}
	if tiles.panel[lowPanel] == 0 || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	var sums [PackRows * PackWidth]float64 // the products, by rows
	for c := 0; c < r; c += PackWidth {
		next, _ := plan.ofBasis()
		if c > 0 && !Near(d) {
			next = 0 // the memory is in the cache
		}
		for i := 0; i < n; {
			height := packedRows(&sums[0], &x[i*ldx], ldx, &p[c*d], d, i, n-i, next)
			Transpose(a[c*lda+i:], lda, sums[:], PackWidth, height, min(PackWidth, r-c))
			i += height
		}
	}
}

// Near reports whether MulPacked prefetches the d features of the rows that it multiplies a little ahead of
// their use. Of later rows it then prefetches the first features alone: rows so long that one tile of them
// fills a Window would fill too much of the second-level cache.
func Near(d int) bool { return PackRows*8*Pad(d) > Window }

// near is the number of features that MulPacked prefetches ahead of their use in long rows. It is large
// enough to cover the latency of memory. It is small enough that the prefetched lines of all rows of a tile
// fit in the first-level cache.
const near = 64

// packedRows multiplies the next of left rows, from row i on, by a panel z, and returns how many.
func packedRows(sums, rows *float64, ldx int, z *float64, d, i, left int, next uintptr) int {
	ahead := streams{next: after(next, 8*i*ldx), apart: 8 * ldx, pace: 8 * Width}
	if !Near(d) {
		if next == 0 {
			ahead = nothing(rows)
		}
		return panelRows(sums, rows, ldx, z, d, left, false, ahead)
	}
	// The rows' own features a little ahead, and in the end the first ones of the rows that follow.
	ahead.next = uintptr(unsafe.Pointer(at(rows, near)))
	height := panelRows(sums, rows, ldx, z, d-near, left, false, ahead)
	switch {
	case height < left:
		ahead.next = uintptr(unsafe.Pointer(at(rows, height*ldx)))
	case next != 0:
		ahead.next = next
	default:
		ahead = nothing(rows)
	}
	return panelRows(sums, at(rows, d-near), ldx, at(z, (d-near)*PackWidth), near, left, true, ahead)
}

// panelRows sets or adds to sums the products of the next rows w with a panel z of n rows, at most left, and
// returns how many. It prefetches a stream for each of its rows.
func panelRows(sums, w *float64, ldw int, z *float64, n, left int, add bool, ahead streams) int {
	height := panelRowsOf(left)
	rows := min(height, left)
	for k := 0; k < PackWidth; k += 2 * tiles.lanes {
		c, z := unsafe.Pointer(at(sums, k)), unsafe.Pointer(at(z, k))
		panelTile(c, PackWidth, unsafe.Pointer(w), ldw, 1, 1, z, PackWidth, n, rows, add, nil, 1, 0, 0,
			0, 0, ahead.next, ahead.apart, ahead.pace, height)
		ahead = nothing(w)
	}
	return rows
}
