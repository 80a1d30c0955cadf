package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// guard32 lies between rows and entries, and is read and written by nobody.
const guard32 = 0x7fc0dead

// An operand is a matrix by rows, or a vector if stride is the distance of its entries: for the operation
// that is tested, in float64 for gonum's, and with absolute values in float64 for the bound of the error.
type operand struct {
	stride    int
	single    []float32
	of64, abs []float64
}

// A run32 makes the operands of one call, each at an end of memory beyond which nothing can be read.
type run32 struct {
	rng    *rand.Rand
	memory [3][]float32
	used   int
}

func newRun32(t *testing.T) *run32 {
	r := &run32{rng: rand.New(rand.NewPCG(21, 22))}
	for i := range r.memory {
		words := tiertest.Guarded(t, 1<<17)
		r.memory[i] = unsafe.Slice((*float32)(unsafe.Pointer(&words[0])), 2*len(words))
	}
	return r
}

// matrix returns a random operand of rows that are gap entries longer than cols.
func (r *run32) matrix(rows, cols, gap int) *operand {
	o := &operand{stride: max(cols+gap, 1)}
	n := max((rows-1)*o.stride+cols, 0)
	memory := r.memory[r.used]
	r.used++
	if o.single = memory[:n:n]; r.rng.IntN(2) == 0 {
		o.single = memory[len(memory)-n:]
	}
	for i := range o.single {
		if o.single[i] = math.Float32frombits(guard32); i%o.stride < cols {
			o.single[i] = float32(r.rng.NormFloat64())
		}
		o.of64, o.abs = append(o.of64, float64(o.single[i])), append(o.abs, math.Abs(float64(o.single[i])))
	}
	return o
}

// vector returns n entries inc apart.
func (r *run32) vector(n, inc int) *operand {
	o := r.matrix(n, 1, max(inc, -inc)-1)
	o.stride = inc
	return o
}

// op returns a matrix of which op has the given shape.
func (r *run32) op(t gblas.Transpose, rows, cols, gap int) *operand {
	if t != gblas.NoTrans {
		rows, cols = cols, rows
	}
	return r.matrix(rows, cols, gap)
}

// A call is an operation on c, which it overwrites, in float32 by the implementation under test, and in
// float64 by gonum's.
type call struct {
	c      *operand
	terms  int // of a sum
	single func(c []float32)
	double func(abs bool, c []float64)
}

// check holds the result to the error bound terms eps sum |a||b|, and to the entries that gonum leaves as
// they are.
func (k call) check(t *testing.T, at string) {
	t.Helper()
	before, want, size := slices.Clone(k.c.single), slices.Clone(k.c.of64), slices.Clone(k.c.abs)
	k.single(k.c.single)
	k.double(false, want)
	k.double(true, size)
	for i, v := range k.c.single {
		if same := math.Float64bits(want[i]) == math.Float64bits(k.c.of64[i]); same && math.Float32bits(v) != math.Float32bits(before[i]) {
			t.Fatalf("%s: wrote entry %d", at, i)
		} else if !same && !(math.Abs(float64(v)-want[i]) <= float64(k.terms+8)*0x1p-24*size[i]) {
			t.Fatalf("%s: entry %d is %v, want %v within %g", at, i, v, want[i], float64(k.terms+8)*0x1p-24*size[i])
		}
	}
}

// pick returns the absolute values, or the values.
func (o *operand) pick(abs bool) []float64 {
	if abs {
		return o.abs
	}
	return o.of64
}

// at returns entry i of a vector of n.
func (o *operand) at(abs bool, i, n int) float64 {
	return o.pick(abs)[i*o.stride+max(0, (1-n)*o.stride)]
}

func sign(abs bool, v float32) float64 {
	if abs {
		return math.Abs(float64(v))
	}
	return float64(v)
}

