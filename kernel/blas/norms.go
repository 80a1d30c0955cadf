package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dlange returns a norm of an m x n matrix: the Frobenius norm as gonum does, which scales, where squares are
// not safe from overflow and underflow.
func (l Lapack) Dlange(norm lapack.MatrixNorm, m, n int, a []float64, lda int, work []float64) float64 {
	if m <= 0 || n <= 0 || !inside(a, m, n, lda) || norm == lapack.MaxColumnSum && len(work) < n {
		return l.Implementation.Dlange(norm, m, n, a, lda, work)
	}
	switch norm {
	case lapack.MaxAbs:
		return largest(m, n, a, lda)
	case lapack.MaxRowSum:
		norm := 0.0
		for i := range m {
			norm = max(norm, sumOfRow(a[i*lda:][:n]))
		}
		return norm
	case lapack.MaxColumnSum:
		sums := work[:n]
		clear(sums)
		for i := range m {
			tile.AddAbs(sums, a[i*lda:], n)
		}
		return tile.MaxAbs(sums)
	case lapack.Frobenius:
		squares := 0.0
		for i := range m {
			row := a[i*lda:][:n]
			squares += innerProduct(row, row)
		}
		if safeSquares(squares) {
			return math.Sqrt(squares)
		}
	}
	return l.Implementation.Dlange(norm, m, n, a, lda, work)
}

// largest returns the largest absolute value in a matrix, NaN if an entry is.
func largest(m, n int, a []float64, lda int) float64 {
	const sign = 1 << 63
	var m0, m1, m2, m3 uint64 // bits of sizes have the order of the numbers, and NaN is last
	for i := range m {
		row := a[i*lda:][:n]
		for ; len(row) >= 4; row = row[4:] {
			v := (*[4]float64)(row)
			m0 = max(m0, math.Float64bits(v[0])&^sign)
			m1 = max(m1, math.Float64bits(v[1])&^sign)
			m2 = max(m2, math.Float64bits(v[2])&^sign)
			m3 = max(m3, math.Float64bits(v[3])&^sign)
		}
		for _, v := range row {
			m0 = max(m0, math.Float64bits(v)&^sign)
		}
	}
	return math.Float64frombits(max(m0, m1, m2, m3))
}

// largestOfTriangle is largest for a triangle.
func largestOfTriangle(ul blas.Uplo, n int, a []float64, lda int) (size float64) {
	stored := product[float64]{n: n, part: ul}
	for i := range n {
		from, to := stored.span(i)
		size = max(size, largest(1, to-from, a[i*lda+from:], lda))
	}
	return size
}

// sumOfRow returns the sum of absolute values, by vectors if there are enough.
func sumOfRow(row []float64) float64 {
	if len(row) < dotLength/2 || !vectorized() {
		return sumOfSizes(row)
	}
	return absolutes(row)
}

// sumOfSizes returns the sum of absolute values.
func sumOfSizes(row []float64) float64 {
	var s0, s1, s2, s3 float64
	for ; len(row) >= 4; row = row[4:] {
		v := (*[4]float64)(row)
		s0 += math.Abs(v[0])
		s1 += math.Abs(v[1])
		s2 += math.Abs(v[2])
		s3 += math.Abs(v[3])
	}
	for _, v := range row {
		s0 += math.Abs(v)
	}
	return (s0 + s2) + (s1 + s3)
}
