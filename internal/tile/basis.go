package tile

import "unsafe"

// MulBasis computes A = X U; see mulBasisGeneric.
func MulBasis[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, p *PrefetchPlan) {
	d = Pad(d)
	raceRead(x, n, d, ldx)
	raceRead(u, r, d, ldu)
	raceWrite(a, r, n, lda)
	if tiles.lanes == 0 || n == 0 || d == 0 || r == 0 {
		mulBasisGeneric(a, lda, x, ldx, u, ldu, n, d, r)
		return
	}
	_, _, _ = a[(r-1)*lda+n-1], x[(n-1)*ldx+d-1], u[(r-1)*ldu+d-1]
	size := int(unsafe.Sizeof(x[0]))
	if Blocked(n, d, r, size) {
		mulBlocks(a, lda, x, ldx, u, ldu, n, d, r, p)
		return
	}
	next, eighths := p.ofBasis()
	row := ldx * size * eighths / 8 // bytes to prefetch
	rows := rowsAhead(next, n, n*row)
	if r > maxDots && n*d*size > largestBlocked {
		rows = min(rows, max(Window/(d*size)&^3, 4)) // they stay in cache for the narrower groups of columns
	}
	for at := 0; at < n; at += rows {
		rows = min(rows, n-at)
		mulDots(&a[at], lda, &x[at*ldx], ldx, &u[0], ldu, rows, d, r, rows*row, after(next, at*row))
	}
}

// at returns the address of entry i from p on.
func at[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*int(unsafe.Sizeof(*p))))
}

// even divides n columns into as few groups of at most "most" columns as possible, of nearly equal widths,
// the wider ones first. It returns the width of the first.
func even(n, most int) int {
	groups := (n + most - 1) / most
	return (n + groups - 1) / groups
}

// mulDots is MulBasis for n, d, r > 0 and d a multiple of Width, in one piece. It prefetches the given number
// of bytes.
func mulDots[F Float](a *float64, lda int, x *F, ldx int, u *float64, ldu int, n, d, r, bytes int, next uintptr) {
	if n == 1 {
		mulRow(a, lda, x, u, ldu, d, r, bytes, next)
		return
	}
	most := largest(tiles.mulBasis[:], maxDots)
	width, groups := even(r, most), (r+most-1)/most
	wide := groups - (groups*width - r) // groups of that width; each of the other groups has a column less
	share := bytes * wide / groups
	dots(a, lda, x, ldx, u, ldu, n, d, wide, width, basisStreams(next, share, n, d/Width*wide, x))
	if narrow := groups - wide; narrow > 0 {
		k := basisStreams(after(next, share), bytes-share, n, d/Width*narrow, x)
		dots(at(a, wide*width*lda), lda, x, ldx, at(u, wide*width*ldu), ldu, n, d, narrow, width-1, k)
	}
}

// mulRow is mulDots for one row. The tiles take two rows: it passes its row twice.
func mulRow[F Float](a *float64, lda int, x *F, u *float64, ldu, d, r, bytes int, next uintptr) {
	var t [2 * maxDots]float64
	most := largest(tiles.mulBasis[:], maxDots)
	k := basisStreams(next, bytes, 2, d/Width*((r+most-1)/most), x)
	for j := 0; j < r; j += most {
		width := min(most, r-j)
		dots(&t[0], 2, x, 0, at(u, j*ldu), ldu, 2, d, 1, width, k)
		for i := range width {
			*at(a, (j+i)*lda) = t[2*i]
		}
	}
}

// dots multiplies by groups of columns.
func dots[F Float](a *float64, lda int, x *F, ldx int, u *float64, ldu, n, d, groups, width int, k streams) {
	mulBasisTile(a, lda, unsafe.Pointer(x), ldx, u, ldu, n, d, groups, k.next, k.apart, k.pace, of[F](width))
}

const (
	// blockDepth is the number of features of a block at most: with a group of columns and a tile's rows they
	// take 40 kB.
	blockDepth = 512
	// blockRows is how many rows use a block of columns while it is there, at most.
	blockRows = 48
	// largestBlocked is the size in bytes of tasks that the second-level cache may hold, at most.
	largestBlocked = 768 << 10
)

// Blocked reports whether MulBasis takes rows in blocks of features, and not one row after the other. There
// are n rows of d features of size bytes, and a basis of rank r. Blocks are for a group of columns with d
// features that leaves the first-level cache from one tile to the next. Tasks that are too large for the
// second level are read from memory twice, faster in whole rows, which the processor's own prefetching
// follows. In float32 even these are read by blocks if the basis has PackWidth columns or more. The
// answer does not depend on the processor, since it changes bits.
func Blocked(n, d, r, size int) bool {
	return tiles.lanes > 0 && d >= 2*blockDepth && (n*d*size <= largestBlocked || size == 4 && r >= PackWidth)
}

// mulBlocks is MulBasis in blocks of features, whose products are added up. The first-level cache does not
// hold the basis. It is read from the second level, or the third, once for blockRows rows and not for every
// tile of them.
func mulBlocks[F Float](a []float64, lda int, x []F, ldx int, u []float64, ldu int, n, d, r int, p *PrefetchPlan) {
	next, eighths := p.ofBasis()
	bytes := n * ldx * int(unsafe.Sizeof(x[0])) * eighths / 8 // to prefetch
	var t [blockRows * maxDots]float64
	work, done, asked := n*d*r, 0, 0
	height, depth := (even(n, blockRows)+3)&^3, Pad(even(d, blockDepth))
	for i := 0; i < n; i += height {
		rows := min(height, n-i)
		for k := 0; k < d; k += depth {
			features := min(depth, d-k)
			for j, columns := 0, 0; j < r; j += columns {
				columns = even(r-j, maxDots)
				done += rows * features * columns
				ahead := int(float64(bytes)*float64(done)/float64(work)) - asked
				from := after(next, asked)
				mulDots(&t[0], rows, &x[i*ldx+k], ldx, &u[j*ldu+k], ldu, rows, features, columns, ahead, from)
				asked += ahead
				addProducts(a[j*lda+i:], lda, t[:], rows, columns, k > 0)
			}
		}
	}
}

// addProducts sets columns of a to the columns of t, or adds them.
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
