package blas_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel/blas"
	gblas "gonum.org/v1/gonum/blas"
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

// Complex vectors with any increment are moved as gonum moves them, their largest entries are gonum's, and
// they are scaled and summed as by gonum to rounding. What lies between entries stays.
func TestStridedComplexVectors(t *testing.T) {
	tiertest.Each(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(82, 27))
		for n := range 140 {
			for _, inc := range []int{1, 2, 3, 7, -2} {
				stridedPairs(t, rng, n, inc, []int{1, 2, -3}[n%3])
			}
		}
	})
}

func stridedPairs(t *testing.T, rng *rand.Rand, n, inc, incY int) {
	t.Helper()
	ours, gonum := blas.Implementation{}, reference.Implementation{}
	x, y := randomComplex[complex128](rng, span(n, inc)), randomComplex[complex128](rng, span(n, incY))
	special := []complex128{complex(math.NaN(), 1), complex(0, math.NaN()), complex(math.Inf(1), 0), 1e38i, 0}
	for range rng.IntN(4) {
		if n > 0 {
			x[rng.IntN(n)*max(inc, -inc)] = special[rng.IntN(len(special))]
		}
	}
	if n > 1 && rng.IntN(2) == 0 { // several are as large
		x[rng.IntN(n)*max(inc, -inc)], x[rng.IntN(n)*max(inc, -inc)] = 3+4i, -4+3i
	}
	x32, y32 := narrowed(x), narrowed(y)
	compareStrided(t, "Izamax", n, inc, float64(ours.Izamax(n, x, inc)), float64(gonum.Izamax(n, x, inc)), 0)
	compareStrided(t, "Icamax", n, inc, float64(ours.Icamax(n, x32, inc)), float64(gonum.Icamax(n, x32, inc)), 0)
	compareStrided(t, "Dzasum", n, inc, ours.Dzasum(n, x, inc), gonum.Dzasum(n, x, inc), 1e-14)
	compareStrided(t, "Scasum", n, inc, float64(ours.Scasum(n, x32, inc)), float64(gonum.Scasum(n, x32, inc)), 1e-5)
	moves := []struct {
		what      string
		tolerance float64
		move      func(blas gblas.Complex128, x, y []complex128)
		move32    func(blas gblas.Complex64, x, y []complex64)
	}{
		{"copy", 0, func(b gblas.Complex128, x, y []complex128) { b.Zcopy(n, x, inc, y, incY) },
			func(b gblas.Complex64, x, y []complex64) { b.Ccopy(n, x, inc, y, incY) }},
		{"swap", 0, func(b gblas.Complex128, x, y []complex128) { b.Zswap(n, x, inc, y, incY) },
			func(b gblas.Complex64, x, y []complex64) { b.Cswap(n, x, inc, y, incY) }},
		{"real scal", 0, func(b gblas.Complex128, x, y []complex128) { b.Zdscal(n, -1.7, x, inc) },
			func(b gblas.Complex64, x, y []complex64) { b.Csscal(n, -1.7, x, inc) }},
		{"scal", 1e-5, func(b gblas.Complex128, x, y []complex128) { b.Zscal(n, 1.3-.7i, x, inc) },
			func(b gblas.Complex64, x, y []complex64) { b.Cscal(n, 1.3-.7i, x, inc) }},
	}
	for _, m := range moves {
		got, gotY, want, wantY := slices.Clone(x), slices.Clone(y), slices.Clone(x), slices.Clone(y)
		m.move(ours, got, gotY)
		m.move(gonum, want, wantY)
		comparePairs(t, m.what, n, inc, append(got, gotY...), append(want, wantY...), m.tolerance)
		single, singleY := slices.Clone(x32), slices.Clone(y32)
		want32, want32Y := slices.Clone(x32), slices.Clone(y32)
		m.move32(ours, single, singleY)
		m.move32(gonum, want32, want32Y)
		comparePairs(t, m.what+" in complex64", n, inc, widened(append(single, singleY...)),
			widened(append(want32, want32Y...)), m.tolerance)
	}
}

func narrowed(x []complex128) []complex64 {
	y := make([]complex64, len(x))
	for k, v := range x {
		y[k] = complex64(v)
	}
	return y
}

func widened(x []complex64) []complex128 {
	y := make([]complex128, len(x))
	for k, v := range x {
		y[k] = complex128(v)
	}
	return y
}

// comparePairs compares entries: with a NaN or an infinity for one of their own, as either has one.
func comparePairs(t *testing.T, what string, n, inc int, got, want []complex128, tolerance float64) {
	t.Helper()
	finite := func(v complex128) bool { return !cmplx.IsNaN(v) && !cmplx.IsInf(v) }
	for k, w := range want {
		g := got[k]
		if !finite(g) && !finite(w) || g == w || cmplx.Abs(g-w) <= tolerance*cmplx.Abs(w) {
			continue
		}
		t.Fatalf("%s of %d entries, increment %d: entry %d is %v, want %v", what, n, inc, k, g, w)
	}
}

func compareStrided(t *testing.T, what string, n, inc int, got, want, tolerance float64) {
	t.Helper()
	equal := got == want || math.IsNaN(got) && math.IsNaN(want)
	if !equal && !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s of %d entries, increment %d, is %v, want %v", what, n, inc, got, want)
	}
}
