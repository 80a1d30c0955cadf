package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

func TestBuilder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		for _, d := range []int{1, 7, 8, 9, 100, 512, 513} {
			samples := []int{3, 0, 1, 0, 5, 0}
			tasks, x, y := randomTasks(rng, d, samples, storage)
			if tasks.Len() != 6 || tasks.Features() != d || tasks.TotalSamples() != 9 || tasks.MaxSamples() != 5 || tasks.Storage() != storage {
				t.Errorf("d = %d: %d tasks, %d features, %d samples, at most %d, %v", d, tasks.Len(),
					tasks.Features(), tasks.TotalSamples(), tasks.MaxSamples(), tasks.Storage())
			}
			row := make([]float64, d)
			for task, n := range samples {
				if tasks.Samples(task) != n || !sameBits(tasks.Y(task), y[task]) {
					t.Errorf("task %d: %d samples, y = %v", task, tasks.Samples(task), tasks.Y(task))
				}
				for i := range n {
					if !sameBits(tasks.Row(row, task, i), x[task].RawRowView(i)) {
						t.Errorf("%v, d = %d: row %d of task %d is %v", storage, d, i, task, row)
					}
				}
			}
			elem := map[kernel.Storage]int{kernel.Float64: 8, kernel.Float32: 4}[storage]
			if b := tasks.Bytes(); b < 9*d*elem || b > 9*(d+16)*elem {
				t.Errorf("d = %d: %d bytes", d, b)
			}
		}
	}
}

// A view has the rows of the caller's memory, in both storages, and computes what copies of them do, to the
// bit.
func TestView(t *testing.T) {
	for _, d := range []int{1, 8, 9} {
		first := []int{0, 0, 3, 4, 4, 9}
		for _, ldx := range []int{16, 24, 40} {
			testView(t, d, ldx, first, kernel.Float64, make([]float64, 8*ldx+16))
			testView(t, d, ldx, first, kernel.Float32, make([]float32, 8*ldx+16))
		}
	}
	x, y := make([]float64, 48), make([]float64, 3)
	for name, f := range map[string]func(){
		"no features":      func() { kernel.View(x, 16, 0, []int{0, 3}, y) },
		"too many":         func() { kernel.View(x, 16, math.MaxInt, []int{0, 3}, y) },
		"stride":           func() { kernel.View(x, 12, 9, []int{0, 3}, y) },
		"short stride":     func() { kernel.View(x, 8, 9, []int{0, 3}, y) },
		"short x":          func() { kernel.View(x[:40], 16, 9, []int{0, 3}, y) },
		"responses":        func() { kernel.View(x, 16, 9, []int{0, 3}, y[1:]) },
		"no first":         func() { kernel.View(x, 16, 9, nil, nil) },
		"first not from 0": func() { kernel.View(x, 16, 9, []int{1, 3}, y) },
		"first backwards":  func() { kernel.View(x, 16, 9, []int{0, 3, 2, 3}, y) },
		"padding":          func() { z := slices.Clone(x); z[2*16+15] = 1; kernel.View(z, 16, 9, []int{0, 3}, y) },
		"NaN in padding":   func() { z := slices.Clone(x); z[9] = math.NaN(); kernel.View(z, 16, 9, []int{0, 3}, y) },
	} {
		wantPanic(t, name, f)
	}
	if k := kernel.View[float64](nil, 8, 3, []int{0, 0}, nil); k.Len() != 1 || k.TotalSamples() != 0 {
		t.Errorf("%d tasks with %d samples without rows", k.Len(), k.TotalSamples())
	}
}

func testView[F float32 | float64](t *testing.T, d, ldx int, first []int, storage kernel.Storage, x []F) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	want, dense, y := randomTasks(rng, d, []int{0, 3, 1, 0, 5}, storage)
	row := 0
	for _, m := range dense {
		for i := 0; m != nil && i < m.RawMatrix().Rows; i++ {
			for k, v := range m.RawRowView(i) {
				x[row*ldx+k] = F(v)
			}
			for k := (d + 7) &^ 7; k < ldx && row*ldx+k < len(x); k++ {
				x[row*ldx+k] = F(math.NaN()) // nobody reads between the padding of a row and the next row
			}
			row++
		}
	}
	got := kernel.View(x, ldx, d, first, slices.Concat(y...))
	if got.Len() != 5 || got.Features() != d || got.TotalSamples() != 9 || got.MaxSamples() != 5 || got.Storage() != storage {
		t.Errorf("%d tasks, %d features, %d samples, %v", got.Len(), got.Features(), got.TotalSamples(), got.Storage())
	}
	u := randomBasis(rng, d, 1)
	a, b := kernel.NewGroup(want, 1), kernel.NewGroup(got, 1)
	a.Step(u, 0, nil)
	b.Step(u, 0, nil)
	sameGroup(t, b, a)
	other := kernel.NewBasis(d, 1)
	got.GramProduct(other, u, nil)
	want.GramProduct(a.Grad, u, nil)
	if !sameBits(other.Data(), a.Grad.Data()) {
		t.Error("another Gram product")
	}
}

