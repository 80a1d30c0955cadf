package model

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
)

// A natural cubic spline goes through its values, has a continuous slope and second derivative, which is zero at both ends, and is straight beyond
// them; a straight line stays one; and its roughness is the integral of products of second derivatives.
func TestNaturalSpline(t *testing.T) {
	knots := []float64{-2, -1.5, 0, 0.25, 3, 7}
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 12)
	for i := range values {
		values[i] = r.NormFloat64()
	}
	c := NewCurve(Curved, 0, knots, values)
	at := func(j int, x float64) float64 {
		inputs := make([]float64, c.Width())
		c.Apply(inputs, x)
		if inputs[0] != x {
			t.Fatalf("the feature is %v, want %v", inputs[0], x)
		}
		return inputs[j+1]
	}
	const h = 1e-4
	slope := func(j int, x float64) float64 { return (at(j, x+h) - at(j, x-h)) / (2 * h) }
	bend := func(j int, x float64) float64 { return (at(j, x+h) - 2*at(j, x) + at(j, x-h)) / (h * h) }
	near := func(what string, got, want, tolerance float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	for j := range 2 {
		for k, x := range knots {
			near("a value", at(j, x), values[j*6+k], 1e-12)
			near("the slope after a knot", slope(j, x+2*h), slope(j, x-2*h), 0.02)
			near("the second derivative after a knot", bend(j, x+2*h), bend(j, x-2*h), 0.2)
		}
		near("the second derivative at the first knot", bend(j, knots[0]+h), 0, 0.05)
		near("the second derivative at the last knot", bend(j, knots[5]-h), 0, 0.05)
		for _, x := range []float64{-100, -3, 8, 1000} {
			near("the second derivative outside", (at(j, x+1)-2*at(j, x)+at(j, x-1))/math.Abs(x), 0, 1e-10)
		}
	}
	rough := c.Roughness()
	for i := range 2 {
		for j := range 2 {
			want := 0.0
			for k := range len(knots) - 1 { // its square is smooth between knots
				want += quad.Fixed(func(x float64) float64 { return bend(i, x) * bend(j, x) }, knots[k]+h, knots[k+1]-h, 8, nil, 0)
			}
			near("the roughness", rough.At(i, j), want, 0.01*math.Abs(rough.At(i, i)+rough.At(j, j)))
		}
	}
	line := make([]float64, len(knots))
	for i, x := range knots {
		line[i] = 3 - 2*x
	}
	c = NewCurve(Curved, 0, knots, line)
	for _, x := range []float64{-50, -2, -1.7, 0.1, 2, 7, 9} {
		near("a straight line", at(0, x), 3-2*x, 1e-12*(1+math.Abs(x)))
	}
	near("its roughness", c.Roughness().At(0, 0), 0, 1e-20)
}

// transformed returns a model with a transform of each kind, and one whose features are the inputs of that.
func transformed(t *testing.T) (bent, plain *Model, p Parameters) {
	t.Helper()
	p = testParameters(t) // of four features
	q := p
	k := len(p.Scaling.Center)
	q.Schema = schema.Schema{Columns: []string{"a", "b", "c"}}
	q.Scaling.Fill = []float64{0.5, 2, 3}
	// The four inputs are those of a clipped feature, of a logarithm, and of a curve with one bend.
	q.Scaling.Transforms = []Transform{
		{Feature: 0, Kind: Clipped, Knots: []float64{-1, 1}}, {Feature: 1, Kind: Logarithmic, Knots: []float64{0.1}},
		NewCurve(Curved, 2, []float64{0, 1, 4}, []float64{0.3, -1, 2}),
	}
	if k != 4 || q.Scaling.Inputs(3) != 4 {
		t.Fatalf("%d features and %d inputs", k, q.Scaling.Inputs(3))
	}
	bent, err := New(q)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err = New(p); err != nil {
		t.Fatal(err)
	}
	return bent, plain, q
}

