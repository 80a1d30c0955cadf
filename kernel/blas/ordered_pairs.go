package blas

import (
	"math"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// This file has arithmetic of complex numbers with the bits that gonum's assembly for amd64 computes: see
// ordered. Go computes products of complex64 in float64, and that assembly in float32.

// A pair is a complex number with parts of type F, as it lies in memory.
type pair[F tile.Float] struct{ re, im F }

// pairs64 and pairs32 return complex numbers as pairs.
func pairs64(x []complex128) []pair[float64] {
	return unsafe.Slice((*pair[float64])(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

func pairs32(x []complex64) []pair[float32] {
	return unsafe.Slice((*pair[float32])(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// pair64 and pair32 return a complex number as a pair.
func pair64(v complex128) pair[float64] { return pair[float64]{real(v), imag(v)} }

func pair32(v complex64) pair[float32] { return pair[float32]{real(v), imag(v)} }

func (a pair[F]) number() complex128 { return complex(float64(a.re), float64(a.im)) }

// pairOf returns a complex number as a pair of type F.
func pairOf[F tile.Float](v complex128) pair[F] { return pair[F]{F(real(v)), F(imag(v))} }

func (a pair[F]) isZero() bool { return a.re == 0 && a.im == 0 }

func (a pair[F]) isOne() bool { return a.re == 1 && a.im == 0 }

func (a pair[F]) negative() pair[F] { return pair[F]{-a.re, -a.im} }

func (a pair[F]) plus(b pair[F]) pair[F] { return pair[F]{a.re + b.re, a.im + b.im} }

func (a pair[F]) minus(b pair[F]) pair[F] { return pair[F]{a.re - b.re, a.im - b.im} }

// conjugateIf returns the conjugate of a number, or the number.
func (a pair[F]) conjugateIf(on bool) pair[F] {
	if on {
		a.im = -a.im
	}
	return a
}

// times returns the product of two numbers as Go computes it.
func (a pair[F]) times(b pair[F]) pair[F] { return pairOf[F](timesRounded(a.number(), b.number())) }

// product returns the product of two numbers with its real products rounded to F.
func (a pair[F]) product(b pair[F]) pair[F] {
	return pair[F]{F(a.re*b.re) - F(a.im*b.im), F(a.re*b.im) + F(a.im*b.re)}
}

// over returns the quotient of two numbers as Go computes it on amd64, by Smith's method (Comm. ACM 5, 1962).
func (a pair[F]) over(b pair[F]) pair[F] {
	n, m := a.number(), b.number()
	re, im := real(m), imag(m)
	if !(math.Abs(re) >= math.Abs(im)) { // -i n over -i m
		n, re, im = complex(imag(n), -real(n)), im, -re
	}
	ratio := im / re
	denominator := re + float64(ratio*im)
	q := complex((real(n)+float64(imag(n)*ratio))/denominator, (imag(n)-float64(real(n)*ratio))/denominator)
	if real(q) != real(q) || imag(q) != imag(q) { // Go corrects infinities
		q = a.number() / m
	}
	return pairOf[F](q)
}

// scalePairsBy multiplies numbers by another one, unless this is one.
func scalePairsBy[F tile.Float](by pair[F], x []pair[F]) {
	if by.isOne() {
		return
	}
	for i, v := range x {
		x[i] = v.times(by)
	}
}

// addMultiple adds the products of by and numbers x to y.
func addMultiple[F tile.Float](by pair[F], x, y []pair[F]) {
	for i, v := range x {
		y[i] = y[i].plus(by.product(v))
	}
}

// pairReals returns complex numbers as pairs of reals.
func pairReals[F tile.Float](x []pair[F]) []F {
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// longDot is the least number of products in float32 whose sum the tiles add.
const longDot = 16

// dotInPairs returns the sum of products of x, or their conjugates, and y, as two sums of every second
// product. In float64 the last products, fewer than four, belong to one. In float32 gonum's assembly has
// orders that depend on addresses, and this is the order of all processors.
func dotInPairs[F tile.Float](conjugate bool, x, y []pair[F]) pair[F] {
	var sums [2]pair[F]
	inTwo := len(x)
	if kind[F]() == 0 {
		inTwo &^= 3
	} else if len(x) >= longDot {
		re, im := tile.DotComplex(pairReals(x), pairReals(y[:len(x)]), conjugate)
		return pair[F]{re, im}
	}
	for k, v := range x {
		if k == inTwo {
			sums[0], sums[1] = sums[0].plus(sums[1]), pair[F]{}
		}
		to := &sums[0]
		if k < inTwo {
			to = &sums[k%2]
		}
		*to = to.plus(v.conjugateIf(conjugate).product(y[k]))
	}
	return sums[0].plus(sums[1])
}
