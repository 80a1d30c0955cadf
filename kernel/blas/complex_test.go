package blas_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

type complexNumber interface{ complex64 | complex128 }

// randomComplex returns n complex numbers with normal parts.
func randomComplex[T complexNumber](rng *rand.Rand, n int) []T {
	x := make([]T, max(n, 0))
	for i := range x {
		x[i] = T(complex(rng.NormFloat64(), rng.NormFloat64()))
	}
	return x
}

// A complexAPI has the complex routines that this package computes, in one precision.
type complexAPI[T complexNumber] struct {
	gemm func(tA, tB gblas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	gemv func(tA gblas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	herk func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha float64, a []T, lda int, beta float64, c []T,
		ldc int)
	syrk       func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha T, a []T, lda int, beta T, c []T, ldc int)
	hemm, symm func(s gblas.Side, ul gblas.Uplo, m, n int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	trsm func(s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha T, a []T, lda int,
		b []T, ldb int)
	trmm func(s gblas.Side, ul gblas.Uplo, tA gblas.Transpose, d gblas.Diag, m, n int, alpha T, a []T, lda int,
		b []T, ldb int)
	her2k func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta float64,
		c []T, ldc int)
	syr2k func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T,
		ldc int)
	geru, gerc func(m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int)
}

func complex128s(f gblas.Complex128) complexAPI[complex128] {
	return complexAPI[complex128]{f.Zgemm, f.Zgemv, f.Zherk, f.Zsyrk, f.Zhemm, f.Zsymm, f.Ztrsm, f.Ztrmm, f.Zher2k,
		f.Zsyr2k,
		f.Zgeru, f.Zgerc}
}

func complex64s(f gblas.Complex64) complexAPI[complex64] {
	herk := func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha float64, a []complex64, lda int, beta float64,
		c []complex64, ldc int) {
		f.Cherk(ul, tA, n, k, float32(alpha), a, lda, float32(beta), c, ldc)
	}
	her2k := func(ul gblas.Uplo, tA gblas.Transpose, n, k int, alpha complex64, a []complex64, lda int, b []complex64,
		ldb int, beta float64, c []complex64, ldc int) {
		f.Cher2k(ul, tA, n, k, alpha, a, lda, b, ldb, float32(beta), c, ldc)
	}
	return complexAPI[complex64]{f.Cgemm, f.Cgemv, herk, f.Csyrk, f.Chemm, f.Csymm, f.Ctrsm, f.Ctrmm, her2k, f.Csyr2k,
		f.Cgeru, f.Cgerc}
}

// complexArguments are the arguments of a call. The results are in c, x is a vector in a and y one in b or c.
type complexArguments[T complexNumber] struct {
	m, n, k                   int
	ul                        gblas.Uplo
	side                      gblas.Side
	tA, tB                    gblas.Transpose
	diag                      gblas.Diag
	alpha, beta               T
	a, b, c                   []T
	lda, ldb, ldc, incX, incY int
}

// A complexRoutine is a routine: the shapes of its operands, and its call.
type complexRoutine[T complexNumber] struct {
	name   string
	shapes func(s *complexArguments[T]) (rowsA, columnsA, rowsB, columnsB, rowsC, columnsC int)
	call   func(f *complexAPI[T], s *complexArguments[T])
}

// shapeOf returns the shape of a matrix M for which op(M) has m rows and n columns.
func shapeOf(t gblas.Transpose, m, n int) (rows, columns int) {
	if t == gblas.NoTrans {
		return m, n
	}
	return n, m
}

// span returns the number of entries between the ends of a vector, with them.
func span(n, inc int) int { return max((n-1)*max(inc, -inc)+1, 0) }

func realOf[T complexNumber](v T) float64 {
	re, _ := parts(v)
	return re
}

// parts returns the real and the imaginary part. In this package real is a type.
func parts[T complexNumber](v T) (re, im float64) {
	w := complex128(v)
	p := (*[2]float64)(unsafe.Pointer(&w))
	return p[0], p[1]
}

// isFinite reports whether both parts are finite.
func isFinite[T complexNumber](v T) bool {
	c := complex128(v)
	return !cmplx.IsNaN(c) && !cmplx.IsInf(c)
}

