package blas

import (
	"math/cmplx"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// timesRounded returns the product of two complex numbers, whose four real products are rounded before they
// are added.
func timesRounded(a, b complex128) complex128 {
	re := float64(real(a)*real(b)) - float64(imag(a)*imag(b))
	im := float64(real(a)*imag(b)) + float64(imag(a)*real(b))
	return complex(re, im)
}

// timesSingles returns the product of two numbers as Go computes it: in float64, where the four real products
// are exact.
func timesSingles(a, b complex64) complex64 {
	ar, ai, br, bi := float64(real(a)), float64(imag(a)), float64(real(b)), float64(imag(b))
	return complex(float32(float64(ar*br)-float64(ai*bi)), float32(float64(ar*bi)+float64(ai*br)))
}

// addPairs adds the products of re + i im and n complex numbers x to y, from some places on; incX, incY and
// the places count complex numbers.
func addPairs[F tile.Float](n int, re, im F, x []F, at, incX int, y []F, to, incY int) {
	for range n {
		xr, xi := x[2*at], x[2*at+1]
		y[2*to] += F(re*xr) - F(im*xi)
		y[2*to+1] += F(im*xr) + F(re*xi)
		at += incX
		to += incY
	}
}

// Zgemm computes C = alpha op(A) op(B) + beta C.
func (o ordered) Zgemm(
	tA, tB blas.Transpose, m, n, k int, alpha complex128, a []complex128, lda int, b []complex128, ldb int,
	beta complex128, c []complex128, ldc int,
) {
	rowsA, columnsA := opShape(tA, m, k)
	rowsB, columnsB := opShape(tB, k, n)
	valid := known(tA) && known(tB) && min(m, n, k) > 0 && alpha != 0 && insidePairs(doubles(a), rowsA, columnsA, lda)
	if !valid || !insidePairs(doubles(b), rowsB, columnsB, ldb) || !insidePairs(doubles(c), m, n, ldc) {
		o.Implementation.Zgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	for i := range m {
		row := c[i*ldc:][:n]
		if tA != blas.NoTrans {
			for j := range row {
				var sum complex128
				for l := range k {
					sum += timesRounded(entryOf(tA, a, lda, i, l), entryOf(tB, b, ldb, l, j))
				}
				old := row[j]
				row[j] = timesRounded(alpha, sum)
				if beta != 0 {
					row[j] += timesRounded(beta, old)
				}
			}
			continue
		}
		for j := range row {
			switch beta {
			case 0:
				row[j] = 0
			case 1:
			default:
				row[j] = timesRounded(row[j], beta)
			}
		}
		for l := range k {
			by := timesRounded(alpha, a[i*lda+l])
			for j := range row {
				row[j] += timesRounded(by, entryOf(tB, b, ldb, l, j))
			}
		}
	}
}

// entryOf returns entry (i, j) of op(A).
func entryOf(t blas.Transpose, a []complex128, lda, i, j int) complex128 {
	switch t {
	case blas.NoTrans:
		return a[i*lda+j]
	case blas.Trans:
		return a[j*lda+i]
	}
	return cmplx.Conj(a[j*lda+i])
}

// Zgemv computes y = alpha op(A) x + beta y.
func (o ordered) Zgemv(
	tA blas.Transpose, m, n int, alpha complex128, a []complex128, lda int, x []complex128, incX int,
	beta complex128, y []complex128, incY int,
) {
	lenX, lenY := n, m
	if tA != blas.NoTrans {
		lenX, lenY = m, n
	}
	valid := known(tA) && min(m, n) > 0 && alpha != 0 && insidePairs(doubles(a), m, n, lda)
	if !valid || !holdsPairs(doubles(x), lenX, incX) || !holdsPairs(doubles(y), lenY, incY) {
		o.Implementation.Zgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	first, to := firstEntry(lenX, incX), firstEntry(lenY, incY)
	for k, at := 0, to; k < lenY && beta != 1; k, at = k+1, at+incY {
		if beta == 0 {
			y[at] = 0
		} else {
			y[at] = timesRounded(beta, y[at])
		}
	}
	for i := range m {
		row := a[i*lda:][:n]
		if tA == blas.NoTrans {
			y[to+i*incY] += timesRounded(alpha, dotOfPairs(row, x, first, incX))
			continue
		}
		by, at := timesRounded(alpha, x[first+i*incX]), to
		for _, v := range row {
			if tA == blas.ConjTrans {
				v = cmplx.Conj(v)
			}
			y[at] += timesRounded(by, v)
			at += incY
		}
	}
}

// dotOfPairs returns the product of a row and the entries of x from a place on, as two sums of every second
// product; the last entries, fewer than four, belong to one.
func dotOfPairs(row, x []complex128, at, inc int) complex128 {
	var even, odd complex128
	for k, v := range row {
		if k == len(row)&^3 {
			even += odd
			odd = 0
		}
		product := timesRounded(v, x[at])
		if k%2 == 1 && k < len(row)&^3 {
			odd += product
		} else {
			even += product
		}
		at += inc
	}
	return even + odd
}

// Zgeru computes A += alpha x y'.
func (o ordered) Zgeru(
	m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	valid := min(m, n) > 0 && alpha != 0 && insidePairs(doubles(a), m, n, lda)
	if !valid || !holdsPairs(doubles(x), m, incX) || !holdsPairs(doubles(y), n, incY) {
		o.Implementation.Zgeru(m, n, alpha, x, incX, y, incY, a, lda)
		return
	}
	at := firstEntry(m, incX)
	for i := range m {
		if x[at] != 0 {
			by := timesRounded(alpha, x[at])
			addPairs(n, real(by), imag(by), doubles(y), firstEntry(n, incY), incY, doubles(a), i*lda, 1)
		}
		at += incX
	}
}

// Zgerc computes A += alpha x y*.
func (o ordered) Zgerc(
	m, n int, alpha complex128, x []complex128, incX int, y []complex128, incY int, a []complex128, lda int,
) {
	valid := min(m, n) > 0 && alpha != 0 && insidePairs(doubles(a), m, n, lda)
	if !valid || !holdsPairs(doubles(x), m, incX) || !holdsPairs(doubles(y), n, incY) {
		o.Implementation.Zgerc(m, n, alpha, x, incX, y, incY, a, lda)
		return
	}
	at := firstEntry(n, incY)
	for j := range n {
		if y[at] != 0 {
			by := timesRounded(alpha, cmplx.Conj(y[at]))
			addPairs(m, real(by), imag(by), doubles(x), firstEntry(m, incX), incX, doubles(a), j, lda)
		}
		at += incY
	}
}

// Cgeru is Zgeru in complex64. Go computes products of complex64 in float64, where no product is rounded.
func (o ordered) Cgeru(
	m, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int,
) {
	valid := min(m, n) > 0 && alpha != 0 && insidePairs(singles(a), m, n, lda)
	if !valid || !holdsPairs(singles(x), m, incX) || !holdsPairs(singles(y), n, incY) {
		o.Implementation.Cgeru(m, n, alpha, x, incX, y, incY, a, lda)
		return
	}
	at := firstEntry(m, incX)
	for i := range m {
		if x[at] != 0 {
			by := timesSingles(alpha, x[at])
			addPairs(n, real(by), imag(by), singles(y), firstEntry(n, incY), incY, singles(a), i*lda, 1)
		}
		at += incX
	}
}

// Cgerc is Zgerc in complex64.
func (o ordered) Cgerc(
	m, n int, alpha complex64, x []complex64, incX int, y []complex64, incY int, a []complex64, lda int,
) {
	valid := min(m, n) > 0 && alpha != 0 && insidePairs(singles(a), m, n, lda)
	if !valid || !holdsPairs(singles(x), m, incX) || !holdsPairs(singles(y), n, incY) {
		o.Implementation.Cgerc(m, n, alpha, x, incX, y, incY, a, lda)
		return
	}
	at := firstEntry(n, incY)
	for j := range n {
		if y[at] != 0 {
			by := timesSingles(alpha, complex(real(y[at]), -imag(y[at])))
			addPairs(m, real(by), imag(by), singles(x), firstEntry(m, incX), incX, singles(a), j, lda)
		}
		at += incY
	}
}

// Cgemv is Zgemv in complex64, for the transpose of A; see Cgeru.
func (o ordered) Cgemv(
	tA blas.Transpose, m, n int, alpha complex64, a []complex64, lda int, x []complex64, incX int,
	beta complex64, y []complex64, incY int,
) {
	valid := tA == blas.Trans && min(m, n) > 0 && alpha != 0 && insidePairs(singles(a), m, n, lda)
	if !valid || !holdsPairs(singles(x), m, incX) || !holdsPairs(singles(y), n, incY) {
		o.Implementation.Cgemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	at, to := firstEntry(m, incX), firstEntry(n, incY)
	for k := range n {
		switch beta {
		case 0:
			y[to+k*incY] = 0
		case 1:
		default:
			y[to+k*incY] = timesSingles(y[to+k*incY], beta)
		}
	}
	for i := range m {
		by := timesSingles(alpha, x[at])
		addPairs(n, real(by), imag(by), singles(a), i*lda, 1, singles(y), to, incY)
		at += incX
	}
}
