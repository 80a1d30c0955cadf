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

// A rowsAPI is the routines of triangles and bands that are read by rows, in one precision.
type rowsAPI[T real] struct {
	syr  func(ul gblas.Uplo, n int, alpha T, x []T, incX int, a []T, lda int)
	spr  func(ul gblas.Uplo, n int, alpha T, x []T, incX int, a []T)
	syr2 func(ul gblas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
	spr2 func(ul gblas.Uplo, n int, alpha T, x []T, incX int, y []T, incY int, a []T)
	spmv func(ul gblas.Uplo, n int, alpha T, a []T, x []T, incX int, beta T, y []T, incY int)
	sbmv func(ul gblas.Uplo, n, k int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	gbmv func(tA gblas.Transpose, m, n, kL, kU int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T,
		incY int)
	tpmv, tpsv func(ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n int, a []T, x []T, incX int)
	tbmv, tbsv func(ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, n, k int, a []T, lda int, x []T, incX int)
}

var rowsRoutines = []string{"syr", "spr", "syr2", "spr2", "spmv", "sbmv", "gbmv", "tpmv", "tpsv", "tbmv", "tbsv"}

func rowsOfDoubles(i gblas.Float64) *rowsAPI[float64] {
	return &rowsAPI[float64]{i.Dsyr, i.Dspr, i.Dsyr2, i.Dspr2, i.Dspmv, i.Dsbmv, i.Dgbmv, i.Dtpmv, i.Dtpsv, i.Dtbmv,
		i.Dtbsv}
}

func rowsOfSingles(i gblas.Float32) *rowsAPI[float32] {
	return &rowsAPI[float32]{i.Ssyr, i.Sspr, i.Ssyr2, i.Sspr2, i.Sspmv, i.Ssbmv, i.Sgbmv, i.Stpmv, i.Stpsv, i.Stbmv,
		i.Stbsv}
}

// A rowsCase has the arguments of all routines.
type rowsCase[T real] struct {
	s          settings
	below      int // kL, and with k in s kU or the band of a triangle
	incX, incY int
	lda        int
	a, x, y    []T
}

// routines returns the routines by name.
func (c *rowsCase[T]) routines(f *rowsAPI[T]) map[string]func() {
	s, alpha, beta := c.s, T(c.s.alpha), T(c.s.beta)
	return map[string]func(){
		"syr":  func() { f.syr(s.ul, s.n, alpha, c.x, c.incX, c.a, c.lda) },
		"spr":  func() { f.spr(s.ul, s.n, alpha, c.x, c.incX, c.a) },
		"syr2": func() { f.syr2(s.ul, s.n, alpha, c.x, c.incX, c.y, c.incY, c.a, c.lda) },
		"spr2": func() { f.spr2(s.ul, s.n, alpha, c.x, c.incX, c.y, c.incY, c.a) },
		"spmv": func() { f.spmv(s.ul, s.n, alpha, c.a, c.x, c.incX, beta, c.y, c.incY) },
		"sbmv": func() { f.sbmv(s.ul, s.n, s.k, alpha, c.a, c.lda, c.x, c.incX, beta, c.y, c.incY) },
		"gbmv": func() {
			f.gbmv(s.tA, s.m, s.n, c.below, s.k, alpha, c.a, c.lda, c.x, c.incX, beta, c.y, c.incY)
		},
		"tpmv": func() { f.tpmv(s.ul, s.tA, s.diag, s.n, c.a, c.x, c.incX) },
		"tpsv": func() { f.tpsv(s.ul, s.tA, s.diag, s.n, c.a, c.x, c.incX) },
		"tbmv": func() { f.tbmv(s.ul, s.tA, s.diag, s.n, s.k, c.a, c.lda, c.x, c.incX) },
		"tbsv": func() { f.tbsv(s.ul, s.tA, s.diag, s.n, s.k, c.a, c.lda, c.x, c.incX) },
	}
}

func (c *rowsCase[T]) clone() *rowsCase[T] {
	d := *c
	d.a, d.x, d.y = slices.Clone(c.a), slices.Clone(c.x), slices.Clone(c.y)
	return &d
}

// newRowsCase returns operands of exactly the lengths that the routine reads, and entries that are not to be
// read as NaN where the layout has such.
func newRowsCase[T real](rng *rand.Rand, name string) *rowsCase[T] {
	size := []int{0, 1, 2, 7, 17, 39, 40, 41, 83, 130}[rng.IntN(10)]
	c := &rowsCase[T]{s: randomSettings(rng)}
	c.s.n, c.s.m = size, []int{size, size + 5, size/2 + 1}[rng.IntN(3)]
	c.s.k, c.below = rng.IntN(pick(rng, []int{5, 25, 90})), rng.IntN(25)
	c.s.alpha, c.s.beta = []float64{1, -2, 0, .5}[rng.IntN(4)], []float64{0, 1, 3}[rng.IntN(3)]
	increments := []int{1, 1, 1, 2, -1, -3}
	c.incX, c.incY = pick(rng, increments), pick(rng, increments)
	n, rows, lenX, lenY := size, size, size, size
	switch name {
	case "syr", "syr2":
		c.lda = max(n, 1) + rng.IntN(3)
		c.a = make([]T, max((n-1)*c.lda+n, 0))
	case "spr", "spr2", "spmv", "tpmv", "tpsv":
		c.a = make([]T, n*(n+1)/2)
	case "gbmv":
		rows = min(c.s.m, n+c.below)
		c.lda = c.below + c.s.k + 1 + rng.IntN(3)
		c.a = make([]T, max((rows-1)*c.lda+c.below+c.s.k+1, 0))
		lenX, lenY = n, c.s.m
		if c.s.tA != gblas.NoTrans {
			lenX, lenY = lenY, lenX
		}
	default:
		c.lda = c.s.k + 1 + rng.IntN(3)
		c.a = make([]T, max((n-1)*c.lda+c.s.k+1, 0))
	}
	c.x, c.y = make([]T, max((lenX-1)*max(c.incX, -c.incX)+1, 0)), make([]T, max((lenY-1)*max(c.incY, -c.incY)+1, 0))
	for _, v := range [][]T{c.a, c.x, c.y} {
		for i := range v {
			v[i] = T(rng.NormFloat64())
		}
	}
	if name[0] == 't' { // well-conditioned
		for i := range c.a {
			c.a[i] /= T(4 * n)
		}
		c.setDiagonal(name)
	}
	if c.s.beta == 0 && c.s.alpha != 0 && len(c.y) > 0 && name[1:] == "bmv" || name == "spmv" && c.s.beta == 0 &&
		len(c.y) > 0 {
		c.y[0] = T(math.NaN()) // is overwritten
	}
	return c
}

// setDiagonal makes the diagonal of a triangle large, or NaN if it is not to be read.
func (c *rowsCase[T]) setDiagonal(name string) {
	at := 0
	for i := range c.s.n {
		switch {
		case name[1] == 'b' && c.s.ul == gblas.Upper:
			at = i * c.lda
		case name[1] == 'b':
			at = i*c.lda + c.s.k
		case c.s.ul == gblas.Upper:
			at = i * (2*c.s.n - i + 1) / 2
		default:
			at = i*(i+1)/2 + i
		}
		if c.s.diag == gblas.Unit {
			c.a[at] = T(math.NaN())
		} else {
			c.a[at] += 2
		}
	}
}

// Products, solutions and updates of triangles and bands, packed or not, are gonum's to rounding, for random
// sizes, bands, increments and special values; nothing else is written, and panics are gonum's.
func TestRows(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		testRows(t, rowsOfDoubles(blas.Implementation{}), rowsOfDoubles(reference.Implementation{}), 1e-13)
		testRows(t, rowsOfSingles(blas.Implementation{}), rowsOfSingles(reference.Implementation{}), 1e-4)
	})
}