// hasNaN reports whether a part of v is NaN, whatever the other part is.
func hasNaN[T complexNumber](v T) bool {
	re, im := parts(v)
	return math.IsNaN(re) || math.IsNaN(im)
}

func (s *complexArguments[T]) order() int {
	if s.side == gblas.Right {
		return s.n
	}
	return s.m
}

func complexRoutines[T complexNumber]() []complexRoutine[T] {
	rank := func(s *complexArguments[T]) (int, int, int, int, int, int) {
		rows, columns := shapeOf(s.tA, s.n, s.k)
		return rows, columns, 0, 0, s.n, s.n
	}
	sided := func(s *complexArguments[T]) (int, int, int, int, int, int) {
		return s.order(), s.order(), s.m, s.n, s.m, s.n
	}
	rankTwo := func(s *complexArguments[T]) (int, int, int, int, int, int) {
		rows, columns := shapeOf(s.tA, s.n, s.k)
		return rows, columns, rows, columns, s.n, s.n
	}
	outer := func(s *complexArguments[T]) (int, int, int, int, int, int) {
		return 1, span(s.m, s.incX), 1, span(s.n, s.incY), s.m, s.n
	}
	return []complexRoutine[T]{
		{"gemm", func(s *complexArguments[T]) (int, int, int, int, int, int) {
			rowsA, columnsA := shapeOf(s.tA, s.m, s.k)
			rowsB, columnsB := shapeOf(s.tB, s.k, s.n)
			return rowsA, columnsA, rowsB, columnsB, s.m, s.n
		}, func(f *complexAPI[T], s *complexArguments[T]) {
			f.gemm(s.tA, s.tB, s.m, s.n, s.k, s.alpha, s.a, s.lda, s.b, s.ldb, s.beta, s.c, s.ldc)
		}},
		{"gemv", func(s *complexArguments[T]) (int, int, int, int, int, int) {
			y, x := shapeOf(s.tA, s.m, s.n)
			return s.m, s.n, 1, span(x, s.incX), 1, span(y, s.incY)
		}, func(f *complexAPI[T], s *complexArguments[T]) {
			f.gemv(s.tA, s.m, s.n, s.alpha, s.a, s.lda, s.b, s.incX, s.beta, s.c, s.incY)
		}},
		{"herk", rank, func(f *complexAPI[T], s *complexArguments[T]) {
			f.herk(s.ul, s.tA, s.n, s.k, realOf(s.alpha), s.a, s.lda, realOf(s.beta), s.c, s.ldc)
		}},
		{"syrk", rank, func(f *complexAPI[T], s *complexArguments[T]) {
			f.syrk(s.ul, s.tA, s.n, s.k, s.alpha, s.a, s.lda, s.beta, s.c, s.ldc)
		}},
		{"hemm", sided, func(f *complexAPI[T], s *complexArguments[T]) {
			f.hemm(s.side, s.ul, s.m, s.n, s.alpha, s.a, s.lda, s.b, s.ldb, s.beta, s.c, s.ldc)
		}},
		{"symm", sided, func(f *complexAPI[T], s *complexArguments[T]) {
			f.symm(s.side, s.ul, s.m, s.n, s.alpha, s.a, s.lda, s.b, s.ldb, s.beta, s.c, s.ldc)
		}},
		{"trsm", sided, func(f *complexAPI[T], s *complexArguments[T]) {
			f.trsm(s.side, s.ul, s.tA, s.diag, s.m, s.n, s.alpha, s.a, s.lda, s.c, s.ldc)
		}},
		{"trmm", sided, func(f *complexAPI[T], s *complexArguments[T]) {
			f.trmm(s.side, s.ul, s.tA, s.diag, s.m, s.n, s.alpha, s.a, s.lda, s.c, s.ldc)
		}},
		{"her2k", rankTwo, func(f *complexAPI[T], s *complexArguments[T]) {
			f.her2k(s.ul, s.tA, s.n, s.k, s.alpha, s.a, s.lda, s.b, s.ldb, realOf(s.beta), s.c, s.ldc)
		}},
		{"syr2k", rankTwo, func(f *complexAPI[T], s *complexArguments[T]) {
			f.syr2k(s.ul, s.tA, s.n, s.k, s.alpha, s.a, s.lda, s.b, s.ldb, s.beta, s.c, s.ldc)
		}},
		{"geru", outer, func(f *complexAPI[T], s *complexArguments[T]) {
			f.geru(s.m, s.n, s.alpha, s.a, s.incX, s.b, s.incY, s.c, s.ldc)
		}},
		{"gerc", outer, func(f *complexAPI[T], s *complexArguments[T]) {
			f.gerc(s.m, s.n, s.alpha, s.a, s.incX, s.b, s.incY, s.c, s.ldc)
		}},
	}
}

