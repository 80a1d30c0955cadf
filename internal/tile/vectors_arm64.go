//go:build !purego

package tile

import "unsafe"

// The inner product and the sum of two vectors are those of a single row.

func dotDoubleTile(x, y *float64, n int) (sum float64) {
	rowDotsTile(unsafe.Pointer(&sum), unsafe.Pointer(x), 0, 0, unsafe.Pointer(y), n, 1)
	return sum
}

func dotSingleTile(x, y *float32, n int) (sum float32) {
	rowDotsTile(unsafe.Pointer(&sum), unsafe.Pointer(x), 0, 0, unsafe.Pointer(y), n, singles+1)
	return sum
}

func axpyDoubleTile(y, x *float64, n int, by float64) { axpy_neon(y, x, by, n) }

func axpySingleTile(y, x *float32, n int, by float32) { axpy32_neon(y, x, by, n) }
