package kernel

import (
	"slices"

	"github.com/difalt/difalt/internal/tile"
)

// A Builder copies the samples of tasks, row by row, into their layout.
type Builder struct{ t *Tasks }

// NewBuilder starts tasks with the given number of features and samples[t] rows in task t. Rows that are
// never set stay zero.
func NewBuilder(features int, samples []int, storage Storage) *Builder {
	if features > maxNumbers {
		panic(tooLarge)
	}
	if features <= 0 || slices.ContainsFunc(samples, func(n int) bool { return n < 0 }) {
		panic(badTasks)
	}
	if storage != Float64 && storage != Float32 {
		panic(badStorage)
	}
	t := &Tasks{d: features, stride: tile.Stride(features), storage: storage}
	t.first, t.rows = make([]int, len(samples)), slices.Clone(samples)
	if !t.count() {
		panic(tooLarge)
	}
	for i := range samples[:max(len(samples)-1, 0)] {
		t.first[i+1] = t.first[i] + samples[i]
	}
	t.y = make([]float64, t.total)
	if storage == Float32 {
		t.x32 = alignedFloat32(t.total * t.stride)
	} else {
		t.x64 = alignedFloat64(t.total * t.stride)
	}
	return &Builder{t}
}

// SetRow copies sample i of task t: its features x and its response y.
func (b *Builder) SetRow(t, i int, x []float64, y float64) {
	k := b.t
	if k == nil {
		panic(builderDone)
	}
	k.checkIndex(t, i)
	if len(x) != k.d {
		panic(badRow)
	}
	row := k.first[t] + i
	k.y[row] = y
	if k.storage == Float64 {
		copy(k.x64[row*k.stride:], x)
		return
	}
	dst := k.x32[row*k.stride:][:k.d]
	for j, v := range x {
		dst[j] = float32(v)
	}
}

// Tasks returns the packed tasks. The builder must not be used afterwards.
func (b *Builder) Tasks() *Tasks {
	t := b.t
	if t == nil {
		panic(builderDone)
	}
	b.t = nil
	return t
}
