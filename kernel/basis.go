package kernel

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// A Basis is a d x r matrix stored by columns: the representation U of a node, or a gradient with respect to
// it. Zeros follow each column up to the column stride.
//
// A Basis belongs to its maker; no call of this package keeps a reference to it.
type Basis struct {
	d, r, stride int
	data         []float64
}

// maxNumbers is the largest number of float64 in one allocation. Sizes below it do not overflow.
const maxNumbers = math.MaxInt / 16

// NewBasis returns a zero d x r basis. It panics if d or r is not positive, or if their product is beyond the
// memory of any machine.
func NewBasis(d, r int) *Basis {
	if d <= 0 || r <= 0 {
		panic(badBasis)
	}
	if d > maxNumbers || r > maxNumbers/tile.Stride(d) {
		panic(tooLarge)
	}
	ld := tile.Stride(d)
	return &Basis{d: d, r: r, stride: ld, data: alignedFloat64(ld * r)}
}

// BasisOf returns a copy of m.
func BasisOf(m mat.Matrix) *Basis {
	if isNil(m) {
		panic(noMatrix)
	}
	d, r := m.Dims()
	u := NewBasis(d, r)
	for j := range r {
		mat.Col(u.Col(j), j, m)
	}
	return u
}

// isNil reports whether m is nil or a nil pointer to a matrix.
func isNil(m mat.Matrix) bool {
	v := reflect.ValueOf(m)
	return m == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// Dims returns the numbers of features d and columns r. With T and At it makes a Basis a mat.Matrix.
func (u *Basis) Dims() (d, r int) { return u.d, u.r }

// T returns the transpose, a *mat.Dense that aliases the basis.
func (u *Basis) T() mat.Matrix {
	var t mat.Dense
	t.SetRawMatrix(blas64.General{Rows: u.r, Cols: u.d, Stride: u.stride, Data: u.data})
	return &t
}

// Untranspose returns T. Package mat calls it, so that a product with a Basis takes no longer than with a
// mat.Dense.
func (u *Basis) Untranspose() mat.Matrix { return u.T() }

// At returns the entry in row i and column j. As in Set and Col, indices out of range panic.
func (u *Basis) At(i, j int) float64 { return u.Col(j)[i] }

// Set sets the entry in row i and column j to v.
func (u *Basis) Set(i, j int, v float64) { u.Col(j)[i] = v }

// Stride returns the distance between the starts of neighbouring columns in Data.
func (u *Basis) Stride() int { return u.stride }

// Col returns column j. The slice aliases the basis.
func (u *Basis) Col(j int) []float64 { return u.data[j*u.stride:][:u.d:u.d] }

// RawColView returns Col(j), by the name of mat.RawColViewer.
func (u *Basis) RawColView(j int) []float64 { return u.Col(j) }

// Data returns all r columns, each padded to Stride entries. The slice aliases the basis. The entries behind
// the d of a column are zero; a call that reads the basis first clears other numbers there.
func (u *Basis) Data() []float64 { return u.data }

// CopyFrom copies v, which must have the same dimensions.
func (u *Basis) CopyFrom(v *Basis) {
	if v == nil || u.d != v.d || u.r != v.r {
		panic(badBasis)
	}
	v.clearPadding()
	copy(u.data, v.data)
}

// Clone returns a copy of u.
func (u *Basis) Clone() *Basis {
	v := NewBasis(u.d, u.r)
	v.CopyFrom(u)
	return v
}

// Orthonormalize overwrites u by the factor Q of its thin QR factorisation u = Q R with positive diagonal
// (Alg. 3, line 14) and stores R in rr, R(i,j) = rr[j*r+i]. rr must have r*r entries and work qr.WorkLen(r);
// either is allocated if it is nil, and nothing otherwise. It requires d >= r.
func (u *Basis) Orthonormalize(rr, work []float64) {
	if u.d < u.r {
		panic(badBasis)
	}
	if rr == nil {
		rr = make([]float64, u.r*u.r)
	}
	u.clearPadding()
	qr.Factor(u.matrix(tile.Pad(u.d)), blas64.GeneralCols{Rows: u.r, Cols: u.r, Stride: u.r, Data: rr}, work)
	u.clearPadding() // where U has NaN, the padding of Q has it too
}

// matrix returns a view of the first rows of the basis: d, or tile.Pad(d) with zeros behind its columns.
func (u *Basis) matrix(rows int) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: u.r, Stride: u.stride, Data: u.data}
}

// clearPadding sets the entries behind every column to zero. It does not write zeros over zeros, so that
// goroutines may share a basis.
func (u *Basis) clearPadding() {
	for j := range u.r {
		padding := u.data[j*u.stride+u.d : (j+1)*u.stride]
		for i, v := range padding {
			if v != 0 {
				padding[i] = 0
			}
		}
	}
}

// alignedFloat64 returns n zeros whose first element starts a cache line. The runtime does not move heap
// objects, so the alignment lasts.
func alignedFloat64(n int) []float64 {
	const line = 64
	buf := make([]float64, n+line/8-1)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(buf))) % line / 8)
	adviseHugePages(buf)
	return buf[off : off+n : off+n]
}

// alignedFloat32 returns n zeros of float32 in the same way.
func alignedFloat32(n int) []float32 {
	buf := alignedFloat64((n + 1) / 2)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(buf))), n)
}
