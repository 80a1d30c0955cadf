package kernel

import (
	"unsafe"

	"github.com/difalt/difalt/kernel/blas"
)

// samples is a run of n consecutive rows of packed tasks in either storage, with
// the address of the rows that come after it.
type samples struct {
	storage      Storage
	x64          []float64
	x32          []float32
	n, d, stride int
	next         uintptr
}

// samples returns the rows of a task; next is the first row of the task after it.
func (t *Tasks) samples(task int) samples {
	return t.slice(task, 0, t.rows[task])
}

// slice returns rows lo to hi of a task.
func (t *Tasks) slice(task, lo, hi int) samples {
	s := samples{storage: t.storage, n: hi - lo, d: t.d, stride: t.stride}
	at := (t.first[task] + lo) * t.stride
	after := 0 // nothing starts at row 0 after a task
	if task+1 < len(t.first) {
		after = t.first[task+1] * t.stride
	}
	if t.storage == Float32 {
		s.x32 = t.x32[at:]
		if after != 0 && after < len(t.x32) {
			s.next = uintptr(unsafe.Pointer(&t.x32[after]))
		}
		return s
	}
	s.x64 = t.x64[at:]
	if after != 0 && after < len(t.x64) {
		s.next = uintptr(unsafe.Pointer(&t.x64[after]))
	}
	return s
}

// mulBasis computes ws.a = X U.
func (s samples) mulBasis(ws *Workspace, u *Basis) {
	if s.storage == Float32 {
		blas.MulBasis32(ws.a, ws.lda, s.x32, s.stride, u.data, u.stride, s.n, s.d, u.r, s.next)
		return
	}
	blas.MulBasis(ws.a, ws.lda, s.x64, s.stride, u.data, u.stride, s.n, s.d, u.r, s.next)
}

// mulTransposed computes v = X' e.
func (s samples) mulTransposed(v, e []float64) {
	if s.storage == Float32 {
		blas.MulTransposed32(v, s.x32, s.stride, e, s.n, s.d, s.next)
		return
	}
	blas.MulTransposed(v, s.x64, s.stride, e, s.n, s.d, s.next)
}
