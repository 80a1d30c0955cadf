package blas_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// A complex system whose pivots have no inverses, or have denormal or infinite ones, is divided by them: the
// solution is that of the definition. The diagonal of a unit triangle, and the other triangle, are not read.
func TestComplexPivots(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, pivot := range []complex128{
			0x1p-1030 + 0x1p-1040i, 0x1p-1060i, 0x1p1020 + 0x1p1000i, -0x1p1023i, 1 + 0x1p-1060i,
			complex(0, math.Inf(1)), 0,
		} {
			pivots128(t, pivot)
		}
		for _, pivot := range []complex64{
			0x1p-130 + 0x1p-140i, 0x1p-140i, 0x1p126 + 0x1p100i, -0x1p127i, 1 + 0x1p-140i,
			complex(0, float32(math.Inf(1))), 0,
		} {
			pivots64(t, pivot)
		}
	})
}

func pivots128(t *testing.T, pivot complex128) {
	size := 1.0
	if most := cmplx.Abs(pivot); most > 0 && !math.IsInf(most, 0) {
		size = most
	}
	comparePivots(t, complex128s(blas.Implementation{}), pivot, size, 1e-13)
}

func pivots64(t *testing.T, pivot complex64) {
	size := 1.0
	if most := cmplx.Abs(complex128(pivot)); most > 0 && !math.IsInf(most, 0) {
		size = most
	}
	comparePivots(t, complex64s(blas.Implementation{}), pivot, size, 1e-5)
}

// comparePivots solves systems with a pivot, and right sides of a size.
func comparePivots[T complexNumber](t *testing.T, ours complexAPI[T], pivot T, size, tolerance float64) {
	rng := rand.New(rand.NewPCG(71, 3))
	for _, n := range []int{1, 2, 5, 9, 20, 49, 60} {
		for choice := range 24 {
			ul, side, diag := triangles[choice%2], []gblas.Side{gblas.Left, gblas.Right}[choice/2%2], gblas.NonUnit
			tA := []gblas.Transpose{gblas.NoTrans, gblas.Trans, gblas.ConjTrans}[choice/4%3]
			if choice >= 12 {
				diag = gblas.Unit
			}
			a, b := randomComplex[T](rng, n*n), randomComplex[T](rng, n*9)
			for i := range a {
				a[i] *= T(complex(.01, 0))
				switch row, column := i/n, i%n; {
				case outside(ul, row, column):
					a[i] = T(complex(math.NaN(), math.NaN()))
				case row == column && diag == gblas.Unit:
					a[i] = T(complex(math.NaN(), math.NaN()))
				case row == column:
					a[i] = 1
				}
			}
			alone := -1 // the unknown of the pivot
			if diag == gblas.NonUnit {
				alone = rng.IntN(n)
				for k := range n {
					a[alone*n+k], a[k*n+alone] = 0, 0
				}
				a[alone*(n+1)] = pivot
			}
			m, columns := n, 9
			if side == gblas.Right {
				m, columns = 9, n
			}
			for i := range b {
				if unknown := []int{i / columns, i % columns}[choice/2%2]; unknown == alone {
					re, im := parts(b[i])
					b[i] = T(complex(re*min(size, 1), im*min(size, 1)))
				}
			}
			got, want := slices.Clone(b), slices.Clone(b)
			ours.trsm(side, ul, tA, diag, m, columns, 1, a, n, got, columns)
			substitute(side, ul, tA, diag, n, a, want)
			for i, v := range got {
				w := complex128(want[i])
				if isFinite(v) != isFinite(want[i]) || isFinite(v) &&
					cmplx.Abs(complex128(v)-w) > tolerance*(cmplx.Abs(w)+1) {
					t.Fatalf("%T, order %d, %c%c%c%c, pivot %v: entry %d is %v, want %v", v, n, side, ul, tA, diag,
						pivot, i, v, want[i])
				}
			}
		}
	}
}

// substitute solves a system by the definition: n x 9 right sides or, with A on the right, 9 x n.
func substitute[T complexNumber](side gblas.Side, ul gblas.Uplo, tA gblas.Transpose, diag gblas.Diag, n int, a, b []T) {
	entry := func(i, k int) complex128 {
		if (tA != gblas.NoTrans) != (side == gblas.Right) {
			i, k = k, i
		}
		if v := complex128(a[i*n+k]); tA != gblas.ConjTrans {
			return v
		} else {
			return cmplx.Conj(v)
		}
	}
	apart, next := 9, 1
	if side == gblas.Right {
		apart, next = 1, n
	}
	lower := (ul == gblas.Lower) == ((tA == gblas.NoTrans) == (side == gblas.Left))
	for column := range 9 {
		for step := range n {
			i := step
			if !lower {
				i = n - 1 - step
			}
			v := complex128(b[i*apart+column*next])
			for k := range step {
				if !lower {
					k = n - 1 - k
				}
				v -= entry(i, k) * complex128(b[k*apart+column*next])
			}
			if diag == gblas.NonUnit {
				v /= entry(i, i)
			}
			b[i*apart+column*next] = T(v)
		}
	}
}