// inputsOf are the features of the plain model, by the definitions.
func inputsOf(x []float64) []float64 {
	spline := NewCurve(Curved, 0, []float64{0, 1, 4}, []float64{0.3, -1, 2})
	var curve [2]float64
	spline.Apply(curve[:], x[2])
	return []float64{min(max(x[0], -1), 1), math.Log(max(x[1], 0.1)), x[2], curve[1]}
}

// A curve of the logarithm is the curve with knots at the logarithms, of the logarithm, and constant below its first knot; so is its roughness.
func TestLogCurve(t *testing.T) {
	values := []float64{0.3, -1, 2, 0.7, 1, 0, 0, -2}
	c := NewCurve(LogCurved, 0, []float64{0.1, 1, 5, 80}, values)
	same := NewCurve(Curved, 0, []float64{math.Log(0.1), 0, math.Log(5), math.Log(80)}, values)
	var got, want [3]float64
	for _, x := range []float64{-3, 0, 0.01, 0.1, 0.4, 2, 30, 80, 1e5} {
		c.Apply(got[:], x)
		same.Apply(want[:], math.Log(max(x, 0.1)))
		if got != want {
			t.Errorf("at %v: %v, want %v", x, got, want)
		}
	}
	if !mat.Equal(c.Roughness(), same.Roughness()) {
		t.Error("their roughness differs")
	}
	s := Scaling{Transforms: []Transform{c}}
	if names := s.InputNames([]string{"dose"}); !slices.Equal(names, []string{"log(dose)", "log(dose), bend 1", "log(dose), bend 2"}) {
		t.Errorf("names %q", names)
	}
	for _, knots := range [][]float64{{0, 1, 2, 3}, {-1, 1, 2, 3}, {2, 1, 3, 4}} {
		if bad := NewCurve(LogCurved, 0, knots, values); bad.check(1) == nil {
			t.Errorf("knots %v are taken", knots)
		}
	}
}

