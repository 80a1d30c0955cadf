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
)

// A narrowCase is a product with few columns, with its factors and its result by definition.
type narrowCase struct {
	m, n, k int
	tB      gblas.Transpose
	a, b, c *rowMajor
	want    []float64
}

// narrowCases returns products of every number of columns up to 5, with NaN and infinities in some.
func narrowCases() (all []narrowCase) {
	rng := rand.New(rand.NewPCG(91, 92))
	for _, m := range []int{65, 72, 77, 131, 600} {
		for n := 1; n <= 5; n++ {
			for k := 1; k <= 18; k++ {
				p := narrowCase{m: m, n: n, k: k, tB: transposes[(m+n+k)%2]}
				p.a, p.c = random(rng, m, k, k%3), random(rng, m, n, n%2)
				p.b = random(rng, k, n, k%2)
				if p.tB == gblas.Trans {
					p.b = random(rng, n, k, k%2)
				}
				switch k % 4 {
				case 1:
					p.a.data[rng.IntN(m)*p.a.stride+rng.IntN(k)] = math.Inf(1)
				case 2:
					p.b.data[0] = math.NaN()
				}
				p.c.data[0] = math.NaN() // is overwritten
				p.want = p.product()
				all = append(all, p)
			}
		}
	}
	return all
}

// product returns C by the definition.
func (p *narrowCase) product() []float64 {
	c := slices.Clone(p.c.data)
	for i := range p.m {
		for j := range p.n {
			sum := 0.0
			for l := range p.k {
				at := l*p.b.stride + j
				if p.tB == gblas.Trans {
					at = j*p.b.stride + l
				}
				sum += p.a.data[i*p.a.stride+l] * p.b.data[at]
			}
			c[i*p.c.stride+j] = sum
		}
	}
	return c
}

// compute returns C by this package.
func (p *narrowCase) compute() []float64 {
	c := slices.Clone(p.c.data)
	blas.Implementation{}.Dgemm(gblas.NoTrans, p.tB, p.m, p.n, p.k, 1,
		p.a.data, p.a.stride, p.b.data, p.b.stride, 0, c, p.c.stride)
	return c
}

// Products of tall matrices with few columns are those of the definition, on every tier, for all lengths of
// sums, strides and special values, and have the same bits on the tiers with FMA.
func TestNarrowProducts(t *testing.T) {
	cases := narrowCases()
	tiertest.Each(t, func(t *testing.T) {
		for _, p := range cases {
			if err := alike(p.compute(), p.want); err != nil {
				t.Fatalf("%d x %d by %d columns, %c: %v", p.m, p.k, p.n, p.tB, err)
			}
		}
	})
	for _, p := range cases {
		what := fmt.Sprintf("%d x %d by %d columns", p.m, p.k, p.n)
		onTiers(t, what, p.compute, sameBit[float64])
	}
}

// A product that several threads share has the bits of its parts.
func TestNarrowProductsOnThreads(t *testing.T) {
	const m, n, k = 120_005, 4, 11
	rng := rand.New(rand.NewPCG(93, 94))
	p := narrowCase{m: m, n: n, k: k, tB: gblas.NoTrans}
	p.a, p.b, p.c = random(rng, m, k, 0), random(rng, k, n, 0), random(rng, m, n, 0)
	all := p.compute()
	const rows = 1200 // on one thread
	for lo := 0; lo+rows <= m; lo += rows {
		part := narrowCase{m: rows, n: n, k: k, tB: gblas.NoTrans, b: p.b}
		part.a = &rowMajor{data: p.a.data[lo*k:], rows: rows, cols: k, stride: k}
		part.c = &rowMajor{data: make([]float64, rows*n), rows: rows, cols: n, stride: n}
		if got := part.compute(); !slices.Equal(got, all[lo*n:(lo+rows)*n]) {
			t.Fatalf("rows from %d on have other bits", lo)
		}
	}
}
