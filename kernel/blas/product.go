package blas

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A factor is op(M) of a matrix stored by rows: M, or M' if transposed.
type factor[F tile.Float] struct {
	data       []F
	stride     int
	transposed bool
}

// from returns the factor from row i and column j on.
func (f factor[F]) from(i, j int) factor[F] {
	if f.transposed {
		i, j = j, i
	}
	f.data = f.data[i*f.stride+j:]
	return f
}

// transpose returns op(M)'.
func (f factor[F]) transpose() factor[F] {
	f.transposed = !f.transposed
	return f
}

// layout returns the layout of op(M).
func (f factor[F]) layout() tile.Layout {
	if f.transposed {
		return tile.ByColumns(f.stride)
	}
	return tile.ByRows(f.stride)
}

// steps returns the distances of the rows, and of the columns, of op(M) in memory.
func (f factor[F]) steps() (down, across int) {
	if f.transposed {
		return 1, f.stride
	}
	return f.stride, 1
}

// A product is C = alpha op(A) op(B) + beta C for matrices stored by rows: m x n, of depth k.
type product[F tile.Float] struct {
	a, b    factor[F]
	m, n, k int
	update  tile.Update[F] // alpha and beta
	c       []F
	ldc     int
	part    blas.Uplo // the triangle of C that is computed, blas.All for all of it; what is not in it stays
	alone   bool      // the product is the whole computation
	pairs   pairing[F]

	// packed holds columns of the right factor, from packedFrom on, if threads packed it together: the blocks
	// of depths one after the other.
	packed                    []F
	packedFrom, packedColumns int
	savingPages               bool // the whole product saves pages, see savesPages
}

// A block is a part of a product: rows from row on of depth entries each, and columns from column on.
type block struct {
	row, rows, column, columns, at, depth int
}

// compute computes the product. Sums are taken in an order that only the shape decides on, on one thread or
// more.
func (p *product[F]) compute() {
	t := teamFor[F](p.m*p.n*p.k, !p.alone)
	narrow, depth := p.n < 4*tile.PanelWidth[F](), p.depth()
	byRows := p.part == blas.All && p.m >= 2*fewRowsOfAPart
	switch {
	case t.threads == 1:
		p.columns(0, p.n)
	case byRows && !narrow && p.sharesRight(t):
		p.shareRight(t)
	case byRows && (narrow || p.packsLeft(depth) && 2*p.m >= p.n):
		p.shareRows(t, 0, p.n)
	case !narrow:
		p.shareColumns(t)
	default:
		p.columns(0, p.n)
	}
}

// sharedRight is the largest number of entries of the right factor that several threads pack together, and
// sharedColumns the least number of its columns. Mul 400 to 2000, A'B 400 and 1100, two threads.
const sharedRight, sharedColumns = 1 << 21, 256

// sharesRight reports whether threads pack the right factor together: each has two parts of the rows or more.
func (p *product[F]) sharesRight(t team) bool {
	enough := p.m >= 2*t.threads*rowsOfAPart && 2*p.m >= p.n && p.k <= sharedRight/sharedColumns
	return enough && !t.brief && !p.direct(p.depth())
}

// shareRight computes the product on several threads. They pack the right factor, or some of its columns,
// together, and then take parts of the rows in turn.
func (p *product[F]) shareRight(t team) {
	of := *p
	width := even(p.n, max(sharedRight/p.k, sharedColumns), tile.PanelWidth[F]())
	memory := borrow[F](p.k * (width + tile.PanelWidth[F]()))
	defer giveBack(memory)
	of.packed, of.savingPages = *memory, p.savesPages(p.n)
	for lo := 0; lo < p.n; lo += width {
		hi := min(lo+width, p.n)
		of.packedFrom, of.packedColumns = lo, hi-lo
		parts := 4 * t.threads
		t.run(parts, func(i int) {
			of.packColumns(lo+cutOf[F](hi-lo, i, parts), lo+cutOf[F](hi-lo, i+1, parts))
		})
		of.shareRows(t, lo, hi)
	}
}

// rowsOfAPart is the least number of rows of a part of a product, and fewRowsOfAPart where each thread has
// one part: multiples of the heights of all tiles. Mul 100 to 300, Zgemm 61x289 by 289x18, two threads.
const rowsOfAPart, fewRowsOfAPart = 48, 24