// sizesFrom returns a function that draws sizes, least or more.
func sizesFrom(rng *rand.Rand, least int) func() int {
	return func() int { return least + rng.IntN([]int{6, 20, 50, 140}[rng.IntN(4)]) }
}

// smallSizes returns random sizes for many calls: no entries at all, all tails of tiles, and now and then
// several blocks.
func smallSizes(rng *rand.Rand) func() int {
	return func() int {
		switch k := rng.IntN(40); {
		case k == 0:
			return 0
		case k == 1:
			return rng.IntN(140)
		case k < 8:
			return rng.IntN(50)
		}
		return 1 + rng.IntN([]int{4, 10, 20}[rng.IntN(3)])
	}
}

// randomCall returns random arguments of a routine, with increments of either sign, entries between rows, and
// triangles whose systems are well conditioned.
func randomCall[T complexNumber](rng *rand.Rand, r *complexRoutine[T], size func() int) *complexArguments[T] {
	inc := func() int { return pick(rng, []int{1, 1, 2, 3, -1, -2}) }
	all := []gblas.Transpose{gblas.NoTrans, gblas.Trans, gblas.ConjTrans}
	s := &complexArguments[T]{
		m: size(), n: size(), k: size(), ul: pick(rng, triangles),
		side: pick(rng, []gblas.Side{gblas.Left, gblas.Right}),
		tA:   pick(rng, all), tB: pick(rng, all), diag: pick(rng, diagonals),
		alpha: pick(rng, []T{1, -1, .3, 1i, .7 - .2i}),
		beta:  pick(rng, []T{0, 1, -.3 + .5i}), incX: inc(), incY: inc(),
	}
	if strings.HasPrefix(r.name, "her") && s.tA == gblas.Trans || strings.HasPrefix(r.name, "syr") &&
		s.tA == gblas.ConjTrans {
		s.tA = gblas.NoTrans
	}
	rowsA, columnsA, rowsB, columnsB, rowsC, columnsC := r.shapes(s)
	operand := func(rows, columns int) ([]T, int) {
		stride := max(columns, 1) + rng.IntN(4)*rng.IntN(2)
		return randomComplex[T](rng, min(rows, 1)*((rows-1)*stride+columns)), stride
	}
	s.a, s.lda = operand(rowsA, columnsA)
	s.b, s.ldb = operand(rowsB, columnsB)
	s.c, s.ldc = operand(rowsC, columnsC)
	if r.name == "trsm" {
		for i := range s.a {
			s.a[i] *= T(complex(1/float64(rowsA), 0))
		}
		for i := range rowsA {
			s.a[i*(s.lda+1)] += 1
		}
	}
	return s
}

// outcome calls a routine with copies of the operands.
func (s complexArguments[T]) outcome(f complexAPI[T], r *complexRoutine[T]) (c []T, panicked string) {
	s.a, s.b, s.c = slices.Clone(s.a), slices.Clone(s.b), slices.Clone(s.c)
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprint(p)
		}
	}()
	r.call(&f, &s)
	return s.c, ""
}

