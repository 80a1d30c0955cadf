package model

import (
	"archive/zip"
	"bytes"
	"io"
	"math"
	"reflect"
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
	p.Prior.SampleNoise = 4 * p.Prior.Noise
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
	// Older files have it in noise_scale, without noise_freedom.
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	old := new(Model)
	if err := old.UnmarshalBinary(withHeader(t, data, `"sample_noise":`, `"noise_scale" :`)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, old) {
		t.Errorf("an older file has a prior %+v, want %+v", old.p.Prior, m.p.Prior)
	}
	p.Prior.SampleNoise, p.Prior.NoisePrior = 0, NoisePrior{Scale: 1}
	_, err = New(p)
	check(t, err, "the prior of the noise has scale 1 and 0 degrees of freedom")
}

// withHeader returns the file of a model with another text of the same length in its header.
func withHeader(t *testing.T, file []byte, from, to string) []byte {
	t.Helper()
	wide := func(s string) (b []byte) {
		for _, c := range s {
			b = append(b, byte(c), 0, 0, 0) // as NumPy has ASCII
		}
		return b
	}
	in, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil || len(from) != len(to) {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	out := zip.NewWriter(&buf)
	found := 0
	for _, f := range in.File {
		r, errOpen := f.Open()
		w, errCreate := out.Create(f.Name)
		if errOpen != nil || errCreate != nil {
			t.Fatal(errOpen, errCreate)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name == "header.npy" {
			found = bytes.Count(content, wide(from))
			content = bytes.Replace(content, wide(from), wide(to), 1)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil || found != 1 {
		t.Fatalf("%q is there %d times, %v", from, found, err)
	}
	return buf.Bytes()
}
