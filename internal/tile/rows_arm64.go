//go:build !purego

package tile

import (
	"math"
	"unsafe"
)

// The operations of the BLAS by vectors of NEON. They have the bits of the tiles of amd64: a product of
// matrices adds to an entry term after term, an inner product has as many partial sums as there.

// withVectors adds the tiles of this file to a table.
func withVectors(o *operations) {
	o.high, o.low = lowPanel, lowPanel
	o.few = 2 * o.lanes
	o.rotate, o.addAbs, o.pairPanel = 1, 1, 1
	o.squares[singles], o.dotDouble, o.dotSingle, o.axpyDouble, o.axpySingle = 1, 1, 1, 1, 1
	for i := 1; i <= 4; i++ {
		o.reflect[i], o.symmetricRows[i], o.symmetricRows[singles+i] = 1, 1, 1
	}
	for _, first := range []int{0, singles} {
		o.panel[first+lowPanel], o.panelFew[first] = 1, 1
		o.absolutes[first], o.scale[first] = 1, 1
		o.rowDots[first+1], o.rowDots[first+4] = 1, 1
		o.addRows[first+1], o.addRows[first+8] = 1, 1
		o.rowProducts[first], o.productRows[first/singles], o.productColumns[first/singles] = 1, 1, 4
		o.addOuter[first+1], o.addOuter[first+4] = 1, 1
		for vectors := 1; vectors <= 4; vectors++ {
			o.solveRows[first+vectors], o.multiplyRows[first+vectors] = 1, 1
		}
	}
	o.solveFew[0] = 1
}

// pairPanelTile has two sums an entry, for the two rows of a pair.
func pairPanelTile(c *float64, ldc int, w *float64, ldw int, z *float64, n, rows, cols int) {
	for i := range rows {
		row, pairs := unsafe.Slice(at(w, i*ldw), n), unsafe.Slice(z, PairLen(n))
		var sums [2 * PairColumns]float64
		if n%2 == 1 { // beside a row of zeros
			for j := range cols {
				sums[2*j] = float64(row[0] * pairs[2*j])
			}
			row, pairs = row[1:], pairs[2*PairColumns:]
		}
		for ; len(row) >= 2; row, pairs = row[2:], pairs[2*PairColumns:] {
			two, entries := (*[2]float64)(row), (*[2 * PairColumns]float64)(pairs)
			for j := 0; j < 2*cols; j += 2 {
				sums[j] = math.FMA(two[0], entries[j], sums[j])
				sums[j+1] = math.FMA(two[1], entries[j+1], sums[j+1])
			}
		}
		for j := range cols {
			*at(c, i*ldc+j) = sums[2*j] + sums[2*j+1]
		}
	}
}

// partialSums are those of an inner product of several rows. If the number of entries is not a multiple of
// it, the products of the last entries are the first addends of the last sums.
const partialSums = 8

// dotStarts sets the first addends of the partial sums of some rows of n entries.
func dotStarts[F Float](start *[4 * partialSums]F, a *F, lda, rows int, x *F, n int) {
	rest := n % partialSums
	if rest == 0 {
		return
	}
	last := unsafe.Slice(at(x, n-rest), rest)
	for i := range rows {
		row := unsafe.Slice(at(a, i*lda+n-rest), rest)
		to := start[(i+1)*partialSums-rest:][:rest]
		for k, v := range last {
			to[k] = 0 + F(v*row[k]) // not -0
		}
	}
}

// dots8 sets the sums of up to 4 rows, of 8 partial sums each.
func dots8(sums, a *float64, lda, rows int, x *float64, n int) {
	var start [4 * partialSums]float64
	var four [4]float64
	dotStarts(&start, a, lda, rows, x, n)
	rowDots_4_neon(&four[0], &start[0], a, lda, rows, x, n/partialSums)
	copy(unsafe.Slice(sums, rows), four[:])
}

func rowDotsTile(sums, a unsafe.Pointer, lda, growth int, x unsafe.Pointer, n int, index int) {
	if growth != 0 {
		growingDots(sums, a, lda, growth, x, n, index < singles)
		return
	}
	switch index {
	case 1:
		var start [4 * partialSums]float64
		row, with := (*float64)(a), (*float64)(x)
		dotStarts(&start, row, lda, 1, with, n)
		*(*float64)(sums) = rowDots_1_neon(&start[0], row, with, n/partialSums)
	case 4:
		dots8((*float64)(sums), (*float64)(a), lda, 4, (*float64)(x), n)
	default:
		var start [4 * partialSums]float32
		rows, row, with := index-singles, (*float32)(a), (*float32)(x)
		dotStarts(&start, row, lda, rows, with, n)
		if rows == 1 {
			*(*float32)(sums) = rowDots32_1_neon(&start[0], row, with, n/partialSums)
		} else {
			rowDots32_4_neon((*float32)(sums), &start[0], row, lda, rows, with, n/partialSums)
		}
	}
}

