package kernel

import (
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"github.com/klauspost/cpuid/v2"
)

// samples is a run of n consecutive rows of packed tasks in either storage.
type samples struct {
	storage      Storage
	x64          []float64
	x32          []float32
	n, d, stride int

	here, gap uintptr // the address of the first row, and what lies between the last one and the next task
	hints
}

// hints are what is prefetched during X U, the least squares and X'e; see prefetch.
type hints struct {
	basisNext, gradientNext tile.Hint
	solveNext               uintptr
}

// take makes s the rows of a task; see slice.
func (s *samples) take(t *Tasks, task, r int, by *tile.Schedule) {
	t.ahead(task)
	s.slice(t, task, 0, t.rows[task], r, by)
}

// slice makes s rows lo to hi of a task, to be multiplied by a basis of rank r. What it
// prefetches goes by a schedule, or by the usual one if that is nil. s is new, or was rows of the
// same tasks with the same rank and schedule before.
func (s *samples) slice(t *Tasks, task, lo, hi, r int, by *tile.Schedule) {
	n, gap := hi-lo, uintptr(0)
	row := uintptr(t.stride * t.storage.size()) // bytes
	if hi == t.rows[task] && task+1 < len(t.first) {
		gap = uintptr(t.first[task+1]-t.first[task]-hi) * row
	}
	alike := n == s.n && gap == s.gap
	s.storage, s.n, s.d, s.stride, s.gap = t.storage, n, t.d, t.stride, gap
	if n == 0 {
		s.hints = hints{}
		return
	}
	at, before := (t.first[task]+lo)*t.stride, s.here
	if t.storage == Float32 {
		s.x32 = t.x32[at:]
		s.here = uintptr(unsafe.Pointer(&s.x32[0]))
	} else {
		s.x64 = t.x64[at:]
		s.here = uintptr(unsafe.Pointer(&s.x64[0]))
	}
	if alike {
		s.hints.move(s.here - before)
		return
	}
	if by != nil && by.Near == 0 && n*int(row) > resident && t.Bytes()/len(t.rows) <= resident {
		by = nil // what is fastest was measured on smaller tasks
	}
	end := s.here + uintptr(n)*row
	s.prefetch(end, end+gap, r, by)
}

// move makes hints for rows those for as many rows that lie so many bytes further on. To make
// them anew takes 1.004 to 1.014 times the step of a task of 25 x 128.
func (h *hints) move(by uintptr) {
	if h.basisNext.Next != 0 {
		h.basisNext.Next += by
	}
	if h.solveNext != 0 {
		h.solveNext += by
		h.gradientNext.Next += by
	}
}

// resident is the size in bytes up to which a task stays in the second-level cache from
// its first use, X U, to its second, X'e, while the next task is prefetched into the
// same cache: three quarters of it, or of 1 MiB if the processor does not tell its size.
var resident = residentIn(cpuid.CPU.Cache.L2)

func residentIn(l2 int) int {
	if l2 <= 0 {
		l2 = 1 << 20
	}
	return l2 / 4 * 3
}

// prefetch sets what the tiles prefetch while they work on these rows: during X U, the
// least squares, and X'e. The rows end at address end, and those of the next task start
// at next: at the same place, unless these are parts of larger tasks.
//
// Every row is used twice, but should come from memory once, and while something is
// computed that needs no memory. So the tiles prefetch one task ahead, each its share by
// the schedule. If the share of X U is more than the schedule's Ahead, it prefetches the
// last of its own rows first, and then the next ones; but not where X U does not take its
// rows one after the other.
func (s *samples) prefetch(end, next uintptr, r int, by *tile.Schedule) {
	bytes := s.n * s.stride * s.storage.size()
	s.hints = hints{}
	if by == nil {
		by = tile.Usual(bytes, s.storage.size(), resident, s.d, r)
	}
	s.basisNext.Schedule = by
	switch {
	case by.None:
		return
	case by.Near > 0:
		s.basisNext.Next = next
		return
	}
	packed, window := tile.Packed(s.d, r) > 0, by.Ahead
	if !packed && tile.Blocked(s.n, tile.Pad(s.d), s.storage.size()) {
		window = bytes
	}
	s.hints = ahead(end, next, bytes, window, s.n, r, by.Eighths(r, packed), by)
}

// ahead returns the hints for a task of n rows and so many bytes, of which some eighths are
// prefetched in X U, so many bytes ahead of their use at most.
func ahead(end, next uintptr, bytes, window, n, r, eighths int, by *tile.Schedule) hints {
	share := bytes / 8 * eighths // of X U
	lead := min(window, share)   // how much of it belongs to the next task
	h := hints{basisNext: tile.Hint{Next: next, Eighths: eighths, Schedule: by}}
	if lead < share {
		h.basisNext.Next = end + uintptr(lead) - uintptr(share)
	}
	if eighths < 8 {
		h.solveNext = next + uintptr(lead)
		h.gradientNext = tile.Hint{Next: h.solveNext + uintptr(tile.SolveAhead(n, r)), Eighths: 8 - eighths, Schedule: by}
	}
	return h
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
	k, h := ws.packed.columns, s.basisNext
	if k > 0 {
		tile.MulPacked(ws.a, ws.lda, x, s.stride, ws.packed.p, s.n, s.d, k, h)
		h.Next = 0
	}
	if k < u.r {
		tile.MulBasis(ws.a[k*ws.lda:], ws.lda, x, s.stride, u.data[k*u.stride:], u.stride, s.n, s.d, u.r-k, h)
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
