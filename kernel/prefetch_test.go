package kernel

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/tile"
)

// What is prefetched has no effect but on speed, so that only this test would
// notice memory that nothing prefetches, or prefetches after it was read.
func TestPrefetchCoversEverySampleOnce(t *testing.T) {
	defer func(before bool) { hardwarePrefetchWins = before }(hardwarePrefetchWins)
	for _, shape := range []struct{ n, d, r int }{
		{30, 600, 4}, {25, 128, 5}, {50, 100, 10}, {64, 512, 16}, {30, 200, 20}, {3, 1000, 2},
		{200, 300, 4}, {100, 600, 6}, {100, 600, 8}, {1, 64, 1}, {l2Budget / 2400, 600, 4}, {50, 1030, 7},
	} {
		for _, storage := range []Storage{Float64, Float32} {
			x, ahead := manyRows(shape.n, shape.d, storage), 0
			if tile.Packed(shape.d, shape.r, storage.size()) > 0 {
				ahead = tile.PackRows * x.stride * storage.size()
			}
			for _, hardwarePrefetchWins = range []bool{true, false} {
				name := fmt.Sprintf("n = %d, d = %d, r = %d, %v, hardware = %t", shape.n, shape.d, shape.r, storage,
					hardwarePrefetchWins)
				testPrefetch(t, name, baseOf(x), x.Bytes(), ahead, shape.n, shape.r, func(task int) tile.PrefetchPlan {
					return planOf(x, task, shape.r)
				})
			}
		}
	}
}

// Samples that stay in the second-level caches of the workers are not prefetched, and others are; both give
// the same bits.
func TestPrefetchInCache(t *testing.T) {
	defer func(before int) { l2Budget = before }(l2Budget)
	l2Budget = 32 << 10
	const n, d, r = 8, 64, 4
	task := 8 * n * d // bytes
	for _, workers := range []int{1, 2} {
		for _, more := range []int{0, 1} {
			b, u, row := NewBuilder(d, slices.Repeat([]int{n}, l2Budget*workers/task+more), Float64), NewBasis(d, r),
				make([]float64, d)
			for i := range u.data {
				u.data[i] = float64(i%7 - 3)
			}
			for i := range b.total {
				for k := range row {
					row[k] = float64((i*i + k*k) % 11)
				}
				b.SetRow(i/n, i%n, row, float64(i%5))
			}
			x := b.Tasks()
			pool, g, want := NewPool(workers), NewGroup(x, r), NewGroup(x, r)
			e := NewExecutor(pool, []*Group{g})
			e.Step([]*Basis{u}, 0)
			want.Step(u, 0, nil)
			pool.Close()
			if cached := e.jobs[0].cached; cached != (more == 0) {
				t.Errorf("%d workers, %d tasks: cached %t", workers, x.Len(), cached)
			}
			if want.alone.jobs[0].cached {
				t.Error("a group that is stepped by itself counts on the caches")
			}
			if !slices.Equal(g.B, want.B) || !slices.Equal(g.Grad.data, want.Grad.data) {
				t.Errorf("%d workers, %d tasks: prefetches change bits", workers, x.Len())
			}
		}
	}
	j := &job{g: NewGroup(manyRows(n, d, Float64), r), cached: true}
	var x samples
	j.take(&x, 0, 0, n)
	if x.ahead != (tile.PrefetchPlan{}) {
		t.Errorf("cached samples prefetch %+v", x.ahead)
	}
}

// prefetched is the number of tasks of manyRows.
const prefetched = 6

// manyRows returns tasks of n samples each.
func manyRows(n, d int, storage Storage) *Tasks {
	return NewBuilder(d, slices.Repeat([]int{n}, prefetched), storage).Tasks()
}

// baseOf returns the address of the first sample.
func baseOf(x *Tasks) uintptr {
	if x.x32 != nil {
		return uintptr(unsafe.Pointer(unsafe.SliceData(x.x32)))
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(x.x64)))
}

