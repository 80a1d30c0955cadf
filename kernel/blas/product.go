package blas

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Blocks of a product: so many entries deep that a packed panel of the right factor and a few rows of the left
// one stay in the first-level cache, and as high and wide that the block of each factor stays in the second.
const (
	blockDepth  = 256
	blockHeight = 96
	blockWidth  = 512
	leftStride  = blockDepth + tile.Width // no power of two
)

// fewRows is the number of rows of a product up to which packing a right factor that is stored by rows takes longer
// than it saves.
const fewRows = 24

// A factor is op(M) of a matrix stored by rows: M, or M' if transposed.
type factor struct {
	data       []float64
	stride     int
	transposed bool
}

// from returns the factor from row i and column j on.
func (f factor) from(i, j int) factor {
	if f.transposed {
		i, j = j, i
	}
	f.data = f.data[i*f.stride+j:]
	return f
}

// A product is C += alpha op(A) op(B) for matrices stored by rows: m x n, of depth k.
type product struct {
	a, b    factor
	m, n, k int
	alpha   float64
	c       []float64
	ldc     int
	part    blas.Uplo // the triangle of C that is computed, blas.All for all of it; what is not in it stays
	set     bool      // C = alpha op(A) op(B)
}

// buffers are the memory of a product: blocks of both factors, and products that are not stored whole.
type buffers struct {
	right [blockDepth * blockWidth]float64
	left  [blockHeight * leftStride]float64
	sums  [blockHeight * tile.PackWidth]float64
}

var pool = sync.Pool{New: func() any { return new(buffers) }}

// A block is a part of a product: rows from row on of depth entries each, and columns from column on.
type block struct {
	row, rows, column, columns, at, depth int
}

// shared is the number of multiplications from which on several threads compute a product. They take 70 to 150 us on one thread
// with AVX2 or AVX-512, whatever the processor, and to wake another takes 5 to 60: fewer gain nothing, and the half of so many loses
// nothing on one. So there is nothing to be measured where the program runs.
const shared = 1 << 22

// compute computes the product. Sums are taken in an order that only the shape decides on, on one thread or more.
func (p *product) compute() {
	if p.m*p.n*p.k < shared || p.n <= tile.PackWidth {
		p.columns(0, p.n)
		return
	}
	p.share(runtime.GOMAXPROCS(0))
}

// share computes the product on so many threads, which take a part of its columns in turn. Threads that come late find nothing left to do.
func (p *product) share(threads int) {
	of := *p                 // a copy, so that products on one thread need no memory of the heap
	const partsOfAThread = 2 // every part packs the left factor anew
	parts := partsOfAThread * threads
	var next atomic.Int64
	take := func() {
		for i := int(next.Add(1)); i <= parts; i = int(next.Add(1)) {
			of.columns(of.cut(i-1, parts), of.cut(i, parts))
		}
	}
	var others sync.WaitGroup
	for range threads - 1 {
		others.Go(take)
	}
	take()
	others.Wait()
}

// cut returns where part i of so many of about equal work begins, at a panel.
func (p *product) cut(i, parts int) int {
	before := float64(i) / float64(parts) // of the work
	switch p.part {
	case blas.Upper:
		before = math.Sqrt(before)
	case blas.Lower:
		before = 1 - math.Sqrt(1-before)
	}
	panels := (p.n + tile.PackWidth - 1) / tile.PackWidth
	return min(int(before*float64(panels)+0.5)*tile.PackWidth, p.n)
}

// columns computes columns lo to hi of the product, lo a multiple of PackWidth.
func (p *product) columns(lo, hi int) {
	w := pool.Get().(*buffers)
	defer pool.Put(w)
	for column := lo; column < hi; column += blockWidth {
		for at := 0; at < p.k; at += blockDepth {
			b := block{column: column, columns: min(blockWidth, hi-column), at: at, depth: min(blockDepth, p.k-at)}
			packed := p.packRight(w, &b)
			for b.row = 0; b.row < p.m; b.row += blockHeight {
				b.rows = min(blockHeight, p.m-b.row)
				if p.part == blas.Upper && b.row >= b.column+b.columns || p.part == blas.Lower && b.row+b.rows <= b.column {
					continue
				}
				left, ldl := p.packLeft(w, &b)
				p.panels(w, &b, left, ldl, packed)
			}
		}
	}
}

