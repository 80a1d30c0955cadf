package private_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/private"
)

// exactDelta returns the delta of the Gaussian mechanism with sensitivity 1, Phi(1/(2 sigma) - epsilon sigma)
// - e^epsilon Phi(-1/(2 sigma) - epsilon sigma) (Balle and Wang 2018, theorem 8), for moderate epsilon.
func exactDelta(epsilon, sigma float64) float64 {
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	return normal(.5/sigma-epsilon*sigma) - math.Exp(epsilon)*normal(-.5/sigma-epsilon*sigma)
}

// concentratedDelta returns the delta of rho-zero-concentrated privacy by Canonne, Kamath and Steinke (2020),
// proposition 12: the least exp((a-1)(a rho - epsilon)) / (a-1) (1 - 1/a)^a over a > 1.
func concentratedDelta(epsilon, rho float64) float64 {
	least := 1.0
	for k := range 20000 {
		a := 1 + math.Exp(-6+float64(k)*8e-4)
		least = min(least, math.Exp((a-1)*(a*rho-epsilon)+a*math.Log1p(-1/a))/(a-1))
	}
	return least
}

// TestRhoIsExact: the noise for a budget is what the Gaussian mechanism needs, for the epsilons and numbers
// of tasks that people use and beyond, and never less. A bound for all noise with concentrated privacy allows
// no larger delta.
func TestRhoIsExact(t *testing.T) {
	deltas := []float64{1e-9, 1e-5, 1e-3, .01, .1, math.Pow(100, -1.1), math.Pow(1000, -1.1)}
	for _, epsilon := range []float64{.01, .1, .5, 1, 2, 4, 8, 20} {
		for _, delta := range deltas {
			rho := private.Rho(epsilon, delta)
			sigma := 1 / math.Sqrt(2*rho)
			if exact := exactDelta(epsilon, sigma); exact > delta*(1+1e-6) {
				t.Errorf("epsilon %v needs delta = %v, the account says %v", epsilon, exact, delta)
			}
			if less := exactDelta(epsilon, sigma*.9999); less < delta {
				t.Errorf("epsilon %v, delta %v: a deviation of .9999 %v has delta %v", epsilon, delta, sigma, less)
			}
			if e := private.Epsilon(rho, delta); !(e <= epsilon && e > epsilon*(1-1e-8)) {
				t.Errorf("epsilon %v, delta %v: rho = %v, which is epsilon %v", epsilon, delta, rho, e)
			}
			if bound := concentratedDelta(epsilon, rho); bound < delta*(1-1e-6) {
				t.Errorf("epsilon %v: rho %v has delta %v at most, the account says %v", epsilon, rho, bound, delta)
			}
		}
	}
}

// TestSmallBudgets: budgets far below those that people use are not larger than they claim. At epsilon = 0
// delta is the total variation, 2 Phi(mu/2) - 1. Beyond, d delta / d mu = phi(epsilon/mu - mu/2) is
// integrated.
func TestSmallBudgets(t *testing.T) {
	for _, delta := range []float64{1e-300, 1e-150, 1e-40, 1e-20, 1e-16, 1e-12, 1e-6, .01} {
		want := 4 * math.Erfinv(delta) * math.Erfinv(delta)
		if got := private.Rho(0, delta); !(got <= want*(1+1e-12) && got >= want*(1-1e-9)) {
			t.Errorf("delta %v: rho is %v, and the total variation allows %v", delta, got, want)
		}
	}
	for _, epsilon := range []float64{1e-200, 1e-30, 1e-15, 1e-12, 1e-9, 1e-6, 3e-5, 1e-3} {
		for _, c := range []float64{.1, 1, 3, 6, 12} { // epsilon/mu
			mu := epsilon / c
			const steps = 20000
			delta := 0.0
			for i := range steps {
				m := (float64(i) + .5) / steps
				x := c/m - mu*m/2
				delta += mu / steps * math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
			}
			rho := mu * mu / 2
			if delta == 0 || rho == 0 {
				continue
			}
			if got := private.Epsilon(rho, delta); !(math.Abs(got/epsilon-1) < 1e-6) {
				t.Errorf("mu %v, delta %v: epsilon is %v, want %v", mu, delta, got, epsilon)
			}
			if got := private.Rho(epsilon, delta); !(math.Abs(got/rho-1) < 1e-6) {
				t.Errorf("epsilon %v, delta %v: rho is %v, want %v", epsilon, delta, got, rho)
			}
		}
	}
}

