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

	here uintptr // the address of the first row
	gap  int     // rows between the last one and the next task
	tiny bool    // the rows are those of several tasks
	hints
}

// hints are the memory to prefetch during X U, the least squares and X'e; see prefetch.
type hints struct {
	basisNext, gradientNext tile.Hint
	solveNext               uintptr
}

// take makes s the rows of a number of consecutive tasks, from the given one on, to be multiplied by a basis
// of rank r. It prefetches by a schedule, or by the usual one if that is nil. s is new, or was rows of the
// same tasks with the same rank and schedule before.
func (s *samples) take(t *Tasks, task, tasks, r int, by *tile.Schedule) {
	last := task + tasks - 1
	n, gap := t.first[last]+t.rows[last]-t.first[task], 0
	if last+1 < len(t.first) {
		gap = t.first[last+1] - t.first[task] - n
	}
	s.load(t, t.first[task], n, gap, tasks > 1, r, by)
}

// slice makes s rows lo to hi of a task, like take.
func (s *samples) slice(t *Tasks, task, lo, hi, r int, by *tile.Schedule) {
	gap := 0
	if hi == t.rows[task] && task+1 < len(t.first) {
		gap = t.first[task+1] - t.first[task] - hi
	}
	s.load(t, t.first[task]+lo, hi-lo, gap, false, r, by)
}

// load makes s n rows of t, which belong to several tasks if tiny is set. The next rows are gap rows behind
// them.
func (s *samples) load(t *Tasks, first, n, gap int, tiny bool, r int, by *tile.Schedule) {
	row := uintptr(t.stride * t.storage.size()) // bytes
	alike := n == s.n && gap == s.gap && tiny == s.tiny
	s.storage, s.n, s.d, s.stride, s.gap, s.tiny = t.storage, n, t.d, t.stride, gap, tiny
	if n == 0 {
		s.hints = hints{}
		return
	}
	at, before := first*t.stride, s.here
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
	s.prefetch(end, end+uintptr(gap)*row, r, by)
}

// move adapts the hints of some rows to as many rows that lie the given number of bytes behind them.
// Computing hints again takes 1.004 to 1.014 times the step of a task of 25 x 128.
func (h *hints) move(by uintptr) {
	if h.basisNext.Next != 0 {
		h.basisNext.Next += by
	}
	if h.solveNext != 0 {
		h.solveNext += by
		h.gradientNext.Next += by
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

// prefetch sets the memory to prefetch while the tiles work on these rows: during X U, the least squares and
// X'e. The rows end at address end, and those of the next task start at address next: the same, unless these
// are parts of larger tasks.
//
// Every row is used twice, but should come from memory once, and while something is computed that needs no
// memory. So the tiles prefetch one task ahead, each its share by the schedule. If the share of X U is more
// than the schedule's Ahead, it prefetches the last of its own rows first, and then the next ones; but not
// where X U does not take its rows one after the other.
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
	packed, window := tile.Packed(s.d, r, s.storage.size()) > 0, by.Ahead
	if !packed && tile.Blocked(s.n, tile.Pad(s.d), r, s.storage.size()) {
		window = bytes
	}
	eighths := tile.Eighths(r, packed)
	if s.tiny {
		eighths = 8
	}
	s.hints = ahead(end, next, bytes, window, s.n, r, eighths, by)
}

// ahead returns the hints for a task of n rows and the given bytes. X U prefetches the given eighths of them,
// at most window bytes ahead of their use.
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

// mulTransposed computes v = X' e for the rows of e, which begin with the given row.
func (s *samples) mulTransposed(v []float64, row int, e []float64) {
	if s.storage == Float32 {
		tile.MulTransposed(v, s.x32[row*s.stride:], s.stride, e, len(e), s.d, s.gradientNext)
	} else {
		tile.MulTransposed(v, s.x64[row*s.stride:], s.stride, e, len(e), s.d, s.gradientNext)
	}
}
