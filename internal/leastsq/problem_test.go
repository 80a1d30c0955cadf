package leastsq_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/leastsq"
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

// newProblem returns a problem whose entries next gives, by rows.
func newProblem(n, r int, next func() float64) problem {
	p := problem{n: n, r: r, lda: n + 1 + n%4, y: make([]float64, n)}
	p.a = slices.Repeat([]float64{math.NaN()}, p.lda*r)
	for i := range n {
		p.y[i] = next()
		for j := range r {
			p.a[j*p.lda+i] = next()
		}
	}
	return p
}

func random(rng *rand.Rand, n, r int) problem { return newProblem(n, r, rng.NormFloat64) }

func (p problem) matrix() blas64.GeneralCols {
	return blas64.GeneralCols{Rows: p.n, Cols: p.r, Stride: p.lda, Data: p.a}
}

func (p problem) column(j int) []float64 { return p.a[j*p.lda:][:p.n] }

func (p problem) dense() *mat.Dense {
	m := mat.NewDense(p.n, p.r, nil)
	for j := range p.r {
		m.SetCol(j, p.column(j))
	}
	return m
}

// combine sets column j to a combination of others.
func (p problem) combine(j int, of map[int]float64) {
	sum := make([]float64, p.n)
	for k := range p.r { // in one order
		if f := of[k]; f != 0 {
			floats.AddScaled(sum, f, p.column(k))
		}
	}
	copy(p.column(j), sum)
}

// values makes the matrix one of min(n, r) given singular values.
func (p problem) values(rng *rand.Rand, value func(q, k int) float64) {
	k := min(p.n, p.r)
	left, right, all := orthonormal(rng, p.n, k), orthonormal(rng, p.r, k), mat.NewDiagDense(k, nil)
	for q := range k {
		all.SetDiag(q, value(q, k))
	}
	var m mat.Dense
	m.Product(left, all, right.T())
	for j := range p.r {
		mat.Col(p.column(j), j, &m)
	}
}

func orthonormal(rng *rand.Rand, n, k int) mat.Matrix {
	var qr mat.QR
	qr.Factorize(random(rng, n, k).dense())
	var q mat.Dense
	qr.QTo(&q)
	return q.Slice(0, n, 0, k)
}

// scaled returns the problem with A times 2^a and y times 2^y.
func (p problem) scaled(a, y int) problem {
	q := p
	q.a, q.y = slices.Clone(p.a), slices.Clone(p.y)
	for i, v := range q.a {
		q.a[i] = math.Ldexp(v, a)
	}
	for i, v := range q.y {
		q.y[i] = math.Ldexp(v, y)
	}
	return q
}

// solve solves the problem in memory of its own, and checks that it writes only b, and A b - y.
func (p problem) solve(t *testing.T, ridge, tolerance float64) (b []float64, s leastsq.Status, rank int) {
	t.Helper()
	b = slices.Repeat([]float64{math.NaN()}, p.r)
	a, y, m := slices.Clone(p.a), slices.Clone(p.y), p.matrix()
	ws := leastsq.NewWorkspace(p.n, p.r)
	res, residual := leastsq.Solve(b, &m, p.y, ridge, max(tolerance, leastsq.Tolerance(p.n, p.r)), 0, ws)
	if !sameBits(a, p.a) || !sameBits(y, p.y) {
		t.Fatal("A or y was written")
	}
	if res.Status != leastsq.NotFinite && p.n > 0 {
		p.residual(t, b, res.Squares, residual)
	}
	return b, res.Status, res.Rank
}

// residual compares A b - y with a residual and the sum of its squares.
func (p problem) residual(t *testing.T, b []float64, squares float64, residual []float64) {
	t.Helper()
	var e mat.VecDense
	e.MulVec(p.dense(), mat.NewVecDense(p.r, b))
	e.SubVec(&e, mat.NewVecDense(p.n, p.y))
	bound := 8 * float64(p.n+p.r) * (eps*(mat.Norm(p.dense(), 2)*norm(b)+norm(p.y)) + math.SmallestNonzeroFloat64)
	if size := mat.Norm(&e, 2); !(size < 1e-140 || size > 1e140) &&
		!(math.Abs(math.Sqrt(squares)-size) <= bound && floats.Distance(residual, e.RawVector().Data, 2) <= bound) {
		t.Errorf("%d x %d: the residual has norm %g, want %g", p.n, p.r, math.Sqrt(squares), size)
	}
}

