package tile

import (
	"math/bits"
	"unsafe"
)

// Ahead is memory that Panel brings into the second-level cache while it computes: a stream for each row of
// the product. The zero value prefetches nothing. The memory need not be readable.
type Ahead struct {
	next        uintptr
	apart, pace int // bytes to the stream of the next row, and from line to line of a stream
}

// NewAhead returns streams of wide bytes each, apart bytes from each other, from an address on, for a product
// whose rows of W take depth bytes.
func NewAhead(address unsafe.Pointer, apart, wide, depth int) Ahead {
	groups := depth/lineOfC - linesOfC
	if groups <= 0 {
		return Ahead{}
	}
	return Ahead{uintptr(address), apart, (wide + groups - 1) / groups}
}

// From returns the streams that begin some bytes later.
func (a Ahead) From(bytes int) Ahead {
	if a.next != 0 {
		a.next += uintptr(bytes)
	}
	return a
}

// lineOfC is the size of a cache line, and linesOfC the number of lines in a row of C that one tile computes.
const lineOfC, linesOfC = 64, 2

// shortRows is a length of rows of W below which a tile prefetches one line for each row of C: it takes too
// little time for more.
const shortRows = 64

// A Layout is where the entries of a factor are: the distance of two rows; of the first column of a pair from
// the second one; and of the second column from the first one of the next pair.
type Layout struct{ Down, Next, Across int }

// ByRows and ByColumns return the layout of a factor whose rows, or columns, are stride apart. PairsByColumns
// returns the layout of an even number of columns: the real and the imaginary parts of complex numbers that
// are stored by columns, stride apart.
func ByRows(stride int) Layout         { return Layout{stride, 1, 1} }
func ByColumns(stride int) Layout      { return Layout{1, stride, stride} }
func PairsByColumns(stride int) Layout { return Layout{2, 1, stride - 1} }

// index returns the place of an entry.
func (l Layout) index(row, column int) int {
	return row*l.Down + (column+1)/2*l.Next + column/2*l.Across
}

// raceReadFactor reports the reads of an m x n factor.
func raceReadFactor[F Float](w []F, at Layout, m, n int) {
	switch {
	case !Race || m == 0:
	case at.Across == 1:
		raceRead(w, m, n, at.Down)
	case at.Down == 1:
		raceRead(w, n, m, at.Across)
	default:
		for j := range n {
			raceRead(w[at.index(0, j):], m, 1, at.Down)
		}
	}
}

// An Update is what happens to the entries of C: they become Alpha times a product plus Beta times
// themselves. With Beta = 0 they are not read.
type Update[F Float] struct{ Alpha, Beta F }

// tile returns the arguments of a tile: whether it adds to C term by term, and the factors, nil for 1 and 0
// or 1.
func (u *Update[F]) tile() (add bool, by unsafe.Pointer) {
	if u.Alpha == 1 && (u.Beta == 0 || u.Beta == 1) {
		return u.Beta == 1, nil
	}
	return false, unsafe.Pointer(u)
}

