package kernel_test

import (
	"fmt"
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

// Tiny tasks of every number of samples, features and columns, in counts that fill no block, have the results
// of the definition, with ridges and with other responses.
func TestLanes(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		use(t, tile.Active().String())
		rng := rand.New(rand.NewPCG(61, 62))
		for i := range 62 {
			n, r := 1+i%31, 1+5*i%8
			r = min(r, max(n-2, 1)) // square problems may be as ill-conditioned as they like
			d := max(r, min(1+23*i%63, 1024/n))
			samples := slices.Repeat([]int{n}, 32+i%31)
			for k := range samples {
				samples[k] -= rng.IntN(1 + max(n-r-2, 0)/3)
			}
			ridge := []float64{0, 0.3, 0, 0, 1e-3}[i%5]
			t.Run(fmt.Sprintf("n=%d/d=%d/r=%d/ridge=%g", n, d, r, ridge), func(t *testing.T) {
				tasks, x, y := randomTasks(rng, d, samples, kernel.Float64)
				g, u := kernel.NewGroup(tasks, r), randomBasis(rng, d, r)
				ws := kernel.NewWorkspace(g)
				g.Step(u, ridge, ws)
				stepReference(u, ridge, x, y, x, y).check(t, g, r)
				if tile.Lanes() > 0 && g.InLanes() < len(samples)-7 { // of the last chunk
					t.Errorf("%d tasks of %d are in lanes", g.InLanes(), len(samples))
				}
				checkAgain(t, g, u, ridge, ws)
				for _, v := range y {
					for i := range v {
						v[i] = 1 - 3*v[i]
					}
				}
				other := tasks.WithResponses(slices.Concat(y...))
				g = kernel.NewGroup(other, r)
				g.Step(u, ridge, ws)
				stepReference(u, ridge, x, y, x, y).check(t, g, r)
			})
		}
	})
}

// Tasks of lower rank beside others, in blocks that they share, have the solutions of minimum norm and the
// gradient of the tiles in Go; and the bits depend neither on the number of workers nor on the memory.
func TestLanesDeficient(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		use(t, tile.Active().String())
		const d, r, n, tasks = 9, 3, 12, 200
		rng := rand.New(rand.NewPCG(63, 64))
		data, first, all := make([]float64, (tasks*n+1)*16), []int{0}, []float64{}
		for task := range tasks {
			for i := range n {
				row := data[(task*n+i)*16:][:d]
				for k := range row {
					if row[k] = rng.NormFloat64(); task%7 == 3 && k >= 2 || task%7 == 5 {
						row[k] = 0
					}
				}
				all = append(all, rng.NormFloat64())
			}
			first = append(first, (task+1)*n)
		}
		u := randomBasis(rng, d, r)
		g := kernel.NewGroup(kernel.View(data, 16, d, first, all), r)
		if tile.Lanes() > 0 && g.InLanes() != tasks {
			t.Fatalf("%d tasks are in lanes", g.InLanes())
		}
		g.Step(kernel.NewBasis(d, r), 0, nil) // a block must forget what it could not solve
		g.Step(u, 0, nil)
		tier := tile.Active()
		if err := tile.Use(tile.Generic); err != nil {
			t.Fatal(err)
		}
		want := kernel.NewGroup(kernel.View(data, 16, d, first, all), r)
		want.Step(u, 0, nil)
		if want.InLanes() > 0 {
			t.Error("the generic tier has lanes")
		}
		if err := tile.Use(tier); err != nil {
			t.Fatal(err)
		}
		sameMatrix(t, "B", mat.NewDense(tasks, r, g.B), mat.NewDense(tasks, r, want.B), 1e-10)
		sameMatrix(t, "gradient", g.Grad, want.Grad, 1e-10)
		if !slices.Equal(g.Status, want.Status) || want.Status[3] != lsq.RankDeficient ||
			!(math.Abs(g.Objective/want.Objective-1) < 1e-10) {
			t.Errorf("statuses %v and objective %g, want %v and %g", g.Status, g.Objective, want.Status, want.Objective)
		}
		copy(data[1:], slices.Clone(data))
		for workers := 1; workers <= 3; workers++ {
			pool := kernel.NewPool(workers)
			moved := kernel.NewGroup(kernel.View(data[1:], 16, d, first, all), r)
			kernel.NewExecutor(pool, []*kernel.Group{moved}).Step([]*kernel.Basis{u}, 0)
			pool.Close()
			if !sameBits(g.B, moved.B) || !sameBits(g.Grad.Data(), moved.Grad.Data()) ||
				g.Objective != moved.Objective {
				t.Errorf("%d workers: other bits than those of Group.Step", workers)
			}
		}
	})
}

// TestLanesOnlyTiny: tasks that do not fit lanes are not put there, and no task is with other backends.
func TestLanesOnlyTiny(t *testing.T) {
	for _, name := range backends() {
		t.Run(name, func(t *testing.T) {
			use(t, name)
			tasks, _, _ := randomTasks(rand.New(rand.NewPCG(65, 66)), 20, slices.Repeat([]int{10}, 16), kernel.Float64)
			if n := kernel.NewGroup(tasks, 2).InLanes(); n > 0 {
				t.Errorf("%d tasks in lanes", n)
			}
		})
	}
	use(t, tile.Active().String())
	rng := rand.New(rand.NewPCG(65, 66))
	for _, c := range []struct {
		name    string
		d, r    int
		samples []int
		storage kernel.Storage
		want    int // tasks in lanes
	}{
		{"small", 16, 8, slices.Repeat([]int{32}, 16), kernel.Float64, 16},
		{"samples", 8, 4, slices.Repeat([]int{33}, 16), kernel.Float64, 0},
		{"features", 65, 4, slices.Repeat([]int{7}, 16), kernel.Float64, 0},
		{"group of 1 MiB", 32, 4, slices.Repeat([]int{32}, 128), kernel.Float64, 128},
		{"larger group", 32, 4, slices.Repeat([]int{32}, 129), kernel.Float64, 0},
		{"larger tasks", 33, 4, slices.Repeat([]int{32}, 16), kernel.Float64, 0},
		{"columns", 16, 9, slices.Repeat([]int{20}, 16), kernel.Float64, 0},
		{"float32", 16, 4, slices.Repeat([]int{20}, 16), kernel.Float32, 0},
		{"fewer samples than columns", 20, 4, append(slices.Repeat([]int{20}, 15), 3), kernel.Float64, 0},
		{"one task", 20, 4, []int{20}, kernel.Float64, 0},
		{"ragged", 20, 2, []int{2, 20, 2, 20, 2, 20, 2, 20, 2, 20, 2, 20, 2, 20, 2, 20}, kernel.Float64, 16},
		{"one long", 20, 2, append(slices.Repeat([]int{4}, 7), 20), kernel.Float64, 0},
	} {
		tasks, _, _ := randomTasks(rng, c.d, c.samples, c.storage)
		if tile.Lanes() == 0 {
			c.want = 0
		}
		if got := kernel.NewGroup(tasks, c.r).InLanes(); got != c.want {
			t.Errorf("%s: %d tasks in lanes, want %d", c.name, got, c.want)
		}
	}
}
