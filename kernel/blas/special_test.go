package blas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// A definition computes an entry of the result of an operation from its operands, in order and skipping
// nothing.
type definition func(s settings, x [3]func(i, j int) float64, i, j int) float64

// op returns entry (i, j) of op(A).
func op(t gblas.Transpose, a func(i, j int) float64, i, j int) float64 {
	if t != gblas.NoTrans {
		i, j = j, i
	}
	return a(i, j)
}

// plus returns alpha sum + beta c: c does not count if beta is 0, and sum does not if alpha is.
func plus(s settings, sum func() float64, c float64) float64 {
	v := 0.0
	if s.alpha != 0 {
		v = s.alpha * sum()
	}
	if s.beta != 0 {
		v += s.beta * c
	}
	return v
}

func sumOf(n int, term func(k int) float64) func() float64 {
	return func() float64 {
		sum := 0.0
		for k := range n {
			sum += term(k)
		}
		return sum
	}
}

// stored returns entry (i, j) of a symmetric matrix with one triangle.
func stored(ul gblas.Uplo, a func(i, j int) float64, i, j int) float64 {
	if outside(ul, i, j) {
		i, j = j, i
	}
	return a(i, j)
}

// inTriangle returns entry (i, j) of op(A) for a triangular A, and whether it counts.
func inTriangle(s settings, a func(i, j int) float64, i, j int) (v float64, counts bool) {
	if s.tA != gblas.NoTrans {
		i, j = j, i
	}
	switch {
	case outside(s.ul, i, j):
		return 0, false
	case i == j && s.diag == gblas.Unit:
		return 1, true
	}
	return a(i, j), true
}

// triangleSum is the sum of products of a row of op(A), or with A on the right a column, and a vector.
func triangleSum(s settings, a func(i, j int) float64, i int, x func(k int) float64) func() float64 {
	return func() float64 {
		sum := 0.0
		for k := range s.order() {
			v, counts := inTriangle(s, a, i, k)
			if s.side == gblas.Right {
				v, counts = inTriangle(s, a, k, i)
			}
			switch {
			case !counts:
			case k == i && s.diag == gblas.Unit:
				sum += x(k)
			default:
				sum += v * x(k)
			}
		}
		return sum
	}
}

var definitions = map[string]definition{
	"gemm": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return plus(s, sumOf(s.k, func(k int) float64 { return op(s.tA, x[0], i, k) * op(s.tB, x[1], k, j) }),
			x[2](i, j))
	},
	"syrk": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return plus(s, sumOf(s.k, func(k int) float64 { return op(s.tA, x[0], i, k) * op(s.tA, x[0], j, k) }),
			x[2](i, j))
	},
	"syr2k": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return plus(s, sumOf(s.k, func(k int) float64 {
			return op(s.tA, x[0], i, k)*op(s.tA, x[1], j, k) + op(s.tA, x[1], i, k)*op(s.tA, x[0], j, k)
		}), x[2](i, j))
	},
	"symm": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return plus(s, sumOf(s.order(), func(k int) float64 {
			if s.side == gblas.Left {
				return stored(s.ul, x[0], i, k) * x[1](k, j)
			}
			return x[1](i, k) * stored(s.ul, x[0], k, j)
		}), x[2](i, j))
	},
	"trmm": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		s.beta = 0
		if s.side == gblas.Left {
			return plus(s, triangleSum(s, x[0], i, func(k int) float64 { return x[2](k, j) }), 0)
		}
		return plus(s, triangleSum(s, x[0], j, func(k int) float64 { return x[2](i, k) }), 0)
	},
	"trmv": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		s.side, s.m, s.alpha, s.beta = gblas.Left, s.n, 1, 0
		return plus(s, triangleSum(s, x[0], i, func(k int) float64 { return x[2](k, 0) }), 0)
	},
	"gemv": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		n, _ := s.lengths()
		if n == 0 {
			return x[2](i, 0) // as in every BLAS
		}
		return plus(s, sumOf(n, func(k int) float64 { return op(s.tA, x[0], i, k) * x[1](k, 0) }), x[2](i, 0))
	},
	"symv": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return plus(s, sumOf(s.n, func(k int) float64 { return stored(s.ul, x[0], i, k) * x[1](k, 0) }), x[2](i, 0))
	},
	"ger": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		s.beta = 1
		return plus(s, func() float64 { return x[0](i, 0) * x[1](j, 0) }, x[2](i, j))
	},
	"axpy": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		s.beta = 1
		return plus(s, func() float64 { return x[0](i, 0) }, x[2](i, 0))
	},
	"asum": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return sumOf(s.n, func(k int) float64 { return math.Abs(x[0](k, 0)) })()
	},
	"dot": func(s settings, x [3]func(i, j int) float64, i, j int) float64 {
		return sumOf(s.n, func(k int) float64 { return x[0](k, 0) * x[1](k, 0) })()
	},
}

