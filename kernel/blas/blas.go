// Package blas provides the few dense operations of which the kernel is made, with
// shapes checked. The fused tiles compute them, in every build: where OpenBLAS is
// faster, package kernel leaves it whole tasks.
//
// Matrices are stored by columns. The destination comes first, as in gonum: Mul
// overwrites it, and AddMul adds to it. The letters at the end say of each factor
// whether it is taken as it is (N) or transposed (T), as in BLASFEO.
//
// Samples X are stored by rows: to this package they are the matrix X'. Products are fastest where the number of
// rows is a multiple of 8; a caller that pads columns with zeros may count the padding (Pad).
//
// Arguments must not overlap unless a comment says that they may. All functions
// panic with a constant message when a shape does not fit. None allocates.
//
// For programs that compute with gonum, Implementation and Lapack are gonum's BLAS and LAPACK with the same tiles below: blocked
// products, triangular systems, condition estimates and eigenvectors of matrices of any size, stored by rows as there. Use registers
// both. Package gorgonia.org/tensor has a registration of its own: tensor.Use(blas.Implementation{}).
package blas

import "github.com/difalt/difalt/kernel/internal/tile"

// Pad returns the number of entries to which a vector of d entries is padded.
func Pad(d int) int { return tile.Pad(d) }

// Stride returns the recommended stride of vectors of d entries: at least
// Pad(d), and no multiple of 4096 bytes.
func Stride(d int) int { return tile.Stride(d) }

// A ColumnMajor is a Rows x Cols matrix stored by columns: entry (i, j) is
// Data[j*Stride+i]. It is gonum's blas64.GeneralCols, and not its blas64.General: the
// memory of a matrix stored by rows is that of its transpose here.
type ColumnMajor struct {
	Rows, Cols, Stride int
	Data               []float64
}

// check panics unless a has columns of the given number of entries.
func (a ColumnMajor) check(rows int) {
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
func (a ColumnMajor) whole() int { return a.Rows &^ (tile.Width - 1) }

// column returns rows from row i on of column j.
func (a ColumnMajor) column(i, j int) []float64 { return a.Data[j*a.Stride+i:][:a.Rows-i] }

// MulTN computes dst = A'B.
func MulTN(dst, a, b ColumnMajor) {
	fit(a.Rows == b.Rows && dst.Rows == a.Cols && dst.Cols == b.Cols)
	a.check(a.Rows)
	b.check(b.Rows)
	dst.check(dst.Rows)
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	whole := a.whole()
	tile.MulBasis(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, dst.Rows, whole, dst.Cols, tile.Hint{})
	for j := 0; j < dst.Cols && whole < a.Rows; j++ {
		for i := range dst.Rows {
			dst.Data[j*dst.Stride+i] += tile.Dot(a.column(whole, i), b.column(whole, j))
		}
	}
}

// AddMulNT computes dst += A B'.
func AddMulNT(dst, a, b ColumnMajor) {
	fit(dst.Rows == a.Rows && dst.Cols == b.Rows && a.Cols == b.Cols)
	a.check(a.Rows)
	b.check(b.Rows)
	dst.check(dst.Rows)
	whole := a.whole()
	if whole > 0 {
		tile.RankUpdate(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Cols, whole, dst.Cols)
	}
	for t := 0; t < a.Cols && whole < a.Rows; t++ {
		for j := range dst.Cols {
			Axpy(b.Data[t*b.Stride+j], a.column(whole, t), dst.column(whole, j))
		}
	}
}

// MulNN computes dst = A B.
func MulNN(dst, a, b ColumnMajor) {
	fit(dst.Rows == a.Rows && dst.Cols == b.Cols && a.Cols == b.Rows)
	a.check(a.Rows)
	b.check(b.Rows)
	dst.check(dst.Rows)
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
		tile.Panel(dst.Data[k:], dst.Stride, b.Data, b.Stride, a.Data[k:], a.Stride, dst.Cols, a.Cols, false)
	}
}

// MulVec computes dst = A x; dst gets a.Rows entries.
func MulVec(dst []float64, a ColumnMajor, x []float64) {
	a.check(a.Rows)
	if len(x) < a.Cols || len(dst) < a.Rows {
		panic(shortVector)
	}
	whole := a.whole()
	if whole > 0 {
		tile.MulTransposed(dst, a.Data, a.Stride, x, a.Cols, whole, tile.Hint{})
	}
	rest := dst[whole:a.Rows]
	clear(rest)
	for j := 0; j < a.Cols && len(rest) > 0; j++ {
		Axpy(x[j], a.column(whole, j), rest)
	}
}

// Residual computes e = A x - y and returns e'e. e and y may be the same slice.
func Residual(e []float64, a ColumnMajor, x, y []float64) float64 {
	a.check(a.Rows)
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
func SumDifferences(dst []float64, a ColumnMajor, own int, columns []int, w []float64) {
	a.check(Pad(a.Rows))
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
	badShape = "blas: shapes do not fit"
	negative = "blas: negative number of rows or columns"

	badStride   = "blas: stride too small"
	shortMatrix = "blas: matrix slice too short"
	shortVector = "blas: vector slice too short"
)
