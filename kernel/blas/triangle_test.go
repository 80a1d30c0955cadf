package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
)

// What solves a triangular system does so for a matrix that differs from it by rounding, entry by entry.
func TestTrsm(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for at, s := range [][2]int{{1, 1000}, {7, 200}, {16, 16}, {17, 5}, {31, 300}, {32, 40}, {33, 33}, {50, 3}, {64, 64}, {65, 257}, {100, 10}, {130, 17}} {
			for _, side := range []gblas.Side{gblas.Left, gblas.Right} {
				for _, ul := range triangles {
					for _, tA := range transposes {
						for _, diag := range []gblas.Diag{gblas.NonUnit, gblas.Unit} {
							checkTrsm(t, rng, s[0], s[1], []int{0, 1, 5}[at%3], []float64{1, -0.7}[at%2], side, ul, tA, diag, at%4 == 3)
						}
					}
				}
			}
		}
	})
}

func checkTrsm(t *testing.T, rng *rand.Rand, order, sides, gap int, alpha float64, side gblas.Side, ul gblas.Uplo, tA gblas.Transpose, diag gblas.Diag, tiny bool) {
	t.Helper()
	a := random(rng, order, order, gap)
	for i := range order {
		for j := range order {
			v := &a.data[i*a.stride+j]
			switch *v /= float64(order); {
			case i == j && diag == gblas.Unit, outside(ul, i, j):
				*v = math.NaN() // is not read
			case i == j:
				*v += 1
			}
		}
	}
	if tiny && diag == gblas.NonUnit { // a pivot whose inverse is infinite
		a.data[0] = 0x1p-1040
	}
	m, n := order, sides
	if side == gblas.Right {
		m, n = n, m
	}
	b := random(rng, m, n, gap)
	if tiny {
		for i := range b.data {
			if i%b.stride < n {
				b.data[i] *= 0x1p-1000
			}
		}
	}
	x := b.clone()
	blas.Implementation{}.Dtrsm(side, ul, tA, diag, m, n, alpha, a.data, a.stride, x.data, x.stride)
	if x.unguarded() {
		t.Fatalf("order %d, %d sides: wrote between rows", order, sides)
	}
	entry := func(i, j int) float64 { // of op(A)
		if tA != gblas.NoTrans {
			i, j = j, i
		}
		switch {
		case i == j && diag == gblas.Unit:
			return 1
		case outside(ul, i, j):
			return 0
		}
		return a.at(i, j)
	}
	for i := range m {
		for j := range n {
			var got exact
			if side == gblas.Left {
				for l := range m {
					got.add(entry(i, l), x.at(l, j))
				}
			} else {
				for l := range n {
					got.add(x.at(i, l), entry(l, j))
				}
			}
			want := alpha * b.at(i, j)
			if math.Abs(got.hi-want+got.lo) > float64(order+8)*eps*(got.abs+math.Abs(want))+float64(order)*0x1p-1060 {
				t.Fatalf("order %d, %d sides, %c%c%c%c: entry (%d, %d) of the product is %v, want %v", order, sides, side, ul, tA, diag, i, j, got.hi, want)
			}
		}
	}
}
