package blas_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/difalt/difalt/kernel/blas"
	reference "gonum.org/v1/gonum/lapack/gonum"
)

// TestScalars: scalars have the bits of gonum's on amd64, where the compiler fuses nothing, and Dlartg, which
// gonum changed once, those of any gonum to rounding.
func TestScalars(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gonum rounds otherwise; testdata/bits.txt compares processors")
	}
	var ours blas.Lapack
	var theirs reference.Implementation
	rng := rand.New(rand.NewPCG(31, 32))
	special := []float64{0, math.Copysign(0, -1), 1, -1, 2, 5e-324, -3e-310, 1e-200, 1e200, math.MaxFloat64}
	number := func() float64 {
		if rng.IntN(3) == 0 {
			return special[rng.IntN(len(special))]
		}
		return math.Ldexp(rng.NormFloat64(), rng.IntN(5)*rng.IntN(200)-400)
	}
	same := func(name string, got, want []float64, of ...float64) {
		t.Helper()
		for i, v := range want {
			exact := math.Float64bits(got[i]) == math.Float64bits(v) || math.IsNaN(got[i]) && math.IsNaN(v)
			near := name == "Dlartg" && math.Abs(got[i]-v) <= 1e-15*math.Abs(v)+5e-324
			if !exact && !near {
				t.Fatalf("%s of %g: %g, want %g", name, of, got, want)
			}
		}
	}
	list := func(x ...float64) []float64 { return x }
	for range 100_000 {
		a, b, c := number(), number(), number()
		same("Dlapy2", list(ours.Dlapy2(a, b)), list(math.Hypot(a, b)), a, b)
		got, second, third := ours.Dlartg(a, b)
		want, other, last := theirs.Dlartg(a, b)
		same("Dlartg", list(got, second, third), list(want, other, last), a, b)
		got, second = ours.Dlae2(a, b, c)
		want, other = theirs.Dlae2(a, b, c)
		same("Dlae2", list(got, second), list(want, other), a, b, c)
		r1, r2, cs, sn := ours.Dlaev2(a, b, c)
		w1, w2, wcs, wsn := theirs.Dlaev2(a, b, c)
		got, second = ours.Dlas2(a, b, c)
		want, other = theirs.Dlas2(a, b, c)
		same("Dlas2", list(got, second), list(want, other), a, b, c)
		var of, from [6]float64
		of[0], of[1], of[2], of[3], of[4], of[5] = ours.Dlasv2(a, b, c)
		from[0], from[1], from[2], from[3], from[4], from[5] = theirs.Dlasv2(a, b, c)
		same("Dlasv2", of[:], from[:], a, b, c)
		same("Dlaev2", list(r1, r2, cs, sn), list(w1, w2, wcs, wsn), a, b, c)
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range [][2]float64{{inf, nan}, {nan, -inf}, {nan, 1}, {0, nan}, {-inf, 0}} {
		same("Dlapy2", list(ours.Dlapy2(x[0], x[1])), list(math.Hypot(x[0], x[1])), x[:]...)
	}
}