// TestPublishedAccountants compares with numbers that other programs print or test: Google's dp-accounting
// (0.6.0, Gaussian mechanisms of deviation 1/sqrt(2 rho) by their privacy loss distributions; the first three
// are in its tests), also of a mechanism composed of two.
func TestPublishedAccountants(t *testing.T) {
	for _, c := range []struct{ rho, epsilon, delta float64 }{
		{.5, 1, .12693674}, {4.5, 1, .78760074}, {.5, 2, .02092364},
		{.5, 4, 4.712241200793165e-05}, {.005, .1, .00875176814580958}, {2, 8, .0004954017389387453},
		{.02, .5, .0005125360831583336}, {12.5, 30, .0001313262711132733}, {50, 60, .13683538039646126},
		{.5, 4.37717810, 1e-5}, {.05, .78288814, .001}, {1, 3.95895404, .00631}, {.01, .33485245, 5e-4},
		{.1 + .4, 4.37717810, 1e-5},
	} {
		if e := private.Epsilon(c.rho, c.delta); math.Abs(e-c.epsilon) > 1e-6*c.epsilon {
			t.Errorf("rho %v, delta %v: epsilon %v, published %v", c.rho, c.delta, e, c.epsilon)
		}
		if rho := private.Rho(c.epsilon, c.delta); math.Abs(rho-c.rho) > 2e-6*c.rho {
			t.Errorf("epsilon %v, delta %v: rho %v, published %v", c.epsilon, c.delta, rho, c.rho)
		}
	}
}

// TestNoiseOfTrainings: for the epsilons and numbers of tasks of private trainings, with the default delta,
// the noise is what dp-accounting 0.6.0 asks for: the least deviation at which its GaussianPrivacyLoss has at
// most delta.
func TestNoiseOfTrainings(t *testing.T) {
	for _, c := range []struct {
		tasks              int
		epsilon, deviation float64
	}{
		{100, .5, 3.4544248}, {100, 1, 2.0250171}, {100, 2, 1.1858866}, {100, 4, .70170019}, {100, 8, .42359244},
		{1000, .5, 5.0128034}, {1000, 1, 2.766028}, {1000, 2, 1.5356128}, {1000, 4, .86540512}, {1000, 8, .49967544},
	} {
		got := 1 / math.Sqrt(2*private.Rho(c.epsilon, private.DefaultDelta(c.tasks)))
		if math.Abs(got/c.deviation-1) > 1e-6 {
			t.Errorf("%d tasks, epsilon %v: deviation %v, published %v", c.tasks, c.epsilon, got, c.deviation)
		}
	}
}

// TestExtremeBudgets: rho and epsilon stay finite, monotone and inverse for the whole range of budgets.
func TestExtremeBudgets(t *testing.T) {
	last := 0.0
	for _, epsilon := range []float64{0, 1e-12, 1e-6, 1e-3, 1, 30, 100, 700, 1000, 1e5} {
		for _, delta := range []float64{1e-300, 1e-100, 1e-30, 1e-12, .1, .9} {
			rho := private.Rho(epsilon, delta)
			if math.IsNaN(rho) || math.IsInf(rho, 0) || rho < 0 {
				t.Errorf("epsilon %v, delta %v: rho %v", epsilon, delta, rho)
			}
			if e := private.Epsilon(rho, delta); !(e <= epsilon*(1+1e-4)) || epsilon >= 1 && e < epsilon*(1-1e-6) {
				t.Errorf("epsilon %v, delta %v: rho %v is epsilon %v", epsilon, delta, rho, e)
			}
		}
		if rho := private.Rho(epsilon, 1e-6); !(rho > last) {
			t.Errorf("epsilon %v: rho %v, and %v for less", epsilon, rho, last)
		} else {
			last = rho
		}
	}
	if e := private.Epsilon(math.Inf(1), .1); !math.IsInf(e, 1) {
		t.Errorf("rho infinite: epsilon %v", e)
	}
}

// TestDefaultDelta: delta is below 1/T, and no number of tasks, however wrong, makes it large.
func TestDefaultDelta(t *testing.T) {
	for _, tasks := range []int{math.MinInt, -30, 0, 1, 2, 65, 66, 100, 1000, math.MaxInt} {
		d := private.DefaultDelta(tasks)
		if !(d > 0 && d <= .01) || tasks > 1 && d >= 1/float64(tasks) {
			t.Errorf("%d tasks: delta %v", tasks, d)
		}
		if tasks >= 66 && math.Abs(d/math.Pow(float64(tasks), -1.1)-1) > 1e-12 {
			t.Errorf("%d tasks: delta %v", tasks, d)
		}
	}
}
