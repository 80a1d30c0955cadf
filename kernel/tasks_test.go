package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/mat"
)

// Copied tasks, and tasks over the caller's memory, have the rows that they were made of, and compute the
// same to the bit, whatever lies between the padding of a row and the next one.
func TestTasks(t *testing.T) {
	samples := []int{0, 3, 1, 0, 5, 0}
	for _, d := range []int{1, 7, 8, 9, 100, 512, 513} {
		for _, more := range []int{0, 8, 24} {
			padded := (d + 7) &^ 7
			t.Run(fmt.Sprintf("d=%d/ldx=%d", d, padded+more), func(t *testing.T) {
				testTasks(t, d, samples, make([]float64, 8*(padded+more)+padded), kernel.Float64)
				testTasks(t, d, samples, make([]float32, 8*(padded+more)+padded), kernel.Float32)
			})
		}
	}
	if k := kernel.View[float64](nil, 8, 3, []int{0, 0}, nil); k.Len() != 1 || k.TotalSamples() != 0 {
		t.Errorf("%d tasks with %d samples without rows", k.Len(), k.TotalSamples())
	}
	if s := fmt.Sprint(kernel.Float64, kernel.Float32, kernel.Storage(9)); s != "float64 float32 Storage(9)" {
		t.Error(s)
	}
}

func testTasks[F float32 | float64](t *testing.T, d int, samples []int, memory []F, storage kernel.Storage) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	built, x, y := randomTasks(rng, d, samples, storage)
	padded, first, total := (d+7)&^7, []int{0}, 0
	ldx := (len(memory) - padded) / 8
	for task, n := range samples {
		for i := range n {
			row := memory[(total+i)*ldx:]
			for k := range row[:min(ldx, len(row))] {
				row[k] = F(math.NaN())
			}
			clear(row[:padded])
			for k, v := range x[task].RawRowView(i) {
				row[k] = F(v)
			}
		}
		total += n
		first = append(first, total)
	}
	view := kernel.View(memory, ldx, d, first, slices.Concat(y...))
	size, row := int(unsafe.Sizeof(memory[0])), make([]float64, d)
	for _, k := range []*kernel.Tasks{built, view} {
		if k.Len() != 6 || k.Features() != d || k.TotalSamples() != 9 || k.MaxSamples() != 5 ||
			k.Storage() != storage ||
			k.Bytes() < 9*d*size || k.Bytes() > 9*max(ldx, d+16)*size {
			t.Errorf("%d tasks, %d features, %d samples, at most %d, %v, %d bytes", k.Len(), k.Features(),
				k.TotalSamples(),
				k.MaxSamples(), k.Storage(), k.Bytes())
		}
		for task, n := range samples {
			if k.Samples(task) != n || !sameBits(k.Y(task), y[task]) {
				t.Errorf("task %d: %d samples, y = %v", task, k.Samples(task), k.Y(task))
			}
			for i := range n {
				if !sameBits(k.Row(row, task, i), x[task].RawRowView(i)) {
					t.Errorf("row %d of task %d is %v", i, task, row)
				}
			}
		}
	}
	u := randomBasis(rng, d, 1)
	want, got := kernel.NewGroup(built, 1), kernel.NewGroup(view, 1)
	want.Step(u, 0, nil)
	got.Step(u, 0, nil)
	sameGroup(t, got, want)
	view.GramProduct(got.Grad, u, nil)
	built.GramProduct(want.Grad, u, nil)
	sameGroup(t, got, want)
}

