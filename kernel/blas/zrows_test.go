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
	reference "gonum.org/v1/gonum/blas/gonum"
)

// A pairsCase has the arguments of the complex routines of triangles and bands.
type pairsCase[T complexNumber] struct {
	s                      settings
	alpha, beta            T
	below, lda, incX, incY int
	a, x, y                []T
}

func (c *pairsCase[T]) clone() *pairsCase[T] {
	d := *c
	d.a, d.x, d.y = slices.Clone(c.a), slices.Clone(c.x), slices.Clone(c.y)
	return &d
}

var pairsRoutines = []string{"her", "hpr", "her2", "hpr2", "hemv", "hpmv", "hbmv", "gbmv", "trmv", "trsv", "tpmv",
	"tpsv", "tbmv", "tbsv"}

// callPairs calls a routine in complex128.
func callPairs(f gblas.Complex128, name string, c *pairsCase[complex128]) {
	s := c.s
	switch name {
	case "her":
		f.Zher(s.ul, s.n, realOf(c.alpha), c.x, c.incX, c.a, c.lda)
	case "hpr":
		f.Zhpr(s.ul, s.n, realOf(c.alpha), c.x, c.incX, c.a)
	case "her2":
		f.Zher2(s.ul, s.n, c.alpha, c.x, c.incX, c.y, c.incY, c.a, c.lda)
	case "hpr2":
		f.Zhpr2(s.ul, s.n, c.alpha, c.x, c.incX, c.y, c.incY, c.a)
	case "hemv":
		f.Zhemv(s.ul, s.n, c.alpha, c.a, c.lda, c.x, c.incX, c.beta, c.y, c.incY)
	case "hpmv":
		f.Zhpmv(s.ul, s.n, c.alpha, c.a, c.x, c.incX, c.beta, c.y, c.incY)
	case "hbmv":
		f.Zhbmv(s.ul, s.n, s.k, c.alpha, c.a, c.lda, c.x, c.incX, c.beta, c.y, c.incY)
	case "gbmv":
		f.Zgbmv(s.tA, s.m, s.n, c.below, s.k, c.alpha, c.a, c.lda, c.x, c.incX, c.beta, c.y, c.incY)
	case "trmv":
		f.Ztrmv(s.ul, s.tA, s.diag, s.n, c.a, c.lda, c.x, c.incX)
	case "trsv":
		f.Ztrsv(s.ul, s.tA, s.diag, s.n, c.a, c.lda, c.x, c.incX)
	case "tpmv":
		f.Ztpmv(s.ul, s.tA, s.diag, s.n, c.a, c.x, c.incX)
	case "tpsv":
		f.Ztpsv(s.ul, s.tA, s.diag, s.n, c.a, c.x, c.incX)
	case "tbmv":
		f.Ztbmv(s.ul, s.tA, s.diag, s.n, s.k, c.a, c.lda, c.x, c.incX)
	case "tbsv":
		f.Ztbsv(s.ul, s.tA, s.diag, s.n, s.k, c.a, c.lda, c.x, c.incX)
	}
}

