package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// Dependent columns, numbers that are not finite and those of any size: every backend, and steps on
// compressed tasks, report the same statuses, b of minimum norm, and zeros where there is none.
func TestDegenerateTasks(t *testing.T) {
	const d, r, n = 9, 3, 16
	scale := func(row []float64, f float64) {
		for k := range row {
			row[k] *= f
		}
	}
	cases := []struct {
		want  lsq.Status
		spoil func(i int, row []float64, y *float64)
	}{
		{lsq.OK, func(int, []float64, *float64) {}},
		{lsq.RankDeficient, func(_ int, row []float64, _ *float64) { clear(row) }},
		{lsq.NotFinite, func(i int, row []float64, _ *float64) {
			row[3] = map[bool]float64{true: math.NaN(), false: 1}[i == 2]
		}},
		{lsq.NotFinite, func(i int, _ []float64, y *float64) { *y = []float64{1, math.Inf(1)}[i/(n-1)] }},
		{lsq.RankDeficient, func(_ int, row []float64, _ *float64) { row[1], row[2] = row[0], row[0]; clear(row[3:]) }},
		{lsq.OK, func(_ int, row []float64, y *float64) { scale(row, 1e150); *y *= 1e-100 }},
		{lsq.OK, func(_ int, row []float64, y *float64) { scale(row, 1e-160); *y *= 1e100 }},
		{lsq.OK, func(_ int, _ []float64, y *float64) { *y = 0 }},
		{lsq.NotFinite, func(_ int, row []float64, y *float64) { scale(row, 1e-170); *y *= 1e150 }},
	}
	kinds := len(cases)
	cases = slices.Repeat(cases, 4) // enough for blocks in lanes
	rng := rand.New(rand.NewPCG(53, 54))
	b, row := kernel.NewBuilder(d, slices.Repeat([]int{n}, len(cases)), kernel.Float64), make([]float64, d)
	for task, c := range cases {
		for i := range n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			y := rng.NormFloat64()
			c.spoil(i, row, &y)
			b.SetRow(task, i, row, y)
		}
	}
	tasks, u := b.Tasks(), randomBasis(rng, d, r)
	step := func(name string, tasks *kernel.Tasks) *kernel.Group {
		use(t, name)
		g := kernel.NewGroup(tasks, r)
		g.Step(u, 0, nil)
		return g
	}
	tiles := tile.Active().String()
	want := step(tiles, tasks)
	if tile.Lanes() > 0 && want.InLanes() == 0 {
		t.Error("no task is in lanes")
	}
	others := map[string]*kernel.Group{"compressed": step(tiles, tasks.Compressed()), tiles: want}
	for _, name := range backends() {
		others[name] = step(name, tasks)
	}
	for name, got := range others {
		for task, c := range cases {
			a, b := got.B[task*r:][:r], want.B[task*r:][:r]
			if got.Status[task] != c.want || (c.want == lsq.NotFinite || task%kinds == 1) &&
				!sameBits(a, make([]float64, r)) {
				t.Errorf("%s: status %v of task %d, want %v; b = %v", name, got.Status[task], task, c.want, a)
			}
			size := max(math.Abs(b[0]), math.Abs(b[1]), math.Abs(b[2]))
			for j, v := range b {
				if !(math.Abs(a[j]-v) <= 1e-12*size) {
					t.Errorf("%s: b of task %d is %v, by the tiles %v", name, task, a, b)
				}
			}
		}
	}
}