func testRows[T real](t *testing.T, ours, gonums *rowsAPI[T], tolerance float64) {
	rng := rand.New(rand.NewPCG(71, 72))
	differ := !tiled()
	for _, name := range rowsRoutines {
		for i := range argumentSets() / 2 {
			c := newRowsCase[T](rng, name)
			switch operand := pick(rng, [][]T{c.a, c.x, c.y}); {
			case i%5 == 3 && len(operand) > 0:
				operand[rng.IntN(len(operand))] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)])
			case i%5 == 4:
				c.spoil(rng)
			}
			got, want := c.clone(), c.clone()
			panicked, expected := panicOf(got.routines(ours)[name]), panicOf(want.routines(gonums)[name])
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
				if at := firstUnlike(v, w, tolerance); at >= 0 {
					t.Fatalf("%s: operand %d, entry %d is %v, gonum's is %v", what, k, at, v[at], w[at])
				}
				differ = differ || !slices.EqualFunc(v, w, sameBit[T])
			}
		}
	}
	if !differ {
		t.Error("all bits are gonum's: the tiles compute nothing")
	}
}

// spoil makes an argument wrong.
func (c *rowsCase[T]) spoil(rng *rand.Rand) {
	switch rng.IntN(10) {
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
		c.s.diag = 'X'
	case 8:
		c.s.k = -1
	case 9:
		c.s.n = -1
	}
}