// Matrices with rows in place, views of larger ones, transposes and others go in alike.
func TestSetTask(t *testing.T) {
	whole := mat.NewDense(4, 5, nil)
	for i := range 4 {
		for j := range 5 {
			whole.Set(i, j, float64(10*i+j))
		}
	}
	view := whole.Slice(1, 3, 2, 5)
	var general mat.Dense
	general.SetRawMatrix(blas64.General{Rows: 2, Cols: 3, Stride: 5, Data: whole.RawMatrix().Data[7:]})
	others := []mat.Matrix{
		view, mat.DenseCopyOf(view), &general, mat.DenseCopyOf(view.T()).T(), kernel.BasisOf(view),
		struct{ mat.Matrix }{view},
	}
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		for k, x := range others {
			b := kernel.NewBuilder(3, []int{0, 2, 0}, storage)
			b.SetTask(0, nil, nil)
			b.SetTask(1, x, []float64{7, 8})
			b.SetTask(2, new(mat.Dense), nil)
			tasks := b.Tasks()
			for i, want := range [][]float64{{12, 13, 14}, {22, 23, 24}} {
				if got := tasks.Row(make([]float64, 3), 1, i); !sameBits(got, want) {
					t.Errorf("%v, matrix %d: row %d is %v, want %v", storage, k, i, got, want)
				}
			}
			if !sameBits(tasks.Y(1), []float64{7, 8}) {
				t.Errorf("%v, matrix %d: responses %v", storage, k, tasks.Y(1))
			}
		}
	}
	b := kernel.NewBuilder(3, []int{0, 2}, kernel.Float64)
	y := []float64{7, 8}
	if n := testing.AllocsPerRun(5, func() { b.SetTask(1, view, y) }); n != 0 {
		t.Errorf("%v allocations for a matrix of rows", n)
	}
	wantPanic(t, "task", func() { b.SetTask(2, view, y) })
	wantPanic(t, "negative task", func() { b.SetTask(-1, view, y) })
	wantPanic(t, "responses", func() { b.SetTask(1, view, y[:1]) })
	wantPanic(t, "no matrix", func() { b.SetTask(1, nil, y) })
	wantPanic(t, "rows", func() { b.SetTask(1, whole.Slice(0, 3, 0, 3), y) })
	wantPanic(t, "columns", func() { b.SetTask(1, whole.Slice(0, 2, 0, 4), y) })
	wantPanic(t, "rows of an empty task", func() { b.SetTask(0, view, nil) })
	b.Tasks()
	wantPanic(t, "after Tasks", func() { b.SetTask(1, view, y) })
}

func TestTasksPanics(t *testing.T) {
	wantPanic(t, "no features", func() { kernel.NewBuilder(0, []int{1}, kernel.Float64) })
	wantPanic(t, "overflow of features", func() { kernel.NewBuilder(math.MaxInt, []int{1}, kernel.Float64) })
	wantPanic(t, "overflow of samples", func() { kernel.NewBuilder(9, []int{3, math.MaxInt / 16}, kernel.Float64) })
	wantPanic(t, "Y, task", func() { kernel.NewBuilder(1, []int{1}, kernel.Float64).Tasks().Y(1) })
	wantPanic(t, "negative count", func() { kernel.NewBuilder(1, []int{1, -1}, kernel.Float64) })
	wantPanic(t, "storage", func() { kernel.NewBuilder(1, []int{1}, 7) })
	b := kernel.NewBuilder(2, []int{1, 0}, kernel.Float64)
	row := []float64{1, 2}
	wantPanic(t, "short row", func() { b.SetRow(0, 0, row[:1], 0) })
	wantPanic(t, "task", func() { b.SetRow(2, 0, row, 0) })
	wantPanic(t, "negative task", func() { b.SetRow(-1, 0, row, 0) })
	wantPanic(t, "sample", func() { b.SetRow(1, 0, row, 0) })
	wantPanic(t, "negative sample", func() { b.SetRow(0, -1, row, 0) })
	tasks := b.Tasks()
	wantPanic(t, "SetRow after Tasks", func() { b.SetRow(0, 0, row, 0) })
	wantPanic(t, "Tasks after Tasks", func() { b.Tasks() })
	wantPanic(t, "Row, short", func() { tasks.Row(row[:1], 0, 0) })
	wantPanic(t, "Row, task", func() { tasks.Row(row, 2, 0) })
	wantPanic(t, "Row, sample", func() { tasks.Row(row, 0, 1) })
	wantPanic(t, "part", func() { tasks.Part(2, 2) })
	wantPanic(t, "negative part", func() { tasks.Part(-1, 2) })
	wantPanic(t, "no parts", func() { tasks.Part(0, 0) })
	wantPanic(t, "MulTransposed, task", func() { tasks.MulTransposed(make([]float64, 8), 2, nil) })
	wantPanic(t, "MulTransposed, e", func() { tasks.MulTransposed(make([]float64, 8), 0, nil) })
	wantPanic(t, "MulTransposed, v", func() { tasks.MulTransposed(row, 0, row) })
}

