package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
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
				for _, c := range []struct {
					d, r    int
					samples []int
				}{{1, 1, []int{1, 5}}, {12, 3, []int{20, 0, 2, 9, 4, 0}}, {33, 5, []int{60, 13, 1}}, {40, 20, []int{25, 10}}} {
					for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
						tasks, x, y := randomTasks(rng, c.d, c.samples, storage)
						for _, ridge := range []float64{0, 0.3} {
							checkBackend(t, tasks, x, y, randomBasis(rng, c.d, c.r), ridge)
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
	g, ws := kernel.NewGroup(tasks, r), kernel.NewWorkspace(tasks.MaxSamples(), d, r)
	want := stepReference(u, ridge, x, y, x, y)
	g.Step(u, ridge, ws)
	want.check(t, g, r)
	checkAgain(t, g, u, ridge, ws)
	fitX, gradX := make([]*mat.Dense, len(x)), make([]*mat.Dense, len(x))
	fitY, gradY := make([][]float64, len(x)), make([][]float64, len(x))
	for i, m := range x {
		n := len(y[i])
		half := (n + 1) / 2
		fitY[i], gradY[i] = y[i][:half], y[i][half:]
		if half > 0 {
			fitX[i] = mat.DenseCopyOf(m.Slice(0, half, 0, d))
		}
		if n > half {
			gradX[i] = mat.DenseCopyOf(m.Slice(half, n, 0, d))
		}
	}
	g.SetSamples(tasks.Part(0, 2), tasks.Part(1, 2))
	g.Step(u, ridge, ws)
	stepReference(u, ridge, fitX, fitY, gradX, gradY).check(t, g, r)
}

// Dependent columns, numbers that are not finite and those of any size: every backend reports what
// the tiles report, to the same statuses, and B to rounding.
func TestBackendsOfDegenerateTasks(t *testing.T) {
	const d, r, n = 9, 3, 8
	rng := rand.New(rand.NewPCG(53, 54))
	b := kernel.NewBuilder(d, slices.Repeat([]int{n}, 8), kernel.Float64)
	row := make([]float64, d)
	for task, spoil := range []func(i int, y *float64){
		func(int, *float64) {},
		func(int, *float64) { clear(row) },
		func(i int, _ *float64) { row[3] = map[bool]float64{true: math.NaN(), false: 1}[i == 2] },
		func(i int, y *float64) { *y = []float64{1, math.Inf(1)}[i/7] },
		func(int, *float64) { row[1], row[2] = row[0], row[0]; clear(row[3:]) },
		func(_ int, y *float64) {
			for k := range row {
				row[k] *= 1e150
			}
			*y *= 1e-100
		},
		func(_ int, y *float64) {
			for k := range row {
				row[k] *= 1e-160
			}
			*y *= 1e100
		},
		func(_ int, y *float64) { *y = 0 },
	} {
		for i := range n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			y := rng.NormFloat64()
			spoil(i, &y)
			b.SetRow(task, i, row, y)
		}
	}
	tasks, u := b.Tasks(), randomBasis(rng, d, r)
	step := func(t *testing.T, name string) *kernel.Group {
		use(t, name)
		g := kernel.NewGroup(tasks, r)
		g.Step(u, 0, nil)
		return g
	}
	want := step(t, tile.Active().String())
	for _, name := range backends() {
		got := step(t, name)
		for task, status := range want.Status {
			if got.Status[task] != status {
				t.Errorf("%s: status %v of task %d, by the tiles %v", name, got.Status[task], task, status)
			}
			a, b := got.B[task*r:][:r], want.B[task*r:][:r]
			size := max(math.Abs(b[0]), math.Abs(b[1]), math.Abs(b[2]))
			for j, v := range b {
				if !(math.Abs(a[j]-v) <= 1e-12*size) {
					t.Errorf("%s: b of task %d is %v, by the tiles %v", name, task, a, b)
				}
			}
		}
	}
}
