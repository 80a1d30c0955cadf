package blas_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// inverseSizes are orders with all tails of blocks.
func inverseSizes() (n []int) {
	for k := range 51 {
		n = append(n, k)
	}
	return append(n, 63, 64, 65, 100, 129)
}

// triangleOf returns a triangle of a matrix with zeros in the other one, and ones on the diagonal if diag is
// Unit.
func triangleOf(a *rowMajor, ul gblas.Uplo, diag gblas.Diag) *mat.Dense {
	d := mat.NewDense(a.rows, a.cols, nil)
	for i := range a.rows {
		for j := range a.cols {
			switch {
			case i == j && diag == gblas.Unit:
				d.Set(i, j, 1)
			case !outside(ul, i, j):
				d.Set(i, j, a.data[i*a.stride+j])
			}
		}
	}
	return d
}

// othersStay reports whether what is not in a triangle is as before.
func othersStay(a, before *rowMajor, ul gblas.Uplo, diag gblas.Diag) bool {
	for i := range a.rows {
		for j := range a.cols {
			if (outside(ul, i, j) || i == j && diag == gblas.Unit) &&
				!sameBit(a.data[i*a.stride+j], before.data[i*a.stride+j]) {
				return false
			}
		}
	}
	return !a.unguarded()
}

// The product of a triangle and its inverse is the unit matrix to rounding, and the products of an inverse
// factor with its transpose are the inverse; nothing else is written, and singular matrices stay as they are.
func TestInverses(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(51, 52))
		for at, n := range inverseSizes() {
			for _, ul := range triangles {
				for _, diag := range diagonals {
					a := triangular(rng, n, at%3)
					x := a.clone()
					if !(blas.Lapack{}).Dtrtri(ul, diag, n, x.data, x.stride) {
						t.Fatalf("order %d: not inverted", n)
					}
					if !othersStay(x, a, ul, diag) {
						t.Fatalf("order %d, %c: wrote outside of the triangle", n, ul)
					}
					if n == 0 {
						continue
					}
					var product mat.Dense
					product.Mul(triangleOf(a, ul, diag), triangleOf(x, ul, diag))
					one := mat.NewDiagDense(n, slices.Repeat([]float64{1}, n))
					if off := furthest(&product, one); !(off <= 1e-14*float64(n+10)) {
						t.Fatalf("order %d, %c%c: A X is off by %g", n, ul, diag, off)
					}
				}
				checkPotri(t, rng, n, at%3, ul)
			}
			checkGetri(t, rng, n, at%3)
		}
	})
}

func checkPotri(t *testing.T, rng *rand.Rand, n, gap int, ul gblas.Uplo) {
	t.Helper()
	a := triangular(rng, n, gap)
	x := a.clone()
	if !(blas.Lapack{}).Dpotri(ul, n, x.data, x.stride) {
		t.Fatalf("order %d: not inverted", n)
	}
	if !othersStay(x, a, ul, gblas.NonUnit) {
		t.Fatalf("order %d, %c: wrote outside of the triangle", n, ul)
	}
	if n > 0 {
		factor, half := triangleOf(a, ul, gblas.NonUnit), triangleOf(x, ul, gblas.NonUnit)
		inverse := mat.NewDense(n, n, nil)
		inverse.Apply(func(i, j int, v float64) float64 { return v + unit(1, min(1, max(i-j, j-i)))*half.At(j, i) },
			half)
		var gram, product mat.Dense
		if gram.Mul(factor.T(), factor); ul == gblas.Lower {
			gram.Mul(factor, factor.T())
		}
		product.Mul(&gram, inverse)
		one := mat.NewDiagDense(n, slices.Repeat([]float64{1}, n))
		if off := furthest(&product, one); !(off <= 1e-13*float64(n+10)) {
			t.Fatalf("order %d, %c: A X is off by %g", n, ul, off)
		}
		a.data[(n/2)*(a.stride+1)] = 0
		x = a.clone()
		if (blas.Lapack{}).Dpotri(ul, n, x.data, x.stride) || !slices.EqualFunc(x.data, a.data, sameBit[float64]) {
			t.Fatalf("order %d: a singular factor was inverted, or changed", n)
		}
	}
}

func checkGetri(t *testing.T, rng *rand.Rand, n, gap int) {
	t.Helper()
	a := random(rng, n, n, gap)
	x, pivots, work, want := a.clone(), make([]int, n), []float64{0}, []float64{0}
	(blas.Lapack{}).Dgetri(n, x.data, x.stride, pivots, work, -1)
	(reference.Implementation{}).Dgetri(n, x.data, x.stride, pivots, want, -1)
	if work[0] != want[0] {
		t.Fatalf("order %d: a query answers %v, gonum's %v", n, work[0], want[0])
	}
	work = make([]float64, max(n, 1))
	(blas.Lapack{}).Dgetrf(n, n, x.data, x.stride, pivots)
	if !(blas.Lapack{}).Dgetri(n, x.data, x.stride, pivots, work, len(work)) {
		t.Fatalf("order %d: not inverted", n)
	}
	if x.unguarded() {
		t.Fatalf("order %d: wrote between rows", n)
	}
	if n == 0 {
		return
	}
	var product mat.Dense
	product.Mul(x.dense(), a.dense())
	bound := 1e-14 * float64(n+10) * mat.Norm(a.dense(), 2) * mat.Norm(x.dense(), 2)
	if off := furthest(&product, mat.NewDiagDense(n, slices.Repeat([]float64{1}, n))); !(off <= bound) {
		t.Fatalf("order %d: X A is off by %g, bound %g", n, off, bound)
	}
	u := triangular(rng, n, 0)
	u.data[(n-1)*(n+1)] = 0
	before := u.clone()
	if (blas.Lapack{}).Dgetri(n, u.data, n, pivots, work, len(work)) || !slices.Equal(u.data, before.data) {
		t.Fatalf("order %d: singular factors were inverted, or changed", n)
	}
}

// NaN on the diagonal of a triangle reaches the entries of the inverse that it counts in, and no others.
func TestInversesOfNaN(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range []int{3, 16, 24, 25, 40, 70} {
			for _, ul := range triangles {
				a, k := triangular(rand.New(rand.NewPCG(53, 54)), n, 0), n/2
				a.data[k*(n+1)] = math.NaN()
				(blas.Lapack{}).Dtrtri(ul, gblas.NonUnit, n, a.data, n)
				for i := range n {
					for j := range n {
						v, counts := a.data[i*n+j], i == k || j == k || (i < k) != (j < k)
						if !outside(ul, i, j) && math.IsNaN(v) != counts {
							t.Fatalf("order %d, %c, NaN at %d: entry (%d, %d) of the inverse is %v", n, ul, k, i, j, v)
						}
					}
				}
			}
		}
	})
}
