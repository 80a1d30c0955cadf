package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

// Every decomposition by iterations ends on NaN and infinity, wherever they are, and reports no success:
// gonum's own do not end, or index out of range.
func TestIterationsEnd(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range []int{2, 3, 5, 23, 24, 33, 70, 140} {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				for _, at := range [][2]int{{0, 0}, {1, 1}, {0, n - 1}, {n / 2, n - 1}, {n - 1, n - 1}} {
					a := random(rand.New(rand.NewPCG(3, 4)), n, n, 0)
					a.data[at[0]*n+at[1]] = bad
					for name, ok := range iterations(blas.Lapack{}, a) {
						if ok {
							t.Errorf("%s reports success: %v at %v of order %d", name, bad, at, n)
						}
					}
				}
			}
		}
	})
}

// iterations runs the decompositions by iterations and returns which report success.
func iterations(l blas.Lapack, a *rowMajor) map[string]bool {
	n := a.rows
	ok := map[string]bool{}
	jobs := []lapack.SVDJob{lapack.SVDNone, lapack.SVDStore, lapack.SVDAll}
	for _, jobU := range jobs {
		for _, jobVT := range jobs {
			d := newSingular(jobU, jobVT, a, 0)
			d.compute(l, jobU, jobVT)
			ok[fmt.Sprintf("Dgesvd %c%c", jobU, jobVT)] = d.ok
		}
	}
	work, w, wi, v := make([]float64, 100*n), make([]float64, n), make([]float64, n), make([]float64, n*n)
	for _, job := range []lapack.EVJob{lapack.EVNone, lapack.EVCompute} {
		ok[fmt.Sprintf("Dsyev %c", job)] = l.Dsyev(job, gblas.Upper, n, a.clone().data, n, w, work, len(work))
	}
	ok["Dgeev values"] = l.Dgeev(lapack.LeftEVNone, lapack.RightEVNone, n, a.clone().data, n, w, wi, nil, 1, nil, 1,
		work, len(work)) == 0
	ok["Dgeev"] = l.Dgeev(lapack.LeftEVNone, lapack.RightEVCompute, n, a.clone().data, n, w, wi, nil, 1, v, n, work,
		len(work)) == 0
	ok["Dhseqr"] = l.Dhseqr(lapack.EigenvaluesOnly, lapack.SchurNone, n, 0, n-1, a.clone().data, n, w, wi, nil, 1, work,
		len(work)) == 0
	other := random(rand.New(rand.NewPCG(5, 6)), n, n, 0)
	for k, pair := range [][2]*rowMajor{{a, other}, {other, a}} {
		alpha, beta := make([]float64, n), make([]float64, n)
		u, v, q := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		_, _, ok[fmt.Sprint("Dggsvd3 ", k)] = l.Dggsvd3(lapack.GSVDU, lapack.GSVDV, lapack.GSVDQ, n, n, n,
			pair[0].clone().data, n, pair[1].clone().data, n, alpha, beta, u, n, v, n, q, n, work, len(work),
			make([]int, n))
	}
	row := a.data[:n] // as a diagonal, if it has the entry
	if !(math.Abs(row[0]) <= math.MaxFloat64) || !(math.Abs(row[n-1]) <= math.MaxFloat64) {
		d := append([]float64(nil), row...)
		e := make([]float64, n-1)
		ok["Dbdsqr"] = l.Dbdsqr(gblas.Upper, n, 0, 0, 0, append([]float64(nil), d...), e, nil, 1, nil, 1, nil, 1, work)
		ok["Dsterf"] = l.Dsterf(n, append([]float64(nil), d...), append([]float64(nil), e...))
		ok["Dsteqr"] = l.Dsteqr(lapack.EVTridiag, n, d, e, v, n, work)
	}
	return ok
}

// All singular values of a matrix with an infinite entry are NaN.
func TestValuesOfNaN(t *testing.T) {
	a := random(rand.New(rand.NewPCG(3, 4)), 30, 30, 0)
	a.data[7] = math.Inf(1)
	d := newSingular(lapack.SVDNone, lapack.SVDNone, a, 0)
	d.compute(blas.Lapack{}, lapack.SVDNone, lapack.SVDNone)
	for _, s := range d.s {
		if !math.IsNaN(s) {
			t.Fatalf("value %v", s)
		}
	}
}
