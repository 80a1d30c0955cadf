package kernel

import (
	"github.com/difalt/difalt/internal/processor"
	"github.com/difalt/difalt/internal/tile"
)

// l2Budget is the largest size of a task, in bytes, that stays in the second-level cache from X U to X'e.
// Meanwhile the next task is prefetched into it. The budget is three quarters of the cache, or of 1 MiB if
// the processor does not report its size.
var l2Budget = l2BudgetOf(processor.L2())

func l2BudgetOf(l2 int) int {
	if l2 <= 0 {
		l2 = 1 << 20
	}
	return l2 / 4 * 3
}

// hardwarePrefetchWins reports whether the processor's own prefetching is the fastest for tasks beyond
// l2Budget, which are read from memory twice. Steps on 400 x 600 took 1.01 to 1.29 times as long with
// prefetches on Ice Lake, and .61 to .99 times on Zen 4.
var hardwarePrefetchWins = !processor.IsAMD()

// plan sets the plan of s, rows lo to hi of a task on a basis of rank r.
//
// Every row is used twice but should come from memory once, while the processor computes from caches. So the
// plan of a task requests the rows that follow, of this task or the next one, and each stage has a share.
// Where the share of X U is larger than a window, X U requests the last of its rows before later ones, if it
// takes its rows in order.
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
		p.Basis = next
		return
	case bytes > l2Budget && hardwarePrefetchWins:
		return
	case !packed && tile.Blocked(s.n, tile.Pad(t.d), r, size):
		window = bytes
	}
	eighths := tile.Eighths(r, packed)
	share := bytes / 8 * eighths // of X U
	lead := min(window, share)   // how much of it belongs to the next task
	p.Basis, p.Eighths = next, eighths
	if lead < share {
		p.Basis = end + uintptr(lead) - uintptr(share)
	}
	if eighths < 8 {
		p.Solve = next + uintptr(lead)
		p.Gradient = p.Solve + uintptr(tile.SolveAhead(s.n, r))
	}
}