// Panel computes up to PanelWidth columns of C = alpha W Z + beta C; see panelGeneric. It reads and writes
// nothing beyond these columns. It prefetches the rows of C that are next, then the first rows of the next
// columns, and what is ahead.
func Panel[F Float](
	c []F, ldc int, w []F, at Layout, z []F, ldz, m, n, cols int, u Update[F], ahead Ahead,
) {
	raceReadFactor(w, at, m, n)
	raceRead(z, n, cols, ldz)
	raceWrite(c, m, cols, ldc)
	if tiles.panelFew[of[F](0)] == 0 || m == 0 || n == 0 || cols == 0 {
		panelGeneric(c, ldc, w, at, z, ldz, m, n, cols, u)
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[at.index(m-1, n-1)], z[(n-1)*ldz+cols-1]
	if ahead.next == 0 {
		ahead.next = uintptr(unsafe.Pointer(&w[0])) // which is in a cache
	}
	var p panelOperands[F] // set entry by entry: to copy what was just stored in parts takes long
	p.c, p.w, p.z, p.ldc, p.ldz = unsafe.Pointer(&c[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&z[0]), ldc, ldz
	p.m, p.n, p.cols, p.down, p.next, p.across = m, n, cols, at.Down, at.Next, at.Across
	p.add, p.by = u.tile()
	p.compute(&ahead)
}

// Panels computes any number of columns of C = alpha W Z + beta C. Z consists of panels of PanelWidth
// columns, by rows. The first entries of two panels are apart from each other: by PanelWidth, if Z is a
// matrix by rows.
func Panels[F Float](
	c []F, ldc int, w []F, at Layout, z []F, ldz, apart, m, n, cols int, u Update[F],
) {
	width := PanelWidth[F]()
	switch {
	case m == 0 || cols == 0:
		return
	case n == 0: // Z has no entries
		Panel(c, ldc, w, at, z[:0], ldz, m, 0, cols, u, Ahead{})
		return
	case tiles.panelFew[of[F](0)] == 0 || n >= shortRows && m >= tiles.high && cols > width:
		for k := 0; k < cols; k += width {
			Panel(c[k:], ldc, w, at, z[k/width*apart:], ldz, m, n, min(width, cols-k), u, Ahead{})
		}
		return
	}
	raceReadFactor(w, at, m, n)
	for k := 0; k < cols && Race; k += width {
		raceRead(z[k/width*apart:], n, min(width, cols-k), ldz)
	}
	raceWrite(c, m, cols, ldc)
	last := (cols - 1) / width
	_, _, _ = c[(m-1)*ldc+cols-1], w[at.index(m-1, n-1)], z[last*apart+(n-1)*ldz+cols-1-last*width]
	var p panelOperands[F] // set entry by entry, as in Panel
	p.c, p.w, p.z = unsafe.Pointer(&c[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&z[0])
	p.ldc, p.ldz, p.apart = ldc, ldz, apart
	p.m, p.n, p.cols, p.down, p.next, p.across = m, n, cols, at.Down, at.Next, at.Across
	p.add, p.by = u.tile()
	ahead := Ahead{next: uintptr(p.w)}
	p.compute(&ahead)
}

// panelOperands are the operands of Panels, or of Panel.
type panelOperands[F Float] struct {
	c, w, z            unsafe.Pointer
	ldc, ldz, apart    int
	m, n, cols         int
	down, next, across int // the layout of W
	add                bool
	by                 unsafe.Pointer // the factors of an Update, nil for 1 and 0 or 1
}

// compute computes all rows: by high tiles, and those below by tiles of few rows. A short sum leaves no time
// for the prefetches of high tiles, and its rows of Z are not cut into panels. Of less than half a panel,
// tiles of few rows compute no columns in vain. Mul 6 to 64, Sgemm 65 and 81.
func (p *panelOperands[F]) compute(ahead *Ahead) {
	high, width := highRows(p.m, tiles.high), PanelWidth[F]()
	if 2*p.cols < width || p.n < shortRows && p.joined() {
		high = 0
	}
	if high > 0 {
		p.highRows(high, ahead)
	}
	if high < p.m {
		p.lowRows(high)
	}
}

// joined reports whether each row of Z is in one piece.
func (p *panelOperands[F]) joined() bool {
	width := PanelWidth[F]()
	return p.apart == width || p.cols <= width
}

// highRows computes the first rows by high tiles, and by tiles of few rows where columns are left.
func (p *panelOperands[F]) highRows(rows int, ahead *Ahead) {
	size, width := int(unsafe.Sizeof(F(0))), PanelWidth[F]()
	apart, both, groups := p.apart, 16*tiles.lanes/size, linesOfC
	if apart == width {
		width, apart = both, both
	}
	if p.n < shortRows {
		groups = 1
	}
	panels, behind := p.cols>>bits.TrailingZeros64(uint64(width)), rows*p.ldc // to the rows of C that are next
	if rows == p.m {
		behind = p.cols // to the first row of the next columns
	}
	compute := func(column, k, panels int) {
		c, z := unsafe.Add(p.c, column*size), unsafe.Add(p.z, k*size)
		panelTile(c, p.ldc, p.w, p.down, p.next, p.across, z, p.ldz, p.n, rows, p.add, p.by, panels, width, apart,
			groups, uintptr(c)+uintptr(behind*size), ahead.next, ahead.apart, ahead.pace, of[F](tiles.high))
	}
	for k := 0; k < width && panels > 0; k += both {
		compute(k, k, panels)
	}
	column, k := panels*width, panels*apart
	for ; column+both <= p.cols; column, k = column+both, k+both {
		compute(column, k, 1)
	}
	if column < p.cols {
		p.fewRows(0, rows, column, k, p.cols-column)
	}
}

// lowRows computes the rows from row i on by tiles of few rows.
func (p *panelOperands[F]) lowRows(i int) {
	if p.joined() {
		p.fewRows(i, p.m-i, 0, 0, p.cols)
		return
	}
	width := PanelWidth[F]()
	for column, k := 0, 0; column < p.cols; column, k = column+width, k+p.apart {
		p.fewRows(i, p.m-i, column, k, min(width, p.cols-column))
	}
}

// fewRows computes some rows of some columns, which begin at entry k of Z. The heights of two tiles differ by
// one at most.
func (p *panelOperands[F]) fewRows(i, rows, column, k, cols int) {
	size := int(unsafe.Sizeof(F(0)))
	height, lower := evenRows(rows, tiles.low)
	c, w, z := unsafe.Add(p.c, (i*p.ldc+column)*size), unsafe.Add(p.w, i*p.down*size), unsafe.Add(p.z, k*size)
	panelFewTile(c, p.ldc, w, p.down, p.next, p.across, z, p.ldz, p.n, height, rows, lower, cols, p.add, p.by,
		0, 0, 0, of[F](0))
}

// PairPanel computes cols columns of C = W Z, up to PairColumns, for m rows, a multiple of PackRows, in a
// different order than Panel; see pairPanelGeneric.
func PairPanel(c []float64, ldc int, w []float64, ldw int, z []float64, m, n, cols int) {
	raceRead(w, m, n, ldw)
	raceRead(z, 1, PairLen(n), 0)
	raceWrite(c, m, cols, ldc)
	if tiles.pairPanel == 0 || m == 0 || n == 0 || cols == 0 {
		pairPanelGeneric(c, ldc, w, ldw, z, m, n, cols)
		return
	}
	_, _, _ = c[(m-1)*ldc+cols-1], w[(m-1)*ldw+n-1], z[PairLen(n)-1]
	pairPanelTile(&c[0], ldc, &w[0], ldw, &z[0], n, m, cols)
}

// PairLen returns the length of PackPairs for n rows.
func PairLen(n int) int { return (n + 1) / 2 * 2 * PairColumns }

// PackPairs copies n rows of cols columns of B, whose entries are down and across apart, for PairPanel: two
// rows after each other, the columns of both in turn. If n is odd, the first row is a pair with a row of
// zeros.
func PackPairs(z, b []float64, down, across, n, cols int) {
	clear(z[:PairLen(n)])
	at := 0
	for k := -(n % 2); k < n; k += 2 {
		for j := range cols {
			if k >= 0 {
				z[at+2*j] = b[k*down+j*across]
				z[at+2*j+1] = b[(k+1)*down+j*across]
			} else {
				z[at+2*j] = b[j*across]
			}
		}
		at += 2 * PairColumns
	}
}

// lowPanel is the height of the panel tile of MulPacked whose last rows may not exist.
const lowPanel = 4

// highRows returns how many of m rows tiles of a height compute: as many as fill such tiles. It leaves out
// the last of these tiles where two low tiles then compute no row in vain.
func highRows(m, height int) int {
	if m < height {
		return 0
	}
	rest := int(uint32(m) % uint32(height)) // which takes less time than for 64 bits
	if rest > 0 && m > rest && rest+height <= 2*lowPanel {
		rest += height
	}
	return m - rest
}

// panelRowsOf returns the height of the tile for the next of left rows.
func panelRowsOf(left int) int {
	if highRows(left, tiles.high) > 0 {
		return tiles.high
	}
	return lowPanel
}

// Transpose sets the rows of dst to the columns of the m x n matrix src: n rows of m entries.
// By tiles it takes a quarter of the time: a step of a node with one task of 30 x 600 and
// rank 16 would take 1.2 times as long, for its basis.
func Transpose[F Float](dst []F, ldd int, src []F, lds, m, n int) {
	raceRead(src, m, n, lds)
	raceWrite(dst, n, m, ldd)
	if unsafe.Sizeof(F(0)) == 8 && tiles.transposeEdge != 0 && m > 0 && n > 0 {
		transposeAll(unsafe.Pointer(&dst[:(n-1)*ldd+m][0]), ldd, unsafe.Pointer(&src[:(m-1)*lds+n][0]), lds, m, n)
		return
	}
	const side = 8 // of the squares of a tile
	switch {
	case tiles.joinFew[of[F](0)] != 0 && isFew(m, n):
		_, _ = src[(m-1)*lds+n-1], dst[(n-1)*ldd+m-1]
		joinFewTile(unsafe.Pointer(&dst[0]), ldd, unsafe.Pointer(&src[0]), lds, n, m, of[F](0))
		return
	case tiles.splitFew[of[F](0)] != 0 && isFew(n, m):
		_, _ = src[(m-1)*lds+n-1], dst[(n-1)*ldd+m-1]
		splitFewTile(unsafe.Pointer(&dst[0]), ldd, unsafe.Pointer(&src[0]), lds, m, n, of[F](0))
		return
	case tiles.transposeSquares[of[F](0)] == 0 || min(m, n) < narrowSide:
		transposeNarrow(dst, ldd, src, lds, m, n)
		return
	case min(m, n) < side:
		_, _ = src[(m-1)*lds+n-1], dst[(n-1)*ldd+m-1]
		transposeFours(unsafe.Pointer(&dst[0]), ldd, unsafe.Pointer(&src[0]), lds, m, n)
		return
	}
	_, _ = src[(m-1)*lds+n-1], dst[(n-1)*ldd+m-1]
	last := n % side
	for i := 0; i < m; i += side {
		i = min(i, m-side) // the last squares have rows, or columns, of those before them
		transposeSquaresTile(unsafe.Pointer(&dst[i]), ldd, unsafe.Pointer(&src[i*lds]), lds, n-last, of[F](0))
		if last > 0 {
			to, from := unsafe.Pointer(&dst[(n-side)*ldd+i]), unsafe.Pointer(&src[i*lds+n-side])
			transposeSquaresTile(to, ldd, from, lds, side, of[F](0))
		}
	}
}

// narrowSide is the number of rows of the squares of transposeFours.
const narrowSide = 4

// isFew reports whether the tiles of Transpose in float32 for a few long rows, or columns, take these.
func isFew(few, many int) bool { return (few == 2 || few == 3) && many >= narrowSide }

// transposeFours is Transpose in float32 by squares of four rows, for four to seven rows or columns. The last
// squares have rows, or columns, of those before them.
func transposeFours(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, m, n int) {
	const size = 4
	few, many := m, n
	nextd, nexts, acrossd, acrosss := narrowSide*ldd, narrowSide, 1, lds // along the squares, and across
	if m > n {
		few, many = n, m
		nextd, nexts, acrossd, acrosss = narrowSide, narrowSide*lds, ldd, 1
	}
	squares, last := many/narrowSide, many%narrowSide
	for i := 0; i < few; i += narrowSide {
		i = min(i, few-narrowSide)
		to, from := unsafe.Add(dst, i*acrossd*size), unsafe.Add(src, i*acrosss*size)
		transposeFoursTile(to, ldd, nextd, from, lds, nexts, squares, singles)
		if last > 0 {
			k := many - narrowSide // in place of a whole square
			to, from = unsafe.Add(to, k*nextd/narrowSide*size), unsafe.Add(from, k*nexts/narrowSide*size)
			transposeFoursTile(to, ldd, nextd, from, lds, nexts, 1, singles)
		}
	}
}

// transposeNarrow is Transpose in Go, four columns of dst at a time if it has few, else four rows.
func transposeNarrow[F Float](dst []F, ldd int, src []F, lds, m, n int) {
	const together = 4
	i, j := 0, 0
	for ; m <= n && i+together <= m; i += together {
		s0, s1, s2, s3, at := src[i*lds:][:n], src[(i+1)*lds:], src[(i+2)*lds:], src[(i+3)*lds:], i
		s1, s2, s3 = s1[:len(s0)], s2[:len(s0)], s3[:len(s0)]
		for k, v := range s0 {
			to := dst[at:][:together]
			to[0], to[1], to[2], to[3] = v, s1[k], s2[k], s3[k]
			at += ldd
		}
	}
	for ; m > n && j+together <= n; j += together {
		d0, d1, d2, d3, at := dst[j*ldd:][:m], dst[(j+1)*ldd:], dst[(j+2)*ldd:], dst[(j+3)*ldd:], j
		d1, d2, d3 = d1[:len(d0)], d2[:len(d0)], d3[:len(d0)]
		for k := range d0 {
			from := src[at:][:together]
			d0[k], d1[k], d2[k], d3[k] = from[0], from[1], from[2], from[3]
			at += lds
		}
	}
	if i < m && j < n {
		transposeGeneric(dst[j*ldd+i:], ldd, src[i*lds+j:], lds, m-i, n-j)
	}
}

// transposeAll is Transpose in float64 by tiles alone: squares, and the edges beside them.
func transposeAll(dst unsafe.Pointer, ldd int, src unsafe.Pointer, lds, m, n int) {
	const size = 8
	for i := 0; i < m; i += tiles.lanes {
		rows, columns := min(tiles.lanes, m-i), 0
		to, from := unsafe.Add(dst, i*size), unsafe.Add(src, i*lds*size)
		if rows == tiles.lanes && n >= tiles.lanes {
			columns = n / tiles.lanes * tiles.lanes
			transposeSquaresTile(to, ldd, from, lds, columns, of[float64](0))
		}
		if columns < n {
			to, from = unsafe.Add(to, columns*ldd*size), unsafe.Add(from, columns*size)
			transposeEdgeTile((*float64)(to), ldd, (*float64)(from), lds, rows, n-columns)
		}
	}
}
