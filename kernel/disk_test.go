package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/scratch/scratchtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
)

// onDisk returns a copy of tasks whose samples are in a folder.
func onDisk(t *testing.T, folder string, k *kernel.Tasks) *kernel.Tasks {
	t.Helper()
	samples := make([]int, k.Len())
	for task := range samples {
		samples[task] = k.Samples(task)
	}
	b, err := kernel.NewBuilderOnDisk(folder, k.Features(), samples, k.Storage())
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, k.Features())
	for task := len(samples) - 1; task >= 0; task-- { // rows may come in any order
		for i := range samples[task] {
			b.SetRow(task, i, k.Row(row, task, i), k.Y(task)[i])
		}
	}
	return b.Tasks()
}

// TestOnDisk computes everything twice, from memory and from disk, and wants the same
// bits: of both storages, whatever the tails, strides, sizes of tasks, nodes and workers,
// of steps, anchors and steps by the copy.
func TestOnDisk(t *testing.T) {
	folder := scratchtest.Folder(t)
	tiertest.Each(t, func(t *testing.T) {
		for i, c := range []struct{ d, r, tasks, most, nodes, workers int }{
			{1, 1, 3, 4, 1, 1},
			{37, 3, 60, 40, 3, 4},
			{64, 5, 50, 25, 1, 2},
			{512, 13, 40, 30, 2, 3}, // a stride that gets one more vector, and a packed basis
			{2049, 4, 5, 64, 2, 2},  // more than one window
			{4096, 2, 1, 100, 1, 1}, // tasks of more than one window
		} {
			for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
				t.Run(fmt.Sprintf("d=%d/%v", c.d, storage), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(i), 11))
					var memory, disk []*kernel.Tasks
					for range c.nodes {
						k, _, _ := randomTasks(rng, c.d, append(ragged(rng, c.tasks, c.most), c.most), storage)
						memory, disk = append(memory, k), append(disk, onDisk(t, folder, k))
					}
					if memory[0].Folder() != "" || disk[0].Folder() != folder {
						t.Errorf("the samples are in %q and %q", memory[0].Folder(), disk[0].Folder())
					}
					sameQuantities(t, rng, memory[0], disk[0])
					sameSteps(t, rng, memory, disk, c.r, c.workers)
				})
			}
		}
	})
}

// sameQuantities compares what does not need a group.
func sameQuantities(t *testing.T, rng *rand.Rand, memory, disk *kernel.Tasks) {
	t.Helper()
	d := memory.Features()
	mx, my := memory.MaxAbs()
	dx, dy := disk.MaxAbs()
	msx, msy := memory.SquareSums()
	dsx, dsy := disk.SquareSums()
	if !sameBits([]float64{mx, my, msx, msy}, []float64{dx, dy, dsx, dsy}) {
		t.Error("sizes differ")
	}
	u := randomBasis(rng, d, 1)
	gm, gd := kernel.NewBasis(d, 1), kernel.NewBasis(d, 1)
	memory.GramProduct(gm, u, nil)
	disk.GramProduct(gd, u, nil)
	if !sameBits(gm.Data(), gd.Data()) {
		t.Error("Gram products differ")
	}
}

// sameSteps compares groups through anchors and steps between them, and through parts.
func sameSteps(t *testing.T, rng *rand.Rand, memory, disk []*kernel.Tasks, r, workers int) {
	t.Helper()
	d := memory[0].Features()
	pool := kernel.NewPool(workers)
	defer pool.Close()
	groups := func(tasks []*kernel.Tasks) (g []*kernel.Group) {
		for _, k := range tasks {
			g = append(g, kernel.NewGroup(k, r))
		}
		return g
	}
	gm, gd := groups(memory), groups(disk)
	em, ed := kernel.NewExecutor(pool, gm), kernel.NewExecutor(pool, gd)
	u := make([]*kernel.Basis, len(gm))
	compare := func(what string) {
		t.Helper()
		for i := range gm {
			if !sameBits(gm[i].Grad.Data(), gd[i].Grad.Data()) || !sameBits(gm[i].B, gd[i].B) ||
				!sameBits([]float64{gm[i].Objective}, []float64{gd[i].Objective}) {
				t.Errorf("%s: node %d differs", what, i)
			}
		}
	}
	step := func(what string, e func(*kernel.Executor)) {
		t.Helper()
		for i := range u {
			u[i] = randomBasis(rng, d, r)
		}
		e(em)
		e(ed)
		compare(what)
	}
	whole := func(e *kernel.Executor) { e.Step(u, 0.1) }
	step("step", whole)
	step("minimisation", func(e *kernel.Executor) { e.Minimize(u, 0) })
	for i := range gm {
		gm[i].Reduce()
		gd[i].Reduce()
	}
	step("reduced step", whole)
	for i := range gm {
		gm[i].Anchor()
		gd[i].Anchor()
	}
	step("anchor", whole)
	step("step after an anchor", whole)
	for i := range gm {
		gm[i].SetSamples(memory[i].Part(0, 2), memory[i].Part(1, 2))
		gd[i].SetSamples(disk[i].Part(0, 2), disk[i].Part(1, 2))
	}
	step("step on parts", whole)
}

// TestOnDiskRefuses: what is not there is an error that says where; no folder is memory.
func TestOnDiskRefuses(t *testing.T) {
	folder := scratchtest.Folder(t)
	// No file may have so many bytes, so that no system tries.
	if _, err := kernel.NewBuilderOnDisk(folder, min(1<<40, math.MaxInt), []int{1 << 17}, kernel.Float64); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("2^60 bytes: error %v, want one that names the folder", err)
	}
	if _, err := kernel.NewBuilderOnDisk(folder+"/none", 1, []int{1}, kernel.Float64); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("no folder: error %v, want one that names it", err)
	}
	b, err := kernel.NewBuilderOnDisk("", 1, []int{1}, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	if b.Tasks().Folder() != "" {
		t.Error("samples without a folder are not in memory")
	}
	wantPanic(t, "storage", func() { _, _ = kernel.NewBuilderOnDisk(folder, 1, nil, 7) })
}
