package rounded

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Every operation has the bits of gonum on amd64, and elsewhere its results to rounding.
func TestAsFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	same := func(name string, got, want []float64) {
		t.Helper()
		for i, v := range want {
			exact := math.Float64bits(got[i]) == math.Float64bits(v) || got[i] != got[i] && v != v
			if !exact && (runtime.GOARCH == "amd64" || !(math.Abs(got[i]-v) <= 1e-12)) {
				t.Fatalf("%s of %d numbers: %v, want %v", name, len(want), got[i], v)
			}
		}
	}
	for n := range 200 {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		by := rng.NormFloat64()
		got, want := make([]float64, n), make([]float64, n)
		AddScaledTo(got, y, by, x)
		floats.AddScaledTo(want, y, by, x)
		same("AddScaledTo", got, want)
		AddScaled(got, by, y)
		floats.AddScaled(want, by, y)
		same("AddScaled", got, want)
		same("Dot", []float64{Dot(x, y)}, []float64{floats.Dot(x, y)})
		same("Norm", []float64{Norm(x)}, []float64{floats.Norm(x, 2)})
		same("MaxNorm", []float64{MaxNorm(x)}, []float64{floats.Norm(x, math.Inf(1))})
		same("Distance", []float64{Distance(x, y)}, []float64{floats.Distance(x, y, 2)})
	}
	for _, x := range [][]float64{{3}, {1, 2, 4}, {1e9, 1e9 + 1, 1e9 + 2}, {-5, 5, 0, 1}} {
		if got, want := Mean(x), stat.Mean(x, nil); !(math.Abs(got-want) <= 1e-15*math.Abs(want)) {
			t.Errorf("the mean of %v is %v, want %v", x, got, want)
		}
		if got, want := Deviation(x), stat.PopStdDev(x, nil); !(math.Abs(got-want) <= 1e-15*want) {
			t.Errorf("the deviation of %v is %v, want %v", x, got, want)
		}
	}
	none, nan, infinite := []float64{}, math.NaN(), math.Inf(-1)
	for _, x := range [][]float64{
		none, {0, 0}, {1e300, 1e300}, {0, 5e-324}, {1, infinite}, {nan, 1}, {1, nan, 0, 2}, {infinite, nan},
		{nan, infinite},
	} {
		same("Norm", []float64{Norm(x)}, []float64{floats.Norm(x, 2)})
	}
}

// Normal numbers are those of package rand, to the rounding of float32.
func TestNormal(t *testing.T) {
	rng, same := rand.New(rand.NewPCG(3, 4)), rand.New(rand.NewPCG(3, 4))
	tails := 0
	for range 100_000 {
		v, want := Normal(rng), same.NormFloat64()
		if math.Abs(v-want) > 0x1p-24*math.Abs(want) {
			t.Fatalf("%v, want %v", v, want)
		}
		if v != want {
			tails++
		}
	}
	if tails == 0 || tails > 200 {
		t.Errorf("%d of 100,000 numbers are rounded", tails)
	}
}

// Vectors of other lengths panic.
func TestLengths(t *testing.T) {
	two, three := make([]float64, 2), make([]float64, 3)
	for name, f := range map[string]func(){
		"Dot": func() { Dot(two, three) }, "AddScaled": func() { AddScaled(two, 1, three) },
		"AddScaledTo": func() { AddScaledTo(three, two, 1, two) }, "Distance": func() { Distance(three, two) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name, "did not panic")
				}
			}()
			f()
		}()
	}
}
