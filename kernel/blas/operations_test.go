package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

type real interface{ float32 | float64 }

// An api is the operations of BLAS in one precision.
type api[T real] struct {
	gemm func(tA, tB gblas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	syrk  func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	syr2k func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	symm func(side gblas.Side, ul gblas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	trmm, trsm func(side gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha T, a []T, lda int,
		b []T, ldb int)
	trsv func(ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n int, a []T, lda int, x []T, incX int)
	gemv func(tA gblas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	symv func(ul gblas.Uplo, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	ger  func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	axpy func(n int, alpha T, x []T, incX int, y []T, incY int)
	nrm2 func(n int, x []T, incX int) T
	trmv func(ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n int, a []T, lda int, x []T, incX int)
	dot  func(n int, x []T, incX int, y []T, incY int) T
	asum func(n int, x []T, incX int) T
	scal func(n int, alpha T, x []T, incX int)
}

func singles(i gblas.Float32) *api[float32] {
	return &api[float32]{i.Sgemm, i.Ssyrk, i.Ssyr2k, i.Ssymm, i.Strmm, i.Strsm, i.Strsv,
		i.Sgemv, i.Ssymv, i.Sger, i.Saxpy, i.Snrm2, i.Strmv, i.Sdot, i.Sasum, i.Sscal}
}

func doubles(i gblas.Float64) *api[float64] {
	return &api[float64]{i.Dgemm, i.Dsyrk, i.Dsyr2k, i.Dsymm, i.Dtrmm, i.Dtrsm, i.Dtrsv,
		i.Dgemv, i.Dsymv, i.Dger, i.Daxpy, i.Dnrm2, i.Dtrmv, i.Ddot, i.Dasum, i.Dscal}
}

// A view is a matrix by rows, or a vector if stride is the distance of its entries.
type view[T real] struct {
	data   []T
	stride int
}

// convert returns the entries in float64, changed by f.
func (v view[T]) convert(f func(float64) float64) view[float64] {
	c := view[float64]{make([]float64, len(v.data)), v.stride}
	for i, x := range v.data {
		c.data[i] = f(float64(x))
	}
	return c
}

// A shape is that of a matrix, or of a vector of rows entries if inc is not 0.
type shape struct{ rows, cols, inc int }

func opShape(t gblas.Transpose, rows, cols int) shape {
	if t != gblas.NoTrans {
		rows, cols = cols, rows
	}
	return shape{rows, cols, 0}
}

type kind int

const (
	plain    kind = iota
	scales        // the result by beta, and does not read it if beta is 0
	triangle      // reads one of the first operand
	mirrored      // triangle that scales
	solves        // a triangular system
)

// An operation takes three operands, the last of which is its result.
type operation[T real] struct {
	name   string
	kind   kind
	shapes func(s *settings, inc func() int) (of [3]shape, terms int)
	call   func(f *api[T], s settings, x [3]view[T])
}

// operations returns the operations in one precision, trsm first.
func operations[T real]() []operation[T] {
	return []operation[T]{
		{"trsm", solves, sideShapes, func(f *api[T], s settings, x [3]view[T]) {
			f.trsm(s.side, s.ul, s.tA, s.diag, s.m, s.n, T(s.alpha), x[0].data, x[0].stride, x[2].data, x[2].stride)
		}},
		{"gemm", scales, func(s *settings, _ func() int) ([3]shape, int) {
			return [3]shape{opShape(s.tA, s.m, s.k), opShape(s.tB, s.k, s.n), {s.m, s.n, 0}}, s.k
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.gemm(s.tA, s.tB, s.m, s.n, s.k, T(s.alpha), x[0].data, x[0].stride, x[1].data, x[1].stride, T(s.beta),
				x[2].data, x[2].stride)
		}},
		{"syrk", plain, func(s *settings, _ func() int) ([3]shape, int) {
			return [3]shape{opShape(s.tA, s.n, s.k), {}, {s.n, s.n, 0}}, s.k
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.syrk(s.ul, s.tA, s.n, s.k, T(s.alpha), x[0].data, x[0].stride, T(s.beta), x[2].data, x[2].stride)
		}},
		{"syr2k", scales, func(s *settings, _ func() int) ([3]shape, int) {
			return [3]shape{opShape(s.tA, s.n, s.k), opShape(s.tA, s.n, s.k), {s.n, s.n, 0}}, 2 * s.k
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.syr2k(s.ul, s.tA, s.n, s.k, T(s.alpha), x[0].data, x[0].stride, x[1].data, x[1].stride, T(s.beta),
				x[2].data, x[2].stride)
		}},
		{"symm", mirrored, func(s *settings, _ func() int) ([3]shape, int) {
			return [3]shape{{s.order(), s.order(), 0}, {s.m, s.n, 0}, {s.m, s.n, 0}}, s.order()
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.symm(s.side, s.ul, s.m, s.n, T(s.alpha), x[0].data, x[0].stride, x[1].data, x[1].stride, T(s.beta),
				x[2].data, x[2].stride)
		}},
		{"trmm", triangle, sideShapes, func(f *api[T], s settings, x [3]view[T]) {
			f.trmm(s.side, s.ul, s.tA, s.diag, s.m, s.n, T(s.alpha), x[0].data, x[0].stride, x[2].data, x[2].stride)
		}},
		{"trsv", solves, func(s *settings, inc func() int) ([3]shape, int) {
			s.side, s.m, s.n, s.alpha = gblas.Left, s.n, 1, 1
			return [3]shape{{s.m, s.m, 0}, {}, {s.m, 1, inc()}}, s.m
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.trsv(s.ul, s.tA, s.diag, s.m, x[0].data, x[0].stride, x[2].data, x[2].stride)
		}},
		{"trmv", triangle, func(s *settings, inc func() int) ([3]shape, int) {
			return [3]shape{{s.n, s.n, 0}, {}, {s.n, 1, inc()}}, s.n
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.trmv(s.ul, s.tA, s.diag, s.n, x[0].data, x[0].stride, x[2].data, x[2].stride)
		}},
		{"dot", plain, func(s *settings, inc func() int) ([3]shape, int) {
			s.n *= 4
			return [3]shape{{s.n, 1, inc()}, {s.n, 1, inc()}, {1, 1, 0}}, s.n
		}, func(f *api[T], s settings, x [3]view[T]) {
			x[2].data[0] = f.dot(s.n, x[0].data, x[0].stride, x[1].data, x[1].stride)
		}},
		{"gemv", scales, func(s *settings, inc func() int) ([3]shape, int) {
			s.m = s.k
			x, y := s.lengths()
			return [3]shape{{s.m, s.n, 0}, {x, 1, inc()}, {y, 1, inc()}}, x
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.gemv(s.tA, s.m, s.n, T(s.alpha), x[0].data, x[0].stride, x[1].data, x[1].stride, T(s.beta), x[2].data,
				x[2].stride)
		}},
		{"symv", mirrored, func(s *settings, inc func() int) ([3]shape, int) {
			return [3]shape{{s.n, s.n, 0}, {s.n, 1, inc()}, {s.n, 1, inc()}}, s.n
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.symv(s.ul, s.n, T(s.alpha), x[0].data, x[0].stride, x[1].data, x[1].stride, T(s.beta), x[2].data,
				x[2].stride)
		}},
		{"ger", plain, func(s *settings, inc func() int) ([3]shape, int) {
			return [3]shape{{s.m, 1, inc()}, {s.n, 1, inc()}, {s.m, s.n, 0}}, 1
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.ger(s.m, s.n, T(s.alpha), x[0].data, x[0].stride, x[1].data, x[1].stride, x[2].data, x[2].stride)
		}},
		{"axpy", plain, func(s *settings, inc func() int) ([3]shape, int) {
			s.n *= 3
			return [3]shape{{s.n, 1, inc()}, {}, {s.n, 1, inc()}}, 1
		}, func(f *api[T], s settings, x [3]view[T]) {
			f.axpy(s.n, T(s.alpha), x[0].data, x[0].stride, x[2].data, x[2].stride)
		}},
		{"nrm2", plain, func(s *settings, inc func() int) ([3]shape, int) {
			s.n *= 4
			return [3]shape{{s.n, 1, max(inc(), 1)}, {}, {1, 1, 0}}, s.n
		}, func(f *api[T], s settings, x [3]view[T]) { x[2].data[0] = f.nrm2(s.n, x[0].data, x[0].stride) }},
		{"asum", plain, func(s *settings, inc func() int) ([3]shape, int) {
			s.n *= 4
			return [3]shape{{s.n, 1, max(inc(), 1)}, {}, {1, 1, 0}}, s.n
		}, func(f *api[T], s settings, x [3]view[T]) { x[2].data[0] = f.asum(s.n, x[0].data, x[0].stride) }},
		{"scal", plain, func(s *settings, inc func() int) ([3]shape, int) {
			s.n *= 4
			return [3]shape{{}, {}, {s.n, 1, max(inc(), 1)}}, 1
		}, func(f *api[T], s settings, x [3]view[T]) { f.scal(s.n, T(s.alpha), x[2].data, x[2].stride) }},
	}
}

func sideShapes(s *settings, _ func() int) ([3]shape, int) {
	return [3]shape{{s.order(), s.order(), 0}, {}, {s.m, s.n, 0}}, s.order()
}

// exactGer is Dger, where gonum's reads outside of vectors with negative increments.
func exactGer(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	for i := range m {
		for j := range n {
			a[i*lda+j] += alpha * x[i*incX+max(0, (1-m)*incX)] * y[j*incY+max(0, (1-n)*incY)]
		}
	}
}

// A bench calls operations on operands that end where memory cannot be read.
type bench[T real] struct {
	rng    *rand.Rand
	memory [3][]T
	eps    float64
	ours   *api[T]
	gonums *api[T]
	differ bool // some bits were not gonum's
}

func newBench[T real](t *testing.T, eps float64, ours, gonums *api[T]) *bench[T] {
	b := &bench[T]{rng: rand.New(rand.NewPCG(21, 22)), eps: eps, ours: ours, gonums: gonums}
	var one T
	for i := range b.memory {
		words := tiertest.Guarded(t, 1<<20)
		b.memory[i] = unsafe.Slice((*T)(unsafe.Pointer(&words[0])), len(words)*8/int(unsafe.Sizeof(one)))
	}
	return b
}

// operands returns random operands at an end of the memory, of settings s; false if they are too large.
func (b *bench[T]) operands(k kind, of [3]shape, s settings) (x [3]view[T], fit bool) {
	gap := b.rng.IntN(4) * b.rng.IntN(2)
	for i, sh := range of {
		cols, stride := sh.cols, max(sh.cols+gap, 1)
		if x[i].stride = stride; sh.inc != 0 {
			x[i].stride, stride = sh.inc, max(sh.inc, -sh.inc)
		}
		n, memory := max((sh.rows-1)*stride+cols, 0), b.memory[i]
		if n > len(memory) {
			return x, false
		}
		if x[i].data = memory[:n:n]; b.rng.IntN(2) == 0 {
			x[i].data = memory[len(memory)-n:]
		}
		for j := range x[i].data {
			if x[i].data[j] = T(guardWord); j%stride < cols {
				x[i].data[j] = T(b.rng.NormFloat64())
			}
		}
	}
	if k >= triangle {
		setTriangle(x[0], of[0].rows, s)
	}
	if (k == scales || k == mirrored) && s.beta == 0 && len(x[2].data) > 0 {
		x[2].data[0] = T(math.NaN()) // is not read
	}
	return x, true
}

// setTriangle makes the triangle of a well-conditioned, and the rest, which is not read, NaN.
func setTriangle[T real](a view[T], n int, s settings) {
	for i := range n {
		for j := range n {
			v := &a.data[i*a.stride+j]
			switch *v /= T(n); {
			case outside(s.ul, i, j), i == j && s.diag == gblas.Unit:
				*v = T(math.NaN())
			case i == j:
				*v++
			}
		}
	}
}

func sameBit[T real](a, b T) bool {
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) ||
		math.Float64bits(float64(a)) == math.Float64bits(float64(b))
}

func same(x float64) float64 { return x }

// check calls an operation on x and holds the result to the bound terms eps sum |a||b| of gonum's in float64,
// and to the entries that are left as they are. Of a system it multiplies the solution by the triangle.
func (b *bench[T]) check(o operation[T], s settings, x [3]view[T], terms int) error {
	before, exact, all := slices.Clone(x[2].data), doubles(reference.Implementation{}), operations[float64]()
	exact.ger = exactGer
	inDouble := all[slices.IndexFunc(all, func(d operation[float64]) bool { return d.name == o.name })].call
	multiply := func(x [3]view[float64]) {
		exact.trmm(s.side, s.ul, s.tA, s.diag, s.m, s.n, 1, x[0].data, x[0].stride, x[2].data, x[2].stride)
	}
	var values, sizes [3]view[float64]
	for i, v := range x {
		values[i], sizes[i] = v.convert(same), v.convert(math.Abs)
	}
	o.call(b.ours, s, x)
	got, start := x[2].convert(same), slices.Clone(values[2].data)
	want, size := values[2], sizes[2]
	if o.kind == solves {
		for i := range start {
			start[i] *= s.alpha
		}
		values[2], sizes[2] = got, x[2].convert(math.Abs)
		got, want, size = values[2], view[float64]{start, 0}, sizes[2]
		multiply(values)
		multiply(sizes)
	} else {
		inDouble(exact, s, values)
		s.alpha, s.beta = math.Abs(s.alpha), math.Abs(s.beta)
		inDouble(exact, s, sizes)
	}
	for i, w := range want.data {
		if o.kind == solves && math.IsNaN(w) || o.kind != solves && sameBit(w, start[i]) {
			if !sameBit(before[i], x[2].data[i]) {
				return fmt.Errorf("wrote entry %d", i)
			}
		} else if most := float64(terms+8)*b.eps*size.data[i] + float64(terms)*0x1p-1060; !(math.Abs(
			got.data[i]-w) <= most) {
			return fmt.Errorf("entry %d is %v, want %v within %g", i, got.data[i], w, most)
		}
	}
	return nil
}

// try runs an operation on all shapes, and compares the panics for wrong arguments with gonum's.
func (b *bench[T]) try(t *testing.T, o operation[T]) {
	inc := func() int { return pick(b.rng, []int{1, 1, 1, 2, -1, -3}) }
	if o.kind == solves { // the check multiplies the result as a matrix
		inc = func() int { return pick(b.rng, []int{1, 1, 2}) }
	}
	sizes := append(shapes(b.rng), [3]int{130, 160, 70}, [3]int{70, 200, 3}, [3]int{200, 66, 200}, [3]int{3, 1500, 70})
	if o.name == "gemv" { // which threads share
		sizes = append(sizes, [3]int{1, 700, 800}, [3]int{1, 2100, 260})
	}
	for at, size := range sizes {
		for choice := range 4 {
			s := randomSettings(b.rng)
			s.m, s.n, s.k = size[0], size[1], size[2]
			s.alpha, s.beta = []float64{1, -1, float64(float32(0.7))}[at%3],
				[]float64{0, 1, float64(float32(-0.3))}[at/3%3]
			if o.kind == mirrored {
				s.diag = gblas.NonUnit
			}
			of, terms := o.shapes(&s, inc)
			x, fit := b.operands(o.kind, of, s)
			if !fit {
				continue
			}
			gonum, y := o.name != "ger" || min(x[0].stride, x[1].stride) > 0, x // see exactGer
			if y[2].data = slices.Clone(x[2].data); gonum {
				o.call(b.gonums, s, y)
			}
			if err := b.check(o, s, x, terms); err != nil {
				t.Fatalf("%+v: %v", s, err)
			}
			b.differ = b.differ || gonum && !slices.EqualFunc(x[2].data, y[2].data, sameBit[T])
			if k := b.rng.IntN(3); choice == 3 && len(x[k].data) > 0 && gonum {
				spoil(b.rng, &s, &x[k].data, &x[k].stride, of[k].cols)
				want, got := panicOf(func() { o.call(b.gonums, s, x) }), panicOf(func() { o.call(b.ours, s, x) })
				if _, ok := want.(string); ok && got != want {
					t.Fatalf("%+v, strides %d, %d, %d: panic %v, want %v", s, x[0].stride, x[1].stride, x[2].stride,
						got, want)
				}
			}
		}
	}
}

func panicOf(f func()) (msg any) {
	defer func() { msg = recover() }()
	f()
	return nil
}

// Products and solutions are those of exact arithmetic to rounding, whatever the shapes, strides and
// settings; nothing is read or written but the operands, and panics are gonum's.
func TestOperations(t *testing.T) {
	wide := operations[float64]()
	for i, o := range operations[float32]() {
		t.Run(o.name, func(t *testing.T) {
			tiertest.Each(t, func(t *testing.T) {
				newBench(t, 0x1p-24, singles(blas.Implementation{}), singles(reference.Implementation{})).try(t, o)
				b := newBench(t, eps, doubles(blas.Implementation{}), doubles(reference.Implementation{}))
				b.try(t, wide[i])
				if tiled() && !b.differ && !slices.Contains([]string{"axpy", "nrm2", "scal"}, o.name) {
					t.Error("all bits are gonum's: the tiles compute nothing")
				}
			})
		})
	}
}

// tiled reports whether the tier in use has tiles for all operations.
func tiled() bool { return tile.Active() != tile.Generic }
