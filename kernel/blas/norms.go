package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Dlange returns a norm of an m x n matrix: the Frobenius norm as gonum does, which scales, where squares are
// not safe from overflow and underflow.
func (*solvers) Dlange(norm lapack.MatrixNorm, m, n int, a []float64, lda int, work []float64) float64 {
	few := m*n < fewEntriesForNorms || norm == lapack.MaxColumnSum && n < fewColumnsForNorms
	if few || m <= 0 || n <= 0 || !inside(a, m, n, lda) || norm == lapack.MaxColumnSum && len(work) < n {
		return own.Implementation.Dlange(norm, m, n, a, lda, work)
	}
	switch norm {
	case lapack.MaxAbs:
		return largest(m, n, a, lda)
	case lapack.MaxRowSum:
		return largestSum(m, n, a, lda)
	case lapack.MaxColumnSum:
		sums := work[:n]
		clear(sums)
		for i := range m {
			addSizes(sums, a[i*lda:][:n])
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
	return own.Implementation.Dlange(norm, m, n, a, lda, work)
}

// Dlantr returns a norm of a trapezoid, a triangle of an m x n matrix; its diagonal is 1 if diag is Unit. The
// Frobenius norm is gonum's, which scales, where squares are not safe from overflow and underflow.
func (*solvers) Dlantr(
	norm lapack.MatrixNorm, ul blas.Uplo, diag blas.Diag, m, n int, a []float64, lda int, work []float64,
) float64 {
	if n < fewForNorms || norm == lapack.MaxRowSum && n < fewForRowSums {
		return own.Implementation.Dlantr(norm, ul, diag, m, n, a, lda, work)
	}
	columns, frobenius := norm == lapack.MaxColumnSum, norm == lapack.Frobenius
	known := columns && len(work) >= n || frobenius || norm == lapack.MaxRowSum || norm == lapack.MaxAbs
	valid := known && isTriangle(ul) && (diag == blas.Unit || diag == blas.NonUnit) && m > 0 && inside(a, m, n, lda)
	if !valid {
		return own.Implementation.Dlantr(norm, ul, diag, m, n, a, lda, work)
	}
	sums, size, squares := work, 0.0, 0.0
	if columns {
		sums = work[:n]
		clear(sums)
	}
	for i := range m {
		from, to := 0, min(i+1, n)
		if ul == blas.Upper {
			from, to = min(i, n), n
		}
		one := 0.0 // the entry of the diagonal, where memory holds another
		if diag == blas.Unit && i < n {
			one = 1
			if ul == blas.Upper {
				from++
			} else {
				to--
			}
		}
		row := a[i*lda+from : i*lda+to]
		switch {
		case columns:
			if addSizes(sums[from:], row); one != 0 {
				sums[i] += one
			}
		case frobenius:
			squares += innerProduct(row, row) + one
		case norm == lapack.MaxRowSum:
			size = max(size, sumOfRow(row)+one)
		default:
			size = max(size, largest(1, len(row), row, 0), one)
		}
	}
	switch {
	case columns:
		return tile.MaxAbs(sums)
	case !frobenius:
		return size
	case safeSquares(squares):
		return math.Sqrt(squares)
	}
	return own.Implementation.Dlantr(norm, ul, diag, m, n, a, lda, work)
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

// addSizes adds the absolute values of a row to sums: by vectors if there are enough.
func addSizes(sums, row []float64) {
	if len(row) >= sizesInLoops {
		tile.AddAbs(sums, row, len(row))
		return
	}
	sums = sums[:len(row)]
	for j, v := range row {
		sums[j] += math.Abs(v)
	}
}

// addSizesBoth is addSizes, and returns the sum of the absolute values too.
func addSizesBoth(sums, row []float64) (sum float64) {
	if len(row) >= sizesInLoops {
		return tile.AddAbs(sums, row, len(row))
	}
	sums = sums[:len(row)]
	for j, v := range row {
		v = math.Abs(v)
		sums[j] += v
		sum += v
	}
	return sum
}

// largestSum returns the largest sum of the absolute values of a row, NaN if an entry is. Few entries of a
// short row fill the vectors of absolutes: these sums are from tile.AddAbs, which adds to memory that nobody
// reads.
func largestSum(m, n int, a []float64, lda int) (size float64) {
	if n < sizesInLoops || n >= dotLength || !vectorized() {
		for i := range m {
			size = max(size, sumOfRow(a[i*lda:][:n]))
		}
		return size
	}
	var memory [dotLength]float64
	for i := range m {
		size = max(size, tile.AddAbs(memory[:], a[i*lda:][:n], n))
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