// solveByDefinition returns the solution of a triangular system by substitution, in the order of the
// unknowns.
func solveByDefinition(s settings, x [3]func(i, j int) float64) func(i, j int) float64 {
	order, sides := s.order(), s.n
	if s.side == gblas.Right {
		sides = s.m
	}
	solution := make([]float64, order*sides)
	for side := range sides {
		column := solution[side*order:][:order]
		for step := range order {
			i := step
			if (s.ul == gblas.Upper) == (s.tA == gblas.NoTrans) == (s.side == gblas.Left) {
				i = order - 1 - step
			}
			b := 0.0
			if s.alpha != 0 {
				if s.side == gblas.Left {
					b = s.alpha * x[2](i, side)
				} else {
					b = s.alpha * x[2](side, i)
				}
				for k := range order {
					v, counts := inTriangle(s, x[0], i, k)
					if s.side == gblas.Right {
						v, counts = inTriangle(s, x[0], k, i)
					}
					if counts && k != i {
						b -= v * column[k]
					}
				}
				if s.diag == gblas.NonUnit {
					b /= x[0](i, i)
				}
			}
			column[i] = b
		}
	}
	return func(i, j int) float64 {
		if s.side == gblas.Right {
			i, j = j, i
		}
		return solution[j*order+i]
	}
}

// One rule for special values holds for every size, triangle, side and transposition, in both precisions
// and on every tier, gonum's own way included: what is NaN or infinite by the definition is so, and nothing
// else is. With -short every third size is tried.
func TestSpecialValues(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		testSpecial(t, doubles(blas.Implementation{}), 0x1p-30)
		testSpecial(t, singles(blas.Implementation{}), 0x1p-8)
	})
}

func testSpecial[T real](t *testing.T, f *api[T], tolerance float64) {
	rng := rand.New(rand.NewPCG(61, 62))
	for _, o := range operations[T]() {
		failures, step := 0, 1
		if testing.Short() {
			step = 3
		}
		for size := 1; size <= 40; size += step {
			for choice := range 64 {
				s := settings{
					m: size, n: 1 + rng.IntN(40), k: 1 + rng.IntN(20), ul: triangles[choice%2],
					side: []gblas.Side{gblas.Left, gblas.Right}[choice/2%2],
					tA:   transposes[choice/4%2], tB: transposes[choice/8%2], diag: diagonals[choice/16%2],
					alpha: []float64{1, 0, -1, 2}[rng.IntN(4)], beta: []float64{0, 1, 3}[rng.IntN(3)],
				}
				switch choice / 32 {
				case 1:
					s.n, s.m = s.m, s.n
				}
				if !tryByDefinition(t, rng, f, o, s, tolerance) {
					if failures++; failures > 3 {
						break
					}
				}
			}
		}
	}
}

