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
	const ways, near = 8, 1 << 17 // lines of a set, bytes in pages at hand
	size := int(unsafe.Sizeof(p.alpha))
	if p.b.transposed || p.pairs.on {
		return false
	}
	if p.m <= fewRows {
		return true
	}
	stride := p.b.stride
	apart := wayBytes / size / (stride & -stride) // rows until a set of the cache repeats
	return depth*stride*size <= near && (apart >= depth || depth <= ways*apart)
}

// oddLines returns a distance for rows of n numbers: an odd number of lines of a cache, so that rows are in
// different sets of it.
func oddLines(n int) int { return ((n+wholeLine-1)/wholeLine | 1) * wholeLine }

// tileRows is a multiple of the heights of all tiles.
const tileRows = 12

// panelsTogether is the number of panels that are packed row by row: each read takes a long piece of a row.
const panelsTogether = 8

// packRight copies a block of the right factor to panels: panel j is at j*depth.
func (p *product[F]) packRight(w *buffers[F], b *block) {
	width := tile.PanelWidth[F]()
	if !p.pairs.on && !p.b.transposed {
		for j := 0; j < b.columns; j += panelsTogether * width {
			from, n := p.b.from(b.at, b.column+j), min(panelsTogether*width, b.columns-j)
			packRows(w.right[j*b.depth:], width, from.data, from.stride, n, b.depth)
		}
		return
	}
	for j := 0; j < b.columns; j += width {
		panel, n := w.right[j*b.depth:][:width*b.depth], min(width, b.columns-j)
		if p.pairs.on {
			p.packPairs(panel, width, block{column: b.column + j, columns: n, at: b.at, depth: b.depth})
			continue
		}
		from := p.b.from(b.at, b.column+j)
		tile.Transpose(panel, width, from.data, from.stride, n, b.depth)
	}
}

// packRows copies n columns of some rows to panels.
func packRows[F tile.Float](to []F, width int, from []F, stride, n, rows int) {
	for k := range rows {
		row := from[k*stride:][:n]
		for at := k * width; len(row) > 0; at += rows * width {
			row = row[copy(to[at:at+width], row):]
		}
	}
}

// packsLeft reports whether the left factor cannot be read where it is.
func (p *product[F]) packsLeft() bool {
	return p.a.transposed || p.alpha != 1 || p.a.stride*int(unsafe.Sizeof(p.alpha))%wayBytes == 0
}

// packLeft returns a block of alpha times the left factor by rows.
func (p *product[F]) packLeft(w *buffers[F], b *block) (left []F, stride int) {
	from := p.a.from(b.row, b.at)
	if !p.packsLeft() {
		return from.data, from.stride
	}
	left, stride = w.left, oddLines(b.depth)
	if p.a.transposed {
		tile.Transpose(left, stride, from.data, from.stride, b.depth, b.rows)
	}
	for i := range b.rows {
		row := left[i*stride:][:b.depth]
		if !p.a.transposed {
			copy(row, from.data[i*from.stride:])
		}
		if p.alpha != 1 {
			tile.Scale(row, p.alpha)
		}
	}
	return left, stride
}

// panelsAhead is the number of panels during which the next block of the left factor is prefetched.
const panelsAhead = 16

// A plan is what the panels of a block prefetch: from column last on the next block of the left factor, and
// before it the next panel of the right factor, if that may have left the second-level cache.
type plan struct {
	on                 bool // something is prefetched
	last, parts        int
	left, right        tile.Ahead
	across, down, size int // bytes between parts, and between bands of rows, of the left factor; bytes of a panel
}

// plan sets the plan, which is empty, of a block whose right factor is packed or not.
func (p *product[F]) plan(l *plan, w *buffers[F], b *block, direct bool) {
	width, size, next := tile.PanelWidth[F](), int(unsafe.Sizeof(p.alpha)), b.row+b.rows
	depth := b.depth * size
	l.last = b.columns
	if next < p.m {
		together := min((b.columns+width-1)/width, panelsAhead)
		l.last = (b.columns+width-1)/width*width - together*width
		from := p.a.from(next, b.at)
		high, wide := min(b.rows, p.m-next), depth // as it is stored, in bytes
		if p.a.transposed {
			high, wide = b.depth, high*size
		}
		l.parts = max(together*b.rows/(high+b.rows-1), 1)
		l.across, l.down = (wide+l.parts-1)/l.parts, b.rows*from.stride*size
		l.left = tile.NewAhead(unsafe.Pointer(&from.data[0]), from.stride*size, l.across, depth)
	}
	if !direct && b.columns*depth > tune().secondLevel/2 {
		l.size = depth * width
		apart := (l.size + b.rows - 1) / b.rows
		l.right = tile.NewAhead(unsafe.Pointer(&w.right[0]), apart, apart, depth)
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

// enough returns x with n numbers of any value.
func enough(x []float64, n int) []float64 { return slices.Grow(x[:0], n)[:n] }

func giveBuffers[F tile.Float](b *buffers[F]) { pool.Put((*buffers[float64])(unsafe.Pointer(b))) }

// borrow returns memory for at least n numbers, of any value; giveBack keeps it for the next caller.
func borrow[F tile.Float](n int) *[]F {
	m := memories.Get().(*[]float64)
	*m = enough(*m, n)
	return (*[]F)(unsafe.Pointer(m))
}

func giveBack[F tile.Float](m *[]F) { memories.Put((*[]float64)(unsafe.Pointer(m))) }