// growingDots computes the products of mostGrowing rows, at distances that grow, one after the other.
func growingDots(sums, a unsafe.Pointer, lda, growth int, x unsafe.Pointer, n int, double bool) {
	for i := range mostGrowing {
		if row := rowAt(i, lda, growth); double {
			dots8(at((*float64)(sums), i), at((*float64)(a), row), 0, 1, (*float64)(x), n)
		} else {
			dots32(at((*float32)(sums), i), at((*float32)(a), row), 0, 1, (*float32)(x), n)
		}
	}
}

// rowProductsTile takes four rows of Z at a time, or fewer in the end.
func rowProductsTile(
	c unsafe.Pointer, ldc int, w unsafe.Pointer, ldw int, z unsafe.Pointer, ldz, n, _, rows, _, cols int, index int,
) {
	for j := 0; j < cols; j += 4 {
		for i := range rows {
			if few := min(4, cols-j); index == 0 {
				dots8(at((*float64)(c), i*ldc+j), at((*float64)(z), j*ldz), ldz, few, at((*float64)(w), i*ldw), n)
			} else {
				dots32(at((*float32)(c), i*ldc+j), at((*float32)(z), j*ldz), ldz, few, at((*float32)(w), i*ldw), n)
			}
		}
	}
}

// dots32 is dots8 in float32.
func dots32(sums, a *float32, lda, rows int, x *float32, n int) {
	var start [4 * partialSums]float32
	var four [4]float32
	dotStarts(&start, a, lda, rows, x, n)
	rowDots32_4_neon(&four[0], &start[0], a, lda, rows, x, n/partialSums)
	copy(unsafe.Slice(sums, rows), four[:])
}

func addRowsTile(y, a unsafe.Pointer, lda int, b unsafe.Pointer, n int, index int) {
	p := rowsProduct{y, 0, b, 0, 1, a, lda, 1, index % singles, true}
	p.compute(n, index >= singles)
}

func addOuterTile(a unsafe.Pointer, lda int, b, y unsafe.Pointer, n int, index int) {
	switch index {
	case 1:
		axpy_neon((*float64)(a), (*float64)(y), *(*float64)(b), n)
	case singles + 1:
		axpy32_neon((*float32)(a), (*float32)(y), *(*float32)(b), n)
	default:
		p := rowsProduct{a, lda, b, 1, 0, y, 0, index % singles, 1, true}
		p.compute(n, index >= singles)
	}
}

// symmetricRowsTile takes four rows, of the first or the second half of Width rows: as many as with AVX2.
func symmetricRowsTile(y, a unsafe.Pointer, lda int, x unsafe.Pointer, beside, n, index int) {
	if index < singles {
		symmetricRowsOf((*float64)(y), (*float64)(a), lda, (*float64)(x), beside, n, index)
	} else {
		symmetricRowsOf((*float32)(y), (*float32)(a), lda, (*float32)(x), beside, n, index-singles)
	}
}

func symmetricRowsOf[F Float](y, a *F, lda int, x *F, beside, n, index int) {
	const rows = 4
	first, upper := (index-1)/2*rows, index%2 == 1
	b := at(x, first)
	var sums [rows * partialSums]F
	if n > 0 {
		row, with := unsafe.Pointer(at(a, beside)), unsafe.Pointer(at(x, beside))
		dotStarts(&sums, (*F)(row), lda, rows, (*F)(with), n)
		single := of[F](0) == singles
		if to := unsafe.Pointer(&sums[0]); single {
			addDots32_4_neon((*float32)(to), (*float32)(row), lda, (*float32)(with), n/partialSums)
		} else {
			addDots_4_neon((*float64)(to), (*float64)(row), lda, (*float64)(with), n/partialSums)
		}
		p := rowsProduct{unsafe.Pointer(at(y, beside)), 0, unsafe.Pointer(b), 0, 1, row, lda, 1, rows, true}
		p.compute(n, single)
	}
	square, with := (*[Width]F)(unsafe.Pointer(y)), (*[Width]F)(unsafe.Pointer(x))
	for i := range rows {
		own, row := first+i, (*[Width]F)(unsafe.Pointer(at(a, i*lda)))
		from, to := 0, own // beside the diagonal
		if upper {
			from, to = own+1, Width
		}
		partial := (*[partialSums]F)(sums[i*partialSums:])
		partial[own] = fused(row[own], with[own], partial[own])
		for k := from; k < to; k++ {
			partial[k] = fused(row[k], with[k], partial[k])
			square[k] = fused(row[k], with[own], square[k])
		}
	}
	for i := range rows {
		square[first+i] += foldPartial((*[partialSums]F)(sums[i*partialSums:]))
	}
}

