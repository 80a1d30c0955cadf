package evidence

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// Slopes count as their variances in the covariance of deviations, the evidence as if all tasks were alike is that of the point where it has been
// made, and its derivatives by slopes are differences of its values.
func TestSlopesOfAlike(t *testing.T) {
	rows, _, p := testRows(t)
	p.Spread, p.Slopes = 0.3, []float64{}
	for j := range p.W - 1 {
		p.Slopes = append(p.Slopes, math.Exp(float64(j%3)-1))
	}
	pt, err := rows.At(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, ok := pt.Alike()
	if !ok {
		t.Fatal("none")
	}
	if got := a.Point(p, nil); math.Abs(got.Value-pt.Value) > 1e-6 || math.Abs(got.Noise-pt.Noise) > 1e-9 {
		t.Errorf("value %v, noise %v where it was made: want %v, %v", got.Value, got.Noise, pt.Value, pt.Noise)
	}
	to := p.Clone()
	to.Slopes[0], to.Slopes[2] = 3, 0.2
	if at, ok := a.with(to.Slopes).at(to, 1.1); !ok || math.Abs(a.seen(to, 1.1).value-at.value) > 1e-8*math.Abs(at.value) {
		t.Errorf("by its matrix the value is %v, along axes %v", a.seen(to, 1.1).value, at.value)
	}
	_, first := a.slopesInformation(to)
	for j := range first {
		const h = 1e-4
		up, down := to.Clone(), to.Clone()
		up.Slopes[j] *= math.Exp(h)
		down.Slopes[j] *= math.Exp(-h)
		above, _ := a.with(up.Slopes).at(up, 1)
		below, _ := a.with(down.Slopes).at(down, 1)
		if want := (above.value - below.value) / (2 * h); math.Abs(first[j]-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("slope %d: %v, want %v", j, first[j], want)
		}
	}
	// What a point with other slopes is worth does not depend on the axes along which it is seen.
	same := to.Clone()
	floats.Scale(2, same.Slopes)
	same.Spread /= 2
	if x, y := a.Point(to, nil), a.Point(same, nil); math.Abs(x.Value-y.Value) > 1e-6 {
		t.Errorf("the same variances have the values %v and %v", x.Value, y.Value)
	}
}

// The top is stationary in slopes, the information about spread is that of all slopes together, and a given spread has none of its own.
func TestSlopesOfTop(t *testing.T) {
	rows, _, p := testRows(t)
	p.Spread = 0.3
	pt, err := rows.At(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := pt.Alike()
	top := a.Top(p, []float64{1, 1}, Unknown(), Enough)
	at := a.Point(top, []float64{1, 1}).Penalized()
	for j := range top.Slopes {
		for _, by := range []float64{-0.5, 0.5} {
			near := top.Clone()
			near.Slopes[j] *= math.Exp(by)
			if v := a.Point(near, []float64{1, 1}).Penalized(); v < at-0.1 {
				t.Errorf("slope %d times e^%v is worth %v more", j, by, at-v)
			}
		}
	}
	if given := a.Top(p, []float64{1, 1}, Strengths{math.NaN(), 0.2, math.NaN()}, Enough); given.Slopes != nil || given.Spread != 0.2 {
		t.Errorf("a given spread became %v, slopes %v", given.Spread, given.Slopes)
	}
	info, _ := a.slopesInformation(top)
	sum := 0.0
	for i := range top.W - 1 {
		for j := range top.W - 1 {
			sum += info.At(i, j)
		}
	}
	if all := a.Information(top); math.Abs(all.At(top.W*top.Rank+1, top.W*top.Rank+1)-sum) > 1e-8*(1+sum) {
		t.Errorf("the information about the spread is %v, of all slopes %v", all.At(top.W*top.Rank+1, top.W*top.Rank+1), sum)
	}
}