// callPairs64 calls a routine in complex64.
func callPairs64(f gblas.Complex64, name string, c *pairsCase[complex64]) {
	s := c.s
	switch name {
	case "her":
		f.Cher(s.ul, s.n, float32(realOf(c.alpha)), c.x, c.incX, c.a, c.lda)
	case "hpr":
		f.Chpr(s.ul, s.n, float32(realOf(c.alpha)), c.x, c.incX, c.a)
	case "her2":
		f.Cher2(s.ul, s.n, c.alpha, c.x, c.incX, c.y, c.incY, c.a, c.lda)
	case "hpr2":
		f.Chpr2(s.ul, s.n, c.alpha, c.x, c.incX, c.y, c.incY, c.a)
	case "hemv":
		f.Chemv(s.ul, s.n, c.alpha, c.a, c.lda, c.x, c.incX, c.beta, c.y, c.incY)
	case "hpmv":
		f.Chpmv(s.ul, s.n, c.alpha, c.a, c.x, c.incX, c.beta, c.y, c.incY)
	case "hbmv":
		f.Chbmv(s.ul, s.n, s.k, c.alpha, c.a, c.lda, c.x, c.incX, c.beta, c.y, c.incY)
	case "gbmv":
		f.Cgbmv(s.tA, s.m, s.n, c.below, s.k, c.alpha, c.a, c.lda, c.x, c.incX, c.beta, c.y, c.incY)
	case "trmv":
		f.Ctrmv(s.ul, s.tA, s.diag, s.n, c.a, c.lda, c.x, c.incX)
	case "trsv":
		f.Ctrsv(s.ul, s.tA, s.diag, s.n, c.a, c.lda, c.x, c.incX)
	case "tpmv":
		f.Ctpmv(s.ul, s.tA, s.diag, s.n, c.a, c.x, c.incX)
	case "tpsv":
		f.Ctpsv(s.ul, s.tA, s.diag, s.n, c.a, c.x, c.incX)
	case "tbmv":
		f.Ctbmv(s.ul, s.tA, s.diag, s.n, s.k, c.a, c.lda, c.x, c.incX)
	case "tbsv":
		f.Ctbsv(s.ul, s.tA, s.diag, s.n, s.k, c.a, c.lda, c.x, c.incX)
	}
}

// newPairsCase returns operands of exactly the lengths that the routine reads.
func newPairsCase[T complexNumber](rng *rand.Rand, name string) *pairsCase[T] {
	size := []int{0, 1, 2, 7, 17, 47, 48, 49, 83, 135, 250, 500}[rng.IntN(10+2*(rng.IntN(20)/19))] // rarely a large one
	c := &pairsCase[T]{s: randomSettings(rng), alpha: pick(rng, []T{1, 0, .5 - 2i}),
		beta: pick(rng, []T{0, 1, -.3 + .5i})}
	c.s.n, c.s.m = size, []int{size, size + 5, size/2 + 1}[rng.IntN(3)]
	c.s.k, c.below = rng.IntN(pick(rng, []int{5, 40})), rng.IntN(25)
	c.incX, c.incY = pick(rng, []int{1, 1, 2, -3}), pick(rng, []int{1, 1, -1, 2})
	lenX, lenY, length := size, size, 0
	switch {
	case name == "gbmv":
		c.lda = c.below + c.s.k + 1 + rng.IntN(3)
		length = (min(c.s.m, size+c.below)-1)*c.lda + c.below + c.s.k + 1
		lenX, lenY = size, c.s.m
		if c.s.tA != gblas.NoTrans {
			lenX, lenY = lenY, lenX
		}
	case name[1] == 'p':
		length = size * (size + 1) / 2
	case name[1] == 'b':
		c.lda = c.s.k + 1 + rng.IntN(3)
		length = (size-1)*c.lda + c.s.k + 1
	default:
		c.lda = max(size, 1) + rng.IntN(3)
		length = (size-1)*c.lda + size
	}
	c.a = randomComplex[T](rng, length)
	c.x, c.y = randomComplex[T](rng, span(lenX, c.incX)), randomComplex[T](rng, span(lenY, c.incY))
	if name[0] == 't' { // well-conditioned
		for i := range c.a {
			c.a[i] /= T(complex(float64(8*size), 0))
		}
		for i := range size {
			c.a[c.diagonal(name, i)] += 2 - 1i
		}
	}
	return c
}

// diagonal returns the index of an entry on the diagonal of a triangle.
func (c *pairsCase[T]) diagonal(name string, i int) int {
	upper := c.s.ul == gblas.Upper
	switch {
	case name[1] == 'b' && upper:
		return i * c.lda
	case name[1] == 'b':
		return i*c.lda + c.s.k
	case name[1] == 'p' && upper:
		return i * (2*c.s.n - i + 1) / 2
	case name[1] == 'p':
		return i*(i+1)/2 + i
	}
	return i * (c.lda + 1)
}

