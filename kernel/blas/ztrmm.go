package blas

import (
	"gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
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
		i.Implementation.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := triangleOf(s, ul, tA, doubles(a), lda, m, n, doubles(b), ldb)
	if t.way(s, ul, tA, d, alpha) == byGonum {
		i.Implementation.Ztrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t.multiply(0, t.order, d == blas.Unit, ul, func(lo, order int) {
		rows, columns, at := t.block(lo, order)
		reference.Implementation{}.Ztrmm(s, ul, tA, d, rows, columns, 1, a[lo*(lda+1):], lda, b[at:], ldb)
	})
}

// Ctrmm is Ztrmm in complex64.
func (i Implementation) Ctrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if fewProducts(s, m, n) {
		i.Implementation.Ctrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := triangleOf(s, ul, tA, singles(a), lda, m, n, singles(b), ldb)
	if t.way(s, ul, tA, d, complex128(alpha)) == byGonum {
		i.Implementation.Ctrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t.multiply(0, t.order, d == blas.Unit, ul, func(lo, order int) {
		rows, columns, at := t.block(lo, order)
		reference.Implementation{}.Ctrmm(s, ul, tA, d, rows, columns, 1, a[lo*(lda+1):], lda, b[at:], ldb)
	})
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
	memory := borrow[F](2*order*order + 2*rows*columns)
	defer giveBack(memory)
	square, result := (*memory)[:2*order*order], (*memory)[2*order*order:]
	t.copyTriangle(square, lo, order, unit, ul)
	z := complexProduct[F]{
		a: t.a, b: operandOf(blas.NoTrans, b, t.ldb), m: rows, n: columns, k: order, alpha: 1,
		c: result, ldc: 2 * columns, part: blas.All,
	}
	z.a.data, z.a.stride = square, 2*order
	if t.right {
		z.a, z.b = z.b, z.a
	}
	z.compute(true)
	for i := range rows {
		copy(b[2*i*t.ldb:][:2*columns], result[2*i*columns:])
	}
	return true
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