// shareRows computes some columns of the product on several threads, which take parts of its rows in turn:
// each packs its rows of the left factor once.
func (p *product[F]) shareRows(t team, from, to int) {
	of := *p // a copy, so that products on one thread need no memory of the heap
	parts, unit := t.parts(4, p.m/rowsOfAPart), rowsOfAPart
	if parts < t.threads {
		parts, unit = min(t.threads, p.m/fewRowsOfAPart), fewRowsOfAPart
	}
	t.run(parts, func(i int) {
		lo, hi := i*of.m/parts/unit*unit, (i+1)*of.m/parts/unit*unit
		if i == parts-1 {
			hi = of.m
		}
		part := of
		part.a, part.c, part.m = of.leftFrom(lo, 0), of.c[lo*of.ldc:], hi-lo
		part.columns(from, to)
	})
}

// shareColumns computes the product on several threads, which take parts of its columns in turn.
func (p *product[F]) shareColumns(t team) {
	of := *p
	parts := 4 * t.threads
	if p.packsLeft(p.depth()) { // every part packs it again
		parts = 2 * t.threads
	}
	t.run(parts, func(i int) {
		if of.part == blas.Upper { // the longest columns first
			i = parts - 1 - i
		}
		of.columns(of.cut(i, parts), of.cut(i+1, parts))
	})
}

// cut returns the first column of part i of several parts: the first of a panel.
func (p *product[F]) cut(i, parts int) int { return cutOf[F](p.n, i, parts) }

// cutOf returns the first of n columns in part i of several parts: the first of a panel.
func cutOf[F tile.Float](n, i, parts int) int {
	width := tile.PanelWidth[F]()
	panels := (n + width - 1) / width
	return min(i*panels/parts*width, n)
}

// columns computes columns lo to hi of the product, lo a multiple of the width of a panel.
func (p *product[F]) columns(lo, hi int) {
	u := tune()
	depth, height := p.depth(), even(p.m, u.blockHeight, tileRows)
	width := even(hi-lo, u.blockWidth<<kind[F](), tile.PanelWidth[F]())
	var w *buffers[F]
	direct, packs := p.direct(depth), p.packsLeft(depth) || p.savesPages(hi-lo)
	if own := !direct && p.packed == nil; own || packs || p.part != blas.All {
		columns := 0
		if own {
			columns = width + tile.PanelWidth[F]()
		}
		w = buffersOf[F](columns*depth, height*oddLines(depth), height*tile.PanelWidth[F]())
		defer giveBuffers(w)
	}
	for column := lo; column < hi; column += width {
		for at := 0; at < p.k; at += depth {
			b := block{column: column, columns: min(width, hi-column), at: at, depth: min(depth, p.k-at)}
			right := p.rightOf(w, &b, direct)
			for b.row = 0; b.row < p.m; b.row += height {
				b.rows = min(height, p.m-b.row)
				above, below := p.diagonal(b.row), p.diagonal(b.row+b.rows)
				if p.part == blas.Upper && above >= b.column+b.columns || p.part == blas.Lower && below <= b.column {
					continue
				}
				left, at := p.packLeft(w, &b, packs)
				p.panels(w, &b, left, at, right, direct)
			}
		}
	}
}

// depth returns the depth of the blocks.
func (p *product[F]) depth() int { return even(p.k, blockDepth, wholeLine) }

// even returns the size of equal parts of n: at most most, and a multiple of unit if there are several.
func even(n, most, unit int) int {
	if n <= most {
		return n
	}
	parts := (n + most - 1) / most
	return ((n+parts-1)/parts + unit - 1) / unit * unit
}

