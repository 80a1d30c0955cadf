package blas

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/internal/workers"
)

// A team is the threads that share a computation.
type team struct {
	threads int
	brief   bool // they share it only while helpers are likely to be awake
}

// A sharing has the least sizes of computations that several threads share: soon while a helper is likely to
// be awake, and always. The sizes are numbers of multiplications, or of entries that are read or written.
type sharing struct{ soon, always int }

// teamFor returns the threads for a computation of a size, of a kind that u has the sizes of, that is about
// to begin.
func (u sharing) teamFor(size int) team {
	if size < u.soon {
		return team{threads: 1}
	}
	threads, brief := runtime.GOMAXPROCS(0), size < u.always
	if brief && threads > 1 {
		threads = min(threads, max(size/u.soon, 2))
		if !helped(size, u.always) {
			threads = 1
		}
	}
	return team{threads, brief}
}

// shares reports whether several threads may share a computation of a size.
func (u sharing) shares(size int) bool { return size >= u.soon && runtime.GOMAXPROCS(0) > 1 }

// helped is awake, except in tests.
var helped = awake

// missed is the time since started of the last brief computation that found no helper waiting for a job.
var (
	missed  atomic.Int64
	started = time.Now()
)

// awake reports whether a brief computation, of a size below always, has helpers: they wait for a job, or are
// about to be started. The first computation starts none; one that begins soon after it ended does. No clock
// is read while helpers wait.
func awake(size, always int) bool {
	if workers.HelpersWait() {
		return true
	}
	now := int64(time.Since(started))
	return isSoon(time.Duration(now-missed.Swap(now)), size, always)
}

// isSoon reports whether a computation begins soon after the end of one of its size, which began some time
// before it. One thread takes up to about longest for a brief computation.
func isSoon(after time.Duration, size, always int) bool {
	const longest = 300 * time.Microsecond
	return after <= 2*workers.Linger+longest*time.Duration(size)/time.Duration(always)
}

// within returns the sizes for a computation that is nested in a longer one, or not. A nested brief one keeps
// to one thread: another step shares its operands in another way, and these would go from core to core.
func (u sharing) within(nested bool) sharing {
	if nested {
		u.soon = u.always
	}
	return u
}

// teamFor returns the threads for some multiplications by tiles, nested in a longer computation or not.
func teamFor[F tile.Float](multiplications int, nested bool) team {
	return tune().products.within(nested).teamFor(multiplications >> kind[F]())
}

// teamOver returns the threads for a pass over some entries, nested in a longer computation or not.
func teamOver[F tile.Float](entries int, nested bool) team {
	return tune().passes.within(nested).teamFor(entries >> kind[F]())
}

// lineOf returns the number of entries in a line of a cache.
func lineOf[F tile.Float]() int { return wholeLine << kind[F]() }

// lineBefore returns how many entries the line of a cache with the first entry of y has before it. Threads
// that add to two parts of one line again and again wait for each other: parts begin with a line.
func lineBefore[F tile.Float](y []F) int {
	return int(uintptr(unsafe.Pointer(&y[0]))/unsafe.Sizeof(y[0])) % lineOf[F]()
}

// parts returns the number of parts of a computation that could have most: some for each thread, so that one
// that comes late takes fewer.
func (t team) parts(each, most int) int {
	if t.brief {
		each = 1
	}
	return max(min(each*t.threads, most), 1)
}

// rowsOfAUnit is a number of rows: parts have multiples of it, as few as do not change the bits of products,
// so that threads have as many of a few rows.
const rowsOfAUnit = 4

// cuts are the ends of parts of some rows, or of other things.
type cuts struct{ rows, lead, parts, unit int }

// cut returns the parts of some rows, each of about as many, most at most unless that is less than a unit.
// All threads have as many parts: one each of a brief computation. A part ends with a multiple of unit rows
// where lead rows come before the first one.
func (t team) cut(rows, most, unit, lead int) cuts {
	parts := t.threads
	if !t.brief {
		each := t.threads * max(most, 1) // rows of a part for each thread
		parts *= (rows + each - 1) / each
	}
	return cuts{rows, lead, min(parts, (lead+rows+unit-1)/unit), unit}
}

// part returns the rows of part i, from lo to hi.
func (c *cuts) part(i int) (lo, hi int) { return c.end(i), c.end(i + 1) }

// end returns the end of part i-1: the nearest one to equal parts.
func (c *cuts) end(i int) int {
	if i == c.parts {
		return c.rows
	}
	return max(((c.lead+c.rows)*i/c.parts+c.unit/2)/c.unit*c.unit-c.lead, 0)
}

// backwards calls change for a part of the rows of a matrix, lo to hi. In a brief computation it takes the
// rows of a tile at a time, the last ones first. Behind the last rows that a thread has changed a processor
// fetches those that another thread is about to change, and that one waits for them.
func (t team) backwards(lo, hi int, change func(lo, hi int)) {
	step := hi - lo
	if t.brief {
		step = rowsOfATile
	}
	for ; hi > lo; hi -= step {
		change(max(lo, hi-step), hi)
	}
}

// run calls part for all i below parts, on the threads of the team: each takes the next one. A helper that
// comes late finds nothing left to do.
func (t team) run(parts int, part func(i int)) {
	if t.threads == 1 {
		for i := range parts {
			part(i)
		}
		return
	}
	j := jobOf(parts)
	j.Run(t.threads-1, part)
	if parts < len(jobs) {
		jobs[parts].Put(j)
	}
}

// jobs holds jobs for the next computations with as many parts.
var jobs [64]sync.Pool

// jobOf returns a job that nobody runs.
func jobOf(parts int) *workers.Job {
	if parts < len(jobs) {
		if j, ok := jobs[parts].Get().(*workers.Job); ok {
			return j
		}
	}
	return workers.NewJob(parts, partEnded)
}

// partEnded is the panic of a part that ended its goroutine.
const partEnded = "blas: a part ended its goroutine"
