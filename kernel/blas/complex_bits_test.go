package blas_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
)

// TestComplexSameBits: the bits of complex results do not depend on the number of threads.
func TestComplexSameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	tiertest.Each(t, func(t *testing.T) {
		t.Run("complex128", func(t *testing.T) { sameComplexBits(t, complex128s(blas.Implementation{})) })
		t.Run("complex64", func(t *testing.T) { sameComplexBits(t, complex64s(blas.Implementation{})) })
	})
}

func sameComplexBits[T complexNumber](t *testing.T, ours complexAPI[T]) {
	for _, r := range complexRoutines[T]() {
		rng, calls := rand.New(rand.NewPCG(61, 3)), 6
		if testing.Short() {
			calls = 1
		}
		for range calls {
			s := randomCall(rng, &r, sizesFrom(rng, 150)) // large enough for several threads
			var want []T
			for _, threads := range []int{1, 2, 3, 8} {
				runtime.GOMAXPROCS(threads)
				got, panicked := s.outcome(ours, &r)
				if panicked != "" {
					t.Fatalf("%s: panic %q", r.name, panicked)
				}
				if want == nil {
					want = got
				}
				for j, v := range got {
					if re, im := parts(v); !sameParts(re, im, want[j]) {
						t.Fatalf("%s: entry %d is %v on %d threads, %v on one", r.name, j, v, threads, want[j])
					}
				}
			}
		}
	}
}

// sameParts reports whether w has the bits of re and im.
func sameParts[T complexNumber](re, im float64, w T) bool {
	wre, wim := parts(w)
	return math.Float64bits(re) == math.Float64bits(wre) && math.Float64bits(im) == math.Float64bits(wim)
}
