package model

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// Beyond what a feature counts as, a prediction stays where it is and its standard error grows as on a line; within, both are those of a model without
// limits. That is so after a round trip through a file, for known tasks and others, and rows of a new task count by the same limits.
func TestLimits(t *testing.T) {
	p := testParameters(t)
	free := testModel(t)
	p.Scaling.Least, p.Scaling.Most = []float64{-3, -math.MaxFloat64, -1, -2}, []float64{3, math.MaxFloat64, 1, 4}
	made, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	m := new(Model)
	if err := m.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"3", "nobody"} {
		for _, c := range []struct {
			x, counts []float64
			beyond    int
		}{
			{[]float64{1, -70, 0.5, 4}, []float64{1, -70, 0.5, 4}, -1},
			{[]float64{-9, 70, 0.5, 5}, []float64{-3, 70, 0.5, 4}, 0},
			{[]float64{1, 0, 1e6, 0}, []float64{1, 0, 1, 0}, 2},
			{[]float64{1, 0, 0, -3}, []float64{1, 0, 0, -2}, 3},
		} {
			want, err := free.PredictAnyError(task, c.counts)
			wide, errWide := free.PredictAnyError(task, c.x)
			got, errGot := m.PredictAnyError(task, c.x)
			if err != nil || errWide != nil || errGot != nil {
				t.Fatal(err, errWide, errGot)
			}
			if math.Abs(got.Y-want.Y) > 1e-12*(1+math.Abs(want.Y)) || got.StandardError != wide.StandardError {
				t.Errorf("%s, %v: %+v, want the prediction of %v and the error of %v", task, c.x, got, want.Y, wide.StandardError)
			}
			if at := m.Beyond(c.x); at != c.beyond || free.Beyond(c.x) != -1 {
				t.Errorf("%v: feature %d is beyond, want %d", c.x, at, c.beyond)
			}
		}
	}
	if _, err := m.Predict("3", []float64{math.Inf(1), 0, 0, 0}); err == nil {
		t.Error("an infinite feature counts as a limit")
	}
	far, near := newRows(m), newRows(m)
	for i := range 5 {
		v := float64(i)
		far.x, near.x = append(far.x, []float64{v, 1, 1 + v, -v}), append(near.x, []float64{math.Min(v, 3), 1, 1, math.Max(-v, -2)})
		far.y, near.y = append(far.y, v), append(near.y, v)
		far.task, near.task = append(far.task, 0), append(near.task, 0)
	}
	far.tasks, near.tasks = []string{"new"}, []string{"new"}
	a, err := m.Adapt(far)
	b, errB := m.Adapt(near)
	if err != nil || errB != nil {
		t.Fatal(err, errB)
	}
	x := []float64{0.5, 1, 0.5, 0.5}
	ya, _ := a.Predict("new", x)
	if yb, _ := b.Predict("new", x); ya != yb {
		t.Errorf("adapted to far rows %v, to their limits %v", ya, yb)
	}
	p.Scaling.Least = []float64{-3, 0, 2, 0}
	_, err = New(p)
	check(t, err, `array "least": entry 2 is 2: want at most 1`)
	p.Scaling.Least, p.Scaling.Most = p.Scaling.Least[:3], p.Scaling.Most[:3]
	_, err = New(p)
	check(t, err, `array "least" has 3 entries: want 4`)
	p.Scaling.Least = nil
	_, err = New(p)
	check(t, err, `array "most" has 3 entries: want 0`)
}

// A variance of single targets that is more than that of the noise is in the standard errors of targets, known tasks' and others', and in nothing else.
func TestWidenedNoise(t *testing.T) {
	p := testParameters(t)
	before := testModel(t)
	p.Prior.NoisePrior.Scale = 4 * p.Prior.Noise
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{1, 2, 3, 4}
	for _, task := range []string{"2", "nobody"} {
		want, _ := before.PredictAnyError(task, x)
		got, err := m.PredictAnyError(task, x)
		if err != nil || got.Y != want.Y || got.StandardError != want.StandardError {
			t.Errorf("%s: %+v, want %+v; %v", task, got, want, err)
		}
		noise := func(p Prediction) float64 {
			return math.Sqrt(p.SampleError*p.SampleError - p.StandardError*p.StandardError)
		}
		if math.Abs(noise(got)-2*noise(want)) > 1e-9 {
			t.Errorf("%s: the noise of a target is %v, want twice %v", task, noise(got), noise(want))
		}
	}
	if m.Noise() != before.Noise() {
		t.Errorf("the noise is %v, want %v", m.Noise(), before.Noise())
	}
	if _, variance := stat.MeanVariance(m.noise, nil); variance != 0 {
		t.Error("tasks differ by their noise")
	}
}
