package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// The operations of this file are those of BLAS for both types of numbers. They return false, and compute
// nothing, where gonum is faster or the arguments are for it to refuse.

// worthwhile is the least number of multiplications for which the tiles are faster than gonum.
const worthwhile = 256

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
	if m == 1 || n == 1 { // products of rows are faster than panels
		p.dots(beta)
		return true
	}
	p.scale(beta)
	p.compute()
	return true
}

// dots computes the product, and beta C, as one of a matrix and a vector.
func (p *product[F]) dots(beta F) {
	m, vector, from, inc := p.a, p.b, p.m, p.ldc
	if p.n > 1 {
		m, vector, from, inc = p.b.transpose(), p.a.transpose(), p.n, 1
	}
	step := vector.stride
	if vector.transposed {
		step = 1
	}
	m.mul(from, p.k, p.alpha, vector.data, step, beta, p.c, inc)
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
	p := product[F]{m: m, n: n, part: blas.All, c: c, ldc: ldc}
	p.scale(beta)
	memory := borrow[F](order * rowStride(order))
	defer giveBack(memory)
	p.a, p.b, p.k, p.alpha = factor[F]{b, ldb, false}, mirrored(*memory, ul, order, a, lda), order, alpha
	if s == blas.Left {
		p.a, p.b = p.b, p.a
	}
	p.compute()
	return true
}

// mirrored returns a copy of a symmetric matrix that has both triangles, where a has one.
func mirrored[F tile.Float](to []F, ul blas.Uplo, order int, a []F, lda int) factor[F] {
	stride := rowStride(order)
	for i := range order {
		from, end := 0, i+1
		if ul == blas.Upper {
			from, end = i, order
		}
		copy(to[i*stride+from:], a[i*lda+from:i*lda+end])
	}
	const block = 64 // rows and columns that stay in the first-level cache
	for row := 0; row < order; row += block {
		for column := 0; column <= row; column += block {
			for i := row; i < min(row+block, order); i++ {
				for j := column; j < min(column+block, i); j++ {
					if ul == blas.Lower {
						to[j*stride+i] = to[i*stride+j]
					} else {
						to[i*stride+j] = to[j*stride+i]
					}
				}
			}
		}
	}
	return factor[F]{to, stride, false}
}
