//go:build !purego

package tile

import "unsafe"

// maxHeight is the number of rows of the tallest panel tile.
const maxHeight = 12

// minPacked is the number of columns from which a panel, though it is filled up
// with zeros to PackWidth columns, is faster than dot tiles.
const minPacked = 13

func packed(r int) int {
	if !accelerated() {
		return 0
	}
	full := r &^ (PackWidth - 1)
	if r-full >= minPacked {
		return r
	}
	return full
}

// cut returns the height of the tile that comes next when there are left rows to
// do and some were done, and by how many rows it goes back: rows that are left
// over are done together with rows that were done already.
func cut(left, done int) (height, back int) {
	if active == AVX512 {
		switch {
		case left >= 12:
			return 12, 0
		case left >= 9 && left+done >= 12:
			return 12, 12 - left
		case left >= 4:
			return 4, 0
		case left+done >= 4:
			return 4, 4 - left
		}
		return 1, 0
	}
	switch {
	case left >= 6:
		return 6, 0
	case left >= 2 && left+done >= 6:
		return 6, 6 - left
	}
	return 1, 0
}

// panelTile does a tile of the height that cut has returned and PackWidth columns.
func panelTile(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, height int, add bool, next uintptr, pace int) {
	if active == AVX512 {
		switch height {
		case 12:
			panel_12x16_avx512(c, ldc, w, ldw, z, ldz, n, add, next, pace)
		case 4:
			panel_4x16_avx512(c, ldc, w, ldw, z, ldz, n, add, next, pace)
		default:
			panel_1x16_avx512(c, ldc, w, ldw, z, ldz, n, add, next, pace)
		}
		return
	}
	halfPanel(c, ldc, w, ldw, z, ldz, n, height, add, next, pace)
	const half = 8 * PackWidth / 2 // bytes
	c, z = (*float64)(unsafe.Add(unsafe.Pointer(c), half)), (*float64)(unsafe.Add(unsafe.Pointer(z), half))
	halfPanel(c, ldc, w, ldw, z, ldz, n, height, add, next, 0)
}

func halfPanel(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, height int, add bool, next uintptr, pace int) {
	if height == 6 {
		panel_6x8_avx2(c, ldc, w, ldw, z, ldz, n, add, next, pace)
		return
	}
	panel_1x8_avx2(c, ldc, w, ldw, z, ldz, n, add, next, pace)
}

// A tileSum is a tile of A = X U by rows.
type tileSum [maxHeight * PackWidth]float64

// store writes the transpose of the sum to cols columns of a.
func (s *tileSum) store(a []float64, lda, height, cols int) {
	for j := range cols {
		col := a[j*lda:][:height]
		for i := range col {
			col[i] = s[i*PackWidth+j]
		}
	}
}

func mulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, next uintptr) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	d = Pad(d)
	_, _ = x[(n-1)*ldx+d-1], p[(r+PackWidth-1)&^(PackWidth-1)*d-1]
	prefetch := 1
	if next == 0 { // ask for the first samples over and over
		next, prefetch = uintptr(unsafe.Pointer(&x[0])), 0
	}
	var sum tileSum
	for done := 0; done < n; {
		height, back := cut(n-done, done)
		i := done - back
		pace := prefetch * 8 * 4 * height
		for c := 0; c < r; c += PackWidth {
			panelTile(&sum[0], PackWidth, &x[i*ldx], ldx, &p[c*d], PackWidth, d, height, false, next, pace)
			sum.store(a[c*lda+i:], lda, height, min(PackWidth, r-c))
			next += uintptr(pace / 4 * d)
			pace = 0
		}
		done = i + height
	}
}

// wideDepth is the number of features that mulPacked32 converts to float64 at a
// time: with as many rows of a panel they fit in the first-level cache.
const wideDepth = 128

// mulPacked32 uses the end of p to convert samples.
func mulPacked32(a []float64, lda int, x []float32, ldx int, p []float64, n, d, r int, next uintptr) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	d = Pad(d)
	_ = x[(n-1)*ldx+d-1]
	wide := p[(r+PackWidth-1)&^(PackWidth-1)*d:][:maxHeight*wideDepth]
	prefetch := 1
	if next == 0 { // ask for the first samples over and over
		next, prefetch = uintptr(unsafe.Pointer(&x[0])), 0
	}
	var sum tileSum
	for done := 0; done < n; {
		height, back := cut(n-done, done)
		i := done - back
		pace := prefetch * 4 * 4 * height
		for c := 0; c < r; c += PackWidth {
			for k := 0; k < d; k += wideDepth {
				depth := min(wideDepth, d-k)
				if active == AVX512 {
					widen_avx512(&wide[0], wideDepth, &x[i*ldx+k], ldx, height, depth)
				} else {
					widen_avx2(&wide[0], wideDepth, &x[i*ldx+k], ldx, height, depth)
				}
				panelTile(&sum[0], PackWidth, &wide[0], wideDepth, &p[c*d+k*PackWidth], PackWidth, depth, height, k > 0, next, pace)
				next += uintptr(pace / 4 * depth)
			}
			sum.store(a[c*lda+i:], lda, height, min(PackWidth, r-c))
			pace = 0
		}
		done = i + height
	}
}

func combine(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	if !accelerated() || m == 0 || n == 0 || cols < PackWidth {
		combineGeneric(c, ldc, w, ldw, z, ldz, m, n, cols)
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+cols-1]
	here := uintptr(unsafe.Pointer(&w[0])) // nothing to prefetch
	for k := 0; k < cols; k += PackWidth {
		k := min(k, cols-PackWidth) // the last columns once more, if some are left over
		for done := 0; done < m; {
			height, back := cut(m-done, done)
			i := done - back
			panelTile(&c[i*ldc+k], ldc, &w[i*ldw], ldw, &z[k], ldz, n, height, false, here, 0)
			done = i + height
		}
	}
}