// firstUnlike returns the index of an entry that is not another one to rounding, -1 if there is none. Of
// numbers that are not finite it compares only that they are not: a sum of infinities may be NaN in another
// order.
func firstUnlike[T real](got, want []T, tolerance float64) int {
	size := 1.0
	for _, w := range want {
		if v := math.Abs(float64(w)); v <= math.MaxFloat32 {
			size = max(size, v)
		}
	}
	for i, w := range want {
		g, w := float64(got[i]), float64(w)
		finite := math.Abs(w) <= math.MaxFloat64
		if finite != (math.Abs(g) <= math.MaxFloat64) || finite && !(math.Abs(g-w) <= tolerance*size) {
			return i
		}
	}
	return -1
}

// Rows have the same bits on the tiers with FMA.
func TestRowsOnTiers(t *testing.T) {
	rowsOnTiers(t, rowsOfDoubles(blas.Implementation{}))
	rowsOnTiers(t, rowsOfSingles(blas.Implementation{}))
}

func rowsOnTiers[T real](t *testing.T, f *rowsAPI[T]) {
	for _, name := range rowsRoutines {
		onTiers(t, fmt.Sprintf("%s in %T", name, T(0)), func() (results []T) {
			rng := rand.New(rand.NewPCG(73, 74))
			for range 60 {
				c := newRowsCase[T](rng, name)
				c.routines(f)[name]()
				results = append(append(append(results, c.a...), c.x...), c.y...)
			}
			return results
		}, sameBit[T])
	}
}

// A few columns of A, one of whose numbers is not finite, are added on every tier: also on one without tiles,
// where gonum would lose NaN.
func TestFewUpdatesOfSpecialValues(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		for k := 1; k <= 6; k++ {
			for _, n := range []int{2, 39, 40, 41, 71} {
				for _, tA := range []gblas.Transpose{gblas.NoTrans, gblas.Trans} {
					updateSpecialValues(t, tA, n, k)
				}
			}
		}
	})
}

// updateSpecialValues holds the entries of A A' + C for ones, but for one infinity, to k + 2.
func updateSpecialValues(t *testing.T, tA gblas.Transpose, n, k int) {
	rows, columns, last := n, k, (n-1)*k
	if tA == gblas.Trans {
		rows, columns, last = k, n, n-1
	}
	a, c := make([]float64, rows*columns), make([]float64, n*n)
	for i := range a {
		a[i] = 1
	}
	for i := range c {
		c[i] = 2
	}
	a[last] = math.Inf(1) // in the last row of the product
	blas.Implementation{}.Dsyrk(gblas.Lower, tA, n, k, 1, a, columns, 1, c, n)
	for i := range n {
		for j := range i + 1 {
			want := float64(k) + 2
			if i == n-1 {
				want = math.Inf(1)
			}
			if c[i*n+j] != want {
				t.Fatalf("transposition %c, %d x %d: entry %d, %d is %v, want %v", tA, n, k, i, j, c[i*n+j], want)
			}
		}
	}
}

// A quotient by a denormal pivot of a packed triangle or a band is a number where its inverse is none.
func TestDenormalPivotsOfRows(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		f := rowsOfDoubles(blas.Implementation{})
		rng := rand.New(rand.NewPCG(75, 76))
		for _, name := range []string{"tpsv", "tbsv"} {
			for range 200 {
				c := newRowsCase[float64](rng, name)
				c.incX, c.s.diag = 1, gblas.NonUnit
				c.x = make([]float64, c.s.n)
				clear(c.a)
				c.setDiagonal(name)
				for i, v := range c.a {
					c.a[i] = float64(v * 0x1p-1073)
				}
				for i := range c.x {
					c.x[i] = 0x1p-1070
				}
				c.routines(f)[name]()
				for i, v := range c.x {
					if v != 4 {
						t.Fatalf("%s %+v: unknown %d is %v, want 4", name, c.s, i, v)
					}
				}
			}
		}
	})
}
