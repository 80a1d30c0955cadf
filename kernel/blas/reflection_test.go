package blas_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"

	gonumblas "gonum.org/v1/gonum/blas"
)

// A reflection is a call of Dlarf.
type reflection struct {
	side  gonumblas.Side
	m, n  int
	v     []float64
	inc   int
	c     *rowMajor
	place int // of the first entry of C
}

// drawReflection returns a reflection of an m x n matrix.
func drawReflection(rng *rand.Rand, side gonumblas.Side, m, n int) *reflection {
	inc := 1 + rng.IntN(2)
	v := random(rng, 1, max(m, n)*inc, 0).data
	return &reflection{side, m, n, v, inc, random(rng, m, n+1, 2), 1}
}

// on returns the matrix and the sums of a reflection on a number of threads.
func (r *reflection) on(threads int) []float64 {
	runtime.GOMAXPROCS(threads)
	c, work := slices.Clone(r.c.data), make([]float64, max(r.m, r.n))
	blas.Lapack{}.Dlarf(r.side, r.m, r.n, r.v, r.inc, .7, c[r.place:], r.c.stride, work)
	return append(c, work...)
}

// TestReflectionsSameBits: reflections have the bits of one thread on several: brief ones, and others that
// several threads share.
func TestReflectionsSameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	defer blas.HelpBrief()()
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 8))
		for i := range 12 {
			m, n, side := 1+rng.IntN(500), 1+rng.IntN(300), gonumblas.Left
			if i%2 > 0 {
				side = gonumblas.Right
			}
			if i >= 8 {
				m, n = m+800, n+500
			}
			r := drawReflection(rng, side, m, n)
			one := r.on(1)
			for _, threads := range []int{2, 3, 8} {
				for k, got := range r.on(threads) {
					if math.Float64bits(got) != math.Float64bits(one[k]) {
						t.Fatalf("%d x %d: number %d is %v on %d threads, %v on one", m, n, k, got, threads, one[k])
					}
				}
			}
		}
	})
}

// TestBriefReflectionsTakeOneThread: the steps of a brief reflection of columns ask for no helpers, which
// would take columns in one step and rows in the other. The product alone asks for one.
func TestBriefReflectionsTakeOneThread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var asked int
	defer blas.CountBrief(&asked)()
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(61, 9))
		r := drawReflection(rng, gonumblas.Left, 301, 299)
		if r.on(2); asked > 0 {
			t.Errorf("a reflection asked %d times for helpers", asked)
		}
		blas.Implementation{}.Dgemv('N', r.m, r.n, 1, r.c.data, r.c.stride, r.v, 1, 0, make([]float64, r.m), 1)
		if asked > 0 != tiled() {
			t.Errorf("a product asked %d times for helpers", asked)
		}
		asked = 0
	})
}
