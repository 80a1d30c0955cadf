package kernel

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// samples are consecutive rows of packed tasks in either storage.
type samples struct {
	storage      Storage
	x64          []float64
	x32          []float32
	n, d, stride int
	hints
}

// hints are the memory to prefetch during X U, the least squares and X'e; see prefetch.
type hints struct {
	basisNext, gradientNext tile.Hint
	solveNext               uintptr
}

// take makes s rows lo to hi of a task, to be multiplied by a basis of rank r. It prefetches the next ones,
// of this task or of the next one, unless they are cached.
func (s *samples) take(t *Tasks, task, lo, hi, r int, cached bool) {
	first, next, row := t.first[task]+lo, t.first[task]+hi, t.stride*t.storage.size()
	if hi == t.rows[task] && task+1 < len(t.first) {
		next = t.first[task+1]
	}
	s.storage, s.n, s.d, s.stride, s.hints = t.storage, hi-lo, t.d, t.stride, hints{}
	if lo == hi {
		return
	}
	var here unsafe.Pointer
	if t.storage == Float32 {
		s.x32 = t.x32[first*t.stride:]
		here = unsafe.Pointer(&s.x32[0])
	} else {
		s.x64 = t.x64[first*t.stride:]
		here = unsafe.Pointer(&s.x64[0])
	}
	if !cached {
		s.prefetch(uintptr(here)+uintptr(s.n*row), uintptr(here)+uintptr((next-first)*row), r)
	}
}

// resident is the largest size of a task, in bytes, that stays in the second-level cache from X U to X'e
// while the next task is prefetched into the same cache: three quarters of that cache, or of 1 MiB if the
// processor does not report its size.
var resident = residentIn(cpuid.CPU.Cache.L2)

func residentIn(l2 int) int {
	if l2 <= 0 {
		l2 = 1 << 20
	}
	return l2 / 4 * 3
}

// alone reports whether the processor's own prefetching is the fastest for tasks that are not resident: those
// are read from memory twice. Steps on 400 x 600 took 1.01 to 1.29 times as long with prefetches on Ice
// Lake, and .61 to .99 on Zen 4.
var alone = cpuid.CPU.VendorID != cpuid.AMD

// prefetch sets the memory to prefetch while the tiles work on these rows: during X U, the least squares and
// X'e. The rows end at address end, and those of the next task start at address next: the same, unless these
// are parts of larger tasks.
//
// Every row is used twice, but should come from memory once, and while something is computed that needs no
// memory. So the tiles prefetch one task ahead, each its share. If the share of X U is more than a window, it
// prefetches the last of its own rows first, and then the next ones; but not where X U does not take its rows
// one after the other.
func (s *samples) prefetch(end, next uintptr, r int) {
	size := s.storage.size()
	bytes, window, packed := s.n*s.stride*size, tile.Window, tile.Packed(s.d, r, size) > 0
	switch {
	case packed && tile.Near(s.d):
		s.basisNext.Next = next
		return
	case bytes > resident && alone:
		return
	case !packed && tile.Blocked(s.n, tile.Pad(s.d), r, size):
		window = bytes
	}
	eighths := tile.Eighths(r, packed)
	share := bytes / 8 * eighths // of X U
	lead := min(window, share)   // how much of it belongs to the next task
	s.basisNext = tile.Hint{Next: next, Eighths: eighths}
	if lead < share {
		s.basisNext.Next = end + uintptr(lead) - uintptr(share)
	}
	if eighths < 8 {
		s.solveNext = next + uintptr(lead)
		s.gradientNext = tile.Hint{Next: s.solveNext + uintptr(tile.SolveAhead(s.n, r)), Eighths: 8 - eighths}
	}
}

// mulBasis computes a = X U, with columns lda apart, for the basis that ws.load has prepared.
func (s *samples) mulBasis(a []float64, lda int, ws *Workspace, u *Basis) {
	k, h := ws.packed.columns, s.basisNext
	if s.storage == Float32 { // its bases are not packed
		tile.MulBasis(a, lda, s.x32, s.stride, u.data, u.stride, s.n, s.d, u.r, h)
		return
	}
	if k > 0 {
		tile.MulPacked(a, lda, s.x64, s.stride, ws.packed.p, s.n, s.d, k, h)
		h.Next = 0
	}
	if k < u.r {
		tile.MulBasis(a[k*lda:], lda, s.x64, s.stride, u.data[k*u.stride:], u.stride, s.n, s.d, u.r-k, h)
	}
}

// mulTransposed computes v = X' e.
func (s *samples) mulTransposed(v, e []float64) {
	if s.storage == Float32 {
		tile.MulTransposed(v, s.x32, s.stride, e, len(e), s.d, s.gradientNext)
	} else {
		tile.MulTransposed(v, s.x64, s.stride, e, len(e), s.d, s.gradientNext)
	}
}
