package blas_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/mat"
)

// generalised are the arguments and results of Dggsvd3.
type generalised struct {
	m, n, p       int
	a, b, u, v, q *rowMajor
	alpha, beta   []float64
	iwork         []int
	k, l          int
	ok            bool
}

func newGeneralised(a, b *rowMajor) *generalised {
	m, n, p := a.rows, a.cols, b.rows
	rng := rand.New(rand.NewPCG(1, 1))
	return &generalised{m: m, n: n, p: p, a: a.clone(), b: b.clone(), u: random(rng, m, m, m%3),
		v: random(rng, p, p, p%2), q: random(rng, n, n, n%3),
		alpha: make([]float64, n), beta: make([]float64, n), iwork: make([]int, n)}
}

func (g *generalised) compute(l lapack.Float64, u, v, q lapack.GSVDJob) {
	call := func(work []float64, lwork int) {
		g.k, g.l, g.ok = l.Dggsvd3(u, v, q, g.m, g.n, g.p, g.a.data, g.a.stride, g.b.data, g.b.stride, g.alpha, g.beta,
			g.u.data, g.u.stride, g.v.data, g.v.stride, g.q.data, g.q.stride, work, lwork, g.iwork)
	}
	work := []float64{0}
	call(work, -1)
	call(make([]float64, int(work[0])), int(work[0]))
}

// ofRank returns a random matrix of a rank, times a power of 2.
func ofRank(rng *rand.Rand, rows, cols, rank, gap, exponent int) *rowMajor {
	product := random(rng, rows, rank, 0).times(random(rng, rank, cols, 0))
	a := random(rng, rows, cols, gap)
	for i := range rows {
		for j := range cols {
			a.data[i*a.stride+j] = math.Ldexp(product.data[i*cols+j], exponent)
		}
	}
	return a
}

// U'A Q = D1 [0 R] and V'B Q = D2 [0 R] to rounding errors of A and of B, whatever their sizes: with
// orthogonal U, V and Q, an upper triangular R, and values on a circle. The ranks are the ones that the
// matrices were made with.
func TestGgsvd3(t *testing.T) {
	shapes := [][3]int{{1, 1, 1}, {1, 3, 2}, {5, 4, 3}, {4, 9, 3}, {3, 5, 3}, {23, 24, 25}, {40, 40, 40}, {33, 40, 20},
		{20, 60, 30},
		{70, 33, 40}, {30, 33, 70}, {10, 60, 12}, {130, 90, 100}, {60, 150, 140}}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(41, 42))
		for at, s := range shapes {
			m, n, p := s[0], s[1], s[2]
			for _, rank := range [][2]int{{m, p}, {max(m/2, 1), p}, {m, max(p/2, 1)}, {min(m, 2), min(p, 3)}} {
				for _, exponents := range [][2]int{{0, 0}, {-300, 300}, {40, -200}} {
					rankA, rankB := min(rank[0], n), min(rank[1], n)
					a, b := ofRank(rng, m, n, rankA, at%3, exponents[0]), ofRank(rng, p, n, rankB, at%2, exponents[1])
					g := newGeneralised(a, b)
					g.compute(blas.Lapack{}, lapack.GSVDU, lapack.GSVDV, lapack.GSVDQ)
					if err := g.check(a, b); err != nil {
						t.Fatalf("%v of ranks %v times 2^%v: %v", s, rank, exponents, err)
					}
					if all := min(n, rankA+rankB); g.l != rankB || g.k+g.l != all {
						t.Fatalf("%v of ranks %v times 2^%v: k = %d, l = %d, rank of both %d", s, rank, exponents, g.k,
							g.l, all)
					}
					alone := newGeneralised(a, b)
					alone.compute(blas.Lapack{}, lapack.GSVDNone, lapack.GSVDNone, lapack.GSVDNone)
					if alone.k != g.k || alone.l != g.l || !slices.Equal(alone.alpha, g.alpha) ||
						!slices.Equal(alone.beta, g.beta) {
						t.Fatalf("%v of ranks %v times 2^%v: other values without vectors", s, rank, exponents)
					}
				}
			}
		}
	})
}

// Columns that depend on each other, or on nothing, and columns of other sizes, in matrices so small that
// gonum may compute them.
func TestGgsvd3SmallColumns(t *testing.T) {
	change := map[string]func(x *rowMajor, i int){
		"as they are":     func(*rowMajor, int) {},
		"first two equal": func(x *rowMajor, i int) { x.data[i*x.stride+min(1, x.cols-1)] = x.data[i*x.stride] },
		"first zero":      func(x *rowMajor, i int) { x.data[i*x.stride] = 0 },
		"last is first":   func(x *rowMajor, i int) { x.data[i*x.stride+x.cols-1] = x.data[i*x.stride] },
		"last 2^60":       func(x *rowMajor, i int) { x.data[i*x.stride+x.cols-1] *= 0x1p60 },
		"first 2^-60":     func(x *rowMajor, i int) { x.data[i*x.stride] *= 0x1p-60 },
		"all 2^-500": func(x *rowMajor, i int) {
			blas64.Scal(0x1p-500, blas64.Vector{N: x.cols, Inc: 1, Data: x.data[i*x.stride:]})
		},
	}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(47, 48))
		for nameA, changeA := range change {
			for nameB, changeB := range change {
				for _, m := range []int{1, 2, 3, 4, 5, 6, 13, 14} {
					for n := 1; n <= 6; n++ {
						p := 1 + rng.IntN([]int{6, 15}[n%2])
						a, b := random(rng, m, n, m%2), random(rng, p, n, p%2)
						for i := range m {
							changeA(a, i)
						}
						for i := range p {
							changeB(b, i)
						}
						g := newGeneralised(a, b)
						g.compute(blas.Lapack{}, lapack.GSVDU, lapack.GSVDV, lapack.GSVDQ)
						if n == 1 && nameA == "first zero" && nameB == nameA {
							if g.k != 0 || g.l != 0 || !g.ok {
								t.Fatalf("zeros have ranks %d and %d", g.k, g.l)
							}
							continue
						}
						if err := g.check(a, b); err != nil {
							t.Fatalf("A %d x %d, %s; B of %d rows, %s: %v", m, n, nameA, p, nameB, err)
						}
					}
				}
			}
		}
	})
}

