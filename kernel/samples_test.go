package kernel

import (
	"testing"
	"unsafe"

	"github.com/difalt/difalt/kernel/internal/tile"
)

// What is prefetched has no effect but on speed, so that only this test would
// notice memory that nothing prefetches, or prefetches after it was read.
func TestPrefetchCoversEverySampleOnce(t *testing.T) {
	const tasks = 12
	for _, shape := range []struct{ n, d, r int }{
		{30, 600, 4}, {25, 128, 5}, {50, 100, 10}, {64, 512, 16}, {30, 200, 20}, {3, 1000, 2},
		{200, 300, 4}, {100, 600, 6}, {100, 600, 8}, {1, 64, 1}, {int(resident / 2400), 600, 4},
	} {
		rows := make([]int, tasks)
		for i := range rows {
			rows[i] = shape.n
		}
		for _, storage := range []Storage{Float64, Float32} {
			x := NewBuilder(shape.d, rows, storage).Tasks()
			task := shape.n * x.stride * storage.size() // bytes
			base := uintptr(unsafe.Pointer(unsafe.SliceData(x.x64)))
			if storage == Float32 {
				base = uintptr(unsafe.Pointer(unsafe.SliceData(x.x32)))
			}
			fetched := make([]uint8, x.Bytes())
			now, total := 0, 0
			fetch := func(next uintptr, bytes int) {
				if next == 0 {
					return
				}
				total += bytes
				for i := int(next - base); i < int(next-base)+bytes; i++ {
					if i < 0 || i >= len(fetched) {
						continue
					}
					if fetched[i]++; i/task < now {
						t.Fatalf("%+v, %v: byte %d of task %d is fetched for in task %d", shape, storage, i%task, i/task, now)
					}
					if ahead := i - now*task; ahead > 2*task+tile.Window+tile.PackRows*x.stride*8 {
						t.Fatalf("%+v, %v: task %d prefetches what is %d bytes away", shape, storage, now, ahead)
					}
				}
			}
			for now = range tasks {
				s := x.samples(now, shape.r)
				basis := task
				if tile.Packed(shape.r) == 0 {
					basis = task / 8 * tile.Ahead(shape.r)
				}
				fetch(s.basisNext, basis)
				if tall := tile.PackRows * x.stride * storage.size(); tile.Packed(shape.r) > 0 && s.basisNext != 0 && int(s.basisNext-base) < now*task+min(task, tall) {
					t.Fatalf("%+v, %v: task %d prefetches rows that are in use already", shape, storage, now)
				}
				fetch(s.solveNext, tile.SolveAhead(shape.n, shape.r))
				fetch(s.gradientNext, task-basis)
			}
			if uintptr(task) > resident {
				if total != 0 {
					t.Errorf("%+v, %v: a task of %d bytes prefetches %d", shape, storage, task, total/tasks)
				}
				continue
			}
			for i := 2 * task; i < len(fetched); i++ {
				if fetched[i] == 0 {
					t.Fatalf("%+v, %v: nothing prefetches byte %d of task %d", shape, storage, i%task, i/task)
				}
			}
			solve := tile.SolveAhead(shape.n, shape.r)
			if total > tasks*(task+solve) {
				t.Errorf("%+v, %v: %d bytes are fetched for, want at most %d", shape, storage, total, tasks*(task+solve))
			}
		}
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
		base := uintptr(unsafe.Pointer(unsafe.SliceData(all.x64)))
		for task := range 2 {
			s := part.samples(task, shape.r)
			basis := s.n * row
			if tile.Packed(shape.r) == 0 {
				basis = basis / 8 * tile.Ahead(shape.r)
			}
			foreign := 0
			for i := range basis {
				if at := (int(s.basisNext-base) + i) / row % shape.n; at >= shape.n/2 {
					foreign++
				}
			}
			if most := max(tile.Window, tile.PackRows*row); foreign > most {
				t.Errorf("%+v: task %d prefetches %d bytes of the other part, want at most %d", shape, task, foreign, most)
			}
		}
	}
}

// Long rows on a packed basis are fetched for by the tiles themselves, however large the
// task is; they have to know where the next ones are.
func TestPrefetchOfLongRows(t *testing.T) {
	const n, d, r = 20, 3000, 16
	if tile.Packed(r) == 0 {
		t.Skip("no packed basis on this tier")
	}
	for _, storage := range []Storage{Float64, Float32} {
		all := NewBuilder(d, []int{n, n, n, int(resident) / 4 / d}, storage).Tasks()
		row := all.stride * storage.size()
		base := uintptr(unsafe.Pointer(unsafe.SliceData(all.x64)))
		if storage == Float32 {
			base = uintptr(unsafe.Pointer(unsafe.SliceData(all.x32)))
		}
		for _, half := range []bool{false, true} {
			x := all
			if half { // the next rows are behind those of the other part
				x = all.Part(0, 2)
			}
			for task := range 3 {
				s := x.samples(task, r)
				want := base + uintptr((task+1)*n*row)
				if s.basisNext != want || s.solveNext != 0 || s.gradientNext != 0 {
					t.Errorf("%v, parts %t: task %d prefetches bytes %d, %d, %d, want %d, 0, 0", storage, half, task,
						s.basisNext-base, s.solveNext, s.gradientNext, want-base)
				}
			}
		}
	}
}
