package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// An entry of a result is finite where gonum's is, when an entry of a factor, or of the right sides of a
// system, is NaN or infinite. Products with zeros count: gonum's Zgemm skips none.
func TestComplexSpecialValues(t *testing.T) {
	forComplex(t, func(t *testing.T, r *complexRoutine[complex128]) {
		compareFinite(t, r, complex128s(blas.Implementation{}), complex128s(reference.Implementation{}))
	}, func(t *testing.T, r *complexRoutine[complex64]) {
		compareFinite(t, r, complex64s(blas.Implementation{}), complex64s(reference.Implementation{}))
	})
}

func compareFinite[T complexNumber](t *testing.T, r *complexRoutine[T], ours, gonum complexAPI[T]) {
	rng := rand.New(rand.NewPCG(52, 24))
	specials := []T{T(complex(math.NaN(), 0)), T(complex(0, math.Inf(1))), T(complex(math.Inf(-1), 1)),
		T(complex(1, math.NaN()))}
	sizes := []func() int{sizesFrom(rng, 1), smallSizes(rng)}
	for i := range argumentSets() / 2 {
		s := randomCall(rng, r, sizes[min(i/50, 1)])
		factor := pick(rng, [][]T{s.a, s.b})
		if r.name == "trsm" || r.name == "trmm" && rng.IntN(2) == 0 {
			factor = s.c
		}
		if r.name == "gemm" && rng.IntN(2) == 0 {
			clear(s.a)
			factor = s.b
		}
		if len(factor) > 0 {
			factor[rng.IntN(len(factor))] = pick(rng, specials)
		}
		want, _ := s.outcome(gonum, r)
		got, _ := s.outcome(ours, r)
		for j, v := range got {
			if isFinite(v) != isFinite(want[j]) {
				s.a, s.b, s.c = nil, nil, nil
				t.Fatalf("%+v: entry %d, %d is %v, gonum's is %v", s, j/s.ldc, j%s.ldc, v, want[j])
			}
		}
	}
}