// check holds the results to the definitions.
func (g *generalised) check(a, b *rowMajor) error {
	if !g.ok {
		return fmt.Errorf("no success")
	}
	if g.a.unguarded() || g.b.unguarded() || g.u.unguarded() || g.v.unguarded() || g.q.unguarded() {
		return fmt.Errorf("wrote between rows")
	}
	rank, bound := g.k+g.l, 40*float64(g.m+g.n+g.p)*eps
	for name, x := range map[string]*rowMajor{"U": g.u, "V": g.v, "Q": g.q} {
		if off := orthonormal(x.dense()); !(off <= bound) {
			return fmt.Errorf("%s is off by %g", name, off)
		}
	}
	tri, d1, d2 := mat.NewDense(rank, g.n, nil), mat.NewDense(g.m, rank, nil), mat.NewDense(g.p, rank, nil)
	for i := range rank {
		for j := i; j < rank; j++ {
			column := g.n - rank + j
			if i < g.m {
				tri.Set(i, column, g.a.data[i*g.a.stride+column])
			} else {
				tri.Set(i, column, g.b.data[(i-g.k)*g.b.stride+column])
			}
		}
		if i < g.m {
			d1.Set(i, i, g.alpha[i])
		}
		if i >= g.k {
			d2.Set(i-g.k, i, g.beta[i])
		}
		c, s := g.alpha[i], g.beta[i]
		if !(math.Abs(c*c+s*s-1) <= bound) || i < g.k && (c != 1 || s != 0) || i >= g.m && (c != 0 || s != 1) {
			return fmt.Errorf("values %d are %g and %g", i, c, s)
		}
	}
	for i := rank; i < g.n; i++ {
		if g.alpha[i] != 0 || g.beta[i] != 0 {
			return fmt.Errorf("values %d, beyond the rank, are %g and %g", i, g.alpha[i], g.beta[i])
		}
	}
	for _, part := range []struct {
		name string
		x, u *rowMajor
		d    *mat.Dense
	}{{"A", a, g.u, d1}, {"B", b, g.v, d2}} {
		var product, left mat.Dense
		left.Mul(part.u.dense(), part.d)
		product.Mul(&left, tri)
		left.Reset()
		left.Mul(&product, g.q.dense().T())
		size := max(mat.Max(part.x.dense()), -mat.Min(part.x.dense()))
		if off := furthest(&left, part.x.dense()); !(off <= bound*size*math.Sqrt(float64(g.n))) {
			return fmt.Errorf("%s is off by %g of %g", part.name, off, size)
		}
	}
	sorted := slices.Clone(g.alpha)
	for i := g.k; i < min(rank, g.m); i++ {
		j := g.iwork[i]
		sorted[i], sorted[j] = sorted[j], sorted[i]
	}
	for i := g.k + 1; i < min(rank, g.m); i++ {
		if sorted[i] > sorted[i-1] {
			return fmt.Errorf("iwork sorts the values to %v", sorted)
		}
	}
	return nil
}

// The values of matrices with known ones are found, from nearly parallel rows to nearly orthogonal ones.
func TestGgsvd3Values(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for _, n := range []int{3, 30, 90} {
			rng := rand.New(rand.NewPCG(43, 44))
			c, s, both := random(rng, n, n, 0), random(rng, n, n, 0), random(rng, n, n, 0)
			want := make([]float64, n) // of sine to cosine
			clear(c.data)
			clear(s.data)
			for i := range n {
				angle := math.Pi / 2 * (float64(i) + 0.5) / float64(n)
				c.data[i*(n+1)], s.data[i*(n+1)] = math.Cos(angle), math.Sin(angle)
				want[i] = math.Tan(angle)
				both.data[i*(n+1)] += float64(2 * n)
			}
			g := newGeneralised(c.times(both), s.times(both))
			g.compute(blas.Lapack{}, lapack.GSVDU, lapack.GSVDV, lapack.GSVDQ)
			got := make([]float64, n)
			for i := range n {
				got[i] = g.beta[i] / g.alpha[i]
			}
			slices.Sort(got)
			for i, v := range got {
				if !(math.Abs(math.Atan(v)-math.Atan(want[i])) <= 1e-12) {
					t.Fatalf("order %d: value %d is %g, want %g", n, i, v, want[i])
				}
			}
		}
	})
}
