// Package blas provides the few dense operations of which the kernel is made, with
// shapes checked. The fused tiles compute them, in every build: where OpenBLAS is
// faster, package kernel leaves it whole tasks.
//
// Matrices are stored by columns. The destination comes first, as in gonum: Mul
// overwrites it, and AddMul adds to it. The letters at the end say of each factor
// whether it is taken as it is (N) or transposed (T), as in BLASFEO.
//
// Vectors of features are padded: a matrix that is said to be padded has columns of
// Pad(Rows) entries, the last of which are zero; they are read and written as if they
// were data. Samples X are such a matrix, stored by rows: to this package they are X'.
//
// Arguments must not overlap unless a comment says that they may. All functions
// panic with a constant message when a shape does not fit. None allocates.
//
// For programs that compute with gonum, Implementation and Lapack are gonum's BLAS and LAPACK with the same tiles below: blocked
// products, triangular systems and eigenvectors of matrices of any size, stored by rows as there.
package blas

import (
	"unsafe"

	"github.com/difalt/difalt/kernel/internal/tile"
)

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

// MulTN computes dst = A'B for padded a and b.
func MulTN(dst, a, b ColumnMajor) { MulTNAhead(dst, a, b, nil) }

// MulTNAhead is MulTN, and asks memory meanwhile for next, which is used after it; see ahead.
func MulTNAhead(dst, a, b ColumnMajor, next []float64) {
	fit(a.Rows == b.Rows && dst.Rows == a.Cols && dst.Cols == b.Cols)
	a.check(Pad(a.Rows))
	b.check(Pad(b.Rows))
	dst.check(dst.Rows)
	if dst.Rows == 0 || dst.Cols == 0 {
		return
	}
	tile.MulBasis(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, dst.Rows, a.Rows, dst.Cols, ahead(a, dst.Cols, next))
}

// mostAhead is up to how many bytes of a matrix are read as fast as memory gives them only if it is
// asked ahead: the columns of larger ones are long enough for the processor to follow.
const mostAhead = 128 << 10

// ahead says that next is used after a product of a with so many columns: about as many bytes of it
// as a has come to the second-level cache meanwhile. No bit depends on it.
func ahead(a ColumnMajor, columns int, next []float64) tile.Hint {
	bytes := 8 * a.Cols * a.Stride
	if len(next) == 0 || bytes > mostAhead {
		return tile.Hint{}
	}
	return tile.Hint{Next: uintptr(unsafe.Pointer(&next[0])), Eighths: 8, Schedule: tile.Usual(bytes, 8, bytes, a.Rows, columns)}
}

// AddMulNT computes dst += A B' for padded dst and a.
func AddMulNT(dst, a, b ColumnMajor) {
	fit(dst.Rows == a.Rows && dst.Cols == b.Rows && a.Cols == b.Cols)
	a.check(Pad(a.Rows))
	b.check(b.Rows)
	dst.check(Pad(dst.Rows))
	tile.RankUpdate(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Cols, a.Rows, dst.Cols)
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

// MulVec computes dst = A x for padded a; dst gets Pad(a.Rows) entries.
func MulVec(dst []float64, a ColumnMajor, x []float64) { MulVecAhead(dst, a, x, nil) }

// MulVecAhead is MulVec, and asks memory meanwhile for next, as MulTNAhead does.
func MulVecAhead(dst []float64, a ColumnMajor, x, next []float64) {
	a.check(Pad(a.Rows))
	if len(x) < a.Cols || len(dst) < Pad(a.Rows) {
		panic(shortVector)
	}
	tile.MulTransposed(dst, a.Data, a.Stride, x, a.Cols, a.Rows, ahead(a, 1, next))
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
// in this order and with every operation rounded: all tiers have the same bits. a is padded;
// dst gets Pad(a.Rows) entries.
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
func Dot(x, y []float64) float64 { return tile.Dot(x, y) }

// Axpy computes y += alpha x; y needs as many entries as x.
func Axpy(alpha float64, x, y []float64) {
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
