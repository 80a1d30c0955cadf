package kernel

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// samples are consecutive rows of a task in either storage.
type samples struct {
	storage      Storage
	x64          []float64
	x32          []float32
	n, d, stride int
	ahead        tile.PrefetchPlan // while the tiles compute with these rows
}

// take sets s to rows lo to hi of a task, with an empty plan. A result in place of s would be copied, which
// takes 20 ns.
func (s *samples) take(t *Tasks, task, lo, hi int) {
	s.storage, s.n, s.d, s.stride, s.ahead = t.storage, hi-lo, t.d, t.stride, tile.PrefetchPlan{}
	at := (t.first[task] + lo) * t.stride
	switch {
	case lo == hi: // the last row of a View may end before the next row would begin
	case t.storage == Float32:
		s.x32 = t.x32[at:]
	default:
		s.x64 = t.x64[at:]
	}
}

// address returns where the first row starts.
func (s *samples) address() uintptr {
	if s.storage == Float32 {
		return uintptr(unsafe.Pointer(unsafe.SliceData(s.x32)))
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(s.x64)))
}

// mulBasis computes A = X U, where k holds the columns of u that Workspace.load has packed.
func (s *samples) mulBasis(a *blas64.GeneralCols, u *Basis, k *packedBasis) {
	if s.storage == Float32 { // its bases are not packed
		tile.MulBasis(a.Data, a.Stride, s.x32, s.stride, u.data, u.stride, s.n, s.d, u.r, &s.ahead)
		return
	}
	packed, ahead := k.columns, &s.ahead
	if packed > 0 {
		tile.MulPacked(a.Data, a.Stride, s.x64, s.stride, k.p, s.n, s.d, packed, ahead)
		ahead = nil
	}
	if packed < u.r {
		rest, columns := a.Data[packed*a.Stride:], u.data[packed*u.stride:]
		tile.MulBasis(rest, a.Stride, s.x64, s.stride, columns, u.stride, s.n, s.d, u.r-packed, ahead)
	}
}

// mulTransposed computes v = X' e.
func (s *samples) mulTransposed(v, e []float64) {
	if s.storage == Float32 {
		tile.MulTransposed(v, s.x32, s.stride, e, len(e), s.d, &s.ahead)
	} else {
		tile.MulTransposed(v, s.x64, s.stride, e, len(e), s.d, &s.ahead)
	}
}