// spoilComplex makes an argument wrong.
func spoilComplex[T complexNumber](rng *rand.Rand, s *complexArguments[T]) {
	shorten := func(x *[]T) { *x = (*x)[:max(len(*x)-1, 0)] }
	for range 1 + rng.IntN(2) { // two of them: the first check counts
		switch rng.IntN(12) {
		case 0:
			shorten(&s.a)
		case 1:
			shorten(&s.b)
		case 2:
			shorten(&s.c)
		case 3:
			s.lda = pick(rng, []int{0, -1, s.lda - 4})
		case 4:
			s.ldb = pick(rng, []int{0, -1, s.ldb - 4})
		case 5:
			s.ldc = pick(rng, []int{0, -1, s.ldc - 4})
		case 6:
			s.tA = pick(rng, []gblas.Transpose{'X', gblas.Trans, gblas.ConjTrans})
		case 7:
			s.tB, s.diag = 'X', 'X'
		case 8:
			s.ul, s.side = pick(rng, []gblas.Uplo{'X', gblas.Upper}), pick(rng, []gblas.Side{'X', gblas.Left})
		case 9:
			s.m, s.k = pick(rng, []int{-1, 0}), pick(rng, []int{-1, 0})
		case 10:
			s.n = pick(rng, []int{-1, 0})
		case 11:
			s.incX, s.incY = pick(rng, []int{0, 1}), pick(rng, []int{0, -1})
		}
	}
}

// forComplex runs a test of each complex routine on every tier, in both precisions.
func forComplex(t *testing.T, test128 func(t *testing.T, r *complexRoutine[complex128]),
	test64 func(t *testing.T, r *complexRoutine[complex64])) {
	tiertest.Each(t, func(t *testing.T) {
		for _, r := range complexRoutines[complex128]() {
			t.Run("Z"+r.name, func(t *testing.T) { test128(t, &r) })
		}
		for _, r := range complexRoutines[complex64]() {
			t.Run("C"+r.name, func(t *testing.T) { test64(t, &r) })
		}
	})
}

// Results are gonum's to rounding, and panics are gonum's, for random shapes, strides, increments and
// settings. With beta = 0 a result is overwritten, with alpha = 0 no factor is read, and nothing is written
// between rows.
func TestComplexAsGonum(t *testing.T) {
	forComplex(t, func(t *testing.T, r *complexRoutine[complex128]) {
		compareComplex(t, r, complex128s(blas.Implementation{}), complex128s(reference.Implementation{}), 1e-13)
	}, func(t *testing.T, r *complexRoutine[complex64]) {
		compareComplex(t, r, complex64s(blas.Implementation{}), complex64s(reference.Implementation{}), 4e-5)
	})
}

func compareComplex[T complexNumber](t *testing.T, r *complexRoutine[T], ours, gonum complexAPI[T], tolerance float64) {
	rng := rand.New(rand.NewPCG(51, 23))
	nan := T(complex(math.NaN(), math.NaN()))
	sizes := []func() int{sizesFrom(rng, 0), smallSizes(rng)}
	for i := range argumentSets() {
		s := randomCall(rng, r, sizes[min(i/100, 1)])
		switch {
		case i%4 == 3:
			spoilComplex(rng, s)
		case i%16 == 0: // neither is read
			s.alpha = 0
			fill(s.a, nan)
			fill(s.b, nan)
		}
		if s.beta == 0 && !strings.HasPrefix(r.name, "tr") && !strings.HasPrefix(r.name, "ger") {
			fill(s.c, nan)
		}
		got, panicked := s.outcome(ours, r)
		overwritten := len(s.c) > 0 && hasNaN(s.c[0])
		if overwritten { // by gonum, in place of a number that no result has
			fill(s.c, 12345)
		}
		want, wantPanic := s.outcome(gonum, r)
		header := *s
		header.a, header.b, header.c = nil, nil, nil
		if panicked != wantPanic {
			t.Fatalf("%+v: panic %q, want %q", header, panicked, wantPanic)
		}
		for j, v := range got {
			re, im := parts(v - want[j])
			size, other := parts(want[j])
			_, imV := parts(v)
			_, imWant := parts(want[j])
			if strings.HasPrefix(r.name, "her") && s.ldc > 0 && j%(s.ldc+1) == 0 && !hasNaN(v) && imV != imWant {
				t.Fatalf("%+v: entry %d of the diagonal is %v", header, j/s.ldc, v)
			}
			if hasNaN(v) && overwritten && want[j] == 12345 ||
				math.Hypot(re, im) <= tolerance*max(10, math.Hypot(size, other)) {
				continue
			}
			t.Fatalf("%+v: entry %d, %d is %v, want %v", header, j/s.ldc, j%s.ldc, v, want[j])
		}
	}
}

func fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}
