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

	// What to prefetch during X U, the least squares and X'e, or 0; see prefetch.
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

// resident is the size in bytes up to which a task stays in the second-level cache from
// its first use, X U, to its second, X'e, while the next task is prefetched into the
// same cache: three quarters of it, or of 1 MiB if the processor does not tell its size.
var resident = residentIn(cpuid.CPU.Cache.L2)

func residentIn(l2 int) uintptr {
	if l2 <= 0 {
		l2 = 1 << 20
	}
	return uintptr(l2) / 4 * 3
}

// prefetch chooses what the tiles prefetch while they work on these rows: basisNext,
// solveNext and gradientNext are where the products X U, the least squares and the
// products X'e begin. The rows end at address end, and the rows of the next task start
// at next: at the same place, unless these are parts of larger tasks.
//
// Every row is used twice, but should come from memory once, and while something is
// computed that needs no memory. How that is done depends on the size of the task:
//
//   - Of a small task, the tiles prefetch the whole next one, each its share, so that it
//     is in the cache when its turn comes.
//   - If the share of X U is more than a window, prefetching all of it from the next task
//     would be too early. X U stays one window ahead of its own reading instead, within
//     these rows first and in the next ones at last.
//   - A task that fills the cache by itself is read from memory twice. There the
//     hardware prefetcher does better alone.
//   - Long rows on a packed basis are prefetched by the tile itself, whatever the size of
//     the task; it only has to know what follows them.
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
	share := bytes // of X U
	if !packed {
		share = bytes / 8 * uintptr(tile.Ahead(r))
	}
	lead := min(tile.Window, share) // how much of it belongs to the next task
	s.basisNext = next
	if lead < share {
		s.basisNext = end + lead - share
	}
	if share < bytes/8*8 {
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
