package blas_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	reference "gonum.org/v1/gonum/blas/gonum"
)

// Norms of complex vectors with any increment are gonum's to rounding, with NaN, infinities, and numbers
// whose squares overflow or underflow.
func TestStridedComplexNorms(t *testing.T) {
	special := []complex128{0, complex(math.NaN(), 1), complex(0, math.Inf(-1)), 1e300, 1e-300i, complex(3e38, 1e-40)}
	ours, gonum := blas.Implementation{}, reference.Implementation{}
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 26))
		for n := range 70 {
			for _, inc := range []int{1, 2, 3, 7, -2} {
				x := randomComplex[complex128](rng, span(n, inc))
				if i := rng.IntN(12); n > 0 && i < len(special) {
					x[rng.IntN(len(x))] = special[i]
				}
				singles := make([]complex64, len(x))
				for k, v := range x {
					singles[k] = complex64(v)
				}
				compareStrided(t, "Dznrm2", n, inc, ours.Dznrm2(n, x, inc), gonum.Dznrm2(n, x, inc), 1e-14)
				compareStrided(t, "Scnrm2", n, inc, float64(ours.Scnrm2(n, singles, inc)),
					float64(gonum.Scnrm2(n, singles, inc)), 1e-6)
			}
		}
	})
}

func compareStrided(t *testing.T, what string, n, inc int, got, want, tolerance float64) {
	t.Helper()
	equal := got == want || math.IsNaN(got) && math.IsNaN(want)
	if !equal && !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s of %d entries, increment %d, is %v, want %v", what, n, inc, got, want)
	}
}
