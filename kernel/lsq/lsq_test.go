package lsq_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

const eps = 0x1p-52

// A problem is [A y] with A by columns, stride lda, and NaN between the columns.
type problem struct {
	n, r, lda int
	a, y      []float64
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
	for i := range n {
		p.y[i] = rng.NormFloat64()
		for j := range r {
			p.a[j*p.lda+i] = rng.NormFloat64()
		}
	}
	return p
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
	b := make([]float64, p.r)
	for i := range b {
		b[i] = math.NaN()
	}
	a, y := append([]float64(nil), p.a...), append([]float64(nil), p.y...)
	status := lsq.Solve(b, p.a, p.lda, p.n, p.r, p.y, ridge, lsq.NewWorkspace(p.n, p.r))
	for i, v := range a {
		if math.Float64bits(v) != math.Float64bits(p.a[i]) {
			t.Fatalf("a[%d] was written", i)
		}
	}
	for i, v := range y {
		if math.Float64bits(v) != math.Float64bits(p.y[i]) {
			t.Fatalf("y[%d] was written", i)
		}
	}
	return b, status
}

func norm(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s = math.Hypot(s, v)
	}
	return s
}

func distance(x, y []float64) float64 {
	d := make([]float64, len(x))
	for i := range d {
		d[i] = x[i] - y[i]
	}
	return norm(d)
}

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

func TestFullRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, r := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 33, 64, 70} {
		for _, extra := range []int{0, 1, 2, 7, 30} {
			for _, ridge := range []float64{0, 1e-3, 10} {
				t.Run(fmt.Sprintf("n=%d/r=%d/ridge=%g", r+extra, r, ridge), func(t *testing.T) {
					p := random(rng, r+extra, r)
					b, status := p.solve(t, ridge)
					if status != lsq.OK {
						t.Errorf("status %v", status)
					}
					want, cond := p.reference(r, ridge)
					within(t, p, b, want, cond)
				})
			}
		}
	}
}

func TestRankDeficient(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, r := range []int{2, 3, 5, 10, 17, 33} {
		for _, n := range []int{r, r + 1, r + 30} {
			for _, k := range []int{0, 1, r / 2, r - 1} {
				t.Run(fmt.Sprintf("n=%d/r=%d/rank=%d", n, r, k), func(t *testing.T) {
					p := ofRank(rng, n, r, k)
					b, status := p.solve(t, 0)
					if status != lsq.RankDeficient {
						t.Errorf("status %v", status)
					}
					want, cond := p.reference(k, 0)
					if k == 0 {
						if norm(b) != 0 {
							t.Errorf("b = %v of a zero matrix", b)
						}
						return
					}
					within(t, p, b, want, cond)
					minimal(t, p, b)

					b, status = p.solve(t, 0.5)
					if status != lsq.OK {
						t.Errorf("with a ridge: status %v", status)
					}
					want, _ = p.reference(k, 0.5)
					// The least singular value of [A; sqrt(ridge) I] is sqrt(ridge).
					within(t, p, b, want, mat.Norm(p.dense(), 2)/math.Sqrt(0.5))
				})
			}
		}
	}
}

func TestUnderdetermined(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, r := range []int{1, 2, 4, 5, 10, 33} {
		for n := 0; n < r; n += 1 + n/4 {
			t.Run(fmt.Sprintf("n=%d/r=%d", n, r), func(t *testing.T) {
				p := random(rng, n, r)
				b, status := p.solve(t, 0)
				if status != lsq.Underdetermined {
					t.Errorf("status %v", status)
				}
				want, cond := p.reference(n, 0)
				if n > 0 {
					within(t, p, b, want, cond)
					minimal(t, p, b)
				}
				if n == 0 && norm(b) != 0 {
					t.Errorf("b = %v without samples", b)
				}
				b, status = p.solve(t, 0.1)
				if status != lsq.OK {
					t.Errorf("with a ridge: status %v", status)
				}
				if n > 0 {
					want, cond = p.reference(n, 0.1)
					within(t, p, b, want, cond)
				}
			})
		}
	}
}