// Complex triangles and bands, packed or not, are gonum's to rounding, for random sizes, bands, increments
// and special values; nothing else is written, and panics are gonum's.
func TestComplexRows(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		ours, gonum := blas.Implementation{}, reference.Implementation{}
		testPairs(t, func(name string, c *pairsCase[complex128]) { callPairs(ours, name, c) },
			func(name string, c *pairsCase[complex128]) { callPairs(gonum, name, c) }, 1e-13)
		testPairs(t, func(name string, c *pairsCase[complex64]) { callPairs64(ours, name, c) },
			func(name string, c *pairsCase[complex64]) { callPairs64(gonum, name, c) }, 1e-4)
	})
}

func testPairs[T complexNumber](t *testing.T, ours, gonum func(name string, c *pairsCase[T]), tolerance float64) {
	rng, differ := rand.New(rand.NewPCG(77, 78)), !tiled()
	for _, name := range pairsRoutines {
		for i := range argumentSets() / 2 {
			c := newPairsCase[T](rng, name)
			switch operand := pick(rng, [][]T{c.a, c.x, c.y}); {
			case i%5 == 3 && len(operand) > 0:
				operand[rng.IntN(len(operand))] = pick(rng, []T{T(complex(math.NaN(), 0)), T(complex(1, math.Inf(-1)))})
			case i%5 == 4:
				c.spoil(rng)
			}
			got, want := c.clone(), c.clone()
			panicked, expected := panicOf(func() { ours(name, got) }), panicOf(func() { gonum(name, want) })
			what := fmt.Sprintf("%s in %T: %+v, below %d, increments %d and %d", name, T(0), c.s, c.below, c.incX,
				c.incY)
			if _, ok := expected.(string); ok && panicked != expected || (panicked == nil) != (expected == nil) {
				t.Fatalf("%s: panic %v, want %v", what, panicked, expected)
			}
			if expected != nil {
				continue
			}
			for k, v := range [][]T{got.a, got.x, got.y} {
				w := [][]T{want.a, want.x, want.y}[k]
				if at := firstUnlikePairs(v, w, tolerance); at >= 0 {
					t.Fatalf("%s: operand %d, entry %d is %v, gonum's is %v", what, k, at, v[at], w[at])
				}
				differ = differ || !slices.Equal(v, w)
			}
		}
	}
	if !differ {
		t.Error("all bits are gonum's: the tiles compute nothing")
	}
}

// spoil makes an argument wrong.
func (c *pairsCase[T]) spoil(rng *rand.Rand) {
	switch rng.IntN(9) {
	case 0:
		c.a = c.a[:max(len(c.a)-1, 0)]
	case 1:
		c.x = c.x[:max(len(c.x)-1, 0)]
	case 2:
		c.y = c.y[:max(len(c.y)-1, 0)]
	case 3:
		c.incX = 0
	case 4:
		c.incY = 0
	case 5:
		c.lda = min(c.lda, c.s.k)
	case 6:
		c.s.ul, c.s.tA = 'X', 'Y'
	case 7:
		c.s.diag, c.s.k = 'X', -1
	case 8:
		c.s.n = -1
	}
}

// firstUnlikePairs is firstUnlike for complex numbers: of those with a part that is not finite it compares
// only that they have one.
func firstUnlikePairs[T complexNumber](got, want []T, tolerance float64) int {
	size := 1.0
	for _, w := range want {
		if isFinite(w) {
			re, im := parts(w)
			size = max(size, math.Hypot(re, im))
		}
	}
	for i, w := range want {
		re, im := parts(got[i] - w)
		if isFinite(w) != isFinite(got[i]) || isFinite(w) && !(math.Hypot(re, im) <= tolerance*size) {
			return i
		}
	}
	return -1
}

// Rows of complex numbers have the same bits on the tiers with FMA.
func TestComplexRowsOnTiers(t *testing.T) {
	for _, name := range pairsRoutines {
		onTiers(t, name, func() (results []complex128) {
			rng := rand.New(rand.NewPCG(79, 80))
			for range 60 {
				c := newPairsCase[complex128](rng, name)
				callPairs(blas.Implementation{}, name, c)
				results = append(append(append(results, c.a...), c.x...), c.y...)
			}
			return results
		}, func(a, b complex128) bool { return a == b })
	}
}