// tryByDefinition calls an operation on operands of few values, some of them special, and compares the
// result with the definition.
func tryByDefinition[T real](t *testing.T, rng *rand.Rand, f *api[T], o operation[T], s settings,
	tolerance float64) bool {
	define, known := definitions[o.name]
	if !known && o.name != "trsm" && o.name != "trsv" {
		return true
	}
	of, _ := o.shapes(&s, func() int { return []int{1, 1, -1, 2}[rng.IntN(4)] })
	if o.name == "trsv" {
		s.side, s.alpha = gblas.Left, 1
	}
	var x [3]view[T]
	var at [3]func(i, j int) float64
	specials := rng.IntN(3)
	for p, sh := range of {
		cols, stride := sh.cols, max(sh.cols+rng.IntN(2), 1)
		x[p].stride = max(stride, 1)
		if sh.inc != 0 {
			x[p].stride, stride = sh.inc, max(sh.inc, -sh.inc)
		}
		x[p].data = make([]T, max((sh.rows-1)*stride+cols, 0))
		for i := range x[p].data {
			if x[p].data[i] = T(rng.IntN(3) - 1); rng.IntN(2) == 0 {
				x[p].data[i] = 0
			}
		}
		if len(x[p].data) > 0 && rng.IntN(3) < specials {
			x[p].data[rng.IntN(len(x[p].data))] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)])
		}
		if p == 0 && sh.rows > 0 && (o.name == "trsm" || o.name == "trsv") {
			setPivots(rng, x[0], sh.rows)
		}
		before := slices.Clone(x[p].data)
		at[p] = func(i, j int) float64 {
			if sh.inc != 0 {
				return float64(before[max(0, (1-sh.rows)*sh.inc)+i*sh.inc])
			}
			return float64(before[i*max(stride, 1)+j])
		}
	}
	var before [3][]T
	for p, v := range x {
		before[p] = slices.Clone(v.data)
	}
	want := func(i, j int) float64 { return define(s, at, i, j) }
	if !known {
		want = solveByDefinition(s, at)
	}
	o.call(f, s, x)
	result, written := of[2], make([]bool, len(x[2].data))
	for i := range result.rows {
		for j := range result.cols {
			index := i*x[2].stride + j
			if result.inc != 0 {
				index = max(0, (1-result.rows)*result.inc) + i*result.inc
			}
			got, w := float64(x[2].data[index]), want(i, j)
			written[index] = true
			if (o.name == "syrk" || o.name == "syr2k") && outside(s.ul, i, j) {
				w = float64(before[2][index])
			}
			if got == w || got != got && w != w || math.Abs(w) <= math.MaxFloat64 &&
				math.Abs(got-w) <= tolerance*max(1, math.Abs(w)) {
				continue
			}
			t.Errorf("%s in %T, %+v: entry %d, %d is %v, want %v", o.name, T(0), s, i, j, got, w)
			return false
		}
	}
	for p, v := range x {
		for i, w := range v.data {
			if (p < 2 || !written[i]) && !sameBit(w, before[p][i]) {
				t.Errorf("%s in %T, %+v: wrote entry %d of operand %d", o.name, T(0), s, i, p)
				return false
			}
		}
	}
	return true
}

// setPivots makes a diagonal of ones, twos and, now and then, zeros, infinities and denormal numbers.
func setPivots[T real](rng *rand.Rand, a view[T], n int) {
	for i := range n {
		for j := range n {
			if v := a.data[i*a.stride+j]; v == v && rng.IntN(4) > 0 {
				a.data[i*a.stride+j] = 0
			}
		}
		a.data[i*(a.stride+1)] = []T{1, 1, -1, 2}[rng.IntN(4)]
	}
	if rng.IntN(3) == 0 {
		a.data[rng.IntN(n)*(a.stride+1)] = T([]float64{0, math.Inf(1), math.NaN()}[rng.IntN(3)])
	}
}

// A quotient by a denormal pivot is a number where its inverse is none.
func TestDenormalPivots(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		testPivots(t, doubles(blas.Implementation{}), []float64{1e-309, 5e-324, 1.7e308, 0x1p-1022, 0x1p1023})
		testPivots(t, singles(blas.Implementation{}), []float64{1e-45, 1e-39, 3e38, 0x1p-126, 0x1p127})
	})
}

func testPivots[T real](t *testing.T, f *api[T], pivots []float64) {
	for _, p := range pivots {
		for order := 1; order <= 40; order++ {
			for _, sides := range []int{1, 2, 7, 8, 30} {
				for choice := range 8 {
					side, ul, tA := []gblas.Side{gblas.Left, gblas.Right}[choice%2], triangles[choice/2%2],
						transposes[choice/4]
					a, b := make([]T, order*order), slices.Repeat([]T{T(p)}, order*sides)
					for i := range order {
						a[i*(order+1)] = T(p)
					}
					m, n := order, sides
					if side == gblas.Right {
						m, n = sides, order
					}
					f.trsm(side, ul, tA, gblas.NonUnit, m, n, 1, a, order, b, n)
					for _, v := range b {
						if v != 1 {
							t.Errorf("%T: pivot %g, order %d, %d sides, %c%c%c: %v, want 1", v, p, order, sides, side,
								ul, tA, v)
							break
						}
					}
					x := slices.Repeat([]T{T(p)}, order)
					f.trsv(ul, tA, gblas.NonUnit, order, a, order, x, 1)
					if x[order/2] != 1 {
						t.Errorf("%T: pivot %g, order %d, %c%c: %v, want 1", x[0], p, order, ul, tA, x[order/2])
					}
				}
			}
		}
	}
}
