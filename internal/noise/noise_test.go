package noise

import (
	"math"
	"math/rand/v2"
	"testing"
)

// source returns one that draws the same in every run of the tests.
func source(t *testing.T) *Source {
	return &Source{rand.New(rand.NewChaCha8([32]byte{1, 2, 3}))}
}

// The moments, tails and the shape of what is drawn are those of the normal distribution, from which one on
// a grid of 2^-20 deviations does not differ by what any number of draws shows.
func TestGaussian(t *testing.T) {
	const n = 200_000
	s := source(t)
	sums := [5]float64{}
	inside := map[float64]float64{.1: 0, .5: 0, 1: 0, 2: 0, 3: 0}
	odd := 0.0
	for range n {
		k := s.Gaussian()
		odd += float64(k & 1)
		x := float64(k) / Deviation
		for p := range sums {
			sums[p] += math.Pow(x, float64(p)) / n
		}
		for width := range inside {
			if math.Abs(x) < width {
				inside[width] += 1.0 / n
			}
		}
	}
	// Five standard errors of each.
	for p, want := range map[int][2]float64{1: {0, 1}, 2: {1, 2}, 3: {0, 15}, 4: {3, 96}} {
		if e := math.Abs(sums[p] - want[0]); e > 5*math.Sqrt(want[1]/n) {
			t.Errorf("the mean of the power %d is %.4f, want %g", p, sums[p], want[0])
		}
	}
	for width, got := range inside {
		if want := math.Erf(width / math.Sqrt2); math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n)+1e-9 {
			t.Errorf("within %g deviations are %.4f, want %.4f", width, got, want)
		}
	}
	if math.Abs(odd/n-.5) > 5*.5/math.Sqrt(n) {
		t.Errorf("%.4f of the numbers are odd", odd/n)
	}
}

// The probabilities of which all is made are those of the exponential function.
func TestAccept(t *testing.T) {
	const n = 100_000
	s := source(t)
	for _, c := range []struct {
		a    uint64
		bits int
	}{{0, 5}, {1, 0}, {3, 4}, {16, 4}, {40, 4}, {1 << 41, 41}, {5 << 39, 41}} {
		got := 0.0
		for range n {
			if s.accept(c.a, c.bits) {
				got += 1.0 / n
			}
		}
		want := math.Exp(-math.Ldexp(float64(c.a), -c.bits))
		if math.Abs(got-want) > 5*math.Sqrt(want*(1-want)/n)+1e-9 {
			t.Errorf("exp(-%d/2^%d) is drawn with %.4f, want %.4f", c.a, c.bits, got, want)
		}
	}
}

// Two sources draw other numbers.
func TestSourcesDiffer(t *testing.T) {
	a, b, equal := New(), New(), 0
	for range 100 {
		if a.Gaussian() == b.Gaussian() {
			equal++
		}
	}
	if equal > 2 {
		t.Errorf("%d of 100 numbers are the same", equal)
	}
}
