// Package dense computes products of small dense matrices that are stored by columns, with shapes checked, by
// the tiles of the CPU tier in use.
//
// The destination comes first: Mul overwrites it, and AddMul adds to it. The letters at the end of a name
// mark each factor as plain (N) or transposed (T). Samples X, which are stored by rows, are the matrix X'
// here. Products are fastest where the number of rows is a multiple of 8: a caller that pads columns with
// zeros may count the padding (Pad).
//
// Arguments must not overlap unless a comment permits it. Every function panics with a constant message when
// a shape does not fit. None allocates.
package dense

import (
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// Pad returns the length of a vector of d entries with its padding.
func Pad(d int) int { return tile.Pad(d) }

// Stride returns the recommended stride of vectors of d entries: at least
// Pad(d), and no multiple of 4096 bytes.
func Stride(d int) int { return tile.Stride(d) }

// check panics unless a has columns of the given number of entries.
func check(a blas64.GeneralCols, rows int) {
	if a.Rows < 0 || a.Cols < 0 {
		panic(negative)
	}
	if a.Stride < max(1, rows) {
		panic(badStride)
	}
	if a.Cols > 0 && len(a.Data) < (a.Cols-1)*a.Stride+rows {
		panic(shortMatrix)
	}
}

func fit(ok bool) {
	if !ok {
		panic(badShape)
	}
}

// whole returns the number of rows of a that the tiles take. The others, fewer than 8, are added one by one.
func whole(a blas64.GeneralCols) int { return a.Rows &^ (tile.Width - 1) }

// column returns rows from row i on of column j.
func column(a blas64.GeneralCols, i, j int) []float64 { return a.Data[j*a.Stride+i:][:a.Rows-i] }

// MulTN computes dst = A'B.
func MulTN(dst, a, b blas64.GeneralCols) {
	fit(a.Rows == b.Rows && dst.Rows == a.Cols && dst.Cols == b.Cols)
	check(a, a.Rows)
	check(b, b.Rows)
	check(dst, dst.Rows)
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	full := whole(a)
	tile.MulBasis(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, dst.Rows, full, dst.Cols, tile.Hint{})
	for j := 0; j < dst.Cols && full < a.Rows; j++ {
		for i := range dst.Rows {
			dst.Data[j*dst.Stride+i] += tile.Dot(column(a, full, i), column(b, full, j))
		}
	}
}

// AddMulNT computes dst += A B'.
func AddMulNT(dst, a, b blas64.GeneralCols) {
	fit(dst.Rows == a.Rows && dst.Cols == b.Rows && a.Cols == b.Cols)
	check(a, a.Rows)
	check(b, b.Rows)
	check(dst, dst.Rows)
	full := whole(a)
	if full > 0 {
		tile.RankUpdate(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Cols, full, dst.Cols)
	}
	for t := 0; t < a.Cols && full < a.Rows; t++ {
		for j := range dst.Cols {
			Axpy(b.Data[t*b.Stride+j], column(a, full, t), column(dst, full, j))
		}
	}
}

// MulNN computes dst = A B.
func MulNN(dst, a, b blas64.GeneralCols) {
	fit(dst.Rows == a.Rows && dst.Cols == b.Cols && a.Cols == b.Rows)
	check(a, a.Rows)
	check(b, b.Rows)
	check(dst, dst.Rows)
	if dst.Rows < tile.PackWidth || a.Cols == 0 {
		for j := range dst.Cols {
			c := dst.Data[j*dst.Stride:][:dst.Rows]
			clear(c)
			for k, v := range b.Data[j*b.Stride:][:b.Rows] {
				Axpy(v, a.Data[k*a.Stride:][:len(c)], c)
			}
		}
		return
	}
	for k := 0; k < dst.Rows && dst.Cols > 0; k += tile.PackWidth {
		k := min(k, dst.Rows-tile.PackWidth) // the last rows once more, if some are left over
		tile.Panel(dst.Data[k:], dst.Stride, b.Data, b.Stride, a.Data[k:], a.Stride, dst.Cols, a.Cols, tile.PackWidth, false)
	}
}

// Residual computes e = A x - y and returns e'e. e and y may be the same slice.
func Residual(e []float64, a blas64.GeneralCols, x, y []float64) float64 {
	check(a, a.Rows)
	if len(x) < a.Cols || len(y) < a.Rows || len(e) < a.Rows {
		panic(shortVector)
	}
	return tile.Residual(e, a.Data, a.Stride, x, y, a.Rows, a.Cols)
}

// SumDifferences computes the weighted sum over some columns of a of how they differ from
// column own,
//
//	dst = sum_i w[i] (a_columns[i] - a_own),
//
// in this order and with every operation rounded: all tiers have the same bits. Columns of a and dst have
// Pad(a.Rows) entries, which count as rows.
func SumDifferences(dst []float64, a blas64.GeneralCols, own int, columns []int, w []float64) {
	check(a, Pad(a.Rows))
	fit(uint(own) < uint(a.Cols))
	for _, c := range columns {
		fit(uint(c) < uint(a.Cols))
	}
	if len(w) < len(columns) || len(dst) < Pad(a.Rows) {
		panic(shortVector)
	}
	tile.SumDifferences(dst, a.Data, a.Stride, own, columns, w, a.Rows)
}

// Dot returns x'y, as four sums that are added in the end; y needs as many entries as x.
func Dot(x, y []float64) float64 {
	if len(y) < len(x) {
		panic(shortVector)
	}
	return tile.Dot(x, y)
}

// Axpy computes y += alpha x; y needs as many entries as x.
func Axpy(alpha float64, x, y []float64) {
	if len(y) < len(x) {
		panic(shortVector)
	}
	y = y[:len(x)]
	for i, v := range x {
		y[i] += alpha * v
	}
}

// Panic messages, checked in this order: shapes, then strides, then lengths.
const (
	badShape = "dense: shapes do not fit"
	negative = "dense: negative number of rows or columns"

	badStride   = "dense: stride too small"
	shortMatrix = "dense: matrix slice too short"
	shortVector = "dense: vector slice too short"
)