// testPrefetch follows what the plans of all tasks ask for, of so many bytes from base on. X U
// takes the rows of so many bytes at a time, 0 for few.
func testPrefetch(t *testing.T, name string, base uintptr, bytes, tall, n, r int, of func(task int) tile.PrefetchPlan) {
	t.Helper()
	const word = 4 // bytes; all that is asked for has whole ones
	task := bytes / prefetched
	fetched := make([]uint8, bytes/word)
	now, total := 0, 0
	fetch := func(next uintptr, bytes int) {
		if next == 0 {
			return
		}
		if (int(next-base)|bytes)%word != 0 {
			t.Fatalf("%s: %d bytes from byte %d on are no whole words", name, bytes, int(next-base))
		}
		total += bytes
		for at := int(next - base); at < int(next-base)+bytes; at += word {
			if at < 0 || at/word >= len(fetched) {
				continue
			}
			if fetched[at/word]++; at/task < now {
				t.Fatalf("%s: byte %d of task %d is fetched for in task %d", name, at%task, at/task, now)
			}
			if ahead := at - now*task; ahead > 2*task+tile.Window+tall {
				t.Fatalf("%s: task %d prefetches what is %d bytes away", name, now, ahead)
			}
		}
	}
	for now = range prefetched {
		h := of(now)
		fetch(h.Basis, task/8*h.Eighths)
		if tall > 0 && h.Basis != 0 && int(h.Basis-base) < now*task+min(task, tall) {
			t.Fatalf("%s: task %d prefetches rows that are in use already", name, now)
		}
		fetch(h.Solve, tile.SolveAhead(n, r))
		fetch(h.Gradient, task/8*(8-h.Eighths))
	}
	if task > l2Budget && hardwarePrefetchWins {
		if total != 0 {
			t.Errorf("%s: a task of %d bytes prefetches %d", name, task, total/prefetched)
		}
		return
	}
	for i := 2 * task / word; i < len(fetched); i++ {
		if fetched[i] == 0 {
			t.Fatalf("%s: nothing prefetches byte %d of task %d", name, i*word%task, i*word/task)
		}
	}
	if solve := tile.SolveAhead(n, r); total > prefetched*(task+solve) {
		t.Errorf("%s: %d bytes are fetched for, want at most %d", name, total, prefetched*(task+solve))
	}
}

// With sample splitting the rows after those of a part belong to another part, which
// is not read in the same pass.
func TestPrefetchOfAPart(t *testing.T) {
	for _, shape := range []struct{ n, d, r int }{{30, 600, 4}, {200, 300, 4}, {128, 400, 16}} {
		rows := []int{shape.n, shape.n, shape.n}
		all := NewBuilder(shape.d, rows, Float64).Tasks()
		part := all.Part(0, 2)
		row := all.stride * 8
		base := baseOf(all)
		for task := range 2 {
			p := planOf(part, task, shape.r)
			foreign := 0
			for i := range part.rows[task] * row / 8 * p.Eighths {
				if at := (int(p.Basis-base) + i) / row % shape.n; at >= shape.n/2 {
					foreign++
				}
			}
			if most := max(tile.Window, tile.PackRows*row); foreign > most {
				t.Errorf("%+v: task %d prefetches %d bytes of the other part, want at most %d", shape, task, foreign,
					most)
			}
		}
	}
}

// Long rows on a packed basis are fetched for by the tiles themselves, however large the
// task is; they have to know where the next ones are.
func TestPrefetchOfLongRows(t *testing.T) {
	const n, d, r = 20, 3000, 16
	if tile.Packed(d, r, 8) == 0 {
		t.Skip("no packed basis on this tier")
	}
	for _, storage := range []Storage{Float64, Float32} {
		all := NewBuilder(d, []int{n, n, n, l2Budget / 4 / d}, storage).Tasks()
		row := all.stride * storage.size()
		base := baseOf(all)
		for _, half := range []bool{false, true} {
			x := all
			if half { // the next rows are behind those of the other part
				x = all.Part(0, 2)
			}
			for task := range 3 {
				p := planOf(x, task, r)
				want := base + uintptr((task+1)*n*row)
				if p.Basis != want || p.Solve != 0 || p.Gradient != 0 {
					t.Errorf("%v, parts %t: task %d prefetches bytes %d, %d, %d, want %d, 0, 0", storage, half, task,
						p.Basis-base, p.Solve, p.Gradient, want-base)
				}
			}
		}
	}
}

// X U prefetches a window ahead of its use, and in blocks of features all of its share.
func TestPrefetchAhead(t *testing.T) {
	for _, c := range []struct{ d, r int }{{600, 4}, {1030, 7}} {
		const n = 30
		x := manyRows(n, c.d, Float64)
		h, share := planOf(x, 0, c.r), n*x.stride
		want := tile.Window
		if tile.Blocked(n, tile.Pad(c.d), c.r, 8) {
			want = share * h.Eighths
		}
		if got := int(h.Basis) + share*h.Eighths - int(baseOf(x)) - 8*share; got != want {
			t.Errorf("d = %d: %d bytes of the next task in X U, want %d", c.d, got, want)
		}
	}
}

// planOf returns what is prefetched while a task is computed.
func planOf(x *Tasks, task, r int) tile.PrefetchPlan {
	var s samples
	s.take(x, task, 0, x.rows[task])
	s.plan(x, task, 0, s.n, r)
	return s.ahead
}
