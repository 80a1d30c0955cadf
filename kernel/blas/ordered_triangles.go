package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dtrsv solves op(A) x = b for a triangular A.
func (o ordered) Dtrsv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64,
	incX int) {
	if !orderedTriangle(ul, tA, d, n, a, lda, x, incX) {
		o.Implementation.Dtrsv(ul, tA, d, n, a, lda, x, incX)
		return
	}
	orderedSystem(ul, tA, d, n, a, lda, x, incX)
}

// Strsv is Dtrsv in float32.
func (o ordered) Strsv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32,
	incX int) {
	if !orderedTriangle(ul, tA, d, n, a, lda, x, incX) {
		o.Implementation.Strsv(ul, tA, d, n, a, lda, x, incX)
		return
	}
	orderedSystem(ul, tA, d, n, a, lda, x, incX)
}

// orderedSystem is Dtrsv or Strsv.
func orderedSystem[F tile.Float](ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []F, lda int, x []F, incX int) {
	first := firstEntry(n, incX)
	for step := range n {
		i := step
		if (ul == blas.Upper) == (tA == blas.NoTrans) { // the last entry first
			i = n - 1 - step
		}
		// The entries beside the diagonal, and theirs of x.
		own, beside, at := first+i*incX, a[i*lda:][:i], first
		if ul == blas.Upper {
			beside, at = a[i*lda+i+1:][:n-i-1], own+incX
		}
		if tA == blas.NoTrans {
			sum := F(0)
			for _, v := range beside {
				sum += F(x[at] * v)
				at += incX
			}
			x[own] -= sum
		}
		if d == blas.NonUnit {
			x[own] /= a[i*lda+i]
		}
		if tA != blas.NoTrans {
			by := x[own]
			for _, v := range beside {
				x[at] -= F(v * by)
				at += incX
			}
		}
	}
}

// orderedTriangle reports whether the arguments of Dtrsv or Dtrmv are right.
func orderedTriangle[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []F, lda int, x []F, incX int,
) bool {
	diagonal := d == blas.Unit || d == blas.NonUnit
	return isTriangle(ul) && known(tA) && diagonal && n > 0 && inside(a, n, n, lda) && holds(x, n, incX)
}

// Dtrmv computes x = op(A) x for a triangular A.
func (o ordered) Dtrmv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float64, lda int, x []float64,
	incX int) {
	if !orderedTriangle(ul, tA, d, n, a, lda, x, incX) || n == 1 {
		o.Implementation.Dtrmv(ul, tA, d, n, a, lda, x, incX)
		return
	}
	first := firstEntry(n, incX)
	for step := range n {
		i := step
		if (ul == blas.Upper) != (tA == blas.NoTrans) { // the last entry first
			i = n - 1 - step
		}
		own, beside, at := first+i*incX, a[i*lda:][:i], first
		if ul == blas.Upper {
			beside, at = a[i*lda+i+1:][:n-i-1], own+incX
		}
		if tA != blas.NoTrans {
			addRounded(len(beside), x[own], beside, 0, 1, x, at, incX)
		}
		if d == blas.NonUnit {
			x[own] *= a[i*lda+i]
		}
		switch {
		case tA != blas.NoTrans:
		case incX == 1:
			x[own] += tile.Dot(beside, x[at:])
		default:
			x[own] += dotInTwo(len(beside), x, at, incX, beside, 0, 1)
		}
	}
}

// Strmv is Dtrmv in float32, for a transposed matrix: gonum's inner products of others depend on addresses.
func (o ordered) Strmv(ul blas.Uplo, tA blas.Transpose, d blas.Diag, n int, a []float32, lda int, x []float32,
	incX int) {
	if !orderedTriangle(ul, tA, d, n, a, lda, x, incX) || tA == blas.NoTrans {
		o.Implementation.Strmv(ul, tA, d, n, a, lda, x, incX)
		return
	}
	first := firstEntry(n, incX)
	for step := range n {
		i := step
		if ul == blas.Upper { // the last entry first
			i = n - 1 - step
		}
		own, beside, at := first+i*incX, a[i*lda:][:i], first
		if ul == blas.Upper {
			beside, at = a[i*lda+i+1:][:n-i-1], own+incX
		}
		for _, v := range beside {
			x[at] += float32(x[own] * v)
			at += incX
		}
		if d == blas.NonUnit {
			x[own] *= a[i*lda+i]
		}
	}
}

// Dtrsm solves op(A) X = alpha B for a triangular A.
func (o ordered) Dtrsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	if !orderedRows(false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		o.Implementation.Dtrsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strsm is Dtrsm in float32.
func (o ordered) Strsm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int,
	b []float32, ldb int,
) {
	if !orderedRows(false, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		o.Implementation.Strsm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Dtrmm computes B = alpha op(A) B for a triangular A.
func (o ordered) Dtrmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int,
	b []float64, ldb int,
) {
	if !orderedRows(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		o.Implementation.Dtrmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// Strmm is Dtrmm in float32.
func (o ordered) Strmm(
	s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float32, a []float32, lda int,
	b []float32, ldb int,
) {
	if !orderedRows(true, s, ul, tA, d, m, n, alpha, a, lda, b, ldb) {
		o.Implementation.Strmm(s, ul, tA, d, m, n, alpha, a, lda, b, ldb)
	}
}

// orderedRows solves a system of a triangle on the left or, to multiply, computes a product, and returns
// true; or it returns false where gonum does, and for arguments that are wrong. It adds multiples of rows.
func orderedRows[F tile.Float](
	multiply bool, s blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha F, a []F, lda int,
	b []F, ldb int,
) bool {
	if s != blas.Left || !areForms(s, ul, tA, d) || min(m, n) <= 0 || alpha == 0 ||
		!areInside(s, m, n, a, lda, b, ldb) {
		return false
	}
	row := func(i int) []F { return b[i*ldb:][:n] }
	scale := func(by F, i int) {
		for k, v := range row(i) {
			row(i)[k] = by * v
		}
	}
	for step := range m {
		i := step
		if (ul == blas.Upper) == (tA == blas.NoTrans) != multiply { // the last row first
			i = m - 1 - step
		}
		pivot, inverse := F(1), F(1)
		if d == blas.NonUnit {
			pivot, inverse = a[i*lda+i], 1/a[i*lda+i]
		}
		from, beside := 0, a[i*lda:][:i]
		if ul == blas.Upper {
			from, beside = i+1, a[i*lda+i+1:][:m-i-1]
		}
		add := func(by F) {
			for k, v := range beside {
				to, of := row(i), row(from+k)
				if tA != blas.NoTrans {
					to, of = of, to
				}
				if v == 0 {
					continue
				}
				for j, w := range of {
					to[j] += F(F(by*v) * w)
				}
			}
		}
		switch {
		case multiply && tA == blas.NoTrans:
			scale(alpha*pivot, i)
			add(alpha)
		case multiply:
			add(alpha)
			scale(alpha*pivot, i)
		case tA == blas.NoTrans:
			scale(alpha, i)
			add(-1)
			scale(inverse, i)
		default:
			scale(inverse, i)
			add(-1)
			scale(alpha, i)
		}
	}
	return true
}
