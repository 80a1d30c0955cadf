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
	return vectorized() && p.m > 0 && p.n > 0 && p.k > 0 && p.m*p.n*p.k >= worthwhile && p.alpha != 0 &&
		inside(p.a.data, ra, ca, p.a.stride) && inside(p.b.data, rb, cb, p.b.stride) && inside(p.c, p.m, p.n, p.ldc)
}

// gemm is Dgemm and Sgemm.
func gemm[F tile.Float](tA, tB blas.Transpose, m, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	p := product[F]{
		a: factor[F]{a, lda, tA != blas.NoTrans}, b: factor[F]{b, ldb, tB != blas.NoTrans},
		m: m, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: blas.All,
	}
	if !known(tA) || !known(tB) || !p.fits() {
		return false
	}
	if p.thin() {
		p.dots(beta)
		return true
	}
	p.scale(beta)
	p.compute()
	return true
}

// thin reports whether products of rows are faster than panels: there is one row or column, or there are
// few and long sums, and both factors are stored along them.
func (p *product[F]) thin() bool {
	const few, long = 128, 64
	return p.m == 1 || p.n == 1 || p.m*p.n <= few && p.k >= long && !p.a.transposed && p.b.transposed
}

// dots computes the product, and beta C, as one of a matrix and a vector for each row, or for the only
// column.
func (p *product[F]) dots(beta F) {
	if p.n == 1 {
		inc := p.b.stride
		if p.b.transposed {
			inc = 1
		}
		p.a.mul(p.m, p.k, p.alpha, p.b.data, inc, beta, p.c, p.ldc)
		return
	}
	across, inc := p.b, 1
	if across.transposed = !across.transposed; p.a.transposed {
		inc = p.a.stride
	}
	for i := range p.m {
		across.mul(p.n, p.k, p.alpha, p.a.from(i, 0).data, inc, beta, p.c[i*p.ldc:], 1)
	}
}

// mul computes y = alpha op(M) x + beta y, for op(M) of m rows and n columns.
func (f factor[F]) mul(m, n int, alpha F, x []F, incX int, beta F, y []F, incY int) {
	t := blas.NoTrans
	if f.transposed {
		t, m, n = blas.Trans, n, m
	}
	gemv(t, m, n, alpha, f.data, f.stride, x, incX, beta, y, incY)
}

// syrk is Dsyrk and Ssyrk.
func syrk[F tile.Float](ul blas.Uplo, t blas.Transpose, n, k int, alpha F, a []F, lda int, beta F, c []F, ldc int) bool {
	p := product[F]{
		a: factor[F]{a, lda, t != blas.NoTrans}, b: factor[F]{a, lda, t == blas.NoTrans},
		m: n, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: ul,
	}
	if ul != blas.Upper && ul != blas.Lower || !known(t) || !p.fits() {
		return false
	}
	p.scale(beta)
	p.compute()
	return true
}

// syr2k is Dsyr2k and Ssyr2k.
func syr2k[F tile.Float](ul blas.Uplo, t blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int) bool {
	p := product[F]{
		a: factor[F]{a, lda, t != blas.NoTrans}, b: factor[F]{b, ldb, t == blas.NoTrans},
		m: n, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: ul,
	}
	if ul != blas.Upper && ul != blas.Lower || !known(t) || !p.fits() {
		return false
	}
	p.scale(beta)
	p.compute()
	p.a, p.b, p.set = factor[F]{b, ldb, t != blas.NoTrans}, factor[F]{a, lda, t == blas.NoTrans}, false
	p.compute()
	return true
}

// trsm is Dtrsm and Strsm, or, to multiply, Dtrmm and Strmm.
func trsm[F tile.Float](multiply bool, s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha F, a []F, lda int, b []F, ldb int) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	few := order < fewUnknowns || order <= smallTriangle && m+n-order < fewSides[F](s == blas.Right)
	if few || s != blas.Left && s != blas.Right || ul != blas.Upper && ul != blas.Lower || !known(t) || d != blas.Unit && d != blas.NonUnit ||
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
		side: s, ul: ul, diag: d, a: factor[F]{a, lda, t != blas.NoTrans},
		right: s == blas.Right, lower: (ul == blas.Lower) == (t == blas.NoTrans), multiply: multiply,
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
	if s != blas.Left && s != blas.Right || ul != blas.Upper && ul != blas.Lower || m <= 0 || n <= 0 || m*n*order < worthwhile ||
		alpha == 0 || !vectorized() || !inside(a, order, order, lda) || !inside(b, m, n, ldb) || !inside(c, m, n, ldc) {
		return false
	}
	p := product[F]{m: m, n: n, part: blas.All, c: c, ldc: ldc}
	if p.scale(beta); p.set {
		for i := range m {
			clear(c[i*ldc:][:n])
		}
	}
	sym := symmetric[F]{right: s == blas.Right, upper: ul == blas.Upper, a: a, lda: lda, alpha: alpha, ldb: ldb, ldc: ldc}
	sym.add(0, order, m+n-order, b, c)
	return true
}
