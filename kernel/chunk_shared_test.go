package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

// Tasks whose rows workers share have the results of the definition, for each storage, and the same bits for
// any number of workers: beside other tasks, with a ridge, and with split samples.
func TestLongTasks(t *testing.T) {
	if !byTiles() {
		t.Skip("only the tiles share the rows of a task")
	}
	const d, r = 600, 3
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		samples := []int{4, 1900, 0, 9, 2001}
		rng := rand.New(rand.NewPCG(71, 72))
		tasks, x, y := randomTasks(rng, d, samples, storage)
		u := randomBasis(rng, d, r)
		tiertest.Each(t, func(t *testing.T) {
			for _, ridge := range []float64{0, 0.5} {
				want := kernel.NewGroup(tasks, r)
				if want.Shared() != 2 {
					t.Fatalf("%d tasks are shared, want 2", want.Shared())
				}
				want.Step(u, ridge, nil)
				stepReference(u, ridge, x, y, x, y).check(t, want, r)
				checkAgain(t, want, u, ridge, nil)
				sameForWorkers(t, tasks, u, ridge)
				testSplitLongTasks(t, tasks, x, y, u, ridge)
			}
		})
	}
}

// testSplitLongTasks takes the least squares from the first half of the rows, or from so few that a long task
// has fewer than columns, and the gradient from the second half.
func testSplitLongTasks(t *testing.T, tasks *kernel.Tasks, x []*mat.Dense, y [][]float64, u *kernel.Basis,
	ridge float64) {
	t.Helper()
	_, r := u.Dims()
	for _, parts := range []int{1, 2, 1000} {
		fx, fy := partOf(x, y, 0, parts)
		for _, k := range []int{1, 2} {
			gx, gy := partOf(x, y, k-1, k)
			grad := kernel.NewGroup(tasks.Part(k-1, k), r)
			split(kernel.NewGroup(tasks.Part(0, parts), r), grad, u, ridge, nil)
			stepReference(u, ridge, fx, fy, gx, gy).check(t, grad, r)
		}
	}
}

// sameForWorkers compares the steps of executors with those of a group.
func sameForWorkers(t *testing.T, tasks *kernel.Tasks, u *kernel.Basis, ridge float64) {
	t.Helper()
	_, r := u.Dims()
	want := kernel.NewGroup(tasks, r)
	ws := kernel.NewWorkspace(want)
	for _, workers := range []int{1, 2, 3} {
		pool := kernel.NewPool(workers)
		got := kernel.NewGroup(tasks, r)
		e := kernel.NewExecutor(pool, []*kernel.Group{got})
		e.Step([]*kernel.Basis{u}, ridge)
		want.Step(u, ridge, ws)
		sameGroup(t, got, want)
		e.Minimize([]*kernel.Basis{u}, ridge)
		want.Minimize(u, ridge, ws)
		sameGroup(t, got, want)
		e.Gradient([]*kernel.Basis{u})
		want.Gradient(u, ws)
		sameGroup(t, got, want)
		if t.Failed() {
			t.Fatalf("%d workers", workers)
		}
		bases := []*kernel.Basis{u}
		if n := check.Allocations(1, func() { e.Step(bases, ridge) }); n != 0 {
			t.Errorf("%d workers: %d allocations", workers, n)
		}
		pool.Close()
	}
}

// Long tasks that are deficient, hold NaN or numbers whose squares overflow have the status of others.
func TestStatusOfLongTasks(t *testing.T) {
	if !byTiles() {
		t.Skip("only the tiles share the rows of a task")
	}
	const d, r, n = 600, 2, 1000
	rng := rand.New(rand.NewPCG(73, 74))
	u := kernel.NewBasis(d, r)
	u.Col(0)[0], u.Col(1)[1] = 1, 1
	for name, c := range map[string]struct {
		scale, y, at11, nan float64
		want                lsq.Status
	}{
		"full": {1, 1, 1, 0, lsq.OK}, "large": {1e160, 1e-20, 1, 0, lsq.OK}, "small": {1e-170, 1e-200, 1, 0, lsq.OK},
		"deficient": {1, 1, 0, 0, lsq.RankDeficient}, "NaN": {1, 1, 1, math.NaN(), lsq.NotFinite},
	} {
		t.Run(name, func(t *testing.T) {
			b, row := kernel.NewBuilder(d, []int{n}, kernel.Float64), make([]float64, d)
			for i := range n {
				v, w := rng.NormFloat64(), rng.NormFloat64()
				row[0], row[1] = c.scale*v, c.scale*w*c.at11
				y := c.y * (2*v - 3*w*c.at11)
				if i == 700 {
					y += c.nan
				}
				b.SetRow(0, i, row, y)
			}
			g := kernel.NewGroup(b.Tasks(), r)
			if g.Minimize(u, 0, nil); g.Status[0] != c.want || g.Shared() != 1 {
				t.Errorf("status %v, want %v", g.Status[0], c.want)
			}
			unit := c.y / c.scale
			if want := []float64{2 * unit, -3 * unit * c.at11}; c.want != lsq.NotFinite &&
				!(math.Abs(g.B[0]-want[0]) <= 1e-12*unit && math.Abs(g.B[1]-want[1]) <= 1e-12*unit) {
				t.Errorf("b = %v, want %v", g.B, want)
			}
		})
	}
}

// A step of a task with fewer rows than a slice fits the workspace of its group.
func TestShortSlice(t *testing.T) {
	const n, d, r = 131, 4008, 65
	tasks, x, y := randomTasks(rand.New(rand.NewPCG(79, 80)), d, []int{n}, kernel.Float64)
	g, u := kernel.NewGroup(tasks, r), randomBasis(rand.New(rand.NewPCG(81, 82)), d, r)
	if byTiles() && g.Shared() != 1 {
		t.Fatal("the task is not shared")
	}
	g.Step(u, 0, kernel.NewWorkspace(g))
	stepReference(u, 0, x, y, x, y).check(t, g, r)
}

// Parts of long tasks on different packed bases do not mix these up.
func TestLongTasksOfGroups(t *testing.T) {
	const d, r = 600, 16
	rng := rand.New(rand.NewPCG(75, 76))
	tasks, _, _ := randomTasks(rng, d, []int{1000}, kernel.Float64)
	u := []*kernel.Basis{randomBasis(rng, d, r), randomBasis(rng, d, r)}
	pool := kernel.NewPool(1)
	defer pool.Close()
	var got, want [2]*kernel.Group
	for i := range 2 {
		got[i], want[i] = kernel.NewGroup(tasks, r), kernel.NewGroup(tasks, r)
		want[i].Step(u[i], 0, nil)
	}
	kernel.NewExecutor(pool, got[:]).Step(u, 0)
	for i, g := range got {
		sameGroup(t, g, want[i])
	}
}