// Every row belongs to exactly one part, in order, and the parts of a task differ by at most one row.
func TestPart(t *testing.T) {
	samples := make([]int, 30)
	for n := range samples {
		samples[n] = n
	}
	tasks, _, y := randomTasks(rand.New(rand.NewPCG(2, 1)), 3, samples, kernel.Float32)
	got, want := make([]float64, 3), make([]float64, 3)
	for parts := 1; parts < 12; parts++ {
		seen := make([][]float64, len(samples))
		for part := range parts {
			v := tasks.Part(part, parts)
			total, most := 0, 0
			for task, n := range samples {
				k := v.Samples(task)
				total, most = total+k, max(most, k)
				if k != n/parts && k != (n+parts-1)/parts {
					t.Errorf("part %d of %d has %d of %d rows", part, parts, k, n)
				}
				for i := range k {
					at := len(seen[task])
					if !sameBits(v.Row(got, task, i), tasks.Row(want, task, at)) || at*parts/n != part {
						t.Errorf("row %d of part %d of %d of task %d is not row %d", i, part, parts, task, at)
					}
					seen[task] = append(seen[task], v.Y(task)[i])
				}
			}
			if v.TotalSamples() != total || v.MaxSamples() != most {
				t.Errorf("part %d of %d: %d samples, at most %d, want %d and %d", part, parts, v.TotalSamples(),
					v.MaxSamples(), total, most)
			}
		}
		for task := range samples {
			if !sameBits(seen[task], y[task]) {
				t.Errorf("%d parts: responses of task %d are %v, want %v", parts, task, seen[task], y[task])
			}
		}
	}
	if v := tasks.Part(1, 2).Part(2, 3); !sameBits(v.Y(12), y[12][10:]) {
		t.Errorf("part of a part: %v, want %v", v.Y(12), y[12][10:])
	}
	// The first row of every task, the middle one of an even number of rows, and none.
	for part, want := range map[int]int{0: 29, math.MaxInt / 2: 14, math.MaxInt - 1: 0} {
		if v := tasks.Part(part, math.MaxInt); v.TotalSamples() != want || v.MaxSamples() > 1 {
			t.Errorf("part %d of many: %d samples, want %d", part, v.TotalSamples(), want)
		}
	}
}

// Tasks of which none is tall are returned as they are, and others have at most d+1 samples.
func TestCompressed(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	for storage, samples := range map[kernel.Storage][]int{kernel.Float32: {10, 3},
		kernel.Float64: {10, 11, 12, 0, 400}} {
		tasks, _, _ := randomTasks(rng, 9, samples, storage)
		small := tasks.Compressed()
		if (small == tasks) != (storage == kernel.Float32) {
			t.Errorf("%v: compressed %t", samples, small != tasks)
		}
		for task, n := range samples {
			if got := small.Samples(task); got != min(n, 10) {
				t.Errorf("task %d: %d samples of %d", task, got, n)
			}
		}
	}
}

func TestBasis(t *testing.T) {
	m := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	u := kernel.BasisOf(m)
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
}

// U becomes Q of its QR factorisation, with zeros behind its columns, without allocations.
func TestOrthonormalize(t *testing.T) {
	_, x, _ := randomTasks(rand.New(rand.NewPCG(4, 1)), 5, []int{33}, kernel.Float64)
	for _, c := range []struct{ r, work []float64 }{{make([]float64, 25), make([]float64, qr.WorkLen(5))},
		{make([]float64, 25), nil}} {
		u := kernel.BasisOf(x[0])
		u.Orthonormalize(c.r, c.work)
		var gram, back mat.Dense
		gram.Mul(u.T(), u)
		sameMatrix(t, "Q'Q", &gram, mat.NewDiagDense(5, []float64{1, 1, 1, 1, 1}), 1e-14)
		back.Mul(u, mat.NewDense(5, 5, c.r).T())
		sameMatrix(t, "QR", &back, x[0], 1e-14)
		if n := check.Allocations(20, func() { u.Orthonormalize(c.r, c.work) }); n != 0 && c.work != nil {
			t.Errorf("%d allocations", n)
		}
	}
}

// Garbage behind the columns of a basis changes no result.
func TestPaddingOfBasis(t *testing.T) {
	const d, r = 20, 2
	rng := rand.New(rand.NewPCG(8, 1))
	tasks, _, _ := randomTasks(rng, d, []int{9, 12}, kernel.Float64)
	clean := randomBasis(rng, d, r)
	dirty := func() *kernel.Basis {
		u := clean.Clone()
		for j, v := range []float64{rng.NormFloat64(), math.NaN()} {
			for k := d; k < u.Stride(); k++ {
				u.Data()[j*u.Stride()+k] = v
			}
		}
		return u
	}
	tiertest.Each(t, func(t *testing.T) {
		results := func(basis func() *kernel.Basis) []float64 {
			g, gram, q := kernel.NewGroup(tasks, r), kernel.NewBasis(d, r), basis()
			g.Step(basis(), 0, nil)
			tasks.GramProduct(gram, basis(), nil)
			q.Orthonormalize(nil, nil)
			copied := kernel.NewBasis(d, r)
			copied.CopyFrom(basis())
			return slices.Concat(g.B, g.Grad.Data(), gram.Data(), q.Data(), basis().Clone().Data(), copied.Data())
		}
		if got, want := results(dirty), results(clean.Clone); !sameBits(got, want) {
			t.Errorf("B, the gradient, the Gram product, Q and copies are %v, want %v", got, want)
		}
	})
}
