package blas

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// wayBytes is the distance of rows that take turns in a few lines of the first-level cache.
const wayBytes = 4096

// fewRows is the largest number of rows of a product for which packing a right factor that is stored by rows
// takes longer than it saves.
const fewRows = 24

// buffers are the memory of a product: blocks of both factors, and entries of C beside its diagonal.
type buffers[F tile.Float] struct{ right, left, sums []F }

// direct reports whether the right factor is read where it is: if packing it would take longer than it saves,
// or if a panel of it stays in the first-level cache anyway.
func (p *product[F]) direct(depth int) bool {
	if p.b.transposed || p.pairs.on {
		return false
	}
	return p.m <= fewRows || staysNear[F](depth, p.b.stride, nearRight)
}

// nearLeft and nearRight are the most bytes of the rows of a factor that a tile reads where they are: their
// pages are at hand. A'B 100 to 180, Mul 100.
const nearLeft, nearRight = 1 << 18, 1 << 17

// staysNear reports whether a few columns of some rows, stride apart, stay in the first-level cache. All
// columns together must have at most most bytes.
func staysNear[F tile.Float](rows, stride, most int) bool {
	const ways = 8 // lines of a set
	size := int(unsafe.Sizeof(F(0)))
	apart := wayBytes / size / (stride & -stride) // rows until a set of the cache repeats
	return rows*stride*size <= most && (apart >= rows || rows <= ways*apart)
}

// oddLines returns a distance for rows of n numbers: an odd number of lines of a cache, so that rows are in
// different sets of it.
func oddLines(n int) int { return ((n+wholeLine-1)/wholeLine | 1) * wholeLine }

// tileRows is a multiple of the heights of all tiles.
const tileRows = 12

// panelsTogether is the number of panels that are packed row by row: each read takes a long piece of a row.
const panelsTogether = 8

// rightOf returns a block of the right factor in panels, which it packs unless threads did so together. It
// returns nil for a factor that is read where it is.
func (p *product[F]) rightOf(w *buffers[F], b *block, direct bool) []F {
	switch {
	case direct:
		return nil
	case p.packed != nil:
		return p.packed[p.packedAt(b):]
	}
	p.packRight(w.right, b)
	return w.right
}

// packedAt returns where a block begins in the factor that threads pack together.
func (p *product[F]) packedAt(b *block) int {
	width := tile.PanelWidth[F]()
	return b.at*((p.packedColumns+width-1)/width*width) + (b.column-p.packedFrom)*b.depth
}

// packColumns packs columns lo to hi of the factor that threads pack together.
func (p *product[F]) packColumns(lo, hi int) {
	depth := p.depth()
	for at := 0; at < p.k && lo < hi; at += depth {
		b := block{column: lo, columns: hi - lo, at: at, depth: min(depth, p.k-at)}
		p.packRight(p.packed[p.packedAt(&b):], &b)
	}
}

// packRight copies a block of the right factor to panels: panel j is at j*depth.
func (p *product[F]) packRight(to []F, b *block) {
	width := tile.PanelWidth[F]()
	if !p.pairs.on && !p.b.transposed {
		for j := 0; j < b.columns; j += panelsTogether * width {
			from, n := p.b.from(b.at, b.column+j), min(panelsTogether*width, b.columns-j)
			tile.CopyPanels(to[j*b.depth:], width*b.depth, from.data, from.stride, n, b.depth)
		}
		return
	}
	for j := 0; j < b.columns; j += width {
		panel, n := to[j*b.depth:][:width*b.depth], min(width, b.columns-j)
		if p.pairs.on {
			p.packPairs(panel, width, block{column: b.column + j, columns: n, at: b.at, depth: b.depth})
			continue
		}
		from := p.b.from(b.at, b.column+j)
		tile.Transpose(panel, width, from.data, from.stride, n, b.depth)
	}
}

// leftFrom returns the left factor from row i and column j on.
func (p *product[F]) leftFrom(i, j int) factor[F] {
	if p.pairs.on && p.a.transposed { // j is even
		i, j = 2*i, j/2
	}
	return p.a.from(i, j)
}

// leftLayout returns the layout of the left factor.
func (p *product[F]) leftLayout() tile.Layout {
	if p.a.transposed && p.pairs.on {
		return tile.PairsByColumns(p.a.stride)
	}
	return p.a.layout()
}

// leftRows returns the number of rows in memory for a number of columns of the left factor, which is
// transposed.
func (p *product[F]) leftRows(columns int) int {
	if p.pairs.on {
		return columns / 2
	}
	return columns
}

// manyPages is the least size of a product whose left factor is packed on one thread: the rows of a block
// where they are need more pages than a processor has at hand. Mul 400 to 1200.
const manyPages = 256

// savesPages reports whether a number of columns of the product take less time with a packed left factor,
// even where it could be read in place.
func (p *product[F]) savesPages(columns int) bool {
	return p.savingPages || min(p.m, columns, p.k) >= manyPages
}

