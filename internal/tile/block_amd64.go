//go:build !purego

package tile

import "unsafe"

const (
	// blockDepth is the number of features of a block at most: those of a group of columns
	// and of a tile's rows take 40 kB.
	blockDepth = 512
	// blockRows is how many rows use a block of columns while it is there, at most.
	blockRows = 48
	// largestBlocked is the size in bytes of tasks that the second-level cache may hold, at most.
	largestBlocked = 768 << 10
)

// blocked reports whether mulBasis takes features in blocks: a group of columns with d features leaves the
// first-level cache from one tile to the next. Tasks that are too large for the second level come from memory
// twice, faster in whole rows, which the processor's own prefetching follows; but the columns that float32
// does not pack are more than its rows. The answer does not depend on the processor, since it changes bits.
func blocked(n, d, r, size int) bool {
	return accelerated() && d >= 2*blockDepth && (n*d*size <= largestBlocked || size == 4 && r >= PackWidth)
}

// mulBlocks is mulBasis in blocks of features, whose products are added up: a basis that the
// first-level cache does not hold is read from the second level, or the third, once for
// blockRows rows and not for every tile of them.
func mulBlocks[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, h Hint) {
	bytes := n * ldx * int(unsafe.Sizeof(x[0])) * h.Eighths / 8 // to prefetch
	var t [blockRows * maxDots]float64
	work, done, asked := n*d*r, 0, 0
	wide, narrow := cut(r, maxDots)
	height, width := evenly(n, blockRows, 4), evenly(d, blockDepth, Width)
	for i := 0; i < n; i += height {
		rows := min(height, n-i)
		for k := 0; k < d; k += width {
			depth := min(width, d-k)
			for j := 0; j < r; {
				columns := wide.width
				if j >= narrow.first {
					columns = narrow.width
				}
				done += rows * depth * columns
				ahead := int(float64(bytes)*float64(done)/float64(work)) - asked
				mulDots(&t[0], rows, &x[i*ldx+k], ldx, &u[j*ldu+k], ldu, rows, depth, columns, ahead, h.skip(asked))
				asked += ahead
				addProducts(a[j*lda+i:], lda, t[:], rows, columns, k > 0)
				j += columns
			}
		}
	}
}

// addProducts sets columns of a to those of t, or adds them.
func addProducts(a []float64, lda int, t []float64, rows, columns int, add bool) {
	for j := range columns {
		to, from := a[j*lda:][:rows], t[j*rows:][:rows]
		if !add {
			copy(to, from)
			continue
		}
		for i, v := range from {
			to[i] += v
		}
	}
}

// evenly returns the length of pieces into which to cut n: at most "most", as few pieces as possible, and of
// about equal length, a multiple of step. most is a multiple of step too.
func evenly(n, most, step int) int {
	pieces := (n + most - 1) / most
	return ((n+pieces-1)/pieces + step - 1) / step * step
}
