package blas_test

import (
	"fmt"
	"maps"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/lapack"
	reference "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// A V = V W and U'A = W U' for eigenvalues W, to rounding errors of the norm; vectors have norm 1 and a real
// largest component, and the eigenvalues do not depend on which vectors are asked for beyond the same errors.
func TestGeev(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(general)) {
			rng := rand.New(rand.NewPCG(31, 32))
			for at, n := range eigenSizes() {
				if name != "random" && (at+len(name))%4 != 0 && !longtest.Enabled() {
					continue
				}
				whole := general[name](rng, n)
				for _, jobs := range [][2]bool{{false, true}, {true, true}, {true, false}, {false, false}} {
					e := newGeneral(whole, n, at%3)
					if first := e.compute(blas.Lapack{}, jobs[0], jobs[1]); first != 0 {
						t.Fatalf("%s, order %d: %d eigenvalues are missing", name, n, first)
					}
					if err := e.check(jobs[0], jobs[1]); err != nil {
						t.Fatalf("%s, order %d, left %t, right %t: %v", name, n, jobs[0], jobs[1], err)
					}
				}
			}
		}
	})
}

// A generalEigen has the arguments and results of Dgeev.
type generalEigen struct {
	n         int
	whole     *mat.Dense
	a, vl, vr *rowMajor
	wr, wi    []float64
}

// newGeneral returns arguments for a matrix of order n, with guard words in gaps behind the rows.
func newGeneral(whole []float64, n, gap int) *generalEigen {
	e := &generalEigen{n: n, wr: make([]float64, n), wi: make([]float64, n)}
	guards := func() *rowMajor {
		m := &rowMajor{n, n, max(n+gap, 1), make([]float64, n*(n+gap))}
		for i := range m.data {
			m.data[i] = guardWord
		}
		return m
	}
	e.a, e.vl, e.vr = guards(), guards(), guards()
	for i := range n {
		copy(e.a.data[i*e.a.stride:], whole[i*n:][:n])
	}
	if n > 0 {
		e.whole = mat.NewDense(n, n, slices.Clone(whole))
	}
	return e
}

func (e *generalEigen) compute(l lapack.Float64, left, right bool) (first int) {
	jobL, jobR := lapack.LeftEVNone, lapack.RightEVNone
	if left {
		jobL = lapack.LeftEVCompute
	}
	if right {
		jobR = lapack.RightEVCompute
	}
	work, want := []float64{0}, []float64{0}
	call := func(l lapack.Float64, work []float64, lwork int) int {
		return l.Dgeev(jobL, jobR, e.n, e.a.data, e.a.stride, e.wr, e.wi, e.vl.data, e.vl.stride, e.vr.data,
			e.vr.stride, work, lwork)
	}
	call(l, work, -1)
	call(reference.Implementation{}, want, -1)
	if work[0] != want[0] {
		panic(fmt.Sprintf("a query answers %v, gonum's %v", work, want))
	}
	work = make([]float64, int(work[0]))
	return call(l, work, len(work))
}

// check holds the results to the definitions, and to a bound that grows with gonum's own errors.
func (e *generalEigen) check(left, right bool) error {
	if e.a.unguarded() || e.vl.unguarded() || e.vr.unguarded() {
		return fmt.Errorf("wrote between rows")
	}
	for i := 0; i < e.n; i++ {
		if e.wi[i] != 0 {
			if i+1 == e.n || e.wi[i] < 0 || e.wi[i+1] != -e.wi[i] || e.wr[i+1] != e.wr[i] {
				return fmt.Errorf("eigenvalues %d and %d are no pair", i, i+1)
			}
			i++
		}
	}
	if e.n == 0 || !left && !right {
		return nil
	}
	largest := max(math.Abs(mat.Max(e.whole)), math.Abs(mat.Min(e.whole)))
	_, exponent := math.Frexp(largest)
	scaled := mat.DenseCopyOf(e.whole)
	scaled.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, -exponent) }, scaled)
	bound := 100 * float64(e.n) * eps * max(1, mat.Norm(scaled, 2))
	for side, v := range map[bool]*rowMajor{false: e.vr, true: e.vl} {
		if side && !left || !side && !right {
			continue
		}
		if err := e.unitVectors(v); err != nil {
			return err
		}
		off := e.residual(scaled, v, side, exponent)
		if off <= bound {
			continue
		}
		other := newGeneral(e.whole.RawMatrix().Data, e.n, 0)
		other.compute(reference.Implementation{}, left, right)
		theirs := other.vr
		if side {
			theirs = other.vl
		}
		if gonum := other.residual(scaled, theirs, side, exponent); !(off <= 10*gonum) {
			return fmt.Errorf("left %t: residual %g, gonum's %g, bound %g", side, off, gonum, bound)
		}
	}
	return nil
}

