package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
)

// An executor gives the same bits as the groups on their own, for any number of
// workers.
func TestExecutor(t *testing.T) { tiertest.Each(t, testExecutor) }

func testExecutor(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const d, r = 37, 3
	var tasks []*kernel.Tasks
	// 9000 samples make many chunks of one group; the others have one or none.
	for i, samples := range [][]int{ragged(rng, 300, 60), {5}, {}, {0, 0}, ragged(rng, 20, 9), {700, 0, 2}} {
		k, _, _ := randomTasks(rng, d, samples, kernel.Storage(i%2))
		tasks = append(tasks, k)
	}
	var want, groups []*kernel.Group
	var u []*kernel.Basis
	for _, k := range tasks {
		want = append(want, kernel.NewGroup(k, r))
		groups = append(groups, kernel.NewGroup(k, r))
		u = append(u, randomBasis(rng, d, r))
	}
	ws := kernel.NewWorkspace(want...)
	for _, workers := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprintf("workers=%d", workers), func(t *testing.T) {
			pool := kernel.NewPool(workers)
			defer pool.Close()
			e := kernel.NewExecutor(pool, groups)
			for _, ridge := range []float64{0, 0.5} {
				e.Step(u, ridge)
				for i, g := range want {
					g.Step(u[i], ridge, ws)
					sameGroup(t, groups[i], g)
				}
				e.Minimize(u, ridge)
				for i, g := range want {
					g.Minimize(u[i], ridge, ws)
					sameGroup(t, groups[i], g)
				}
				e.Gradient(u)
				for i, g := range want {
					g.Gradient(u[i], ws)
					sameGroup(t, groups[i], g)
				}
			}
		})
	}
}

func sameGroup(t *testing.T, got, want *kernel.Group) {
	t.Helper()
	if !sameBits(got.B, want.B) || !sameBits(got.Grad.Data(), want.Grad.Data()) || got.Objective != want.Objective {
		t.Error("the executor and the group differ")
	}
	for i, s := range want.Status {
		if got.Status[i] != s {
			t.Errorf("task %d: %v by the executor, %v by the group", i, got.Status[i], s)
		}
	}
}

func TestExecutorDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	tasks, _, _ := randomTasks(rng, 24, ragged(rng, 200, 60), kernel.Float64)
	groups := []*kernel.Group{kernel.NewGroup(tasks, 2), kernel.NewGroup(tasks, 2)}
	u := []*kernel.Basis{randomBasis(rng, 24, 2), randomBasis(rng, 24, 2)}
	for _, workers := range []int{1, 2, 3} {
		pool := kernel.NewPool(workers)
		e := kernel.NewExecutor(pool, groups)
		for name, f := range map[string]func(){
			"Step":     func() { e.Step(u, 0) },
			"Minimize": func() { e.Minimize(u, 0) },
			"Gradient": func() { e.Gradient(u) },
		} {
			if n := check.Allocations(20, f); n != 0 {
				t.Errorf("%d workers: %s makes %d allocations", workers, name, n)
			}
		}
		pool.Close()
	}
}

func TestExecutorPanics(t *testing.T) {
	tasks := kernel.NewBuilder(4, []int{3}, kernel.Float64).Tasks()
	pool := kernel.NewPool(2)
	defer pool.Close()
	e := kernel.NewExecutor(pool, []*kernel.Group{kernel.NewGroup(tasks, 2)})
	wantPanic(t, "bases", func() { e.Step(nil, 0) })
	wantPanic(t, "shape", func() { e.Step([]*kernel.Basis{kernel.NewBasis(4, 3)}, 0) })
	wantPanic(t, "ridge", func() { e.Minimize([]*kernel.Basis{kernel.NewBasis(4, 2)}, -1) })
	g := kernel.NewGroup(tasks, 2)
	kernel.NewExecutor(pool, []*kernel.Group{g, kernel.NewGroup(tasks, 2)})
	wantPanic(t, "no pool", func() { kernel.NewExecutor(nil, []*kernel.Group{g}) })
	wantPanic(t, "no group", func() { kernel.NewExecutor(pool, []*kernel.Group{nil}) })
	wantPanic(t, "one group twice", func() { kernel.NewExecutor(pool, []*kernel.Group{g, g}) })
	// The executor and its pool are usable still.
	e.Step([]*kernel.Basis{kernel.NewBasis(4, 2)}, 1)
}

// No call keeps a reference to its bases.
func TestCallsForgetBases(t *testing.T) {
	for _, name := range append([]string{tile.Active().String()}, backends()...) {
		use(t, name)
		rng := rand.New(rand.NewPCG(91, 92))
		tasks, _, _ := randomTasks(rng, 64, []int{30, 20, 40}, kernel.Float64)
		g := kernel.NewGroup(tasks, 16) // whose basis is packed
		ws, product := kernel.NewWorkspace(g), kernel.NewBasis(64, 16)
		pool := kernel.NewPool(2)
		defer pool.Close()
		e := kernel.NewExecutor(pool, []*kernel.Group{g})
		for call, f := range map[string]func(u *kernel.Basis){
			"Group.Step":        func(u *kernel.Basis) { g.Step(u, 0, ws) },
			"Group.Minimize":    func(u *kernel.Basis) { g.Minimize(u, 0, ws) },
			"Group.Gradient":    func(u *kernel.Basis) { g.Gradient(u, ws) },
			"Executor.Step":     func(u *kernel.Basis) { e.Step([]*kernel.Basis{u}, 0) },
			"Executor.Minimize": func(u *kernel.Basis) { e.Minimize([]*kernel.Basis{u}, 0) },
			"Executor.Gradient": func(u *kernel.Basis) { e.Gradient([]*kernel.Basis{u}) },
			"GramProduct":       func(u *kernel.Basis) { tasks.GramProduct(product, u, ws) },
		} {
			p := weaken(func() *kernel.Basis {
				u := randomBasis(rng, 64, 16)
				f(u)
				return u
			})
			runtime.GC()
			for try := 0; try < 1000 && p.Value() != nil; try++ { // a worker that was interrupted may still hold it
				time.Sleep(time.Millisecond)
				runtime.GC()
			}
			if p.Value() != nil {
				t.Errorf("%s with %s keeps the basis", call, name)
			}
		}
		runtime.KeepAlive(ws)
		runtime.KeepAlive(e)
		runtime.KeepAlive(g)
	}
}

// weaken returns a weak pointer to the basis that f used.
//
//go:noinline
func weaken(f func() *kernel.Basis) weak.Pointer[kernel.Basis] { return weak.Make(f()) }

// An executor computes the groups that it was made of, whatever becomes of the caller's slice.
func TestExecutorKeepsGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(93, 94))
	tasks, _, _ := randomTasks(rng, 9, []int{20, 7}, kernel.Float64)
	g, want := kernel.NewGroup(tasks, 2), kernel.NewGroup(tasks, 2)
	pool := kernel.NewPool(2)
	defer pool.Close()
	groups := []*kernel.Group{g}
	e := kernel.NewExecutor(pool, groups)
	groups[0] = nil
	u := randomBasis(rng, 9, 2)
	e.Step([]*kernel.Basis{u}, 0)
	want.Step(u, 0, nil)
	sameGroup(t, g, want)
}
