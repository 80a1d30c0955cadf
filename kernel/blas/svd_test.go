package blas_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/lapack"
	reference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// singular are the arguments and results of a singular value decomposition.
type singular struct {
	a, u, vt *rowMajor
	s        []float64
	ok       bool
}

func newSingular(jobU, jobVT lapack.SVDJob, a *rowMajor, gap int) *singular {
	size := map[lapack.SVDJob]func(all int) int{
		lapack.SVDAll:   func(all int) int { return all },
		lapack.SVDStore: func(int) int { return min(a.rows, a.cols) },
		lapack.SVDNone:  func(int) int { return 0 },
	}
	guards := func(rows, cols int) *rowMajor {
		m := &rowMajor{rows, cols, max(cols+gap, 1), make([]float64, max(rows*(cols+gap), 1))}
		for i := range m.data {
			m.data[i] = guardWord
		}
		return m
	}
	return &singular{a: a.clone(), s: make([]float64, min(a.rows, a.cols)),
		u: guards(a.rows, size[jobU](a.rows)), vt: guards(size[jobVT](a.cols), a.cols)}
}

func (d *singular) compute(l lapack.Float64, jobU, jobVT lapack.SVDJob) {
	work := []float64{0}
	l.Dgesvd(jobU, jobVT, d.a.rows, d.a.cols, d.a.data, d.a.stride, d.s, nil, d.u.stride, nil, d.vt.stride, work, -1)
	work = make([]float64, int(work[0]))
	d.ok = l.Dgesvd(jobU, jobVT, d.a.rows, d.a.cols, d.a.data, d.a.stride, d.s,
		d.u.data, d.u.stride, d.vt.data, d.vt.stride, work, len(work))
}

// A = U S V' to some rounding errors of the largest singular value, U and V have orthonormal columns, and the
// values are gonum's, for every kind of singular vectors, shapes on both sides of square and spectra that are
// hard.
func TestGesvd(t *testing.T) {
	jobs := []lapack.SVDJob{lapack.SVDAll, lapack.SVDStore, lapack.SVDNone}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(17, 18))
		for at, shape := range [][2]int{{12, 12}, {11, 13}, {20, 23}, {300, 5}, {17, 260}, {24, 24}, {33, 31}, {60, 40},
			{31, 33}, {90, 33}, {25, 70}, {64, 64}, {130, 129}} {
			for k, name := range slices.Sorted(maps.Keys(spectra)) {
				m, n := shape[0], shape[1]
				whole := spectra[name](rng, max(m, n)+2)
				a := random(rng, m, n, at%3)
				for i := range m {
					copy(a.data[i*a.stride:][:n], whole[i*(max(m, n)+2)+2:][:n])
				}
				jobU, jobVT := jobs[(at+k)%3], jobs[(at+k)/3%3]
				d, want := newSingular(jobU, jobVT, a, at%2), newSingular(jobU, jobVT, a, 0)
				d.compute(blas.Lapack{}, jobU, jobVT)
				want.compute(reference.Implementation{}, jobU, jobVT)
				if err := d.check(a, want); err != nil {
					t.Fatalf("%s, %d x %d, %c%c: %v", name, m, n, jobU, jobVT, err)
				}
			}
		}
	})
}

func (d *singular) check(a *rowMajor, want *singular) error {
	n, size := len(d.s), want.s[0]
	bound := 10 * float64(a.rows+a.cols) * eps
	switch {
	case d.ok != want.ok:
		return fmt.Errorf("ok is %t", d.ok)
	case d.u.unguarded() || d.vt.unguarded():
		return fmt.Errorf("wrote between rows")
	case !slices.IsSortedFunc(d.s, func(x, y float64) int { return cmp.Compare(y, x) }):
		return fmt.Errorf("values %v", d.s)
	}
	for i, s := range d.s {
		if !(math.Abs(s-want.s[i]) <= bound*size) {
			return fmt.Errorf("value %d is %g, want %g", i, s, want.s[i])
		}
	}
	if d.u.cols > 0 {
		if off := orthonormal(d.u.dense()); !(off <= bound) {
			return fmt.Errorf("U'U is off by %g", off)
		}
	}
	if d.vt.rows > 0 {
		if off := orthonormal(d.vt.dense().T()); !(off <= bound) {
			return fmt.Errorf("V'V is off by %g", off)
		}
	}
	if d.u.cols == 0 || d.vt.rows == 0 {
		return nil
	}
	var scaled, product mat.Dense
	scaled.Mul(d.u.dense().Slice(0, a.rows, 0, n), mat.NewDiagDense(n, d.s))
	product.Mul(&scaled, d.vt.dense().Slice(0, n, 0, a.cols))
	if off := furthest(&product, a.dense()); !(off <= bound*size) {
		return fmt.Errorf("U S V' is off by %g", off)
	}
	return nil
}

// Small singular values of a bidiagonal matrix keep their relative precision: graded either way, or with
// entries above the diagonal that are larger than those on it.
func TestGesvdGraded(t *testing.T) {
	const n = 40
	tiertest.Each(t, func(t *testing.T) {
		for name, c := range map[string]struct{ grade, above float64 }{"down": {-0.3, 0.5}, "up": {0.3, 0.5},
			"steep": {0, 2}} {
			a := &rowMajor{n, n, n, make([]float64, n*n)}
			for i := range n {
				a.data[i*(n+1)] = math.Pow(10, c.grade*float64(i))
				if i+1 < n {
					a.data[i*(n+1)+1] = c.above * a.data[i*(n+1)]
				}
			}
			got, want := newSingular(lapack.SVDStore, lapack.SVDStore, a, 0),
				newSingular(lapack.SVDStore, lapack.SVDStore, a, 0)
			got.compute(blas.Lapack{}, lapack.SVDStore, lapack.SVDStore)
			want.compute(reference.Implementation{}, lapack.SVDStore, lapack.SVDStore)
			if err := got.check(a, want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for i, s := range want.s {
				if !(math.Abs(got.s[i]-s) <= 1e-12*s) {
					t.Errorf("%s: value %d is %g, want %g", name, i, got.s[i], s)
				}
			}
		}
	})
}
