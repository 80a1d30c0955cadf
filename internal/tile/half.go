package tile

import "math"

// Samples of 16 bits (IEEE 754 binary16, "half") are a copy of samples with a scale for every feature. They
// are multiplied in float32. Their rows, and the columns and vectors of float32 that go with them, are padded
// with zeros to a multiple of HalfWidth. No entry is infinite or NaN.
//
// Tiers compute the same to rounding, not bit by bit: an entry
// of MulBasisHalf and of MulTransposedHalf is within n eps sum |x||y| of the exact one, for
// n terms and the eps of float32. Halve has the same bits everywhere.

// HalfWidth is the number of features that the tiles for samples of 16 bits take at a
// time.
const HalfWidth = 16

// PadHalf returns the smallest multiple of HalfWidth that is at least n.
func PadHalf(n int) int { return (n + HalfWidth - 1) &^ (HalfWidth - 1) }

// StrideHalf returns the stride for vectors of n entries of the given size, 2 or 4 bytes:
// PadHalf(n) and, as for Stride, a cache line more instead of a multiple of 4096 bytes.
func StrideHalf(n, size int) int {
	s := PadHalf(n)
	if s > 0 && s*size%4096 == 0 {
		s += 64 / size
	}
	return s
}

// HalfMax is the largest number of 16 bits.
const HalfMax = 65504

// MulBasisHalf computes A = A0 + X U; see mulBasisHalfGeneric. h is as for MulBasis.
func MulBasisHalf(a []float64, lda int, a0 []float64, lda0 int, x []uint16, ldx int, u []float32, ldu int, n, d, r int, h Hint) {
	raceRead(x, n, PadHalf(d), ldx)
	raceRead(u, r, PadHalf(d), ldu)
	raceRead(a0, r, n, lda0)
	raceWrite(a, r, n, lda)
	mulBasisHalf(a, lda, a0, lda0, x, ldx, u, ldu, n, d, r, h)
}

// MulTransposedHalf computes g = X' e; see mulTransposedHalfGeneric. h is as for
// MulBasis.
func MulTransposedHalf(g []float32, x []uint16, ldx int, e []float32, n, d int, h Hint) {
	raceRead(x, n, PadHalf(d), ldx)
	raceRead(e, 1, n, 0)
	raceWrite(g, 1, PadHalf(d), 0)
	mulTransposedHalf(g, x, ldx, e, n, d, h)
}

// AddScaled computes v = w + s g; see addScaledGeneric.
func AddScaled(v, w, s []float64, g []float32, n int) {
	raceRead(w, 1, Pad(n), 0)
	raceRead(s, 1, Pad(n), 0)
	raceRead(g, 1, Pad(n), 0)
	raceWrite(v, 1, Pad(n), 0)
	addScaled(v, w, s, g, n)
}

// Halve converts n features of a row to 16 bits; see halveGeneric.
func Halve[F Float](dst []uint16, x []F, c, s []float64, n int) float64 {
	raceRead(x, 1, Pad(n), 0)
	raceRead(c, 1, Pad(n), 0)
	raceRead(s, 1, Pad(n), 0)
	raceWrite(dst, 1, Pad(n), 0)
	return halve(dst, x, c, s, n)
}

// mulBasisHalfGeneric computes A = A0 + X U, with the products and their sums in float32:
//
//	a[j*lda+i] = a0[j*lda0+i] + sum_k x[i*ldx+k] * u[j*ldu+k],  i < n, j < r, k < PadHalf(d).
func mulBasisHalfGeneric(a []float64, lda int, a0 []float64, lda0 int, x []uint16, ldx int, u []float32, ldu int, n, d, r int) {
	d = PadHalf(d)
	for i := range n {
		row := x[i*ldx:][:d]
		for j := range r {
			col := u[j*ldu:][:d]
			var s0, s1, s2, s3 float32
			for k := 0; k < len(row); k += 4 {
				s0 += fromHalf(row[k]) * col[k]
				s1 += fromHalf(row[k+1]) * col[k+1]
				s2 += fromHalf(row[k+2]) * col[k+2]
				s3 += fromHalf(row[k+3]) * col[k+3]
			}
			a[j*lda+i] = a0[j*lda0+i] + float64((s0+s2)+(s1+s3))
		}
	}
}

// mulTransposedHalfGeneric computes g = X' e in float32:
//
//	g[k] = sum_i x[i*ldx+k] * e[i],  i < n, k < PadHalf(d).
func mulTransposedHalfGeneric(g []float32, x []uint16, ldx int, e []float32, n, d int) {
	g = g[:PadHalf(d)]
	clear(g)
	for i := range n {
		ei := e[i]
		for k, v := range x[i*ldx:][:len(g)] {
			g[k] += fromHalf(v) * ei
		}
	}
}

// addScaledGeneric computes v[k] = w[k] + s[k]*g[k],  k < Pad(n). v may be w.
func addScaledGeneric(v, w, s []float64, g []float32, n int) {
	n = Pad(n)
	v, w, s, g = v[:n], w[:n], s[:n], g[:n]
	for k := range v {
		v[k] = w[k] + s[k]*float64(g[k])
	}
}

// halveGeneric converts a row of samples to 16 bits, rounded to float32 first and then
// to the nearest of them,
//
//	dst[k] = (x[k]-c[k]) * s[k],  k < Pad(n),
//
// and returns the sum of the squares of the converted numbers: if it is less than HalfMax squared, all of
// them were in range. The bits are the same on all tiers.
func halveGeneric[F Float](dst []uint16, x []F, c, s []float64, n int) float64 {
	sum := 0.0
	for k, v := range x[:Pad(n)] {
		w := (float64(v) - c[k]) * s[k]
		sum += w * w
		dst[k] = toHalf(float32(w))
	}
	return sum
}

// fromHalf returns the value of 16 bits. The exponents of binary16 and of float32 differ
// in their bias, which the product makes up for, also where numbers are denormal.
func fromHalf(h uint16) float32 {
	f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(f) | uint32(h&0x8000)<<16)
}

// toHalf returns the 16 bits nearest to a number, of two the even one; infinity above
// HalfMax, and NaN for NaN.
func toHalf(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	switch bits &= 0x7fffffff; {
	case bits > 0x7f800000:
		return sign | 0x7e00 | uint16(bits>>13&0x3ff)
	case bits >= 0x477ff000: // halfway from HalfMax to the next power of two
		return sign | 0x7c00
	case bits < 0x38800000: // denormal: adding 2^-1 leaves multiples of 2^-24 in the last bits
		return sign | uint16(math.Float32bits(math.Float32frombits(bits)+0.5)-0x3f000000)
	}
	bits += 0xfff + bits>>13&1
	return sign | uint16(bits>>13-(127-15)<<10)
}