// A model with transforms says what one says whose features are their inputs: all predictions, errors, and tasks that it
// adapts to; before and after it was in a file. It does not allocate.
func TestTransforms(t *testing.T) {
	bent, plain, _ := transformed(t)
	data, err := bent.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var loaded Model
	if err := loaded.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(bent, &loaded) {
		t.Error("the model that was loaded is not the one that was saved")
	}
	same := func(what string, a, b float64) {
		t.Helper()
		if math.Abs(a-b) > 1e-12*(1+math.Abs(b)) {
			t.Errorf("%s is %v, want %v", what, a, b)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		x := []float64{3 * r.NormFloat64(), 3 * r.NormFloat64(), 4 * r.NormFloat64()}
		z := inputsOf(x)
		y, err := loaded.Predict("7", x)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := plain.Predict("7", z)
		same("a prediction", y, want)
		y, se, err := loaded.PredictError("7", x)
		if err != nil {
			t.Fatal(err)
		}
		want, wantSE, _ := plain.PredictError("7", z)
		same("a prediction", y, want)
		same("a standard error", se, wantSE)
		fresh, err := loaded.PredictAnyError("nobody", x)
		if err != nil {
			t.Fatal(err)
		}
		wantFresh, _ := plain.PredictAnyError("nobody", z)
		same("that of a new task", fresh.Y, wantFresh.Y)
		same("the error of a new task", fresh.SampleError, wantFresh.SampleError)
	}
	rows := newRows(bent)
	rows.add(r, "new", 6, []float64{1, -1, 2}, 0.5, 1)
	inputs := *rows
	inputs.features, inputs.x = plain.Features(), nil
	for _, x := range rows.x {
		inputs.x = append(inputs.x, inputsOf(x))
	}
	adapted, err := loaded.Adapt(rows)
	if err != nil {
		t.Fatal(err)
	}
	wantAdapted, err := plain.Adapt(&inputs)
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, "the coefficients of a new task", adapted.p.Theta, wantAdapted.p.Theta)
	x := []float64{1, 2, 3}
	if n := testing.AllocsPerRun(100, func() { loaded.Predict("7", x) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got, want := bent.ScaledFeatures(), []string{"a, clipped", "log(b)", "c", "c, bend 1", ConstantFeature}; !slices.Equal(got, want) {
		t.Errorf("inputs %q, want %q", got, want)
	}
	for i, want := range []string{"clipped at -1 and 1", "its logarithm, from 0.1", "a curve with knots at 0, 1, 4"} {
		if got := bent.Parameters().Scaling.Transforms[i].String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	missing := []float64{math.NaN(), math.NaN(), 1}
	if n := bent.FillMissing(missing); n != 2 || missing[0] != 0.5 || missing[1] != 2 {
		t.Errorf("%d filled: %v", n, missing)
	}
}

// A file of version 5 has no transforms, and is read.
func TestOldVersion(t *testing.T) {
	m := testModel(t)
	r := reader(t, m)
	var buf bytes.Buffer
	w := npz.NewWriter(&buf)
	for _, name := range r.Names() {
		a, err := r.Array(name)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := a.Strings(); err == nil {
			if name == "header" {
				v[0] = strings.Replace(v[0], `"version":6`, `"version":5`, 1)
				if strings.Contains(v[0], "transforms") || !strings.Contains(v[0], `"version":5`) {
					t.Errorf("header %s", v[0])
				}
			}
			w.Strings(name, a.Shape, v)
		} else if v, err := a.Float64s(); err == nil && a.Float() {
			w.Float64s(name, a.Shape, v)
		} else if v, err := a.Ints(); err == nil {
			w.Ints(name, v)
		} else {
			t.Fatal(name, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var old Model
	if err := old.UnmarshalBinary(buf.Bytes()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m, &old) {
		t.Error("the model of an older file is another one")
	}
}

// What is no transform is refused, by New and in files.
func TestTransformErrors(t *testing.T) {
	for want, bad := range map[string][]Transform{
		"a transform is of feature 3: want 0 to 2": {{Feature: 3, Kind: Clipped, Knots: []float64{0, 1}}},
		"of feature -1":                       {{Feature: -1, Kind: Clipped, Knots: []float64{0, 1}}},
		`"clipped" with 1 knots and 0 values`: {{Kind: Clipped, Knots: []float64{0}}},
		`"clipped" with 2 knots and 0 values`: {{Kind: Clipped, Knots: []float64{1, 0}}},
		`"logarithm" with 1 knots`:            {{Kind: Logarithmic, Knots: []float64{0}}},
		`"curve" with 0 knots`:                {{Kind: Curved}},
		`"curve" with 3 knots and 4 values`:   {{Kind: Curved, Knots: []float64{0, 1, 2}, Values: make([]float64, 4)}},
		`"curve" with 3 knots and 3 values`:   {{Kind: Curved, Knots: []float64{0, 1, 1}, Values: []float64{0, 1, 2}}},
		`"curve" with 3 knots and 60 values`:  {{Kind: Curved, Knots: []float64{0, 1, 2}, Values: make([]float64, 60)}},
		`"twist" with 2 knots`:                {{Kind: "twist", Knots: []float64{0, 1}}},
		"follows that of feature 1":           {{Feature: 1, Kind: Clipped, Knots: []float64{0, 1}}, {Feature: 1, Kind: Clipped, Knots: []float64{0, 1}}},
		`array "fill" has 3 entries`:          nil,
	} {
		bent, _, p := transformed(t)
		p.Scaling.Transforms = bad
		if bad == nil {
			p.Schema.Columns = p.Schema.Columns[:2]
			p.Scaling.Transforms = bent.p.Scaling.Transforms[:1]
		}
		_, err := New(p)
		check(t, err, want)
		if bad != nil {
			text, err := json.Marshal(header{Format: format, Version: Version, Scaling: &Scaling{Transforms: bad}})
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			w := npz.NewWriter(&buf)
			w.Strings("header", []int{1}, []string{string(text)})
			for _, name := range []string{"feature", "task", "node_name"} {
				w.Strings(name, []int{3}, []string{"a", "b", "c"})
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			check(t, new(Model).UnmarshalBinary(buf.Bytes()), want)
		}
	}
}
