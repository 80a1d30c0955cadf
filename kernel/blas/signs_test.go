package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
	reference "gonum.org/v1/gonum/lapack/gonum"
)

// A signCount counts vectors that are determined but for their sign, and those that have another sign than
// gonum's. Those of small matrices are counted for themselves as well.
type signCount struct {
	vectors, others           int
	smallVectors, smallOthers int
}

// add compares n vectors of some length: entry i of vector k is at i*along + k*between.
func (c *signCount) add(got, want []float64, n, length, between, along int) {
	const small = 19
	vectors, others := c.vectors, c.others
	for k := range n {
		dot := 0.0
		for i := range length {
			at := k*between + i*along
			dot += float64(got[at] * want[at])
		}
		if math.Abs(dot) < .99 {
			continue // near another value
		}
		c.vectors++
		if dot < 0 {
			c.others++
		}
	}
	if n <= small {
		c.smallVectors += c.vectors - vectors
		c.smallOthers += c.others - others
	}
}

// check allows one sign in ten, and one in fifty of small matrices: one step more or less, which rounding
// decides, may turn several vectors.
func (c *signCount) check(t *testing.T, what string) {
	t.Helper()
	if c.vectors == 0 || c.others > c.vectors/10 || c.smallOthers > c.smallVectors/50 {
		t.Errorf("%s: %d of %d vectors have another sign than gonum's, %d of %d in small matrices", what, c.others,
			c.vectors, c.smallOthers, c.smallVectors)
	}
}

var ordersOfSigns = []int{1, 2, 3, 4, 5, 7, 8, 10, 13, 17, 18, 19, 24, 31, 40, 64, 81, 100}

// TestSignsOfEigenvectors: a triangle has the eigenvectors that gonum computes, with their signs.
func TestSignsOfEigenvectors(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 4))
		for _, ul := range []gblas.Uplo{gblas.Upper, gblas.Lower} {
			var count signCount
			for _, n := range ordersOfSigns {
				a := make([]float64, n*n)
				for i := range a {
					a[i] = r.NormFloat64()
				}
				b, w, work := append([]float64(nil), a...), make([]float64, n), make([]float64, 100*n)
				ours := blas.Lapack{}.Dsyev(lapack.EVCompute, ul, n, a, n, w, work, len(work))
				gonums := reference.Implementation{}.Dsyev(lapack.EVCompute, ul, n, b, n, w, work, len(work))
				if !ours || !gonums {
					t.Fatalf("order %d: no eigenvalues", n)
				}
				count.add(a, b, n, n, 1, n)
			}
			count.check(t, fmt.Sprintf("triangle %c", ul))
		}
	})
}

// TestSignsOfSingularVectors: square, tall and wide matrices have the singular vectors that gonum computes,
// with their signs. Shapes next to 1.6 take one way or the other.
func TestSignsOfSingularVectors(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 5))
		for _, longer := range []float64{1, 1.2, 1.6, 1.7, 5} {
			for _, wide := range []bool{false, true} {
				var left, right signCount
				for _, q := range ordersOfSigns {
					m, n := int(float64(q)*longer), q
					if wide {
						m, n = n, m
					}
					singularSigns(t, r, m, n, &left, &right)
				}
				left.check(t, fmt.Sprintf("left, %g times as long, wide %t", longer, wide))
				right.check(t, fmt.Sprintf("right, %g times as long, wide %t", longer, wide))
			}
		}
	})
}

func singularSigns(t *testing.T, r *rand.Rand, m, n int, left, right *signCount) {
	q := min(m, n)
	a := make([]float64, m*n)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	s, work := make([]float64, q), make([]float64, 100*max(m, n))
	vectors := func(f func(
		jobU, jobVT lapack.SVDJob, m, n int, a []float64, lda int, s, u []float64, ldu int, vt []float64, ldvt int,
		work []float64, lwork int) bool,
	) (u, vt []float64) {
		u, vt = make([]float64, m*q), make([]float64, q*n)
		of := append([]float64(nil), a...)
		if !f(lapack.SVDStore, lapack.SVDStore, m, n, of, n, s, u, q, vt, n, work, len(work)) {
			t.Fatalf("%d x %d: no singular values", m, n)
		}
		return u, vt
	}
	u, vt := vectors(blas.Lapack{}.Dgesvd)
	gonumU, gonumVT := vectors(reference.Implementation{}.Dgesvd)
	left.add(u, gonumU, q, m, 1, q)
	right.add(vt, gonumVT, q, n, n, 1)
}

// TestSignsOfVectors: one row or column has the singular vectors that gonum computes, with their signs, in
// any units, where entries behind the first one are zero, and for each choice of vectors.
func TestSignsOfVectors(t *testing.T) {
	jobs := []lapack.SVDJob{lapack.SVDAll, lapack.SVDStore, lapack.SVDNone}
	columns := map[string][]float64{
		"zeros": {0, 0, 0}, "first positive": {2, 0, 0}, "first negative": {-2, 0, 0, 0}, "number": {3},
		"negative number": {-3}, "zero": {0}, "positive": {1, -2, 3}, "negative": {-1, -2, 3, 4, 5},
		"first zero": {0, -2, 3}, "first negative zero": {math.Copysign(0, -1), -2}, "large": {-1e300, 1e300, 2e300},
		"small": {1e-310, -2e-310}, "tiny rest": {1, 1e-200, -1e-200}, "long": slices.Repeat([]float64{.5, -2, 1}, 150),
	}
	tiertest.Each(t, func(t *testing.T) {
		for name, column := range columns {
			for at := range 2 * len(jobs) * len(jobs) {
				a := &rowMajor{len(column), 1, 2, make([]float64, 2*len(column))}
				for i, v := range column {
					a.data[2*i], a.data[2*i+1] = v, guardWord
				}
				if at%2 == 1 {
					a = &rowMajor{1, len(column), len(column), slices.Clone(column)}
				}
				jobU, jobVT := jobs[at/2%3], jobs[at/6]
				d, want := newSingular(jobU, jobVT, a, 1), newSingular(jobU, jobVT, a, 1)
				d.compute(blas.Lapack{}, jobU, jobVT)
				want.compute(reference.Implementation{}, jobU, jobVT)
				what := fmt.Sprintf("%s, %d x %d, %c%c", name, a.rows, a.cols, jobU, jobVT)
				if err := d.check(a, want); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				sameVectors(t, what+", left", d.u, want.u)
				sameVectors(t, what+", right", d.vt, want.vt)
			}
		}
	})
}

// sameVectors compares matrices of vectors of length 1.
func sameVectors(t *testing.T, what string, got, want *rowMajor) {
	t.Helper()
	for i := range got.rows {
		for j := range got.cols {
			if g, w := got.data[i*got.stride+j], want.data[i*want.stride+j]; !(math.Abs(g-w) <= 1e-13) {
				t.Errorf("%s: entry %d, %d is %g, want %g", what, i, j, g, w)
			}
		}
	}
}
