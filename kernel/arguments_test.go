package kernel_test

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// Every fault of an argument ends in the panic of its own text.
func TestPanics(t *testing.T) {
	const huge = math.MaxInt / 16
	f64, inf, nan := kernel.Float64, math.Inf(1), math.NaN()
	build := func(d int, samples ...int) *kernel.Builder { return kernel.NewBuilder(d, samples, f64) }
	tasks, b, done := build(5, 3, 4).Tasks(), build(2, 1, 0), build(1, 1)
	done.Tasks()
	two, small := build(2, 1, 0).Tasks(), kernel.NewBuilder(2, []int{1}, kernel.Float32)
	workspace := func(n, d, r int) *kernel.Workspace {
		return kernel.NewWorkspace(kernel.NewGroup(build(d, n).Tasks(), r))
	}
	g, ws, u, row := kernel.NewGroup(tasks, 2), workspace(4, 5, 2), kernel.NewBasis(5, 2), []float64{1, 2}
	pool := kernel.NewPool(1)
	executor := kernel.NewExecutor(pool, []*kernel.Group{g, kernel.NewGroup(tasks, 2)})
	x, y := make([]float64, 48), make([]float64, 3)
	with := func(at int, v float64) []float64 { z := slices.Clone(x); z[at] = v; return z }
	for message, faults := range map[string][]func(){
		"basis dimensions do not fit": {
			func() { kernel.NewBasis(0, 1) }, func() { kernel.NewBasis(1, 0) }, func() { u.CopyFrom(nil) },
			func() { u.CopyFrom(kernel.NewBasis(5, 3)) }, func() { u.CopyFrom(kernel.NewBasis(4, 2)) },
			func() { kernel.NewBasis(1, 2).Orthonormalize(nil, nil) },
		},
		"dimensions too large": {
			func() { kernel.NewBasis(1<<20, math.MaxInt>>16) }, func() { kernel.NewBasis(math.MaxInt, 1) },
			func() { build(math.MaxInt, 1) }, func() { build(9, 3, huge) }, func() {
				build(9, math.MaxInt/256, 3)
			}, func() { b.Append(huge) }, func() { b.Replace(0, huge) },
			func() { b.Extend(0, huge) },
			func() { kernel.NewGroup(tasks, math.MaxInt/8) }, func() { kernel.NewGroup(tasks, 1<<(bits.UintSize/2)) },
			func() { tasks.NewWorkspace(1 << (bits.UintSize / 2)) }, func() { tasks.NewWorkspace(math.MaxInt) },
		},
		"matrix is nil": {
			func() { kernel.BasisOf(nil) }, func() { kernel.BasisOf((*mat.Dense)(nil)) }, func() {
				kernel.BasisOf((*kernel.Basis)(nil))
			},
		},
		"need at least one feature and no negative number of samples": {
			func() { build(0, 1) }, func() { build(1, 1, -1) }, func() { b.Append(-1) }, func() { b.Extend(0, -1) },
			func() { b.Replace(0, -1) }, func() { kernel.View(x, 16, 0, []int{0, 3}, y) },
			func() { kernel.View(x, 16, math.MaxInt, []int{0, 3}, y) },
		},
		"unknown storage": {func() { kernel.NewBuilder(1, []int{1}, 7) }},
		"builder used after Tasks": {
			func() { done.SetRow(0, 0, row[:1], 0) }, func() { done.Tasks() }, func() { done.Append(1) }, func() {
				done.Drop(0)
			},
			func() { done.Extend(0, 1) }, func() { done.Replace(0, 1) }, func() { new(kernel.Builder).Append(1) },
		},
		"weight must be finite and not negative": {
			func() { b.SetWeightedRow(0, 0, row, 0, -1) }, func() { b.SetWeightedRow(0, 0, row, 0, nan) },
			func() { b.SetWeightedRow(0, 0, row, 0, inf) },
		},
		"number beyond the range of the storage": {
			func() { small.SetRow(0, 0, []float64{1, 1e300}, 0) }, func() {
				small.SetWeightedRow(0, 0, []float64{1, 1e30}, 0, 1e30)
			},
			func() { b.SetWeightedRow(0, 0, []float64{1e300, 0}, 0, 1e30) }, func() {
				b.SetWeightedRow(0, 0, row, 1e300, 1e30)
			},
		},
		"row has the wrong length": {
			func() { b.SetRow(0, 0, row[:1], 0) }, func() { two.Row(row[:1], 0, 0) },
			func() { two.MulTransposed(make([]float64, 8), 0, nil) }, func() { two.MulTransposed(row, 0, row) },
		},
		"task or sample out of range": {
			func() { b.SetRow(2, 0, row, 0) }, func() { b.SetRow(-1, 0, row, 0) }, func() { b.SetRow(1, 0, row, 0) },
			func() { b.SetRow(0, -1, row, 0) }, func() { b.Drop(2) }, func() { b.Drop(-1) }, func() { b.Extend(2, 1) },
			func() { b.Replace(-1, 1) }, func() { two.Weight(0, 1) }, func() { two.Row(row, 2, 0) }, func() {
				two.Row(row, 0, 1)
			},
			func() { two.Y(2) }, func() { two.Samples(2) }, func() { two.Samples(-1) }, func() {
				two.MulTransposed(make([]float64, 8), 2, nil)
			},
		},
		"need one response for every sample": {
			func() { kernel.View(x, 16, 9, []int{0, 3}, y[1:]) }, func() { two.WithResponses(nil) }, func() {
				two.WithResponses(row)
			},
		},
		"first must begin with 0, not decrease, and end with the number of rows": {
			func() { kernel.View(x, 16, 9, nil, nil) }, func() { kernel.View(x, 16, 9, []int{1, 3}, y) },
			func() { kernel.View(x, 16, 9, []int{0, 3, 2, 3}, y) },
		},
		"stride must be a multiple of 8 and hold a row, and x must hold all rows": {
			func() { kernel.View(x, 12, 9, []int{0, 3}, y) }, func() { kernel.View(x, 8, 9, []int{0, 3}, y) },
			func() { kernel.View(x[:40], 16, 9, []int{0, 3}, y) }, func() {
				kernel.View(x, math.MaxInt&^7, 9, []int{0, 3}, y)
			},
		},
		"entries between the features of a row and the next multiple of 8 must be zero": {
			func() { kernel.View(with(47, 1), 16, 9, []int{0, 3}, y) }, func() {
				kernel.View(with(9, nan), 16, 9, []int{0, 3}, y)
			},
		},
		"need 0 <= part < parts": {func() { tasks.Part(2, 2) }, func() { tasks.Part(-1, 2) },
			func() { tasks.Part(0, 0) }},
		"need tasks and a positive rank": {func() { kernel.NewGroup(nil, 1) }, func() { kernel.NewGroup(tasks, 0) },
			func() { kernel.NewGroup(tasks, -1) },
			func() { kernel.NewGroup(new(kernel.Tasks), 3) }, func() { new(kernel.Tasks).NewWorkspace(1) }, func() {
				tasks.NewWorkspace(0)
			},
		},
		"group was not made by NewGroup": {
			func() { new(kernel.Group).Step(u, 0, ws) }, func() { (*kernel.Group)(nil).Minimize(u, 0, ws) },
			func() { new(kernel.Group).Gradient(u, nil) }, func() { kernel.NewWorkspace(g, nil) },
			func() { kernel.NewWorkspace(new(kernel.Group)) }, func() {
				kernel.NewExecutor(pool, []*kernel.Group{new(kernel.Group)})
			},
		},
		"executor was not made by NewExecutor": {
			func() { new(kernel.Executor).Step(nil, 0) }, func() { (*kernel.Executor)(nil).Gradient(nil) },
		},
		"basis has other dimensions than the group": {
			func() { g.Step(kernel.NewBasis(6, 2), 0, ws) }, func() { g.Step(kernel.NewBasis(5, 3), 0, ws) }, func() {
				g.Step(nil, 0, ws)
			},
			func() { tasks.GramProduct(nil, u, ws) }, func() { tasks.GramProduct(u, nil, ws) },
			func() { tasks.GramProduct(kernel.NewBasis(5, 1), u, ws) }, func() {
				tasks.GramProduct(kernel.NewBasis(4, 2), u, ws)
			},
			func() { tasks.GramProduct(u, kernel.NewBasis(4, 2), ws) },
		},
		"result and basis are the same": {
			func() { g.Step(g.Grad, 0, ws) }, func() { g.Gradient(g.Grad, ws) }, func() { tasks.GramProduct(u, u, ws) },
			func() { executor.Step([]*kernel.Basis{u, g.Grad}, 0) },
		},
		"ridge must be from 0 to 1e300": {
			func() { g.Step(u, 1.7e308, ws) }, func() { g.Step(u, -1, ws) }, func() { g.Step(u, nan, ws) }, func() {
				g.Minimize(u, inf, ws)
			},
		},
		"workspace too small": {
			func() { g.Minimize(u, 0, workspace(3, 5, 2)) }, func() { g.Step(u, 0, workspace(4, 4, 2)) },
			func() { g.Step(u, 0, workspace(4, 5, 1)) }, func() { g.Step(u, 0, new(kernel.Workspace)) },
			func() { g.Step(u, 0, kernel.NewWorkspace()) },
			func() { tasks.GramProduct(u.Clone(), u, workspace(0, 5, 2)) },
			func() { tasks.GramProduct(u.Clone(), u, workspace(4, 4, 2)) },
		},
	} {
		for i, f := range faults {
			if got := panicOf(f); got != "kernel: "+message {
				t.Errorf("%s, fault %d: panic %v", message, i, got)
			}
		}
	}
}
