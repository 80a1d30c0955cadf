package kernel

import (
	"unsafe"

	"github.com/difalt/difalt/kernel/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// samples is a run of n consecutive rows of packed tasks in either storage.
type samples struct {
	storage      Storage
	x64          []float64
	x32          []float32
	n, d, stride int

	// Where mulBasis, the least squares and mulTransposed prefetch from, 0 for nothing.
	basisNext, solveNext, gradientNext uintptr
}

// samples returns the rows of a task.
func (t *Tasks) samples(task, r int) samples {
	return t.slice(task, 0, t.rows[task], r)
}

// slice returns rows lo to hi of a task, to be multiplied by a basis of rank r.
func (t *Tasks) slice(task, lo, hi, r int) samples {
	s := samples{storage: t.storage, n: hi - lo, d: t.d, stride: t.stride}
	if s.n == 0 {
		return s
	}
	at := (t.first[task] + lo) * t.stride
	var here uintptr
	if t.storage == Float32 {
		s.x32 = t.x32[at:]
		here = uintptr(unsafe.Pointer(&s.x32[0]))
	} else {
		s.x64 = t.x64[at:]
		here = uintptr(unsafe.Pointer(&s.x64[0]))
	}
	row := uintptr(t.stride * t.storage.size()) // bytes
	end := here + uintptr(s.n)*row
	next := end
	if hi == t.rows[task] && task+1 < len(t.first) {
		next += uintptr(t.first[task+1]-t.first[task]-hi) * row
	}
	s.prefetch(end, next, r)
	return s
}

// resident is how many bytes a task may have to stay in the second-level cache from
// mulBasis to mulTransposed, beside what is asked for of the next: three quarters of
// that cache, or of 1 MiB if the processor does not tell its size.
var resident = residentIn(cpuid.CPU.Cache.L2)

func residentIn(l2 int) uintptr {
	if l2 <= 0 {
		l2 = 1 << 20
	}
	return uintptr(l2) / 4 * 3
}

// prefetch decides what to ask for while these rows are worked on, which end at the
// first address and are followed by those at the second: the same one, or behind rows of
// other parts. Rows are used twice, for X U and for X'e, and should come from memory
// once, while something else is computed. So memory is asked for at an even pace: of a
// small task, exactly the rows that come next, so that all of them are there when their
// turn comes; of a larger one, a window that runs ahead of the reading; and of one that
// fills the cache by itself nothing, which the processor does better, unless the rows
// are long and the basis packed.
func (s *samples) prefetch(end, next uintptr, r int) {
	row := s.stride * s.storage.size()
	bytes := uintptr(s.n * row)
	packed := tile.Packed(r) > 0
	switch {
	case packed && tile.LongRows(tile.Pad(s.d)*s.storage.size()):
		s.basisNext = next
		return
	case bytes > resident:
		return
	}
	asked := bytes // beside X U, of it so much for what comes after these rows:
	if !packed {
		asked = bytes / 8 * uintptr(tile.Ahead(r))
	}
	lead := min(tile.Window, asked)
	s.basisNext = next
	if lead < asked {
		s.basisNext = end + lead - asked // the rest is the end of these rows
	}
	if asked < bytes/8*8 {
		s.solveNext = next + lead
		s.gradientNext = s.solveNext + uintptr(tile.SolveAhead(s.n, r))
	}
}

// mulBasis computes ws.a = X U for the basis that ws.load has prepared.
func (s *samples) mulBasis(ws *Workspace, u *Basis) {
	if s.storage == Float32 {
		mulBasis(s, s.x32, ws, u)
	} else {
		mulBasis(s, s.x64, ws, u)
	}
}

func mulBasis[F tile.Float](s *samples, x []F, ws *Workspace, u *Basis) {
	k, next := ws.packed, s.basisNext
	if k > 0 {
		tile.MulPacked(ws.a, ws.lda, x, s.stride, ws.p, s.n, s.d, k, next)
		next = 0
	}
	if k < u.r {
		tile.MulBasis(ws.a[k*ws.lda:], ws.lda, x, s.stride, u.data[k*u.stride:], u.stride, s.n, s.d, u.r-k, next)
	}
}

// mulTransposed computes v = X' e.
func (s *samples) mulTransposed(v, e []float64) {
	if s.storage == Float32 {
		tile.MulTransposed(v, s.x32, s.stride, e, s.n, s.d, s.gradientNext)
	} else {
		tile.MulTransposed(v, s.x64, s.stride, e, s.n, s.d, s.gradientNext)
	}
}
