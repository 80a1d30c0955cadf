// Package blas is a BLAS and LAPACK for gonum, computed by the tiles of the CPU tier in use: products, triangular
// systems, condition estimates and eigenvectors of matrices of any size. Use registers it for the whole program, so
// package mat and everything above it computes with the tiles.
//
// Package gorgonia.org/tensor has a registration of its own: tensor.Use(blas.Implementation{}).
package blas

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	reference "gonum.org/v1/gonum/blas/gonum"
	lapackreference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Use has gonum's blas64 and lapack64, and so package mat, compute with the tiles from now on, in the whole
// program.
func Use() {
	blas64.Use(Implementation{})
	lapack64.Use(Lapack{})
}

// An Implementation is gonum's blas.Float64, with products of matrices, and systems of triangular ones, by the tiles. It passes
// gonum's own suites (TestSuitesOfGonum).
// Matrices are stored by rows there. Arguments, results and panics are gonum's, but for
//
//   - rounding, by the order of sums, which depends on nothing but shapes: not on the number of threads, which share large products as gonum's do;
//   - products of zero by infinity or NaN, which are NaN as in other BLAS;
//   - Dsyrk with beta = 0, which overwrites NaN in C, as BLAS says, where gonum keeps it;
//   - infinite alpha, which is multiplied into a factor: a sum of +Inf and -Inf is NaN then.
//
// Calls on one thread do not allocate once memory for blocks has been set aside.
type Implementation struct{ reference.Implementation }

// worthwhile is the number of multiplications from which on the tiles are faster than what gonum does with smaller matrices.
const worthwhile = 256

// inside reports whether a matrix stored by rows is.
func inside(data []float64, rows, columns, stride int) bool {
	return stride >= max(1, columns) && (rows == 0 || len(data) >= (rows-1)*stride+columns)
}

func known(t blas.Transpose) bool { return t == blas.NoTrans || t == blas.Trans || t == blas.ConjTrans }

// fits reports whether the shapes of a product are what they have to be.
func (p *product) fits() bool {
	ra, ca := p.m, p.k
	if p.a.transposed {
		ra, ca = ca, ra
	}
	rb, cb := p.k, p.n
	if p.b.transposed {
		rb, cb = cb, rb
	}
	return p.m > 0 && p.n > 0 && p.k > 0 && p.m*p.n*p.k >= worthwhile && p.alpha != 0 &&
		inside(p.a.data, ra, ca, p.a.stride) && inside(p.b.data, rb, cb, p.b.stride) && inside(p.c, p.m, p.n, p.ldc)
}

// Dgemm computes C = alpha op(A) op(B) + beta C.
func (i Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	p := product{
		a: factor{a, lda, tA != blas.NoTrans}, b: factor{b, ldb, tB != blas.NoTrans},
		m: m, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: blas.All,
	}
	if !known(tA) || !known(tB) || !p.fits() {
		i.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	p.scale(beta)
	p.compute()
}

// Dsyrk computes a triangle of C = alpha op(A) op(A)' + beta C.
func (i Implementation) Dsyrk(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	p := product{
		a: factor{a, lda, t != blas.NoTrans}, b: factor{a, lda, t == blas.NoTrans},
		m: n, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: ul,
	}
	if ul != blas.Upper && ul != blas.Lower || !known(t) || !p.fits() {
		i.Implementation.Dsyrk(ul, t, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	p.scale(beta)
	p.compute()
}

// Dsyr2k computes a triangle of C = alpha op(A) op(B)' + alpha op(B) op(A)' + beta C.
func (i Implementation) Dsyr2k(ul blas.Uplo, t blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	p := product{
		a: factor{a, lda, t != blas.NoTrans}, b: factor{b, ldb, t == blas.NoTrans},
		m: n, n: n, k: k, alpha: alpha, c: c, ldc: ldc, part: ul,
	}
	if ul != blas.Upper && ul != blas.Lower || !known(t) || !p.fits() {
		i.Implementation.Dsyr2k(ul, t, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	p.scale(beta)
	p.compute()
	p.a, p.b, p.set = factor{b, ldb, t != blas.NoTrans}, factor{a, lda, t == blas.NoTrans}, false
	p.compute()
}

// Dtrsm solves op(A) X = alpha B, or X op(A) = alpha B, for a triangular A, and leaves X in B.
func (i Implementation) Dtrsm(s blas.Side, ul blas.Uplo, t blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	order := m
	if s == blas.Right {
		order = n
	}
	if s != blas.Left && s != blas.Right || ul != blas.Upper && ul != blas.Lower || !known(t) || d != blas.Unit && d != blas.NonUnit ||
		m <= 0 || n <= 0 || order <= smallTriangle || alpha == 0 || !inside(a, order, order, lda) || !inside(b, m, n, ldb) {
		i.Implementation.Dtrsm(s, ul, t, d, m, n, alpha, a, lda, b, ldb)
		return
	}
	p := product{m: m, n: n, alpha: alpha, part: blas.All, c: b, ldc: ldb}
	p.scale(alpha)
	p.set = false
	sys := system{
		side: s, ul: ul, diag: d, a: factor{a, lda, t != blas.NoTrans},
		right: s == blas.Right, lower: (ul == blas.Lower) == (t == blas.NoTrans),
	}
	sys.solve(0, order, m+n-order, b, ldb)
}

// Lapack is gonum's lapack.Float64 with eigenvectors by the tiles, and with estimates of condition numbers, which
// package mat requests for every solution, by Dtrsv in place of the scaled Dlatrs wherever no number overflows.
type Lapack struct{ lapackreference.Implementation }
