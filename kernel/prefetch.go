package kernel

import (
	"github.com/difalt/difalt/internal/processor"
	"github.com/difalt/difalt/internal/tile"
)

// A prefetchPlan is the memory that the tiles bring into the second-level cache while they compute one task.
//
// Every row is used twice, but should come from memory once, and while the processor computes what needs no
// memory. So the plan of a task asks for the rows of the next task, and each stage has a share. Where the
// share of X U is larger than a window, X U asks for the last of its own rows before the next task's rows;
// but not where X U does not take its rows one after the other.
type prefetchPlan struct {
	basis    tile.Hint // during X U
	solve    uintptr   // during the least squares
	gradient tile.Hint // during X'e
}

// l2Budget is the largest size of a task, in bytes, that stays in the second-level cache from X U to X'e while
// the next task is prefetched into the same cache: three quarters of that cache, or of 1 MiB if the processor
// does not report its size.
var l2Budget = l2BudgetOf(processor.L2())

func l2BudgetOf(l2 int) int {
	if l2 <= 0 {
		l2 = 1 << 20
	}
	return l2 / 4 * 3
}

// hardwarePrefetchWins reports whether the processor's own prefetching is the fastest for tasks beyond l2Budget,
// which are read from memory twice. Steps on 400 x 600 took 1.01 to 1.29 times as long with prefetches on Ice
// Lake, and .61 to .99 times on Zen 4.
var hardwarePrefetchWins = !processor.IsAMD()

// plan sets the plan of s, rows lo to hi of a task on a basis of rank r. The rows that follow are of the same
// task, or the first rows of the next one.
func (s *samples) plan(t *Tasks, task, lo, hi, r int) {
	if lo == hi {
		return
	}
	p, size := &s.ahead, t.storage.size()
	row := t.stride * size
	bytes := s.n * row
	end := s.address() + uintptr(bytes)
	next := end
	if hi == t.rows[task] && task+1 < len(t.first) {
		next = s.address() + uintptr((t.first[task+1]-t.first[task]-lo)*row)
	}
	window, packed := tile.Window, tile.Packed(t.d, r, size) > 0
	switch {
	case packed && tile.Near(t.d):
		p.basis.Next = next
		return
	case bytes > l2Budget && hardwarePrefetchWins:
		return
	case !packed && tile.Blocked(s.n, tile.Pad(t.d), r, size):
		window = bytes
	}
	eighths := tile.Eighths(r, packed)
	share := bytes / 8 * eighths // of X U
	lead := min(window, share)   // how much of it belongs to the next task
	p.basis = tile.Hint{Next: next, Eighths: eighths}
	if lead < share {
		p.basis.Next = end + uintptr(lead) - uintptr(share)
	}
	if eighths < 8 {
		p.solve = next + uintptr(lead)
		p.gradient = tile.Hint{Next: p.solve + uintptr(tile.SolveAhead(s.n, r)), Eighths: 8 - eighths}
	}
}