// packRight copies a block of the right factor to panels of PackWidth columns, the last one filled up with zeros; or only that
// last one: panel j is at j*depth. It returns how many columns from the left are not copied.
func (p *product) packRight(w *buffers, b *block) (direct int) {
	if !p.b.transposed && p.m <= fewRows {
		direct = b.columns &^ (tile.PackWidth - 1)
	}
	for j := direct; j < b.columns; j += tile.PackWidth {
		panel, n := w.right[j*b.depth:][:tile.PackWidth*b.depth], min(tile.PackWidth, b.columns-j)
		from := p.b.from(b.at, b.column+j)
		if n < tile.PackWidth {
			clear(panel)
		}
		if p.b.transposed {
			tile.Transpose(panel, tile.PackWidth, from.data, from.stride, n, b.depth)
			continue
		}
		for k := range b.depth {
			copy(panel[k*tile.PackWidth:][:n], from.data[k*from.stride:])
		}
	}
	return direct
}

// packLeft returns a block of alpha times the left factor by rows.
func (p *product) packLeft(w *buffers, b *block) (left []float64, stride int) {
	from := p.a.from(b.row, b.at)
	const sets = 512 // rows this far apart, or a multiple, take turns in a few lines of the first-level cache
	if !p.a.transposed && p.alpha == 1 && from.stride%sets != 0 {
		return from.data, from.stride
	}
	left = w.left[:]
	if p.a.transposed {
		tile.Transpose(left, leftStride, from.data, from.stride, b.depth, b.rows)
	}
	for i := range b.rows {
		row := left[i*leftStride:][:b.depth]
		if !p.a.transposed {
			copy(row, from.data[i*from.stride:])
		}
		if p.alpha != 1 {
			for k := range row {
				row[k] *= p.alpha
			}
		}
	}
	return left, leftStride
}

// panels adds a block to C, PackWidth columns at a time.
func (p *product) panels(w *buffers, b *block, left []float64, ldl, direct int) {
	for j := 0; j < b.columns; j += tile.PackWidth {
		right, ldr := w.right[j*b.depth:], tile.PackWidth
		if j < direct {
			right, ldr = p.b.from(b.at, b.column+j).data, p.b.stride
		}
		// Whole rows first, and those that cross the diagonal then, or the other way round.
		column, n := b.column+j, min(tile.PackWidth, b.columns-j)
		lo, hi := b.row, b.row+b.rows
		crossLo, crossHi := lo, lo
		switch p.part {
		case blas.Upper:
			crossLo, crossHi = clamp(column, lo, hi), clamp(column+n, lo, hi)
			hi = crossLo
		case blas.Lower:
			crossLo, crossHi = clamp(column, lo, hi), clamp(column+n, lo, hi)
			lo = crossHi
		}
		switch {
		case hi <= lo:
		case n < tile.PackWidth:
			p.partly(w, left[(lo-b.row)*ldl:], ldl, right, ldr, block{lo, hi - lo, column, n, b.at, b.depth}, blas.All)
		default:
			tile.Panel(p.c[lo*p.ldc+column:], p.ldc, left[(lo-b.row)*ldl:], ldl, right, ldr, hi-lo, b.depth, !p.set || b.at > 0)
		}
		if crossHi > crossLo {
			p.partly(w, left[(crossLo-b.row)*ldl:], ldl, right, ldr, block{crossLo, crossHi - crossLo, column, n, b.at, b.depth}, p.part)
		}
	}
}

func clamp(v, lo, hi int) int { return max(lo, min(v, hi)) }

// partly adds the part of a panel that belongs to C.
func (p *product) partly(w *buffers, left []float64, ldl int, right []float64, ldr int, b block, part blas.Uplo) {
	tile.Panel(w.sums[:], tile.PackWidth, left, ldl, right, ldr, b.rows, b.depth, false)
	for i := range b.rows {
		from, to := 0, b.columns
		switch part {
		case blas.Upper:
			from = max(b.row+i-b.column, 0)
		case blas.Lower:
			to = min(b.row+i-b.column+1, to)
		}
		sums := w.sums[i*tile.PackWidth+from : i*tile.PackWidth+to]
		c := p.c[(b.row+i)*p.ldc+b.column+from:][:len(sums)]
		if p.set && b.at == 0 {
			copy(c, sums)
			continue
		}
		for j, v := range sums {
			c[j] += v
		}
	}
}

// scale multiplies C, or the triangle of it that is computed, by beta.
func (p *product) scale(beta float64) {
	if p.set = beta == 0; p.set || beta == 1 {
		return
	}
	for i := range p.m {
		from, to := 0, p.n
		switch p.part {
		case blas.Upper:
			from = i
		case blas.Lower:
			to = i + 1
		}
		row := p.c[i*p.ldc+from : i*p.ldc+to]
		for j := range row {
			row[j] *= beta
		}
	}
}