// minimal checks the two identities that define A^+ y: the residual is orthogonal
// to the columns of A, and b is in the span of its rows.
func minimal(t *testing.T, p problem, b []float64) {
	t.Helper()
	a := p.dense()
	x := mat.NewVecDense(p.r, b)
	var e, g mat.VecDense
	e.MulVec(a, x)
	e.SubVec(&e, mat.NewVecDense(p.n, p.y))
	g.MulVec(a.T(), &e)
	scale := mat.Norm(a, 2)
	if v := mat.Norm(&g, 2); v > 1e-10*scale*norm(p.y) {
		t.Errorf("|A'(A b - y)| = %g", v)
	}
	// b is orthogonal to the null space of A: the right vectors of tiny values.
	var svd mat.SVD
	svd.Factorize(a, mat.SVDFullV)
	s := svd.Values(nil)
	var v mat.Dense
	svd.VTo(&v)
	for j := range p.r {
		if j < len(s) && s[j] > 1e-10*s[0] {
			continue
		}
		if c := mat.Dot(v.ColView(j), x); math.Abs(c) > 1e-10*norm(b) {
			t.Errorf("b has a component %g in the null space", c)
		}
	}
}

// Powers of two move the solution by exact powers of two, however far.
func TestScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, shape := range [][2]int{{30, 4}, {5, 5}, {3, 5}, {40, 16}} {
		p := newProblem(shape[0], shape[1], shape[0]+2)
		for j := range p.r {
			for i := range p.n {
				p.a[j*p.lda+i] = float64(rng.IntN(2001) - 1000)
			}
		}
		for i := range p.y {
			p.y[i] = float64(rng.IntN(2001) - 1000)
		}
		full := lsq.OK
		if p.n < p.r {
			full = lsq.Underdetermined
		}
		want, cond := p.reference(min(p.n, p.r), 0)
		for _, e := range [][2]int{
			{500, 0}, {-500, 0}, {500, 500}, {-500, -500}, {1000, 1000}, {-1074, -1074}, {-1074, -200},
			{-540, -540}, {-530, -600}, {0, -1074}, {0, 1000}, {-520, 0}, {520, 0}, {-500, 400}, {-460, -1000},
		} {
			b, status := p.scaled(e[0], e[1]).solve(t, 0)
			if status != full {
				t.Errorf("%v scaled by 2^%v: status %v", shape, e, status)
			}
			if k := e[1] - e[0]; k > -1000 {
				for i := range b {
					b[i] = math.Ldexp(b[i], -k)
				}
				within(t, p, b, want, cond)
			}
		}
	}
}

func TestScaledRidge(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	p := random(rng, 12, 5)
	want, cond := p.reference(5, 3)
	for _, e := range []int{-530, -480, -100, 100, 490} {
		b, status := p.scaled(e, e).solve(t, math.Ldexp(3, 2*e))
		if status != lsq.OK {
			t.Errorf("scaled by 2^%d: status %v", e, status)
		}
		within(t, p, b, want, cond)
	}
	// A ridge that is lost beside the matrix does not make it regular.
	p = ofRank(rng, 12, 5, 3)
	b, status := p.solve(t, 1e-40)
	want, cond = p.reference(3, 0)
	if status != lsq.RankDeficient {
		t.Errorf("tiny ridge: status %v", status)
	}
	within(t, p, b, want, cond)
}

// The diagonals of R of these matrices are all ones, yet the matrices are singular
// to rounding: only the size of the solution shows it.
func TestHiddenDeficiency(t *testing.T) {
	for _, c := range []struct {
		r     int
		above func(i, j int) float64
	}{
		{64, func(i, j int) float64 { return -1 }},
		{3, func(i, j int) float64 {
			if j == i+1 {
				return 1e6
			}
			return 0
		}},
	} {
		p := newProblem(c.r, c.r, c.r)
		for j := range c.r {
			for i := range j {
				p.a[j*p.lda+i] = c.above(i, j)
			}
			p.a[j*p.lda+j] = 1
			p.y[j] = math.Sin(float64(j + 1))
		}
		b, status := p.solve(t, 0)
		if status != lsq.RankDeficient {
			t.Errorf("r = %d: status %v", c.r, status)
		}
		want, cond := p.reference(c.r-1, 0)
		within(t, p, b, want, cond)
	}
}

func TestNotFinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, shape := range [][2]int{{30, 4}, {4, 4}, {2, 4}, {1, 1}, {20, 16}} {
			for _, ridge := range []float64{0, 1} {
				for at := -1; at < shape[0]*shape[1]; at += 1 + at/3 {
					p := random(rng, shape[0], shape[1])
					if at < 0 {
						p.y[len(p.y)/2] = bad
					} else {
						p.a[at/p.n*p.lda+at%p.n] = bad
					}
					b, status := p.solve(t, ridge)
					if status != lsq.NotFinite || norm(b) != 0 {
						t.Errorf("%v, ridge %g, %g at %d: %v, b = %v", shape, ridge, bad, at, status, b)
					}
				}
			}
		}
	}
	p := random(rng, 6, 2).scaled(-1000, 1000)
	if b, status := p.solve(t, 0); status != lsq.NotFinite || norm(b) != 0 {
		t.Errorf("overflowing solution: %v, b = %v", status, b)
	}
}