func reflectTile(a, col, next *float64, ld int, w, sums *float64, scale float64, m int, index int) {
	offset := (uintptr(unsafe.Pointer(next)) - uintptr(unsafe.Pointer(a))) / unsafe.Sizeof(*a)
	reflect_neon(a, col, next, ld, w, sums, scale, *at(w, int(offset)), m, index)
}

func rotateTile(z *float64, ldz int, c, s *float64, n int) { rotate_neon(z, ldz, c, s, n) }

func scaleTile(y, by unsafe.Pointer, n int, index int) {
	if index == singles {
		scale32_neon((*float32)(y), *(*float32)(by), n)
	} else {
		scale_neon((*float64)(y), *(*float64)(by), n)
	}
}

// A triangleOnRows is the operands of solveRowsGeneric, at addresses.
type triangleOnRows struct {
	b            unsafe.Pointer
	ldb          int
	a            unsafe.Pointer
	down, across int
	d            unsafe.Pointer // nil for ones
	order, cols  int
	single       bool
}

// size is the size of a number in bytes.
func (t *triangleOnRows) size() int {
	if t.single {
		return 4
	}
	return 8
}

// row returns the addresses of row i of B and A.
func (t *triangleOnRows) row(i int) (b, a unsafe.Pointer) {
	return unsafe.Add(t.b, i*t.ldb*t.size()), unsafe.Add(t.a, i*t.down*t.size())
}

// scale multiplies row i of B by its factor.
func (t *triangleOnRows) scale(i int, row unsafe.Pointer) {
	if t.d == nil {
		return
	}
	index := 0
	if t.single {
		index = singles
	}
	scaleTile(row, unsafe.Add(t.d, i*t.size()), t.cols, index)
}

// solve is solveRowsGeneric: the products are added with the sign of A changed.
func (t *triangleOnRows) solve() {
	var minus [TriangleOrder]float64
	var minus32 [TriangleOrder]float32
	factors := unsafe.Pointer(&minus)
	if t.single {
		factors = unsafe.Pointer(&minus32)
	}
	for i := range t.order {
		row, entries := t.row(i)
		for k := range i {
			if t.single {
				minus32[k] = -*at((*float32)(entries), k*t.across)
			} else {
				minus[k] = -*at((*float64)(entries), k*t.across)
			}
		}
		if i > 0 {
			p := rowsProduct{row, 0, factors, 0, 1, t.b, t.ldb, 1, i, true}
			p.compute(t.cols, t.single)
		}
		t.scale(i, row)
	}
}

// multiply is multiplyRowsGeneric.
func (t *triangleOnRows) multiply() {
	for i := t.order - 1; i >= 0; i-- {
		row, entries := t.row(i)
		t.scale(i, row)
		if i > 0 {
			p := rowsProduct{row, 0, entries, 0, t.across, t.b, t.ldb, 1, i, true}
			p.compute(t.cols, t.single)
		}
	}
}

func solveRowsTile(
	b unsafe.Pointer, ldb int, a unsafe.Pointer, down, across int, d unsafe.Pointer, order, cols int, index int,
) {
	t := triangleOnRows{b, ldb, a, down, across, d, order, cols, index >= singles}
	t.solve()
}

func solveFewTile(
	b unsafe.Pointer, ldb int, a unsafe.Pointer, down, across int, d unsafe.Pointer, order, cols int, index int,
) {
	solveRowsTile(b, ldb, a, down, across, d, order, cols, index)
}

func multiplyRowsTile(
	b unsafe.Pointer, ldb int, a unsafe.Pointer, down, across int, d unsafe.Pointer, order, cols int, index int,
) {
	t := triangleOnRows{b, ldb, a, down, across, d, order, cols, index >= singles}
	t.multiply()
}
