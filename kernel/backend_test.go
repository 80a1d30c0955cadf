package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

// backends returns the names of all backends but the tiles, which come first in each test.
func backends() []string {
	all := []string{"gonum", "openblas"}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(kernel.Describe().Available, name) })
}

// use switches to a backend for the rest of the test.
func use(t *testing.T, name string) {
	restore, err := kernel.UseBackend(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restore)
}

// The tiles of every tier and all other backends have the same statuses, and coefficients, gradients
// and objectives of the definition: for full, wide and dependent tasks, ridges and split samples.
func TestBackends(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, name := range append([]string{tile.Active().String()}, backends()...) {
			t.Run(name, func(t *testing.T) {
				use(t, name)
				rng := rand.New(rand.NewPCG(51, 52))
				cases := []struct {
					d, r    int
					samples []int
				}{{1, 1, []int{1, 5}}, {12, 3, []int{20, 0, 2, 9, 4, 0}}, {33, 5, []int{60, 13, 1}}, {40, 20, []int{25, 10}}}
				for _, c := range [][4]int{
					{1, 1, 1, 3}, {5, 1, 4, 6}, {7, 2, 9, 5}, {40, 4, 30, 30}, {100, 10, 20, 50}, {33, 5, 17, 9},
					{64, 16, 12, 40}, {130, 33, 9, 70}, {30, 3, 600, 12}, {17, 2, 3, 400}, {8, 1, 50, 90}, {70, 20, 5, 4},
				} {
					samples := ragged(rng, c[2], c[3])
					samples[0] = c[3] // some task has samples
					for i, n := range samples {
						if n == c[1] || (n+1)/2 == c[1] {
							samples[i] += 2 // square problems may be as ill-conditioned as they like
						}
					}
					cases = append(cases, struct {
						d, r    int
						samples []int
					}{c[0], c[1], samples})
				}
				for i, c := range cases {
					for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
						tasks, x, y := randomTasks(rng, c.d, c.samples, storage)
						for _, ridge := range []float64{0, 0.3} {
							checkBackend(t, tasks, x, y, randomBasis(rng, c.d, c.r), ridge)
						}
						if i > 3 {
							continue // gonum allocates for large products
						}
						g, u := kernel.NewGroup(tasks, c.r), randomBasis(rng, c.d, c.r)
						ws := kernel.NewWorkspace(tasks.MaxSamples(), c.d, c.r)
						if n := testing.AllocsPerRun(3, func() { g.Step(u, 0, ws) }); n != 0 {
							t.Errorf("%g allocations a step", n)
						}
					}
				}
			})
		}
	})
}

func checkBackend(t *testing.T, tasks *kernel.Tasks, x []*mat.Dense, y [][]float64, u *kernel.Basis, ridge float64) {
	t.Helper()
	d, r := u.Dims()
	before := u.Clone()
	g, ws := kernel.NewGroup(tasks, r), kernel.NewWorkspace(tasks.MaxSamples(), d, r)
	want := stepReference(u, ridge, x, y, x, y)
	g.Step(u, ridge, ws)
	want.check(t, g, r)
	checkAgain(t, g, u, ridge, ws)
	if !sameBits(u.Data(), before.Data()) {
		t.Error("the basis was written")
	}
	fitX, fitY := partOf(x, y, 0, 2)
	gradX, gradY := partOf(x, y, 1, 2)
	g.SetSamples(tasks.Part(0, 2), tasks.Part(1, 2))
	g.Step(u, ridge, ws)
	stepReference(u, ridge, fitX, fitY, gradX, gradY).check(t, g, r)
}

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
		{lsq.NotFinite, func(i int, row []float64, _ *float64) { row[3] = map[bool]float64{true: math.NaN(), false: 1}[i == 2] }},
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
			if got.Status[task] != c.want || (c.want == lsq.NotFinite || task%kinds == 1) && !sameBits(a, make([]float64, r)) {
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
