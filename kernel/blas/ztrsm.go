package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Ztrsm solves op(A) X = alpha B or, with A on the right, X op(A) = alpha B, for a complex triangular
// matrix A.
//
// On entry a holds the triangle ul of A, with ones on its diagonal that are not read if d is Unit, and b
// the m x n matrix B. On return b holds X; the other triangle of A is not read.
//
// gonum solves the systems of blocks on the diagonal of A, and skips zeros there; outside of the blocks a
// zero by NaN or infinity is NaN.
func (i Implementation) Ztrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex128, a []complex128,
	lda int, b []complex128, ldb int,
) {
	if m*n < complexUnknowns {
		fallback{}.Ztrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := triangleOf(s, ul, tA, doubles(a), lda, m, n, doubles(b), ldb)
	if t.few() || t.way(s, ul, tA, d, alpha) == byGonum {
		fallback{}.Ztrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t.solve(0, t.order, func(lo, order int) {
		rows, columns, at := t.block(lo, order)
		fallback{}.Ztrsm(s, ul, tA, d, rows, columns, 1, a[lo*(lda+1):], lda, b[at:], ldb)
	})
}

// Ctrsm is Ztrsm in complex64.
func (i Implementation) Ctrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if m*n < complexUnknowns {
		smallCtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t := triangleOf(s, ul, tA, singles(a), lda, m, n, singles(b), ldb)
	if t.few() || t.way(s, ul, tA, d, complex128(alpha)) == byGonum {
		smallCtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	t.solve(0, t.order, func(lo, order int) {
		rows, columns, at := t.block(lo, order)
		smallCtrsm(s, ul, tA, d, rows, columns, 1, a[lo*(lda+1):], lda, b[at:], ldb)
	})
}

// smallCtrsm is Ctrsm for small systems: gonum's, but where it adds inner products.
func smallCtrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha complex64, a []complex64,
	lda int, b []complex64, ldb int,
) {
	if s == blas.Right && tA != blas.NoTrans && vectorized() {
		ordered{}.Ctrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	fallback{}.Ctrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
}

// A complexTriangle is a system op(A) X = B, or X op(A) = B, for m x n matrices X and B.
type complexTriangle[F tile.Float] struct {
	a           operand[F]
	b           []F
	lda, ldb    int // in entries
	m, n, order int
	right       bool // A is on the right
	last        bool // the last unknowns are solved for first
}

// triangleOf returns the system of the arguments of Ztrsm.
func triangleOf[F tile.Float](
	s blas.Side, ul blas.Uplo, tA blas.Transpose, a []F, lda, m, n int, b []F, ldb int,
) complexTriangle[F] {
	t := complexTriangle[F]{b: b, lda: lda, ldb: ldb, m: m, n: n, order: m, right: s == blas.Right}
	t.a = operandOf(tA, a, lda)
	if t.right {
		t.order = n
	}
	lower := (ul == blas.Lower) == (tA == blas.NoTrans)
	t.last = lower == t.right
	return t
}

// few reports whether gonum needs no more time for a system of the order.
func (t *complexTriangle[F]) few() bool {
	return t.order < complexSystem || t.right && t.order < complexRightSystem
}

// way returns how the system is solved, and multiplies B by alpha if gonum does not.
func (t *complexTriangle[F]) way(s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, alpha complex128) way {
	switch {
	case !isSide(s) || !isTriangle(ul) || !known(tA) || !isDiagonal(d) || min(t.m, t.n) <= 0 ||
		alpha == 0 || !vectorized():
		return byGonum
	case !insidePairs(t.a.data, t.order, t.order, t.lda) || !insidePairs(t.b, t.m, t.n, t.ldb):
		return byGonum
	}
	if alpha != 1 {
		for i := range t.m {
			scalePairs(t.b[2*i*t.ldb:][:2*t.n], alpha)
		}
	}
	return byTiles
}

// solve solves for the unknowns from lo to hi: for one half, whose product with the block beside the
// triangles is subtracted, and for the other. Few unknowns are solved for by block.
func (t *complexTriangle[F]) solve(lo, hi int, block func(lo, order int)) {
	if hi-lo <= complexBlock {
		block(lo, hi-lo)
		return
	}
	middle := lo + (hi-lo+complexBlock)/(2*complexBlock)*complexBlock
	if t.last {
		t.solve(middle, hi, block)
		t.add(-1, lo, middle-lo, middle, hi-middle)
		t.solve(lo, middle, block)
		return
	}
	t.solve(lo, middle, block)
	t.add(-1, middle, hi-middle, lo, middle-lo)
	t.solve(middle, hi, block)
}

// add adds alpha times the product of some unknowns, and their block of op(A), to the part of B of others.
func (t *complexTriangle[F]) add(alpha complex128, to, count, from, known int) {
	rows, columns, at := t.block(to, count)
	_, _, of := t.block(from, known)
	z := complexProduct[F]{
		a: t.a.block(to, from), b: operandOf(blas.NoTrans, t.b[2*of:], t.ldb), m: rows, n: columns, k: known,
		alpha: alpha, c: t.b[2*at:], ldc: 2 * t.ldb, part: blas.All,
	}
	if t.right {
		z.a, z.b = z.b, t.a.block(from, to)
	}
	z.compute(false)
}

// block returns the shape of the part of B of some unknowns, and the first of its entries.
func (t *complexTriangle[F]) block(lo, order int) (rows, columns, at int) {
	if t.right {
		return t.m, order, lo
	}
	return order, t.n, lo * t.ldb
}
