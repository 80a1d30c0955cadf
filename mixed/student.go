package mixed

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

// normal95 is the 97.5 % quantile of the normal distribution, and normal90 the 95 % quantile.
const (
	normal95 = 1.9599639845400536
	normal90 = 1.6448536269514715
)

// interval95 returns the half-width of a 95 % interval of Student's t over the half-width for the normal
// distribution. Freedom 0 and 1e9 or more count as infinite, and other values as at least 1.
func interval95(freedom float64) float64 {
	if freedom == 0 || freedom >= 1e9 {
		return 1
	}
	return student95(max(freedom, 1)) / normal95
}

// gaussLegendre has the positive nodes of 16 of Gauss and Legendre on [-1, 1], and their weights.
var gaussLegendre = [8][2]float64{
	{0.09501250983763744, 0.1894506104550685},
	{0.2816035507792589, 0.18260341504492358},
	{0.45801677765722737, 0.16915651939500254},
	{0.6178762444026438, 0.14959598881657674},
	{0.755404408355003, 0.12462897125553388},
	{0.8656312023878318, 0.09515851168249279},
	{0.9445750230732326, 0.062253523938647894},
	{0.9894009349916499, 0.027152459411754096},
}

// A student is Student's t with degrees of freedom, at least 1. Its numbers have equal bits on all
// processors.
type student struct {
	freedom, half float64 // half of the freedom
	ratio         float64 // Gamma(half + 1/2) / Gamma(half)
}

func newStudent(freedom float64) student {
	return student{freedom, freedom / 2, gammaRatio(freedom / 2)}
}

// gammaRatio returns Gamma(x + 1/2) / Gamma(x), by its series in 1/x from 30 on.
func gammaRatio(x float64) float64 {
	const enough = 30
	factor := 1.0
	for ; x < enough; x++ {
		factor *= x / (x + .5)
	}
	sum := 0.0
	for _, c := range []float64{
		-334477. / 2147483648, 39325. / 33554432, 869. / 4194304, -399. / 262144, -21. / 32768, 5. / 1024, 1. / 128,
		-1. / 8, 1,
	} {
		sum = c + sum/x
	}
	return factor * math.Sqrt(x) * sum
}

// density returns the density at t.
func (s student) density(t float64) float64 {
	power := float64((s.half + .5) * rounded.Log1p(t*t/s.freedom))
	return s.ratio / math.Sqrt(math.Pi*s.freedom) * rounded.Exp(-power)
}

// beyond returns the chance of a number farther from 0 than t, which is at least the root of 3: by the
// continued fraction of the incomplete beta function at the share that is left of 1 at t (Abramowitz and
// Stegun 26.5.8). Its relative error is about that many roundings as there are degrees of freedom.
func (s student) beyond(t float64) float64 {
	const b, enough, most = 0.5, 4e-16, 1000 // most steps: they are fewer than 100
	a, far := s.half, float64(t*t)
	x := s.freedom / (s.freedom + far)
	over, under := 1.0, 1/(1-float64((a+b)*x/(a+1)))
	fraction := under
	for m := 1.0; m < most; m++ {
		even := m * (b - m) * x / ((a + float64(2*m) - 1) * (a + float64(2*m)))
		odd := -(a + m) * (a + b + m) * x / ((a + float64(2*m)) * (a + float64(2*m) + 1))
		change := 1.0
		for _, step := range []float64{even, odd} {
			under, over = 1/(1+float64(step*under)), 1+float64(step/over)
			change = under * over
			fraction *= change
		}
		if math.Abs(change-1) <= enough {
			break
		}
	}
	power := rounded.Exp(-float64(a * rounded.Log1p(far/s.freedom)))
	return power * s.ratio / math.Sqrt(math.Pi) * (t / math.Sqrt(s.freedom+far)) / a * fraction
}

// within returns the chance of a number at most t > 0 away from 0, of 8 degrees of freedom and more.
func (s student) within(t float64) float64 {
	sum, middle := 0.0, float64(t/2)
	for _, node := range gaussLegendre {
		away := float64(middle * node[0])
		above, below := s.density(middle+away), s.density(middle-away)
		sum += float64(node[1] * (float64(above) + float64(below)))
	}
	return 2 * middle * sum
}

// student95 returns the 97.5 % quantile of Student's t with degrees of freedom, at least 1: by Newton's
// method from the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5).
func student95(freedom float64) float64 {
	const few, most = 8, 20 // degrees of freedom, and steps
	s := newStudent(freedom)
	t := normal95
	for k, c := range []float64{2.37227123, 2.8224986, 2.5558497, 1.589534} {
		t += float64(c * rounded.Power(freedom, -1-k))
	}
	for range most {
		var more float64 // chance beyond t that is too much
		if freedom < few {
			more = float64(s.beyond(t)) - .05
		} else {
			more = .95 - float64(s.within(t))
		}
		step := more / (2 * s.density(t))
		t += step
		if math.Abs(step) <= 1e-14*t {
			break
		}
	}
	return t
}
