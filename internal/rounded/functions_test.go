package rounded

import (
	"math"
	"math/rand/v2"
	"testing"
)

// functionsCases returns the cases of TestFunctions.
func functionsCases() map[string]struct {
	got, want func(float64) float64
	draw      func() float64
	absolute  float64
} {
	rng := rand.New(rand.NewPCG(9, 10))
	logGamma := func(x float64) float64 {
		v, _ := math.Lgamma(x)
		return v
	}
	return map[string]struct {
		got, want func(float64) float64
		draw      func() float64
		absolute  float64
	}{
		"Log":        {Log, math.Log, func() float64 { return math.Ldexp(rng.Float64(), rng.IntN(1900)-950) }, 0},
		"Log near 1": {Log, math.Log, func() float64 { return 1 + rng.NormFloat64()*math.Ldexp(1, -rng.IntN(50)) }, 0},
		"Exp": {Exp, math.Exp, func() float64 { return rng.NormFloat64() * math.Ldexp(1, rng.IntN(20)-10) },
			5e-324},
		"Log1p": {Log1p, math.Log1p, func() float64 { return math.Ldexp(rng.Float64(), rng.IntN(80)-60) }, 0},
		"Log1p below": {Log1p, math.Log1p, func() float64 { return -rng.Float64() * math.Ldexp(1, -rng.IntN(60)) },
			0},
		"Expm1": {Expm1, math.Expm1, func() float64 { return rng.NormFloat64() * math.Ldexp(1, rng.IntN(60)-55) },
			0},
		"Log2": {Log2, math.Log2, func() float64 { return math.Ldexp(rng.Float64(), rng.IntN(1900)-950) }, 2e-16},
		"Erf":  {Erf, math.Erf, func() float64 { return rng.NormFloat64() * math.Ldexp(1, rng.IntN(12)-8) }, 0},
		"LogGamma": {LogGamma, logGamma, func() float64 { return math.Ldexp(rng.Float64(), rng.IntN(40)-5) + .01 },
			4e-14},
	}
}

// Functions are those of package math to a few units in the last place, and exact at the ends.
func TestFunctions(t *testing.T) {
	for name, f := range functionsCases() {
		for range 50_000 {
			x := f.draw()
			got, want := f.got(x), f.want(x)
			near := math.Abs(got-want) <= 1e-15*math.Abs(want)+f.absolute
			if got != want && !near && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%s(%v) = %v, want %v", name, x, got, want)
			}
		}
	}
	for power := -9; power <= 9; power++ {
		for _, x := range []float64{.3, 1, 2, 1.7e5} {
			if got, want := Power(x, power), math.Pow(x, float64(power)); !(math.Abs(got-want) <= 1e-15*want) {
				t.Errorf("Power(%v, %d) = %v, want %v", x, power, got, want)
			}
		}
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1, 1e-307, math.MaxFloat64, -math.MaxFloat64, inf, -inf,
		nan} {
		for name, f := range map[string][2]func(float64) float64{
			"Log": {Log, math.Log}, "Exp": {Exp, math.Exp}, "Log1p": {Log1p, math.Log1p}, "Expm1": {Expm1, math.Expm1},
			"Log2": {Log2, math.Log2}, "Erf": {Erf, math.Erf},
		} {
			got, want := f[0](x), f[1](x)
			if got != want && !(math.IsNaN(got) && math.IsNaN(want)) && !(math.Abs(got-want) <= 1e-15*math.Abs(want)) {
				t.Errorf("%s(%v) = %v, want %v", name, x, got, want)
			}
		}
	}
	if got, want := Log(5e-324), -744.4400719213812; got != want { // package math errs on amd64
		t.Errorf("Log(5e-324) = %v, want %v", got, want)
	}
	for exponent := -1074; exponent < 1024; exponent++ {
		if got := Log2(math.Ldexp(1, exponent)); got != float64(exponent) {
			t.Errorf("Log2(2^%d) = %v", exponent, got)
		}
	}
}
