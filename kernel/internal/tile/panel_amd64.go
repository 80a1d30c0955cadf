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

// A hint is memory to prefetch beside a tile: from address next on as many rows as
// the tile has, stride bytes apart, step bytes of each for every 8 features. A step
// of zero asks for nothing new.
type hint struct {
	next         uintptr
	stride, step int
}

// panelTile does a tile of a height from tileHeight and PackWidth columns.
func panelTile(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, height int, add bool, h hint) {
	if active == AVX512 {
		switch height {
		case 12:
			panel_12x16_avx512(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
		case 4:
			panel_4x16_avx512(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
		case 2:
			panel_2x16_avx512(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
		default:
			panel_1x16_avx512(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
		}
		return
	}
	halfPanel(c, ldc, w, ldw, z, ldz, n, height, add, h)
	const half = 8 * PackWidth / 2 // bytes
	c, z = (*float64)(unsafe.Add(unsafe.Pointer(c), half)), (*float64)(unsafe.Add(unsafe.Pointer(z), half))
	halfPanel(c, ldc, w, ldw, z, ldz, n, height, add, nothing(w))
}

func halfPanel(c *float64, ldc int, w *float64, ldw int, z *float64, ldz, n, height int, add bool, h hint) {
	switch height {
	case 6:
		panel_6x8_avx2(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
	case 2:
		panel_2x8_avx2(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
	default:
		panel_1x8_avx2(c, ldc, w, ldw, z, ldz, n, add, h.next, h.stride, h.step)
	}
}

// nothing returns the hint that asks for p over and over.
func nothing(p *float64) hint { return hint{next: uintptr(unsafe.Pointer(p))} }

const (
	// depth is the number of features that mulPacked takes at a time where it prefetches:
	// so many rows of a packed panel stay in the first-level cache while all rows of
	// samples pass by, and, of samples in float32, so many of maxHeight rows after
	// their conversion.
	depth = 64
	// passRows is the number of rows whose sums are kept from one depth to the next.
	passRows = 8 * maxHeight
)

// A panelSums is the rows of A = X U of a pass, row-major.
type panelSums [passRows * PackWidth]float64

// store writes the transpose of n rows to cols columns of a.
func (s *panelSums) store(a []float64, lda, n, cols int) {
	for j := range cols {
		col := a[j*lda:][:n]
		for i := range col {
			col[i] = s[i*PackWidth+j]
		}
	}
}

// features returns the hint for rows of ldx samples of the given size that start at
// address x, of which features k to k+depth are next: the features after those, or
// behind the last ones the first features of the rows at address next. Without such
// an address there is nothing to ask for.
func features(x, next uintptr, k, d, ldx, size int) hint {
	if next == 0 {
		return hint{next: x}
	}
	h := hint{next: next, stride: ldx * size, step: Width * size}
	if k+depth < d {
		h.next = x + uintptr((k+depth)*size)
	}
	return h
}

func mulPacked(a []float64, lda int, x []float64, ldx int, p []float64, n, d, r int, next uintptr) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	d = Pad(d)
	_, _ = x[(n-1)*ldx+d-1], p[(r+PackWidth-1)&^(PackWidth-1)*d-1]
	// Without a prefetch all features of a few rows are taken at a time: those are
	// streams that the processor follows by itself.
	depth := depth
	if next == 0 {
		depth = d
	}
	var sums panelSums
	for c := 0; c < r; c += PackWidth {
		for first := 0; first < n; first += passRows {
			rows := min(passRows, n-first)
			for k := 0; k < d; k += depth {
				for i := 0; i < rows; {
					height := tileHeight(rows - i)
					row := (first + i) * ldx
					h := features(uintptr(unsafe.Pointer(&x[row])), shift(next, 8*row), k, d, ldx, 8)
					panelTile(&sums[i*PackWidth], PackWidth, &x[row+k], ldx, &p[c*d+k*PackWidth], PackWidth, min(depth, d-k), height, k > 0, h)
					i += height
				}
			}
			sums.store(a[c*lda+first:], lda, rows, min(PackWidth, r-c))
		}
	}
}

// shift moves an address by some bytes, except that it leaves zero as it is.
func shift(next uintptr, bytes int) uintptr {
	if next == 0 {
		return 0
	}
	return next + uintptr(bytes)
}

// mulPacked32 is mulPacked for float32. It converts samples to float64 at the end
// of p.
func mulPacked32(a []float64, lda int, x []float32, ldx int, p []float64, n, d, r int, next uintptr) {
	if !accelerated() || n == 0 || d == 0 || r == 0 {
		mulPackedGeneric(a, lda, x, ldx, p, n, d, r)
		return
	}
	d = Pad(d)
	_ = x[(n-1)*ldx+d-1]
	wide := p[(r+PackWidth-1)&^(PackWidth-1)*d:][:maxHeight*depth]
	var sums panelSums
	for c := 0; c < r; c += PackWidth {
		for first := 0; first < n; first += passRows {
			rows := min(passRows, n-first)
			for k := 0; k < d; k += depth {
				count := min(depth, d-k)
				for i := 0; i < rows; {
					height := tileHeight(rows - i)
					row := (first + i) * ldx
					if active == AVX512 {
						widen_avx512(&wide[0], depth, &x[row+k], ldx, height, count)
					} else {
						widen_avx2(&wide[0], depth, &x[row+k], ldx, height, count)
					}
					h := features(uintptr(unsafe.Pointer(&x[row])), shift(next, 4*row), k, d, ldx, 4)
					panelTile(&sums[i*PackWidth], PackWidth, &wide[0], depth, &p[c*d+k*PackWidth], PackWidth, count, height, k > 0, h)
					i += height
				}
			}
			sums.store(a[c*lda+first:], lda, rows, min(PackWidth, r-c))
		}
	}
}

func combine(c []float64, ldc int, w []float64, ldw int, z []float64, ldz, m, n, cols int) {
	if !accelerated() || m == 0 || n == 0 || cols < PackWidth {
		combineGeneric(c, ldc, w, ldw, z, ldz, m, n, cols)
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[(m-1)*ldw+n-1], z[(n-1)*ldz+cols-1]
	for k := 0; k < cols; k += PackWidth {
		k := min(k, cols-PackWidth) // the last columns once more, if some are left over
		for i := 0; i < m; {
			height := tileHeight(m - i)
			panelTile(&c[i*ldc+k], ldc, &w[i*ldw], ldw, &z[k], ldz, n, height, false, nothing(&w[i*ldw]))
			i += height
		}
	}
}