func TestStorageString(t *testing.T) {
	if s := fmt.Sprint(kernel.Float64, kernel.Float32, kernel.Storage(9)); s != "float64 float32 Storage(9)" {
		t.Error(s)
	}
}

// Every row belongs to exactly one part, in order, and the parts of a task differ
// by at most one row.
func TestPart(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for parts := 1; parts < 12; parts++ {
		var samples []int
		for n := range 30 {
			samples = append(samples, n)
		}
		tasks, _, y := randomTasks(rng, 3, samples, kernel.Float32)
		seen := make([][]float64, len(samples))
		total := 0
		for part := range parts {
			v := tasks.Part(part, parts)
			total += v.TotalSamples()
			most := 0
			for task, n := range samples {
				most = max(most, v.Samples(task))
				if k := v.Samples(task); k != n/parts && k != (n+parts-1)/parts {
					t.Errorf("part %d of %d has %d of %d rows", part, parts, k, n)
				}
				for i := range v.Samples(task) {
					at := len(seen[task])
					got, want := v.Row(make([]float64, 3), task, i), tasks.Row(make([]float64, 3), task, at)
					if !sameBits(got, want) || at*parts/n != part {
						t.Errorf("row %d of part %d of %d of task %d is not row %d", i, part, parts, task, at)
					}
					seen[task] = append(seen[task], v.Y(task)[i])
				}
			}
			if v.MaxSamples() != most {
				t.Errorf("part %d of %d: MaxSamples is %d, want %d", part, parts, v.MaxSamples(), most)
			}
		}
		if total != tasks.TotalSamples() {
			t.Errorf("%d parts have %d rows, want %d", parts, total, tasks.TotalSamples())
		}
		for task := range samples {
			if !sameBits(seen[task], y[task]) {
				t.Errorf("%d parts: responses of task %d are %v, want %v", parts, task, seen[task], y[task])
			}
		}
		if v := tasks.Part(1, 2).Part(2, 3); !sameBits(v.Y(12), y[12][10:]) {
			t.Errorf("part of a part: %v, want %v", v.Y(12), y[12][10:])
		}
	}
}

func TestBasis(t *testing.T) {
	m := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	u := kernel.BasisOf(m)
	if d, r := u.Dims(); d != 3 || r != 2 {
		t.Errorf("%d x %d", d, r)
	}
	if !mat.Equal(u, m) || !mat.Equal(u.T(), m.T()) {
		t.Errorf("%v", mat.Formatted(u))
	}
	v := u.Clone()
	v.Col(1)[2] = 7
	if u.At(2, 1) != 6 || v.At(2, 1) != 7 {
		t.Error("a clone shares memory")
	}
	u.CopyFrom(v)
	if u.At(2, 1) != 7 || len(u.Data()) != 2*u.Stride() || cap(u.Col(0)) != 3 {
		t.Errorf("%v, %d entries of stride %d", u.At(2, 1), len(u.Data()), u.Stride())
	}
	if uintptr(unsafe.Pointer(&u.Data()[0]))%64 != 0 {
		t.Error("the basis does not start a cache line")
	}
	wantPanic(t, "d", func() { kernel.NewBasis(0, 1) })
	wantPanic(t, "overflow", func() { kernel.NewBasis(1<<20, math.MaxInt>>16) })
	wantPanic(t, "no matrix", func() { kernel.BasisOf(nil) })
	wantPanic(t, "CopyFrom nothing", func() { u.CopyFrom(nil) })
	wantPanic(t, "r", func() { kernel.NewBasis(1, 0) })
	wantPanic(t, "CopyFrom", func() { u.CopyFrom(kernel.NewBasis(3, 3)) })
}

func TestOrthonormalize(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	_, x, _ := randomTasks(rng, 5, []int{33}, kernel.Float64)
	m := x[0]
	u := kernel.BasisOf(m)
	r, work := make([]float64, 25), make([]float64, 5)
	u.Orthonormalize(r, work)
	var gram, back mat.Dense
	gram.Mul(u.T(), u)
	sameMatrix(t, "Q'Q", &gram, mat.NewDiagDense(5, []float64{1, 1, 1, 1, 1}), 1e-14)
	back.Mul(u, mat.NewDense(5, 5, r).T())
	sameMatrix(t, "QR", &back, m, 1e-14)
	for j := range 5 {
		for _, v := range u.Data()[j*u.Stride()+33 : (j+1)*u.Stride()] {
			if v != 0 {
				t.Fatalf("padding of column %d is %g", j, v)
			}
		}
	}
	if n := testing.AllocsPerRun(20, func() { u.Orthonormalize(r, work) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
