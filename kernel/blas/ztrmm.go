package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Ztrmm computes B = alpha op(A) B or, with A on the right, B = alpha B op(A), for a complex triangular
// matrix A.
//
// On entry a holds the triangle ul of A, with ones on its diagonal that are not read if d is Unit, and b
// the m x n matrix B. On return b is overwritten by the product; the other triangle of A is not read.
//
// gonum multiplies rows with NaN or infinity by the blocks on the diagonal of A, and skips zeros there.
func (i Implementation) Ztrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128,
	lda int, b []complex128, ldb int,
) {
	if fewProducts(s, m, n) {
		fallback{}.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := triangleOf(s, ul, tA, doubles(a), lda, m, n, doubles(b), ldb)
	if t.way(s, ul, tA, d, alpha) == byGonum {
		fallback{}.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t.multiply(0, t.order, d == blas.Unit, ul, func(lo, order int) {
		rows, columns, at := t.block(lo, order)
		fallback{}.Ztrmm(s, ul, tA, d, rows, columns, 1, a[lo*(lda+1):], lda, b[at:], ldb)
	})
}

// Ctrmm is Ztrmm in complex64.
func (i Implementation) Ctrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if fewProducts(s, m, n) {
		smallCtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := triangleOf(s, ul, tA, singles(a), lda, m, n, singles(b), ldb)
	if t.way(s, ul, tA, d, complex128(alpha)) == byGonum {
		smallCtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t.multiply(0, t.order, d == blas.Unit, ul, func(lo, order int) {
		rows, columns, at := t.block(lo, order)
		smallCtrmm(s, ul, tA, d, rows, columns, 1, a[lo*(lda+1):], lda, b[at:], ldb)
	})
}

// smallCtrmm is Ctrmm for small triangles: gonum's, but where it adds inner products.
func smallCtrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if s == blas.Right && tA != blas.NoTrans && vectorized() {
		ordered{}.Ctrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	fallback{}.Ctrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// fewProducts reports whether gonum needs no more time for a triangle of few rows, or few rows of B.
func fewProducts(s blas.Side, m, n int) bool {
	if s == blas.Right {
		return n*n*m < complexProducts || m < complexRow && n > 2*complexRow
	}
	return m*m*n < complexProducts || m < complexRow
}

// multiply overwrites the part of B of the rows of op(A) from lo to hi by their product: the steps of solve
// backwards. block multiplies by a block on the diagonal as gonum does.
func (t *complexTriangle[F]) multiply(lo, hi int, unit bool, ul blas.Uplo, block func(lo, order int)) {
	if hi-lo <= complexBlocks {
		if !t.multiplyBlock(lo, hi-lo, unit, ul) {
			block(lo, hi-lo)
		}
		return
	}
	middle := lo + (hi-lo+complexBlocks)/(2*complexBlocks)*complexBlocks
	if t.last {
		t.multiply(lo, middle, unit, ul, block)
		t.add(1, lo, middle-lo, middle, hi-middle)
		t.multiply(middle, hi, unit, ul, block)
		return
	}
	t.multiply(middle, hi, unit, ul, block)
	t.add(1, middle, hi-middle, lo, middle-lo)
	t.multiply(lo, middle, unit, ul, block)
}

// multiplyBlock multiplies by a block on the diagonal, with zeros in the other triangle. It returns false if
// these would count: a part of B is NaN or infinite.
func (t *complexTriangle[F]) multiplyBlock(lo, order int, unit bool, ul blas.Uplo) bool {
	rows, columns, at := t.block(lo, order)
	b := t.b[2*at:]
	if !finite(rows, 2*columns, b, 2*t.ldb) {
		return false
	}
	width := tile.PanelWidth[F]()
	panels := (2*columns + width - 1) / width
	memory := borrow[F](2*order*order + panels*width*2*order + 2*rows*columns)
	square, rest := (*memory)[:2*order*order], (*memory)[2*order*order:]
	packed, result := rest[:panels*width*2*order], rest[panels*width*2*order:]
	t.copyTriangle(square, lo, order, unit, ul)
	triangle, others := t.a, operandOf(blas.NoTrans, b, t.ldb)
	triangle.data, triangle.stride = square, 2*order
	m := triangularProduct[F]{left: triangle, right: others, rows: rows, columns: 2 * columns, order: order}
	m.lower = !t.last
	if t.right {
		m.left, m.right, m.lower = others, triangle, t.last
		m.onRight, m.c, m.ldc = true, result, 2*columns
	} else {
		m.c, m.ldc = b, 2*t.ldb // which is packed before it is overwritten
	}
	m.pack(packed)
	if t.right {
		m.byPanels(packed)
		for i := range rows {
			copy(b[2*i*t.ldb:][:2*columns], result[2*i*columns:])
		}
	} else {
		m.byRows(packed)
	}
	giveBack(memory)
	return true
}

// A triangularProduct is C = L R, where one factor is a triangle of complex numbers. Zeros in whole rows of
// tiles, or panels, take no time.
type triangularProduct[F tile.Float] struct {
	left, right   operand[F]
	rows, columns int // of C, columns in reals
	order         int // of the triangle
	lower         bool
	onRight       bool // the triangle is the right factor
	c             []F
	ldc           int // in reals
}

// pack copies the right factor to panels.
func (m *triangularProduct[F]) pack(packed []F) {
	p := product[F]{b: m.right.factor, pairs: paired[F](1, m.right.conjugate)}
	p.pairs.across = m.left.conjugate
	width := tile.PanelWidth[F]()
	for j := 0; j < m.columns; j += width {
		p.packPairs(packed[j*2*m.order:], width, block{column: j, columns: min(width, m.columns-j), depth: 2 * m.order})
	}
}

// rowsOfATriangle is the number of rows of a left triangle that are multiplied together.
const rowsOfATriangle = 12

// byRows computes C some rows at a time, for a triangle on the left.
func (m *triangularProduct[F]) byRows(packed []F) {
	for i := 0; i < m.order; i += rowsOfATriangle {
		rows := min(rowsOfATriangle, m.order-i)
		from, to := 0, i+rows
		if !m.lower {
			from, to = i, m.order
		}
		m.part(packed, i, rows, 0, m.columns, from, to)
	}
}

// byPanels computes C a panel at a time, for a triangle on the right.
func (m *triangularProduct[F]) byPanels(packed []F) {
	width := tile.PanelWidth[F]()
	for j := 0; j < m.columns; j += width {
		end := min(j+width, m.columns)
		from, to := j/2, m.order
		if !m.lower {
			from, to = 0, end/2
		}
		m.part(packed, 0, m.rows, j, end, from, to)
	}
}

// part computes rows from row on in columns lo to hi of C: products of entries from to to.
func (m *triangularProduct[F]) part(packed []F, row, rows, lo, hi, from, to int) {
	width, at := tile.PanelWidth[F](), tile.ByRows(m.left.stride)
	if m.left.transposed {
		at = tile.PairsByColumns(m.left.stride)
	}
	left := m.left.block(row, from).data
	for j := lo; j < hi; j += width {
		right := packed[j*2*m.order+2*from*width:]
		c, depth, set := m.c[row*m.ldc+j:], 2*(to-from), tile.Update[F]{Alpha: 1}
		tile.Panel(c, m.ldc, left, at, right, width, rows, depth, min(width, hi-j), set, tile.Ahead{})
	}
}

// copyTriangle copies a block on the diagonal as it is stored, and clears the other triangle.
func (t *complexTriangle[F]) copyTriangle(square []F, lo, order int, unit bool, ul blas.Uplo) {
	for i := range order {
		row, from := square[2*i*order:][:2*order], t.a.data[2*((lo+i)*t.lda+lo):]
		if ul == blas.Upper {
			clear(row[:2*i])
			copy(row[2*i:], from[2*i:2*order])
		} else {
			copy(row, from[:2*(i+1)])
			clear(row[2*(i+1):])
		}
		if unit {
			row[2*i], row[2*i+1] = 1, 0
		}
	}
}