// panels adds a block to C, a panel at a time.
func (p *product[F]) panels(w *buffers[F], b *block, left []F, at tile.Layout, packed []F, direct bool) {
	width := tile.PanelWidth[F]()
	var l plan
	if b.row+b.rows < p.m || !direct {
		p.plan(&l, packed, b)
	}
	if p.part == blas.All && !l.on {
		var right []F
		ldr, apart := p.b.stride, width
		if direct {
			right = p.b.from(b.at, b.column).data
		} else {
			right, ldr, apart = packed, width, width*b.depth
		}
		c := p.c[b.row*p.ldc+b.column:]
		tile.Panels(c, p.ldc, left, at, right, ldr, apart, b.rows, b.depth, b.columns, p.updateAt(b.at))
		return
	}
	for j := 0; j < b.columns; j += width {
		var right []F
		ldr := p.b.stride
		if direct {
			right = p.b.from(b.at, b.column+j).data
		} else {
			right, ldr = packed[j*b.depth:], width
		}
		column, n := b.column+j, min(width, b.columns-j)
		lo, hi := b.row, b.row+b.rows // the rows that are computed whole
		crossLo, crossHi := hi, hi    // those that cross the diagonal
		first, last := p.rowOf(column), p.rowOf(column+n)
		if p.part != blas.All {
			crossLo, crossHi = max(first, lo), min(last, hi)
		}
		switch p.part {
		case blas.Upper:
			hi = min(first, hi)
		case blas.Lower:
			lo = max(last, lo)
		}
		if hi > lo {
			var ahead tile.Ahead
			if l.on {
				ahead = l.at(j, width)
			}
			c, rows := p.c[lo*p.ldc+column:], left[(lo-b.row)*at.Down:]
			tile.Panel(c, p.ldc, rows, at, right, ldr, hi-lo, b.depth, n, p.updateAt(b.at), ahead)
		}
		if crossHi > crossLo {
			cross := block{crossLo, crossHi - crossLo, column, n, b.at, b.depth}
			p.partly(w, left[(crossLo-b.row)*at.Down:], at, right, ldr, cross)
		}
	}
}

// updateAt returns what the products from a depth on do with C.
func (p *product[F]) updateAt(at int) tile.Update[F] {
	if at > 0 {
		return tile.Update[F]{Alpha: p.update.Alpha, Beta: 1}
	}
	return p.update
}

// partly adds the part of a panel that belongs to a triangle of C, by way of a copy of it, whose other
// entries are not used.
func (p *product[F]) partly(w *buffers[F], left []F, at tile.Layout, right []F, ldr int, b block) {
	width, update := tile.PanelWidth[F](), p.updateAt(b.at)
	if update.Beta != 0 {
		for i := range b.rows {
			sums, c := p.crossing(w, &b, width, i)
			copy(sums, c)
		}
	}
	tile.Panel(w.sums, width, left, at, right, ldr, b.rows, b.depth, b.columns, update, tile.Ahead{})
	for i := range b.rows {
		sums, c := p.crossing(w, &b, width, i)
		copy(c, sums)
	}
}

// crossing returns the entries of row i of a block that belong to a triangle of C, in the copy and in C.
func (p *product[F]) crossing(w *buffers[F], b *block, width, i int) (sums, c []F) {
	from, to := max(p.diagonal(b.row+i)-b.column, 0), b.columns
	if p.part == blas.Lower {
		from, to = 0, min(p.diagonal(b.row+i+1)-b.column, to)
	}
	return w.sums[i*width+from : i*width+to], p.c[(b.row+i)*p.ldc+b.column+from:][:to-from]
}

// scaleC multiplies C, or the triangle of it that is computed, by beta; 0 overwrites it.
func (p *product[F]) scaleC(beta F) {
	if beta == 1 {
		return
	}
	if p.part == blas.All {
		scaleRows(p.m, p.n, p.c, p.ldc, beta)
		return
	}
	for i := range p.m {
		from, to := p.span(i)
		scaleRow(p.c[i*p.ldc+from:i*p.ldc+to], beta)
	}
}

// scaleRows multiplies an m x n matrix by a number; 0 overwrites it.
func scaleRows[F tile.Float](m, n int, c []F, ldc int, by F) {
	if ldc == n { // the rows are one
		m, n = 1, m*n
	}
	for i := range m {
		scaleRow(c[i*ldc:][:n], by)
	}
}

// scaleRow multiplies a row by a number; 0 overwrites it.
func scaleRow[F tile.Float](row []F, by F) {
	switch by {
	case 0:
		clear(row)
	case 1:
	default:
		multiplyRow(row, by)
	}
}

// multiplyRow multiplies a row by a number. Zero by NaN or infinity is NaN.
func multiplyRow[F tile.Float](row []F, by F) {
	if len(row) >= shortRow {
		scale(row, by)
		return
	}
	for k := range row {
		row[k] *= by
	}
}

// span returns the columns of row i of C that are computed.
func (p *product[F]) span(i int) (from, to int) {
	switch p.part {
	case blas.Upper:
		return p.diagonal(i), p.n
	case blas.Lower:
		return 0, p.diagonal(i + 1)
	}
	return 0, p.n
}

// kind returns 0 for float64, and 1 for float32.
func kind[F tile.Float]() int { return 2 - int(unsafe.Sizeof(F(0))/4) }

// as returns a slice under the name of its type.
func as[T, F tile.Float](x []F) []T { return *(*[]T)(unsafe.Pointer(&x)) }
