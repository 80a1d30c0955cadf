package lsq_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const eps = 0x1p-52

// A problem is [A y] with A by columns, stride lda, and NaN between the columns.
type problem struct {
	n, r, lda int
	a, y      []float64
}

func (p problem) matrix() blas64.GeneralCols {
	return of(p.n, p.r, p.lda, p.a)
}

func of(rows, cols, stride int, data []float64) blas64.GeneralCols {
	return blas64.GeneralCols{Rows: rows, Cols: cols, Stride: stride, Data: data}
}

func newProblem(n, r, lda int) problem {
	p := problem{n: n, r: r, lda: lda, a: make([]float64, lda*r), y: make([]float64, n)}
	for i := range p.a {
		p.a[i] = math.NaN()
	}
	for j := range r {
		clear(p.a[j*lda:][:n])
	}
	return p
}

func random(rng *rand.Rand, n, r int) problem {
	p := newProblem(n, r, n+1+rng.IntN(4))
	p.fill(rng.NormFloat64)
	return p
}

// fill sets y and A by rows.
func (p problem) fill(next func() float64) {
	for i := range p.n {
		p.y[i] = next()
		for j := range p.r {
			p.a[j*p.lda+i] = next()
		}
	}
}

// ofRank returns a problem whose matrix is a product of small integers, so that
// its rank is k exactly.
func ofRank(rng *rand.Rand, n, r, k int) problem {
	p := newProblem(n, r, n+3)
	for q := range k {
		left := make([]float64, n)
		for i := range left {
			left[i] = float64(rng.IntN(13) - 6)
		}
		left[q] += 20 // keeps the factors independent
		for j := range r {
			right := float64(rng.IntN(13) - 6)
			if j == q {
				right += 20
			}
			for i, v := range left {
				p.a[j*p.lda+i] += v * right
			}
		}
	}
	for i := range p.y {
		p.y[i] = rng.NormFloat64()
	}
	return p
}

func (p problem) dense() *mat.Dense {
	m := mat.NewDense(p.n, p.r, nil)
	for i := range p.n {
		for j := range p.r {
			m.Set(i, j, p.a[j*p.lda+i])
		}
	}
	return m
}

func (p problem) scaled(a, y int) problem {
	q := newProblem(p.n, p.r, p.lda)
	for j := range p.r {
		for i := range p.n {
			q.a[j*p.lda+i] = math.Ldexp(p.a[j*p.lda+i], a)
		}
	}
	for i, v := range p.y {
		q.y[i] = math.Ldexp(v, y)
	}
	return q
}

// reference solves by the singular value decomposition of gonum, and returns the
// condition number over the k largest singular values.
func (p problem) reference(k int, ridge float64) (b []float64, cond float64) {
	b = make([]float64, p.r)
	if p.n == 0 || k == 0 {
		return b, 1
	}
	var svd mat.SVD
	if !svd.Factorize(p.dense(), mat.SVDThin) {
		panic("reference: no convergence")
	}
	s := svd.Values(nil)
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	for q := range k {
		c := 0.0
		for i, w := range p.y {
			c += u.At(i, q) * w
		}
		c *= s[q] / (s[q]*s[q] + ridge)
		for j := range b {
			b[j] += c * v.At(j, q)
		}
	}
	return b, math.Sqrt((s[0]*s[0] + ridge) / (s[k-1]*s[k-1] + ridge))
}

func (p problem) solve(t *testing.T, ridge float64) ([]float64, lsq.Status) {
	t.Helper()
	b, result := p.result(t, ridge)
	return b, result.Status
}

func (p problem) result(t *testing.T, ridge float64) ([]float64, lsq.Result) {
	t.Helper()
	b := make([]float64, p.r)
	for i := range b {
		b[i] = math.NaN()
	}
	a, y := append([]float64(nil), p.a...), append([]float64(nil), p.y...)
	result := lsq.Solve(b, p.matrix(), p.y, lsq.Options{Ridge: ridge}, nil)
	p.residual(t, b, result)
	if !sameBits(a, p.a) || !sameBits(y, p.y) {
		t.Fatal("A or y was written")
	}
	return b, result
}

func sameBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) })
}

// gradient returns A'(A b - y).
func (p problem) gradient(b []float64) *mat.VecDense {
	var e, g mat.VecDense
	e.MulVec(p.dense(), mat.NewVecDense(p.r, b))
	e.SubVec(&e, mat.NewVecDense(p.n, p.y))
	g.MulVec(p.dense().T(), &e)
	return &g
}

// residual checks the size of A b - y.
func (p problem) residual(t *testing.T, b []float64, result lsq.Result) {
	t.Helper()
	if result.Status == lsq.NotFinite || p.n == 0 {
		return
	}
	want := mat.NewVecDense(p.n, nil)
	want.MulVec(p.dense(), mat.NewVecDense(p.r, b))
	want.SubVec(want, mat.NewVecDense(p.n, p.y))
	size := mat.Norm(p.dense(), 2)*norm(b) + norm(p.y)
	bound := 8 * float64(p.n+p.r) * (eps*size + math.SmallestNonzeroFloat64)
	if s := norm(want.RawVector().Data); s > 1e-140 && s < 1e140 && !(math.Abs(math.Sqrt(result.SquaredResidual)-s) <= bound) {
		t.Errorf("%d x %d: the residual is %g, want %g", p.n, p.r, math.Sqrt(result.SquaredResidual), s)
	}
}

func norm(x []float64) float64 { return floats.Norm(x, 2) }

func distance(x, y []float64) float64 { return floats.Distance(x, y, 2) }

// within checks |b - want| against the perturbation bound of least squares: the
// condition number acts on the solution, its square on the residual.
func within(t *testing.T, p problem, b, want []float64, cond float64) {
	t.Helper()
	m := mat.Norm(p.dense(), 2)
	bound := 100 * float64(p.n+p.r) * eps * cond * (norm(want) + cond*norm(p.y)/m)
	if d := distance(b, want); !(d <= bound) {
		t.Errorf("|b - reference| = %g, want at most %g\nb         %v\nreference %v", d, bound, b, want)
	}
}
