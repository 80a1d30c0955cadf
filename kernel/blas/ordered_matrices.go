package blas

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// Dger computes A += alpha x y'.
func (o ordered) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if !addOuterRounded(m, n, alpha, x, incX, y, incY, a, lda) {
		o.Implementation.Dger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// Sger is Dger in float32.
func (o ordered) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	if !addOuterRounded(m, n, alpha, x, incX, y, incY, a, lda) {
		o.Implementation.Sger(m, n, alpha, x, incX, y, incY, a, lda)
	}
}

// addOuterRounded computes Dger or Sger and returns true, or returns false where gonum computes it.
func addOuterRounded[F tile.Float](m, n int, alpha F, x []F, incX int, y []F, incY int, a []F, lda int) bool {
	if m <= 0 || n <= 0 || !inside(a, m, n, lda) || !holds(x, m, incX) || !holds(y, n, incY) || alpha == 0 {
		return false
	}
	at, with := firstEntry(m, incX), firstEntry(n, incY)
	for i := range m {
		addRounded(n, alpha*x[at], y, with, incY, a, i*lda, 1)
		at += incX
	}
	return true
}

// Dgemv computes y = alpha op(A) x + beta y.
func (o ordered) Dgemv(
	tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int,
) {
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	switch {
	case !known(tA) || m <= 0 || n <= 0 || alpha == 0 || !inside(a, m, n, lda) ||
		!holds(x, lenX, incX) ||
		!holds(y, lenY, incY):
		o.Implementation.Dgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	case tA == blas.NoTrans:
		rowsRounded(m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	to := firstEntry(n, incY)
	for k, at := 0, to; k < n; k, at = k+1, at+incY {
		if beta == 0 {
			y[at] = 0
		} else {
			y[at] *= beta
		}
	}
	at := firstEntry(m, incX)
	for i := range m {
		addRounded(n, alpha*x[at], a, i*lda, 1, y, to, incY)
		at += incX
	}
}

// rowsRounded computes y = alpha A x + beta y. The products of a row have two sums, of even and of odd
// entries. The last entry of an odd number comes after the sum of both. In the last row of an odd number of
// rows it comes before.
func rowsRounded(m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64,
	incY int) {
	to := firstEntry(m, incY)
	for i := range m {
		row, at := a[i*lda:][:n], firstEntry(n, incX)
		var even, odd float64
		for k := 0; k+2 <= n; k += 2 {
			even += float64(row[k] * x[at])
			odd += float64(row[k+1] * x[at+incX])
			at += 2 * incX
		}
		last := 0.0
		if n%2 == 1 {
			last = float64(row[n-1] * x[at])
		}
		sum := even + odd + last
		if i == m-1 && m%2 == 1 {
			sum = even + last + odd
		}
		old := y[to]
		if beta == 0 {
			old = 0
		}
		y[to] = float64(old*beta) + float64(alpha*sum)
		to += incY
	}
}

// Dsymv computes y = alpha A x + beta y for a symmetric A.
func (o ordered) Dsymv(
	ul blas.Uplo, n int, alpha float64, a []float64, lda int, x []float64, incX int,
	beta float64, y []float64, incY int,
) {
	if !orderedSymmetric(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		o.Implementation.Dsymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// Ssymv is Dsymv in float32.
func (o ordered) Ssymv(
	ul blas.Uplo, n int, alpha float32, a []float32, lda int, x []float32, incX int,
	beta float32, y []float32, incY int,
) {
	if !orderedSymmetric(ul, n, alpha, a, lda, x, incX, beta, y, incY) {
		o.Implementation.Ssymv(ul, n, alpha, a, lda, x, incX, beta, y, incY)
	}
}

// orderedSymmetric computes Dsymv or Ssymv and returns true, or returns false where gonum refuses or has
// nothing to add.
func orderedSymmetric[F tile.Float](
	ul blas.Uplo, n int, alpha F, a []F, lda int, x []F, incX int, beta F, y []F, incY int,
) bool {
	valid := isTriangle(ul) && n > 0 && inside(a, n, n, lda) && holds(x, n, incX) && holds(y, n, incY)
	if !valid || alpha == 0 {
		return false
	}
	firstX, firstY := firstEntry(n, incX), firstEntry(n, incY)
	for k, at := 0, firstY; k < n && beta != 1; k, at = k+1, at+incY {
		if beta == 0 {
			y[at] = 0
		} else {
			y[at] *= beta
		}
	}
	if n == 1 {
		y[0] += F(alpha * a[0] * x[0])
		return true
	}
	for i := range n {
		own := x[firstX+i*incX]
		by, diagonal, sum := own*alpha, F(own*a[i*lda+i]), F(0)
		beside, at, to := a[i*lda:][:i], firstX, firstY
		if ul == blas.Upper {
			beside, at, to = a[i*lda+i+1:][:n-i-1], firstX+(i+1)*incX, firstY+(i+1)*incY
			sum = diagonal
		}
		for _, v := range beside {
			sum += F(x[at] * v)
			y[to] += F(by * v)
			at += incX
			to += incY
		}
		if ul == blas.Lower {
			sum += diagonal
		}
		y[firstY+i*incY] += F(alpha * sum)
	}
	return true
}

// Dsyrk computes a triangle of C = alpha A A' + beta C, as the inner products of the rows of A.
func (o ordered) Dsyrk(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int,
) {
	valid := isTriangle(ul) && n > 0 && k > 0 && inside(a, n, k, lda) && inside(c, n, n, ldc)
	if !valid || tA != blas.NoTrans || alpha == 0 {
		o.Implementation.Dsyrk(ul, tA, n, k, alpha, a, lda, beta, c, ldc)
		return
	}
	p := product[float64]{n: n, part: ul}
	for i := range n {
		from, to := p.span(i)
		for j := from; j < to; j++ {
			sum := float64(alpha * tile.Dot(a[i*lda:][:k], a[j*lda:][:k]))
			if beta != 0 {
				sum += float64(c[i*ldc+j] * beta)
			}
			c[i*ldc+j] = sum
		}
	}
}

// Dsyr2k computes a triangle of C = alpha A B' + alpha B A' + beta C, as inner products of rows of A and B.
func (o ordered) Dsyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	if !addTwoRanksRounded(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		o.Implementation.Dsyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssyr2k is Dsyr2k in float32.
func (o ordered) Ssyr2k(
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if !addTwoRanksRounded(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc) {
		o.Implementation.Ssyr2k(ul, tA, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// addTwoRanksRounded computes Dsyr2k or Ssyr2k and returns true, or returns false where gonum computes it.
func addTwoRanksRounded[F tile.Float](
	ul blas.Uplo, tA blas.Transpose, n, k int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) bool {
	valid := isTriangle(ul) && n > 0 && k > 0 && inside(a, n, k, lda) && inside(b, n, k, ldb) && inside(c, n, n, ldc)
	if !valid || tA != blas.NoTrans || alpha == 0 {
		return false
	}
	p := product[F]{n: n, part: ul}
	for i := range n {
		from, to := p.span(i)
		for j := from; j < to; j++ {
			var first, second F
			for l, v := range a[j*lda:][:k] {
				first += F(v * b[i*ldb+l])
				second += F(a[i*lda+l] * b[j*ldb+l])
			}
			sum := F(alpha * (first + second))
			if beta != 0 {
				sum += F(c[i*ldc+j] * beta)
			}
			c[i*ldc+j] = sum
		}
	}
	return true
}

// Dsymm computes C = alpha A B + beta C or, with A on the right, C = alpha B A + beta C, for a symmetric A.
func (o ordered) Dsymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int,
	beta float64, c []float64, ldc int,
) {
	if !symmetricRounded(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		o.Implementation.Dsymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// Ssymm is Dsymm in float32.
func (o ordered) Ssymm(
	s blas.Side, ul blas.Uplo, m, n int, alpha float32, a []float32, lda int, b []float32, ldb int,
	beta float32, c []float32, ldc int,
) {
	if !symmetricRounded(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc) {
		o.Implementation.Ssymm(s, ul, m, n, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// symmetricRounded computes Dsymm or Ssymm and returns true, or returns false where gonum computes it.
func symmetricRounded[F tile.Float](
	s blas.Side, ul blas.Uplo, m, n int, alpha F, a []F, lda int, b []F, ldb int, beta F, c []F, ldc int,
) bool {
	order := m
	if s == blas.Right {
		order = n
	}
	valid := isSide(s) && isTriangle(ul) && m > 0 && n > 0 && inside(a, order, order, lda)
	if !valid || !inside(b, m, n, ldb) || !inside(c, m, n, ldc) || alpha == 0 {
		return false
	}
	for i := range m {
		row := c[i*ldc:][:n]
		if beta == 0 {
			clear(row)
		}
		if s == blas.Right {
			symmetricOnRight(ul, n, alpha, a, lda, b[i*ldb:][:n], beta, row)
			continue
		}
		by := alpha * a[i*lda+i]
		for j, v := range b[i*ldb:][:n] {
			row[j] = F(row[j]*beta) + F(by*v)
		}
		for k := range m {
			at := max(i, k)*lda + min(i, k)
			if ul == blas.Upper {
				at = min(i, k)*lda + max(i, k)
			}
			if k != i {
				addRounded(n, alpha*a[at], b, k*ldb, 1, row, 0, 1)
			}
		}
	}
	return true
}

// symmetricOnRight computes a row of alpha B A + beta C.
func symmetricOnRight[F tile.Float](ul blas.Uplo, n int, alpha F, a []F, lda int, b []F, beta F, c []F) {
	for step := range n {
		j := step
		if ul == blas.Upper {
			j = n - 1 - step
		}
		from, to := 0, j
		if ul == blas.Upper {
			from, to = j+1, n
		}
		by, sum := F(alpha*b[j]), F(0)
		for k := from; k < to; k++ {
			v := a[j*lda+k]
			c[k] += F(by * v)
			sum += F(b[k] * v)
		}
		c[j] = F(c[j]*beta) + (F(by*a[j*lda+j]) + F(alpha*sum))
	}
}
