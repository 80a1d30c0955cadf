package kernel

import (
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/mat"
)

// A Builder copies the samples of tasks, row by row or task by task, into their layout.
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
	t := &Tasks{d: features, stride: dense.Stride(features), storage: storage}
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

// SetTask copies all samples of task t: the n_t x d matrix x and the n_t responses y. A matrix that
// implements mat.RawMatrixer, such as *mat.Dense, is read without calls of At. x may be nil if n_t = 0.
func (b *Builder) SetTask(t int, x mat.Matrix, y []float64) {
	k := b.t
	if k == nil {
		panic(builderDone)
	}
	if uint(t) >= uint(len(k.rows)) {
		panic(badIndex)
	}
	n := k.rows[t]
	if len(y) != n {
		panic(badResponses)
	}
	if n == 0 && x == nil {
		return
	}
	if x == nil {
		panic(noMatrix)
	}
	switch rows, d := x.Dims(); {
	case rows != n:
		panic(badRows)
	case n > 0 && d != k.d:
		panic(badRow)
	}
	if raw, ok := x.(mat.RawMatrixer); ok {
		m := raw.RawMatrix()
		for i := range n {
			b.SetRow(t, i, m.Data[i*m.Stride:][:k.d], y[i])
		}
		return
	}
	row := make([]float64, k.d)
	for i := range n {
		b.SetRow(t, i, mat.Row(row, i, x), y[i])
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