func sameBits(x, y []float64) bool {
	return slices.EqualFunc(x, y, func(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) })
}

func norm(x []float64) float64 { return floats.Norm(x, 2) }

// reference returns the solution x from singular values, the size of the matrix, its condition and its rank.
// decided is false if rounding could decide on the rank.
func (p problem) reference(t *testing.T, ridge, tolerance float64) (
	x []float64, size, cond float64, rank int, decided bool,
) {
	t.Helper()
	left := min(p.n, p.r)
	x, cond = make([]float64, p.r), 1
	size = math.Sqrt(ridge * float64(p.r)) // of [A; sqrt(ridge) I]
	if p.n > 0 {
		var svd mat.SVD
		if !svd.Factorize(p.dense(), mat.SVDThin) {
			t.Fatal("no convergence")
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		s := svd.Values(nil)
		size = math.Hypot(size, norm(s))
		line := max(tolerance, leastsq.Tolerance(p.n, p.r)) * size
		for q := range p.r {
			value := math.Sqrt(ridge)
			if q < left {
				value = math.Hypot(s[q], value)
			}
			if value > line/30 && value < 30*line && tolerance == 0 {
				return nil, 0, 0, 0, false
			}
			if !(value > line) {
				break
			}
			rank++
			cond = math.Hypot(s[0], math.Sqrt(ridge)) / value
			if q < left {
				c := mat.Dot(u.ColView(q), mat.NewVecDense(p.n, p.y)) * s[q] / (value * value)
				floats.AddScaled(x, c, mat.Col(nil, q, &v))
			}
		}
	} else if ridge > 0 {
		rank = p.r
	}
	return x, size, cond, rank, true
}

// check compares status, rank and solution with the singular value decomposition of gonum, for A and y times
// powers of two. It returns false if a singular value is so close to what counts as null, tolerance times the
// norm, that rounding decides. The bound is that of perturbed least squares: the condition number acts on the
// solution, its square on the residual.
func (p problem) check(t *testing.T, ridge, tolerance float64, exponents ...[2]int) (decided bool) {
	t.Helper()
	x, size, cond, rank, decided := p.reference(t, ridge, tolerance)
	if !decided {
		return false
	}
	want := leastsq.OK
	switch {
	case rank < p.r && p.n < p.r:
		want = leastsq.Underdetermined
	case rank < p.r:
		want = leastsq.RankDeficient
	}
	bound := 0.0 // of a zero matrix
	if rank > 0 && p.n > 0 {
		bound = 100 * float64(p.n+p.r) * eps * cond * (norm(x) + cond*norm(p.y)/size)
	}
	for _, e := range append(exponents, [2]int{}) {
		at := fmt.Sprintf("%d x %d, ridge %g, tolerance %g, times 2^%v", p.n, p.r, ridge, tolerance, e)
		near := func(b []float64) {
			for j := range b {
				b[j] = math.Ldexp(b[j], e[0]-e[1])
			}
			if d := floats.Distance(b, x, 2); !(d <= bound) && e[1]-e[0] > -1000 {
				t.Errorf("%s: |b - reference| = %g, want at most %g", at, d, bound)
			}
		}
		q, scaled := p.scaled(e[0], e[1]), math.Ldexp(ridge, 2*e[0])
		b, got, k := q.solve(t, scaled, tolerance)
		if got != want || k != rank {
			t.Errorf("%s: status %v of rank %d, want %v of rank %d", at, got, k, want, rank)
		}
		near(b)
		m, ws := q.matrix(), leastsq.NewWorkspace(p.n, p.r)
		full := ws.Factor(m, scaled, max(tolerance, leastsq.Tolerance(p.n, p.r)))
		if full && rank < p.r || !full && rank == p.r && p.n > 0 && e == [2]int{} {
			t.Errorf("%s: rank %d, full rank %t", at, rank, full)
		}
		for range 2 { // the second time from the first one's memory
			if !full {
				break
			}
			if res, residual, ok := ws.Again(b, &m, q.y); ok {
				q.residual(t, b, res.Squares, residual)
				near(b)
			}
		}
	}
	return true
}