// packsLeft reports whether the left factor, in blocks of a depth, cannot be read where it is.
func (p *product[F]) packsLeft(depth int) bool {
	if p.a.transposed {
		return !staysNear[F](p.leftRows(depth), p.a.stride, nearLeft)
	}
	return p.a.stride*int(unsafe.Sizeof(F(0)))%wayBytes == 0
}

// packLeft returns a block of the left factor, packed or where it is.
func (p *product[F]) packLeft(w *buffers[F], b *block, packs bool) (left []F, at tile.Layout) {
	from := p.leftFrom(b.row, b.at)
	if !packs {
		return from.data, p.leftLayout()
	}
	left, stride := w.left, oddLines(b.depth)
	switch {
	case p.a.transposed && p.pairs.on:
		tile.TransposeComplex(left, stride, from.data, from.stride, b.depth/2, b.rows)
	case p.a.transposed:
		tile.Transpose(left, stride, from.data, from.stride, b.depth, b.rows)
	default:
		tile.CopyRows(left, stride, from.data, from.stride, b.depth, b.rows)
	}
	return left, tile.ByRows(stride)
}

// panelsAhead is the number of panels during which the next block of the left factor is prefetched.
const panelsAhead = 16

// A plan is the memory that the panels of a block prefetch. From column last on this is the next block of
// the left factor. Before, it is the next panel of the right factor, if that may have left the second-level
// cache.
type plan struct {
	on                 bool // something is prefetched
	last, parts        int
	left, right        tile.Ahead
	across, down, size int // bytes between parts and between bands of the left factor; of a panel
}

// plan sets the plan, which is empty, of a block, with the right factor if that is packed.
func (p *product[F]) plan(l *plan, right []F, b *block) {
	width, size, next := tile.PanelWidth[F](), int(unsafe.Sizeof(F(0))), b.row+b.rows
	depth := b.depth * size
	l.last = b.columns
	if next < p.m {
		together := min((b.columns+width-1)/width, panelsAhead)
		l.last = (b.columns+width-1)/width*width - together*width
		from := p.leftFrom(next, b.at)
		high, wide := min(b.rows, p.m-next), depth // as it is stored, in bytes
		if p.a.transposed {
			high, wide = p.leftRows(b.depth), high*size*(b.depth/p.leftRows(b.depth))
		}
		l.parts = max(together*b.rows/(high+b.rows-1), 1)
		l.across, l.down = (wide+l.parts-1)/l.parts, b.rows*from.stride*size
		l.left = tile.NewAhead(unsafe.Pointer(&from.data[0]), from.stride*size, l.across, depth)
	}
	if right != nil && b.columns*depth > tune().secondLevel/2 {
		l.size = depth * width
		apart := (l.size + b.rows - 1) / b.rows
		l.right = tile.NewAhead(unsafe.Pointer(&right[0]), apart, apart, depth)
	}
	l.on = l.parts > 0 || l.size > 0
}

// at returns what the panel from column j on prefetches.
func (l *plan) at(j, width int) tile.Ahead {
	if j >= l.last && l.parts > 0 {
		part := (j - l.last) / width
		return l.left.From(part/l.parts*l.down + part%l.parts*l.across)
	}
	if l.size > 0 {
		return l.right.From((j/width + 1) * l.size)
	}
	return tile.Ahead{}
}

// pool holds the memory of products, and memories slices for any use, see borrow. Both types of numbers use
// them.
var (
	pool     = sync.Pool{New: func() any { return new(buffers[float64]) }}
	memories = sync.Pool{New: func() any { return new([]float64) }}
)

// buffersOf returns memory of a product, for at least some numbers, and giveBuffers keeps it for the next
// one.
func buffersOf[F tile.Float](right, left, sums int) *buffers[F] {
	b := pool.Get().(*buffers[float64])
	b.right, b.left, b.sums = enough(b.right, right), enough(b.left, left), enough(b.sums, sums)
	return (*buffers[F])(unsafe.Pointer(b))
}

// roomOfVectors is how many numbers lie before all memory that is borrowed, and behind it. A tile reads a
// vector of fewer entries than a register by a mask, with the lanes beside them; in a page that is not there
// the lanes that are masked cost some 40 ns.
const roomOfVectors = 16

// enough returns n numbers of any value: of x, or of new memory with room on both sides.
func enough(x []float64, n int) []float64 {
	if cap(x) < n {
		all := slices.Grow([]float64(nil), n+2*roomOfVectors)
		all = all[:cap(all)]
		end := len(all) - roomOfVectors
		clear(all[:roomOfVectors]) // so that its page is there
		clear(all[end:])
		x = all[roomOfVectors:end:end]
	}
	return x[:n]
}

func giveBuffers[F tile.Float](b *buffers[F]) { pool.Put((*buffers[float64])(unsafe.Pointer(b))) }

// borrow returns memory for at least n numbers, of any value; giveBack keeps it for the next caller.
func borrow[F tile.Float](n int) *[]F {
	m := memories.Get().(*[]float64)
	*m = enough(*m, n)
	return (*[]F)(unsafe.Pointer(m))
}

func giveBack[F tile.Float](m *[]F) { memories.Put((*[]float64)(unsafe.Pointer(m))) }
