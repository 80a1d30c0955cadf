package kernel

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/scratch"
	"gonum.org/v1/gonum/mat"
)

// A Builder packs tasks row by row, so that a table can be streamed into place.
type Builder struct{ t *Tasks }

// NewBuilder starts Tasks of the given number of features, with samples[t] rows
// for task t. Rows that SetRow never sets stay zero.
func NewBuilder(features int, samples []int, storage Storage) *Builder {
	b, _ := NewBuilderOnDisk("", features, samples, storage) // only a disk can fail
	return b
}

// NewBuilderOnDisk is NewBuilder for samples that lie in a file in the given folder, and in
// memory only as far as there is room: for problems larger than memory that are reduced
// (Group.Reduce) and read again by anchors only. All that is done with such Tasks is the
// same, bit by bit. The file takes Tasks.Bytes of disk space, which is reserved at once: a
// disk that is full is an error here. It has no name; it vanishes with the process,
// however that ends, or with the last reference to the Tasks. A folder whose files are
// in memory is refused, and so are systems other than Linux, macOS and BSD. As with all
// memory that is mapped, the process ends if the disk fails under it.
//
// An empty folder stands for memory.
func NewBuilderOnDisk(folder string, features int, samples []int, storage Storage) (*Builder, error) {
	if features > maxNumbers {
		panic(tooLarge)
	}
	if features <= 0 || slices.ContainsFunc(samples, func(n int) bool { return n < 0 }) {
		panic(badTasks)
	}
	if storage != Float64 && storage != Float32 {
		panic(badStorage)
	}
	t := &Tasks{d: features, stride: dense.Stride(features), storage: storage, size: new(size)}
	t.first, t.rows = make([]int, len(samples)), slices.Clone(samples)
	if !t.count() {
		panic(tooLarge)
	}
	for i := range samples[:max(len(samples)-1, 0)] {
		t.first[i+1] = t.first[i] + samples[i]
	}
	t.y = make([]float64, t.total)
	if err := t.reserve(folder); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return &Builder{t}, nil
}

// reserve makes room for the samples in a folder, or in memory if that is empty.
func (t *Tasks) reserve(folder string) error {
	single := t.storage == Float32
	switch n := t.total * t.stride; {
	case folder != "":
		f, err := scratch.New(folder, t.Bytes())
		if err != nil {
			return err
		}
		t.disk = &disk{f, folder}
		if single {
			t.x32 = scratch.Numbers[float32](f)
		} else {
			t.x64 = scratch.Numbers[float64](f)
		}
	case single:
		// float32 rows keep the padding of float64 rows and are at least half a cache
		// line apart.
		t.x32 = alignedFloat32(n)
	default:
		t.x64 = alignedFloat64(n)
	}
	return nil
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

// SetTask copies all samples of task t: the n_t x d matrix x and the n_t responses y.
// A *mat.Dense, or what else shows its rows by RawMatrix, is read in place, whatever its
// stride: blas64.General goes in by SetRawMatrix of a mat.Dense. x may be nil if
// n_t = 0.
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
	t.seal()
	return t
}

// A disk is where the samples of tasks are that NewBuilderOnDisk has built.
type disk struct {
	file   *scratch.File
	folder string
}

// window is how many bytes of samples the system reads ahead at a time: one window while
// the one before it is computed with. Larger ones push each other out where
// there is little memory, and take more of the system's time.
const window = 2 << 20

// Folder returns the folder where the samples lie in a file, empty for samples in memory.
func (t *Tasks) Folder() string {
	if t.disk == nil {
		return ""
	}
	return t.disk.folder
}

// seal ends the building.
func (t *Tasks) seal() {
	if t.disk != nil {
		t.disk.file.Seal()
	}
}

// ahead has the system read samples on disk before they are needed, for a caller that goes
// through the tasks in order and has come to this one: one window more than it lies in.
func (t *Tasks) ahead(task int) {
	if t.disk == nil || t.rows[task] == 0 {
		return
	}
	row := t.stride * t.storage.size()
	lo, done := t.first[task]*row, 0
	if lo > 0 {
		done = (lo-1)/window + 2 // by the tasks before
	}
	if hi := (lo+t.rows[task]*row-1)/window + 2; done < hi {
		t.disk.file.Ahead(done*window, hi*window)
	}
}

// keep is called behind the last use of the samples: on disk, nothing else keeps their
// memory from being released before.
func (t *Tasks) keep() { runtime.KeepAlive(t) }
