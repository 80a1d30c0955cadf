package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// Complex products of few rows or columns and of deep sums are gonum's to rounding, and finite where gonum's
// are, for every form of both factors.
func TestComplexProductsOfFewRows(t *testing.T) {
	forComplex(t, func(t *testing.T, r *complexRoutine[complex128]) {
		compareFew(t, r, 400, fewSizesOf, complex128s(blas.Implementation{}),
			complex128s(reference.Implementation{}), 1e-13)
	}, func(t *testing.T, r *complexRoutine[complex64]) {
		compareFew(t, r, 400, fewSizesOf, complex64s(blas.Implementation{}),
			complex64s(reference.Implementation{}), 4e-5)
	})
}

// Complex triangles of any order and few terms, symmetric matrices of any order with few right sides, and
// matrices of any number of rows and few columns are gonum's too.
func TestComplexProductsOfFewTerms(t *testing.T) {
	forComplex(t, func(t *testing.T, r *complexRoutine[complex128]) {
		compareFew(t, r, 400, fewTermsOf, complex128s(blas.Implementation{}),
			complex128s(reference.Implementation{}), 1e-13)
	}, func(t *testing.T, r *complexRoutine[complex64]) {
		compareFew(t, r, 400, fewTermsOf, complex64s(blas.Implementation{}),
			complex64s(reference.Implementation{}), 4e-5)
	})
}

// Products of vectors and complex matrices that are larger than caches are gonum's to rounding.
func TestLargeComplexMatrixTimesVector(t *testing.T) {
	large := func(rng *rand.Rand) func() int {
		return func() int { return 450 + rng.IntN(40) }
	}
	forComplex(t, func(t *testing.T, r *complexRoutine[complex128]) {
		if r.name != "gemv" {
			t.Skip("not a matrix times a vector")
		}
		compareFew(t, r, 16, large, complex128s(blas.Implementation{}),
			complex128s(reference.Implementation{}), 1e-13)
	}, func(t *testing.T, r *complexRoutine[complex64]) { t.Skip("as smaller ones") })
}

// fewTermsOf returns the sizes of a product, m, n and k in turn: few and many rows or columns, and few terms.
func fewTermsOf(rng *rand.Rand) func() int {
	turn, few, many := 0, 1+rng.IntN(6), 1+rng.IntN(200)
	if rng.IntN(2) == 0 {
		few, many = many, few
	}
	sizes := []int{few, many, 1 + rng.IntN(16)}
	return func() int {
		turn++
		return sizes[(turn-1)%3]
	}
}

// fewSizesOf returns the sizes of a product, m, n and k in turn: few and many rows or columns.
func fewSizesOf(rng *rand.Rand) func() int {
	turn, few, many := 0, 1+rng.IntN(13), 1+rng.IntN(60)
	if rng.IntN(2) == 0 {
		few, many = many, few
	}
	sizes := []int{few, many, 1 + rng.IntN([]int{12, 80, 600}[rng.IntN(3)])}
	return func() int {
		turn++
		return sizes[(turn-1)%3]
	}
}

func compareFew[T complexNumber](
	t *testing.T, r *complexRoutine[T], calls int, sizes func(*rand.Rand) func() int, ours, gonum complexAPI[T],
	tolerance float64,
) {
	switch r.name {
	case "gemm", "gemv", "herk", "syrk", "her2k", "syr2k", "hemm", "symm":
	default:
		t.Skip("not a product of two matrices")
	}
	rng := rand.New(rand.NewPCG(71, 25))
	for i := range calls {
		s := randomCall(rng, r, sizes(rng))
		s.beta = T(complex(realOf(s.beta), 0)) // as routines of Hermitian matrices have it
		if i%8 == 0 && len(s.a) > 0 {
			s.a[rng.IntN(len(s.a))] = T(complex(math.Inf(1), 1))
		}
		want, _ := s.outcome(gonum, r)
		got, _ := s.outcome(ours, r)
		for j, v := range got {
			re, im := parts(v - want[j])
			size, other := parts(want[j])
			close := math.Hypot(re, im) <= tolerance*max(10, float64(s.k), math.Hypot(size, other))
			if isFinite(v) != isFinite(want[j]) || isFinite(v) && !close {
				s.a, s.b, s.c = nil, nil, nil
				t.Fatalf("%+v: entry %d, %d is %v, want %v", s, j/s.ldc, j%s.ldc, v, want[j])
			}
		}
	}
}
