package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// The operations of this file are those of BLAS for both types of numbers. They return false, and compute
// nothing, where gonum is faster or the arguments are for it to refuse.

const (
	// tiny is the largest order of matrices that plain loops multiply faster than gonum.
	tiny = 4
	// worthwhile is the least number of multiplications for which the tiles are faster than gonum.
	worthwhile = 256
)

// inside reports whether data has all entries of a matrix stored by rows.
func inside[F tile.Float](data []F, rows, columns, stride int) bool {
	return stride >= max(1, columns) && (rows == 0 || len(data) >= (rows-1)*stride+columns)
}

func known(t blas.Transpose) bool { return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans }

// fits reports whether the operands have the shapes of a product that the tiles compute.
func (p *product[F]) fits() bool {
	ra, ca := p.m, p.k
	if p.a.transposed {
		ra, ca = ca, ra
	}
	rb, cb := p.k, p.n
	if p.b.transposed {
		rb, cb = cb, rb
	}
	return vectorized() && p.m > 0 && p.n > 0 && p.k > 0 && p.alpha != 0 &&
		inside(p.a.data, ra, ca, p.a.stride) && inside(p.b.data, rb, cb, p.b.stride) && inside(p.c, p.m, p.n, p.ldc)
}

// gemm is Dgemm and Sgemm, alone or in a larger computation.
func gemm[F tile.Float](alone bool, tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	p := product[F]{
		a: factor[F]{a, lda, tA != blas.NoTrans}, b: factor[F]{b, ldb, tB != blas.NoTrans},
		m: m, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: blas.All, alone: alone,
	}
	if !known(tA) || !known(tB) || !p.fits() {
		return false
	}
	down, _ := p.b.steps()
	_, across := p.a.steps()
	switch { // products of rows are faster than panels
	case n == 1:
		p.a.mul(m, k, alpha, b, down, beta, c, ldc)
	case m == 1:
		p.b.transpose().mul(n, k, alpha, a, across, beta, c, 1)
	default:
		p.scale(beta)
		p.compute()
	}
	return true
}

// loops is gemm for tiny matrices, entry by entry: a product would take longer to set up.
func loops[F tile.Float](tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	rowsA, columnsA, downA, acrossA := m, k, lda, 1
	if tA != blas.NoTrans {
		rowsA, columnsA, downA, acrossA = k, m, 1, lda
	}
	rowsB, columnsB, downB, acrossB := k, n, ldb, 1
	if tB != blas.NoTrans {
		rowsB, columnsB, downB, acrossB = n, k, 1, ldb
	}
	if !vectorized() || min(m, n, k) <= 0 || alpha == 0 || !known(tA) || !known(tB) ||
		!inside(a, rowsA, columnsA, lda) || !inside(b, rowsB, columnsB, ldb) || !inside(c, m, n, ldc) {
		return false
	}
	for i := range m {
		row := c[i*ldc:][:n]
		for j := range row {
			sum, left, right := F(0), i*downA, j*acrossB
			for range k {
				sum += a[left] * b[right]
				left += acrossA
				right += downB
			}
			if sum *= alpha; beta != 0 {
				sum += beta * row[j]
			}
			row[j] = sum
		}
	}
	return true
}

// mul computes y = alpha op(M) x + beta y, for op(M) of m rows and n columns.
func (f factor[F]) mul(m, n int, alpha F, x []F, incX int, beta F, y []F, incY int) {
	t := blas.NoTrans
	if f.transposed {
		t, m, n = blas.Trans, n, m
	}
	gemv(t, m, n, alpha, f.data, f.stride, x, incX, beta, y, incY)
}

// rankK computes a triangle of C = alpha op(A) op(B)' + beta C, which is Dsyrk and Ssyrk for B = A, and half
// of Dsyr2k.
func rankK[F tile.Float](ul blas.Uplo, t blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	p := product[F]{
		a: factor[F]{a, lda, t != blas.NoTrans}, b: factor[F]{b, ldb, t == blas.NoTrans},
		m: n, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: ul,
	}
	if ul != blas.Upper && ul != blas.Lower || !known(t) || !p.fits() {
		return false
	}
	p.scale(beta)
	p.compute()
	return true
}

// trsm is Dtrsm and Strsm, or, to multiply, Dtrmm and Strmm.
func trsm[F tile.Float](multiply bool, s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha F, a []F, lda int, b []F, ldb int) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	if s != blas.Left && s != blas.Right || ul != blas.Upper && ul != blas.Lower || !known(t) || d != blas.Unit && d != blas.NonUnit ||
		m <= 0 || n <= 0 || alpha == 0 || !vectorized() || !inside(a, order, order, lda) || !inside(b, m, n, ldb) {
		return false
	}
	p := product[F]{m: m, n: n, alpha: alpha, part: blas.All, c: b, ldc: ldb}
	p.scale(alpha)
	if s == blas.Left && n == 1 && ldb == 1 && !multiply && kind[F]() == 0 {
		Implementation{}.Dtrsv(ul, t, d, m, as[float64](a), lda, as[float64](b), 1)
		return true
	}
	sys := system[F]{
		a: factor[F]{a, lda, t != blas.NoTrans}, right: s == blas.Right, lower: (ul == blas.Lower) == (t == blas.NoTrans),
		unit: d == blas.Unit, multiply: multiply,
	}
	sys.compute(0, order, m+n-order, b, ldb)
	return true
}

// symm is Dsymm and Ssymm.
func symm[F tile.Float](s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	if s != blas.Left && s != blas.Right || ul != blas.Upper && ul != blas.Lower || m <= 0 || n <= 0 ||
		alpha == 0 || !vectorized() || !inside(a, order, order, lda) || !inside(b, m, n, ldb) || !inside(c, m, n, ldc) {
		return false
	}
	stride := rowStride(order)
	memory := borrow[F](order * stride)
	defer giveBack(memory)
	whole, stored := factor[F]{*memory, stride, false}, product[F]{n: order, part: ul}
	// Both triangles are transposed, and the one that is stored is copied over its half.
	tile.Transpose(whole.data, stride, a, lda, order, order)
	for i := range order {
		from, to := stored.span(i)
		copy(whole.data[i*stride+from:], a[i*lda+from:i*lda+to])
	}
	p := product[F]{a: whole, b: factor[F]{b, ldb, false}, m: m, n: n, k: order, alpha: alpha, part: blas.All, c: c, ldc: ldc}
	if s == blas.Right {
		p.a, p.b = p.b, p.a
	}
	p.scale(beta)
	p.compute()
	return true
}