// operations32 are the operations of float32 that the tiles compute, on random operands for a shape.
var operations32 = map[string]func(r *run32, s [3]int, alpha, beta float32, gap int, tA, tB gblas.Transpose, side gblas.Side, ul gblas.Uplo, d gblas.Diag) call{
	"gemm": func(r *run32, s [3]int, alpha, beta float32, gap int, tA, tB gblas.Transpose, _ gblas.Side, _ gblas.Uplo, _ gblas.Diag) call {
		m, n, k := s[0], s[1], s[2]
		a, b, c := r.op(tA, m, k, gap), r.op(tB, k, n, gap), r.matrix(m, n, gap)
		return call{c, k, func(to []float32) {
			blas.Implementation{}.Sgemm(tA, tB, m, n, k, alpha, a.single, a.stride, b.single, b.stride, beta, to, c.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Dgemm(tA, tB, m, n, k, sign(abs, alpha), a.pick(abs), a.stride, b.pick(abs), b.stride, sign(abs, beta), to, c.stride)
		}}
	},
	"syrk": func(r *run32, s [3]int, alpha, beta float32, gap int, tA, _ gblas.Transpose, _ gblas.Side, ul gblas.Uplo, _ gblas.Diag) call {
		n, k := s[1], s[2]
		a, c := r.op(tA, n, k, gap), r.matrix(n, n, gap)
		return call{c, k, func(to []float32) {
			blas.Implementation{}.Ssyrk(ul, tA, n, k, alpha, a.single, a.stride, beta, to, c.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Dsyrk(ul, tA, n, k, sign(abs, alpha), a.pick(abs), a.stride, sign(abs, beta), to, c.stride)
		}}
	},
	"syr2k": func(r *run32, s [3]int, alpha, beta float32, gap int, tA, _ gblas.Transpose, _ gblas.Side, ul gblas.Uplo, _ gblas.Diag) call {
		n, k := s[1], s[2]
		a, b, c := r.op(tA, n, k, gap), r.op(tA, n, k, gap), r.matrix(n, n, gap)
		return call{c, 2 * k, func(to []float32) {
			blas.Implementation{}.Ssyr2k(ul, tA, n, k, alpha, a.single, a.stride, b.single, b.stride, beta, to, c.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Dsyr2k(ul, tA, n, k, sign(abs, alpha), a.pick(abs), a.stride, b.pick(abs), b.stride, sign(abs, beta), to, c.stride)
		}}
	},
	"symm": func(r *run32, s [3]int, alpha, beta float32, gap int, _, _ gblas.Transpose, side gblas.Side, ul gblas.Uplo, _ gblas.Diag) call {
		m, n := s[0], s[1]
		order := map[gblas.Side]int{gblas.Left: m, gblas.Right: n}[side]
		a, b, c := r.matrix(order, order, gap), r.matrix(m, n, gap), r.matrix(m, n, gap)
		return call{c, order, func(to []float32) {
			blas.Implementation{}.Ssymm(side, ul, m, n, alpha, a.single, a.stride, b.single, b.stride, beta, to, c.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Dsymm(side, ul, m, n, sign(abs, alpha), a.pick(abs), a.stride, b.pick(abs), b.stride, sign(abs, beta), to, c.stride)
		}}
	},
	"trmm": func(r *run32, s [3]int, alpha, _ float32, gap int, tA, _ gblas.Transpose, side gblas.Side, ul gblas.Uplo, d gblas.Diag) call {
		m, n := s[0], s[1]
		order := map[gblas.Side]int{gblas.Left: m, gblas.Right: n}[side]
		a, c := r.matrix(order, order, gap), r.matrix(m, n, gap)
		return call{c, order, func(to []float32) {
			blas.Implementation{}.Strmm(side, ul, tA, d, m, n, alpha, a.single, a.stride, to, c.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Dtrmm(side, ul, tA, d, m, n, sign(abs, alpha), a.pick(abs), a.stride, to, c.stride)
		}}
	},
	"gemv": func(r *run32, s [3]int, alpha, beta float32, gap int, tA, _ gblas.Transpose, _ gblas.Side, _ gblas.Uplo, _ gblas.Diag) call {
		m, n := s[2], s[1]
		lenX, lenY := n, m
		if tA != gblas.NoTrans {
			lenX, lenY = m, n
		}
		a, x, y := r.matrix(m, n, gap), r.vector(lenX, incOf(r)), r.vector(lenY, incOf(r))
		return call{y, lenX, func(to []float32) {
			blas.Implementation{}.Sgemv(tA, m, n, alpha, a.single, a.stride, x.single, x.stride, beta, to, y.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Dgemv(tA, m, n, sign(abs, alpha), a.pick(abs), a.stride, x.pick(abs), x.stride, sign(abs, beta), to, y.stride)
		}}
	},
	"ger": func(r *run32, s [3]int, alpha, _ float32, gap int, _, _ gblas.Transpose, _ gblas.Side, _ gblas.Uplo, _ gblas.Diag) call {
		m, n := s[0], s[1]
		x, y, a := r.vector(m, incOf(r)), r.vector(n, incOf(r)), r.matrix(m, n, gap)
		return call{a, 1, func(to []float32) {
			blas.Implementation{}.Sger(m, n, alpha, x.single, x.stride, y.single, y.stride, to, a.stride)
		}, func(abs bool, to []float64) {
			for i := range m { // gonum's Dger reads outside of vectors with negative increments
				for j := range n {
					to[i*a.stride+j] += sign(abs, alpha) * x.at(abs, i, m) * y.at(abs, j, n)
				}
			}
		}}
	},
	"axpy": func(r *run32, s [3]int, alpha, _ float32, _ int, _, _ gblas.Transpose, _ gblas.Side, _ gblas.Uplo, _ gblas.Diag) call {
		n := s[1] * 3
		x, y := r.vector(n, incOf(r)), r.vector(n, incOf(r))
		return call{y, 1, func(to []float32) {
			blas.Implementation{}.Saxpy(n, alpha, x.single, x.stride, to, y.stride)
		}, func(abs bool, to []float64) {
			reference.Implementation{}.Daxpy(n, sign(abs, alpha), x.pick(abs), x.stride, to, y.stride)
		}}
	},
	// The sums of level 1 go to the entries of c.
	"level1": func(r *run32, s [3]int, _, _ float32, _ int, _, _ gblas.Transpose, _ gblas.Side, _ gblas.Uplo, _ gblas.Diag) call {
		n, inc := s[1]*4, max(incOf(r), 1)
		x, y, c := r.vector(n, inc), r.vector(n, incOf(r)), r.matrix(1, 3, 0)
		return call{c, n, func(to []float32) {
			to[0] = blas.Implementation{}.Sdot(n, x.single, x.stride, y.single, y.stride)
			to[1], to[2] = blas.Implementation{}.Snrm2(n, x.single, inc), blas.Implementation{}.Sasum(n, x.single, inc)
		}, func(abs bool, to []float64) {
			to[0] = reference.Implementation{}.Ddot(n, x.pick(abs), x.stride, y.pick(abs), y.stride)
			to[1], to[2] = reference.Implementation{}.Dnrm2(n, x.pick(abs), inc), reference.Implementation{}.Dasum(n, x.pick(abs), inc)
		}}
	},
}

// incOf returns a distance of entries, mostly one.
func incOf(r *run32) int { return []int{1, 1, 1, 2, -1, -3}[r.rng.IntN(6)] }

func TestFloat32(t *testing.T) {
	for name, operation := range operations32 {
		t.Run(name, func(t *testing.T) {
			tiertest.Each(t, func(t *testing.T) {
				r := newRun32(t)
				list := append(shapes(r.rng), [3]int{130, 160, 70}, [3]int{70, 200, 3}, [3]int{200, 66, 200}, [3]int{3, 1500, 70})
				for at, s := range list {
					for choice := at % 4; choice < 8; choice += 4 { // of sides, triangles and transposes
						tA, tB := transposes[choice&1], transposes[choice>>1&1]
						side, ul := []gblas.Side{gblas.Left, gblas.Right}[choice>>1&1], []gblas.Uplo{gblas.Upper, gblas.Lower}[choice>>2]
						d := []gblas.Diag{gblas.Unit, gblas.NonUnit}[(at+choice)&1]
						alpha, beta := []float32{1, -1, 0.7}[at%3], []float32{0, 1, -0.3}[at/3%3]
						if max(s[0], s[1]) > 500 && (name == "syrk" || name == "syr2k" || name == "symm" || name == "trmm") {
							continue // the square does not fit in memory
						}
						r.used = 0
						operation(r, s, alpha, beta, at%4, tA, tB, side, ul, d).check(t,
							fmt.Sprintf("%v %c%c %c%c%c alpha %g beta %g", s, tA, tB, side, ul, d, alpha, beta))
					}
				}
			})
		})
	}
}

// The solution of a triangular system is one of a nearby system.
func TestStrsm(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		r := newRun32(t)
		for at, s := range [][2]int{{1, 1}, {16, 5}, {17, 33}, {40, 20}, {70, 9}, {33, 64}, {130, 100}} {
			for choice := range 16 {
				side, ul := []gblas.Side{gblas.Left, gblas.Right}[choice&1], []gblas.Uplo{gblas.Upper, gblas.Lower}[choice>>1&1]
				tA, d := transposes[choice>>2&1], []gblas.Diag{gblas.Unit, gblas.NonUnit}[choice>>3]
				m, n, order := s[0], s[1], s[0]
				if side == gblas.Right {
					m, n = n, m
				}
				r.used = 0
				a, b := r.matrix(order, order, at%3), r.matrix(m, n, at%2)
				for i := range order * a.stride {
					if i < len(a.single) && i%a.stride < order {
						v := a.single[i] / float32(2*order)
						if i%(a.stride+1) == 0 {
							v = 1 + v*v
						}
						a.single[i], a.of64[i], a.abs[i] = v, float64(v), math.Abs(float64(v))
					}
				}
				blas.Implementation{}.Strsm(side, ul, tA, d, m, n, 0.7, a.single, a.stride, b.single, b.stride)
				x, size := make([]float64, len(b.single)), make([]float64, len(b.single))
				for i, v := range b.single {
					x[i], size[i] = float64(v), math.Abs(float64(v))
				}
				reference.Implementation{}.Dtrmm(side, ul, tA, d, m, n, 1, a.of64, a.stride, x, b.stride)
				reference.Implementation{}.Dtrmm(side, ul, tA, d, m, n, 1, a.abs, a.stride, size, b.stride)
				for i, v := range x {
					switch bits := math.Float32bits(b.single[i]); {
					case i%b.stride >= n && bits != guard32:
						t.Fatalf("%v %c%c%c%c: wrote between rows", s, side, ul, tA, d)
					case i%b.stride < n && !(math.Abs(v-0.7*b.of64[i]) <= float64(order+8)*0x1p-24*size[i]):
						t.Fatalf("%v %c%c%c%c: row %d of A X is %v, want %v", s, side, ul, tA, d, i, v, 0.7*b.of64[i])
					}
				}
			}
		}
	})
}