func TestZeroRightHandSide(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	for _, n := range []int{3, 4, 9} {
		p := random(rng, n, 4)
		clear(p.y)
		b, status := p.solve(t, 0)
		want := lsq.OK
		if n < 4 {
			want = lsq.Underdetermined
		}
		if status != want || norm(b) != 0 {
			t.Errorf("n = %d: %v, b = %v", n, status, b)
		}
	}
}

// A workspace may serve smaller problems, and what an earlier one left in it does
// not matter.
func TestWorkspaceReuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	ws := lsq.NewWorkspace(20, 6)
	for k := range 200 {
		n, r := rng.IntN(21), 1+rng.IntN(6)
		p := random(rng, n, r)
		switch {
		case k%5 == 0 && n > 0:
			p.y[0] = math.NaN()
		case k%7 == 0 && n >= r && r > 1:
			p = ofRank(rng, n, r, r-1)
		}
		ridge := float64(k % 2)
		want, wantStatus := p.solve(t, ridge)
		b := make([]float64, r)
		status := lsq.Solve(b, p.a, p.lda, n, r, p.y, ridge, ws)
		if status != wantStatus {
			t.Errorf("n = %d, r = %d: %v, with its own workspace %v", n, r, status, wantStatus)
		}
		for i := range b {
			if b[i] != want[i] {
				t.Errorf("n = %d, r = %d: b = %v, with its own workspace %v", n, r, b, want)
				break
			}
		}
	}
}

func TestSolveDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	ws := lsq.NewWorkspace(30, 5)
	b := make([]float64, 5)
	for name, p := range map[string]problem{
		"full":            random(rng, 30, 5),
		"deficient":       ofRank(rng, 30, 5, 3),
		"underdetermined": random(rng, 3, 5),
		"huge":            random(rng, 30, 5).scaled(900, 900),
	} {
		for _, ridge := range []float64{0, 0.1} {
			if n := testing.AllocsPerRun(20, func() { lsq.Solve(b, p.a, p.lda, p.n, p.r, p.y, ridge, ws) }); n != 0 {
				t.Errorf("%s, ridge %g: %g allocations", name, ridge, n)
			}
		}
	}
}

func TestPanics(t *testing.T) {
	one := []float64{1}
	ws := lsq.NewWorkspace(1, 1)
	for name, f := range map[string]func(){
		"n < 0":             func() { lsq.Solve(one, one, 1, -1, 1, one, 0, ws) },
		"r = 0":             func() { lsq.Solve(one, one, 1, 1, 0, one, 0, ws) },
		"too many samples":  func() { lsq.Solve(one, make([]float64, 2), 2, 2, 1, make([]float64, 2), 0, ws) },
		"too many columns":  func() { lsq.Solve(make([]float64, 2), make([]float64, 2), 1, 1, 2, one, 0, ws) },
		"negative ridge":    func() { lsq.Solve(one, one, 1, 1, 1, one, -1, ws) },
		"NaN ridge":         func() { lsq.Solve(one, one, 1, 1, 1, one, math.NaN(), ws) },
		"infinite ridge":    func() { lsq.Solve(one, one, 1, 1, 1, one, math.Inf(1), ws) },
		"short b":           func() { lsq.Solve(nil, one, 1, 1, 1, one, 0, ws) },
		"short y":           func() { lsq.Solve(one, one, 1, 1, 1, nil, 0, ws) },
		"short a":           func() { lsq.Solve(one, nil, 1, 1, 1, one, 0, ws) },
		"stride":            func() { lsq.Solve(one, one, 0, 1, 1, one, 0, ws) },
		"workspace n < 0":   func() { lsq.NewWorkspace(-1, 1) },
		"workspace of no r": func() { lsq.NewWorkspace(1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "lsq: ") {
					t.Errorf("panic %v, want a message of the package", msg)
				}
			}()
			f()
		})
	}
}

func TestStatusString(t *testing.T) {
	for s, want := range map[lsq.Status]string{
		lsq.OK: "ok", lsq.RankDeficient: "rank deficient", lsq.Underdetermined: "underdetermined",
		lsq.NotFinite: "not finite", 9: "Status(9)",
	} {
		if s.String() != want {
			t.Errorf("%d: %q, want %q", s, s, want)
		}
	}
}