// residual returns the largest entry of A V - V W or, for left eigenvectors, of A'U - U W', for A and W
// divided by a power of 2.
func (e *generalEigen) residual(a *mat.Dense, v *rowMajor, left bool, exponent int) (off float64) {
	vectors, product := v.dense(), new(mat.Dense)
	if left {
		product.Mul(a.T(), vectors)
	} else {
		product.Mul(a, vectors)
	}
	for j := range e.n {
		re, im := math.Ldexp(e.wr[j], -exponent), math.Ldexp(e.wi[j], -exponent)
		other := j // the other column of a pair
		switch {
		case im > 0:
			other = j + 1
		case im < 0:
			other = j - 1
		}
		if !left {
			im = -im
		}
		for i := range e.n {
			off = max(off, math.Abs(product.At(i, j)-re*vectors.At(i, j)-im*vectors.At(i, other)))
		}
	}
	return off
}

// unitVectors tests the norms of the vectors, and that the largest component is real.
func (e *generalEigen) unitVectors(v *rowMajor) error {
	for j := 0; j < e.n; j++ {
		sum, largest, largestReal := 0.0, 0.0, 0.0
		for i := range e.n {
			z := complex(v.data[i*v.stride+j], 0)
			if e.wi[j] != 0 {
				z += complex(0, v.data[i*v.stride+j+1])
			}
			size := cmplx.Abs(z)
			sum += size * size
			if largest = max(largest, size); imag(z) == 0 {
				largestReal = max(largestReal, size)
			}
		}
		if !(math.Abs(sum-1) <= 1e-13*float64(e.n)) {
			return fmt.Errorf("vector %d has the norm %v", j, math.Sqrt(sum))
		}
		if largestReal < largest*(1-1e-12) {
			return fmt.Errorf("the largest component of vector %d is not real", j)
		}
		if e.wi[j] != 0 {
			j++
		}
	}
	return nil
}

// The eigenvalues of known matrices are found, whichever vectors are asked for.
func TestGeevSpectra(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range []int{2, 3, 7, 8, 9, 24, 41, 77, 130} {
			roots := make([]complex128, n)
			for k := range roots {
				roots[k] = cmplx.Rect(1, 2*math.Pi*float64(k)/float64(n))
			}
			checkSpectrum(t, n, general["cyclic"](nil, n), roots, 1e-12)
			for k := range roots { // of (-1 2 -1) and an antisymmetric part: all on a line
				roots[k] = complex(2, 2*math.Cos(math.Pi*float64(k+1)/float64(n+1)))
			}
			checkSpectrum(t, n, entries(func(i, j, _ int) float64 {
				return 2*unit(i, j) + unit(i+1, j) - unit(i, j+1)
			})(nil, n), roots, 1e-12)
		}
	})
}

func checkSpectrum(t *testing.T, n int, a []float64, want []complex128, bound float64) {
	t.Helper()
	for _, jobs := range [][2]bool{{false, false}, {true, true}} {
		e := newGeneral(a, n, 0)
		if e.compute(blas.Lapack{}, jobs[0], jobs[1]) != 0 {
			t.Fatalf("order %d: eigenvalues are missing", n)
		}
		left := slices.Clone(want)
		for i := range n {
			z := complex(e.wr[i], e.wi[i])
			k, least := 0, math.Inf(1)
			for m, w := range left {
				if off := cmplx.Abs(z - w); off < least {
					k, least = m, off
				}
			}
			if !(least <= bound) {
				t.Fatalf("order %d: eigenvalue %v, %g from any that is left", n, z, least)
			}
			left = slices.Delete(left, k, k+1)
		}
	}
}

