package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/internal/tiertest"
	gblas "gonum.org/v1/gonum/blas"
)

// positive returns a symmetric matrix whose least eigenvalue is about 1, of which only a triangle is told.
func positive(rng *rand.Rand, n, gap int, ul gblas.Uplo) (m, whole *rowMajor) {
	r := random(rng, n, n, 0)
	m, whole = random(rng, n, n, gap), random(rng, n, n, 0)
	for i := range n {
		for j := range n {
			v := 0.0
			for l := range n {
				v += r.at(min(i, j), l) * r.at(max(i, j), l)
			}
			if i == j {
				v++
			}
			whole.data[i*n+j] = v
			if m.data[i*m.stride+j] = v; outside(ul, i, j) {
				m.data[i*m.stride+j] = math.NaN()
			}
		}
	}
	return m, whole
}

func TestPotrf(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 8))
		for _, n := range []int{1, 2, 7, 16, 31, 32, 33, 47, 64, 65, 100, 131} {
			for _, ul := range triangles {
				a, whole := positive(rng, n, n%3, ul)
				if !(blas.Lapack{}.Dpotrf(ul, n, a.data, a.stride)) {
					t.Fatalf("n = %d, %c: not positive definite", n, ul)
				}
				if a.unguarded() {
					t.Fatalf("n = %d, %c: wrote between rows", n, ul)
				}
				for i := range n {
					for j := range n {
						if outside(ul, i, j) {
							if !math.IsNaN(a.at(i, j)) {
								t.Fatalf("n = %d, %c: wrote entry (%d, %d)", n, ul, i, j)
							}
							continue
						}
						var got exact
						for l := range min(i, j) + 1 {
							if ul == gblas.Upper {
								got.add(a.at(l, i), a.at(l, j))
							} else {
								got.add(a.at(i, l), a.at(j, l))
							}
						}
						if !got.near(whole.at(i, j), n) {
							t.Fatalf("n = %d, %c: entry (%d, %d) of the product is %v, want %v", n, ul, i, j, got.hi, whole.at(i, j))
						}
					}
				}
			}
		}
	})
}

// A matrix with one eigenvalue that is not positive has no factor, wherever the pivot shows it; nor has one of numbers that are none.
func TestPotrfOfIndefinite(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 10))
		for _, n := range []int{1, 5, 33, 70} {
			for _, at := range []int{0, n / 3, n - 1} {
				for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
					a, _ := positive(rng, n, 0, gblas.Upper)
					a.data[at*a.stride+at] = v
					if (blas.Lapack{}.Dpotrf(gblas.Upper, n, a.data, a.stride)) {
						t.Errorf("n = %d: a factor with %g in diagonal entry %d", n, v, at)
					}
				}
			}
			// Less one and a half times its inverse on a diagonal entry: by a hair indefinite there.
			a, whole := positive(rng, n, 0, gblas.Upper)
			factor := a.clone()
			blas.Lapack{}.Dpotrf(gblas.Upper, n, factor.data, factor.stride)
			last := factor.at(n-1, n-1)
			for _, f := range []float64{0.999, 1.001} {
				b := a.clone()
				b.data[(n-1)*b.stride+n-1] = whole.at(n-1, n-1) - f*last*last
				if got := (blas.Lapack{}.Dpotrf(gblas.Upper, n, b.data, b.stride)); got != (f < 1) {
					t.Errorf("n = %d: %t with %g of the last pivot taken away", n, got, f)
				}
			}
		}
	})
}

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
