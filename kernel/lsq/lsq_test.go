package lsq_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/mat"
)

// TestSolve runs everything on every CPU tier.
func TestSolve(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		t.Run("FullRank", testFullRank)
		t.Run("NotUnique", testNotUnique)
		t.Run("Dependent", testDependent)
		t.Run("MagnifiedRounding", testMagnifiedRounding)
		t.Run("Scaled", testScaled)
		t.Run("ScaledRidge", testScaledRidge)
		t.Run("HiddenDeficiency", testHiddenDeficiency)
		t.Run("EveryColumnALittle", testKahan)
		t.Run("SlowFall", testSlowFall)
		t.Run("NotFinite", testNotFinite)
		t.Run("ZeroRightHandSide", testZeroRightHandSide)
		t.Run("WorkspaceReuse", testWorkspaceReuse)
	})
}

func testFullRank(t *testing.T) {
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

// testNotUnique takes matrices of exact ranks, and ones with fewer rows than columns.
func testNotUnique(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, r := range []int{1, 2, 3, 4, 5, 10, 17, 33} {
		for n := 0; n < r; n += 1 + n/4 {
			t.Run(fmt.Sprintf("n=%d/r=%d", n, r), func(t *testing.T) {
				random(rng, n, r).checkNotUnique(t, n, lsq.Underdetermined, 0.1, func(cond float64) float64 { return cond })
			})
		}
		for _, n := range []int{r, r + 1, r + 30} {
			for _, k := range []int{0, 1, r / 2, r - 1} {
				if k >= r {
					continue
				}
				t.Run(fmt.Sprintf("n=%d/r=%d/rank=%d", n, r, k), func(t *testing.T) {
					p := ofRank(rng, n, r, k)
					// The least singular value of [A; sqrt(ridge) I] is sqrt(ridge).
					p.checkNotUnique(t, k, lsq.RankDeficient, 0.5, func(float64) float64 { return mat.Norm(p.dense(), 2) / math.Sqrt(0.5) })
				})
			}
		}
	}
}

// checkNotUnique compares the solution of minimum norm of a problem of rank k, and that with a ridge, with
// the reference; ridged returns the condition number of the latter.
func (p problem) checkNotUnique(t *testing.T, k int, want lsq.Status, ridge float64, ridged func(cond float64) float64) {
	t.Helper()
	b, status := p.solve(t, 0)
	c, statusC := p.solve(t, ridge)
	if status != want || statusC != lsq.OK {
		t.Errorf("status %v, with a ridge %v", status, statusC)
	}
	if k == 0 {
		if norm(b) != 0 || norm(c) != 0 {
			t.Errorf("b = %v of a zero matrix, with a ridge %v", b, c)
		}
		return
	}
	x, cond := p.reference(k, 0)
	within(t, p, b, x, cond)
	minimal(t, p, b)
	x, cond = p.reference(k, ridge)
	within(t, p, c, x, ridged(cond))
}

// minimal checks the two identities that define A^+ y: the residual is orthogonal
// to the columns of A, and b is in the span of its rows.
func minimal(t *testing.T, p problem, b []float64) {
	t.Helper()
	a := p.dense()
	if v := mat.Norm(p.gradient(b), 2); v > 1e-10*mat.Norm(a, 2)*norm(p.y) {
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
		if c := mat.Dot(v.ColView(j), mat.NewVecDense(p.r, b)); math.Abs(c) > 1e-10*norm(b) {
			t.Errorf("b has a component %g in the null space", c)
		}
	}
}

// Powers of two move the solution by exact powers of two, however far.
func testScaled(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	for _, shape := range [][2]int{{30, 4}, {5, 5}, {3, 5}, {40, 16}} {
		p := newProblem(shape[0], shape[1], shape[0]+2)
		p.fill(func() float64 { return float64(rng.IntN(2001) - 1000) })
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

func testScaledRidge(t *testing.T) {
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
func testHiddenDeficiency(t *testing.T) {
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

// Kahan's matrices have columns of which each depends on all others a little: column
// pivoting leaves them as they are, and their diagonals show nothing. The diagonal falls a
// little faster than his, so that rounding does not change the order.
func testKahan(t *testing.T) {
	const n, c = 100, 0.35
	s := math.Sqrt(1 - c*c)
	tall, wide, below := newProblem(n, n, n), newProblem(n, n+1, n), newProblem(n+1, n+1, n+1)
	below.a[0], below.y[0] = 2, 1 // first in any order: the null direction does not show in the first column
	for j := range n {
		for i := range j + 1 {
			v := math.Pow(s, float64(i)) * (1 - 1e-13*float64(j))
			if i < j {
				v *= -c
			}
			tall.a[j*tall.lda+i], wide.a[i*wide.lda+j], below.a[(j+1)*below.lda+i+1] = v, v, v
		}
		tall.y[j], wide.y[j], below.y[j+1] = math.Sin(float64(j)), math.Cos(float64(j)), 1
	}
	clear(wide.a[n*wide.lda:])
	// A small column that is what the others lack: it looks like nothing beside all of them.
	instead := newProblem(n+1, n+1, n+1) // with a row of zeros
	for i := range n {
		for j := range n {
			instead.a[j*instead.lda+i] = tall.a[j*tall.lda+i]
		}
		instead.y[i] = 1e-7 * math.Sin(float64(i*i))
		instead.a[n*instead.lda+i] = instead.y[i]
	}
	fits, fitsBelow := tall, below // without the null direction in b either, until that of minimum norm is sought
	fits.y, fitsBelow.y = tall.a[:n], below.a[below.lda:][:n+1]
	for _, p := range []problem{tall, wide, below, instead, fits, fitsBelow} {
		b, status := p.solve(t, 0)
		if status == lsq.OK {
			t.Errorf("%d x %d: status %v", p.n, p.r, status)
		}
		rank, decided := p.rank()
		if !decided || rank < n-1 {
			t.Fatalf("%d x %d: rank %d, %v", p.n, p.r, rank, decided)
		}
		want, cond := p.reference(rank, 0)
		within(t, p, b, want, cond)
	}
}

func testNotFinite(t *testing.T) {
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

func testZeroRightHandSide(t *testing.T) {
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

// Solve reads and writes nothing but its arguments, wherever they are.
func TestSolveStaysInside(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		const most = 50 * 30
		rng := rand.New(rand.NewPCG(31, 32))
		a, y, b := tiertest.Edge(t, most), tiertest.Edge(t, most), tiertest.Edge(t, most)
		for i := range 600 {
			n, r, front := 1+rng.IntN(40), 1+rng.IntN(20), i%3 == 0
			p := random(rng, n, r)
			if p.a = p.a[:(r-1)*p.lda+n]; i%4 == 0 && r > 1 { // dependent
				copy(p.a[p.lda:][:n], p.a[:n])
			}
			ridge := float64(i % 2)
			want, status := p.solve(t, ridge)
			p.a, p.y = a(p.a, front), y(p.y, front)
			got := b(make([]float64, r), front)
			if s := lsq.Solve(got, p.matrix(), p.y, lsq.Options{Ridge: ridge}, nil).Status; s != status || !slices.Equal(got, want) {
				t.Fatalf("%d x %d: %v, %v at the edge of memory, %v, %v elsewhere", n, r, got, s, want, status)
			}
		}
	})
}

// Squares that underflow in part do not cost digits.
func TestSquaresUnderflow(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	p := random(rng, 9, 3)
	for i := range p.n {
		p.a[2*p.lda+i] *= 0x1p-20 // so that the squares of the last pivot underflow first
	}
	want, _ := p.solve(t, 0)
	tiertest.Each(t, func(t *testing.T) {
		for down := 400; down <= 620; down += 5 {
			got, status := p.scaled(-down, 210-down).solve(t, 0)
			if status != lsq.OK {
				t.Errorf("A times 2^-%d: status %v", down, status)
			}
			for j, v := range got {
				if w := math.Ldexp(want[j], 210); !(math.Abs(v-w) <= 1e-13*math.Abs(w)) {
					t.Errorf("A times 2^-%d: b[%d] = %g, want %g", down, j, v, w)
				}
			}
		}
	})
}

// The rank is the number of singular values above the tolerance, for tall and wide matrices and with a ridge.
func TestTolerance(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	for _, shape := range [][2]int{{20, 5}, {5, 5}, {4, 9}} {
		p := random(rng, shape[0], shape[1])
		k := min(p.n, p.r)
		p.values(rng, func(q, _ int) float64 { return math.Pow(10, -2*float64(q)) }) // 1, 1e-2, ...
		for _, c := range []struct {
			o    lsq.Options
			rank int
		}{{lsq.Options{}, k}, {lsq.Options{Tolerance: 1e-20}, k}, {lsq.Options{Tolerance: 1e-5}, 3}, {lsq.Options{Tolerance: 0.5}, 1}, {lsq.Options{Tolerance: 1}, 0}} {
			b := make([]float64, p.r)
			got := lsq.Solve(b, p.matrix(), p.y, c.o, nil)
			if got.Rank != c.rank {
				t.Errorf("%v, tolerance %g: rank %d, want %d", shape, c.o.Tolerance, got.Rank, c.rank)
			}
			if c.rank == 0 {
				continue
			}
			want, cond := p.reference(c.rank, 0)
			within(t, p, b, want, cond)
		}
		b := make([]float64, p.r)
		if got := lsq.Solve(b, p.matrix(), p.y, lsq.Options{Ridge: 1, Tolerance: 1e-3}, nil); got.Rank != p.r || got.Status != lsq.OK {
			t.Errorf("%v with a ridge: %+v", shape, got)
		}
	}
}

// A batch has the bits of its problems, with gaps between them.
func TestSolveBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	const n, r, lda, batch = 11, 3, 13, 5
	strideA, strideY := lda*r+2, n+4
	a, y := random(rng, strideA*batch, 1).a, random(rng, strideY*batch, 1).y
	copy(a[strideA:][:n], a[strideA+lda:][:n]) // problem 1 is deficient
	ws := lsq.NewWorkspace(n, r)
	b, results := make([]float64, batch*r), make([]lsq.Result, batch)
	for _, o := range []lsq.Options{{}, {Ridge: 1}} {
		lsq.SolveBatch(b, a, n, r, lda, strideA, y, strideY, batch, o, results, ws)
		for k, got := range results {
			want := make([]float64, r)
			if result := lsq.Solve(want, of(n, r, lda, a[k*strideA:]), y[k*strideY:], o, nil); result != got || !slices.Equal(b[k*r:][:r], want) {
				t.Errorf("problem %d: %v, %+v, alone %v, %+v", k, b[k*r:][:r], got, want, result)
			}
		}
	}
	for _, stride := range []int{strideA, 0} {
		if n := testing.AllocsPerRun(5, func() { lsq.SolveBatch(b, a, n, r, lda, stride, y, strideY, batch, lsq.Options{}, nil, ws) }); n != 0 {
			t.Errorf("%g allocations", n)
		}
	}
}

// Several right-hand sides of one matrix have the results of each alone, to rounding: also where some are not
// finite or extreme, and where the matrix has no full rank.
func TestSolveRightHandSides(t *testing.T) {
	const sides = 6
	problems := map[string]func(rng *rand.Rand) problem{
		"tall":      func(rng *rand.Rand) problem { return random(rng, 40, 7) },
		"square":    func(rng *rand.Rand) problem { return random(rng, 5, 5) },
		"one":       func(rng *rand.Rand) problem { return random(rng, 9, 1) },
		"deficient": func(rng *rand.Rand) problem { return ofRank(rng, 12, 5, 3) },
		"wide":      func(rng *rand.Rand) problem { return random(rng, 3, 5) },
		"none":      func(*rand.Rand) problem { return newProblem(0, 2, 1) },
		"huge":      func(rng *rand.Rand) problem { return random(rng, 12, 5).scaled(900, 0) },
		"tiny":      func(rng *rand.Rand) problem { return random(rng, 12, 5).scaled(-900, 0) },
	}
	tiertest.Each(t, func(t *testing.T) {
		for name, draw := range problems {
			rng := rand.New(rand.NewPCG(14, 1))
			p := draw(rng)
			for _, o := range []lsq.Options{{}, {Ridge: 2}, {Tolerance: 0.9}} {
				y, b, results := make([]float64, sides*p.n+1), make([]float64, sides*p.r), make([]lsq.Result, sides)
				for i := range y {
					y[i] = rng.NormFloat64()
					switch i / max(p.n, 1) {
					case 2:
						y[i] *= 0x1p900
					case 3:
						y[i] = math.NaN()
					case 4:
						y[i] = 0
					}
				}
				lsq.SolveBatch(b, p.a, p.n, p.r, p.lda, 0, y, p.n, sides, o, results, nil)
				for k, got := range results {
					want := make([]float64, p.r)
					result := lsq.Solve(want, p.matrix(), y[k*p.n:], o, nil)
					alike := math.Abs(got.SquaredResidual-result.SquaredResidual) <= 1e-9*result.SquaredResidual || math.IsNaN(result.SquaredResidual) || math.IsInf(result.SquaredResidual, 0)
					if got.Status != result.Status || got.Rank != result.Rank || !alike && p.n > p.r || !(distance(b[k*p.r:][:p.r], want) <= 1e-11*norm(want)) {
						t.Errorf("%s, %+v, side %d: %v, %+v, alone %v, %+v", name, o, k, b[k*p.r:][:p.r], got, want, result)
					}
				}
			}
		}
	})
}