// H Z = Z T for Hessenberg matrices with parts that are triangular already, for all jobs: Z is orthogonal, T
// has blocks in standard form, and rows and columns of Z beside the part stay.
func TestHseqr(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(33, 34))
		for at, n := range append(eigenSizes()[1:], 1, 2, 50) {
			ilo := min(at%3*(at%2), n-1)
			ihi := max(n-1-at%4, ilo)
			h, z := random(rng, n, n, at%3), random(rng, n, n, (at+1)%3)
			for i := range n {
				for j := range n {
					inPart := i <= ihi && j >= ilo
					if j < i-1 || j == i-1 && !inPart || at%5 == 4 && j == i-1 && i%7 == 3 {
						h.data[i*h.stride+j] = 0
					}
					z.data[i*z.stride+j] = unit(i, j)
				}
			}
			tri, unitary := h.clone(), z.clone()
			wr, wi, work := make([]float64, n), make([]float64, n), make([]float64, max(n, 1))
			compz := lapack.SchurHess
			if at%2 == 0 {
				compz = lapack.SchurOrig
			}
			if (blas.Lapack{}).Dhseqr(lapack.EigenvaluesAndSchur, compz, n, ilo, ihi, tri.data, tri.stride, wr, wi,
				unitary.data, unitary.stride, work, len(work)) != 0 {
				t.Fatalf("order %d: eigenvalues are missing", n)
			}
			if tri.unguarded() || unitary.unguarded() {
				t.Fatalf("order %d: wrote between rows", n)
			}
			if off := orthonormal(unitary.dense()); !(off <= 1e-14*float64(n)) {
				t.Fatalf("order %d: Z'Z is off by %g", n, off)
			}
			var left, right mat.Dense
			left.Mul(h.dense(), unitary.dense())
			right.Mul(unitary.dense(), tri.dense())
			if off := furthest(&left, &right); !(off <= 1e-13*float64(n)) {
				t.Fatalf("order %d, %d to %d: H Z - Z T is %g", n, ilo, ihi, off)
			}
			if err := standardForm(tri, wr, wi); err != nil {
				t.Fatalf("order %d: %v", n, err)
			}
			values, im := make([]float64, n), make([]float64, n)
			alone := h.clone()
			(blas.Lapack{}).Dhseqr(lapack.EigenvaluesOnly, lapack.SchurNone, n, ilo, ihi, alone.data, alone.stride,
				values, im, nil, 1, work, len(work))
			sum, trace := 0.0, 0.0
			for i := range n {
				sum += values[i]
				trace += h.data[i*(h.stride+1)]
			}
			if !(math.Abs(sum-trace) <= 1e-12*float64(n)) {
				t.Fatalf("order %d: the sum of the eigenvalues is off by %g", n, sum-trace)
			}
		}
	})
}

// standardForm tests that T has eigenvalues on its diagonal, and blocks of pairs in standard form.
func standardForm(tri *rowMajor, wr, wi []float64) error {
	n := tri.rows
	at := func(i, j int) float64 { return tri.data[i*tri.stride+j] }
	for i := range n {
		for j := range max(i-1, 0) {
			if at(i, j) != 0 {
				return fmt.Errorf("entry (%d, %d) is %g", i, j, at(i, j))
			}
		}
		below := i+1 < n && at(i+1, i) != 0
		switch {
		case at(i, i) != wr[i]:
			return fmt.Errorf("eigenvalue %d is not on the diagonal", i)
		case below != (wi[i] > 0):
			return fmt.Errorf("eigenvalue %d: wi = %g, %g below", i, wi[i], at(min(i+1, n-1), i))
		case below && (at(i+1, i+1) != at(i, i) || at(i+1, i)*at(i, i+1) >= 0):
			return fmt.Errorf("block %d is not in standard form", i)
		}
	}
	return nil
}

// Bits depend on no number of threads.
func TestGeevSameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	tiertest.Each(t, func(t *testing.T) {
		const n = 230
		whole := general["random"](rand.New(rand.NewPCG(35, 36)), n)
		var want *generalEigen
		for _, threads := range []int{1, 2, 5} {
			runtime.GOMAXPROCS(threads)
			e := newGeneral(whole, n, 0)
			e.compute(blas.Lapack{}, true, true)
			if want == nil {
				want = e
			}
			for _, pair := range [][2][]float64{{e.wr, want.wr}, {e.wi, want.wi}, {e.vl.data, want.vl.data},
				{e.vr.data, want.vr.data}} {
				if !slices.Equal(pair[0], pair[1]) {
					t.Fatalf("other bits on %d threads", threads)
				}
			}
		}
	})
}
