package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"gonum.org/v1/gonum/mat"
)

// What a model says of a task without rows is, by dense algebra, the distribution of z'(mean + deviation) by its prior; and what
// Adapt would say of it with a row that says nothing.
func TestNewTask(t *testing.T) {
	p := testParameters(t)
	p.Prior.Uncertainty = nil
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	prior := mat.NewDense(5, 5, nil)
	l := mat.NewDense(2, 5, p.Prior.Loadings)
	prior.Mul(l.T(), l)
	prior.Add(prior, mat.NewDense(5, 5, p.Prior.MeanCovariance))
	for j := range 4 {
		prior.Set(j, j, prior.At(j, j)+p.Prior.Spread*p.Prior.Slopes[j])
	}
	prior.Set(4, 4, prior.At(4, 4)+p.Prior.Intercept)
	r := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		z := append(append([]float64{}, x...), 0)
		p.Scaling.Apply(z)
		v := mat.NewVecDense(5, z)
		got, err := m.PredictAnyError("nobody", x)
		if err != nil || got.Known {
			t.Fatal(got, err)
		}
		e := 4 * math.Sqrt(0.3*mat.Inner(v, prior, v))
		checkClose(t, "prediction", []float64{got.Y, got.StandardError, got.SampleError},
			[]float64{7 + 4*mat.Dot(v, mat.NewVecDense(5, p.Mean)), e, math.Hypot(e, 4*math.Sqrt(0.3))})
		y, known, err := m.PredictAny("nobody", x)
		if y != got.Y || known || err != nil {
			t.Errorf("%v, %v, %v: want %v", y, known, err, got.Y)
		}
		// Of a known task all is as ever.
		y, e, _ = m.PredictError("3", x)
		if got, err := m.PredictAnyError("3", x); err != nil || !got.Known || got.Y != y || got.StandardError != e {
			t.Errorf("task 3: %v, %v: want %v and %v", got, err, y, e)
		}
	}
	for want, x := range map[string][]float64{"x has 3 features": {1, 2, 3}, "feature 1 is +Inf": {1, math.Inf(1), 0, 0}} {
		_, _, err := m.PredictAny("nobody", x)
		check(t, err, want)
		_, err = m.PredictAnyError("nobody", x)
		check(t, err, want)
	}
	x := make([]float64, 4)
	if n := testing.AllocsPerRun(100, func() { _, _, _ = m.PredictAny("nobody", x) }); n != 0 {
		t.Errorf("PredictAny allocates %v times", n)
	}
}

// Strengths that are badly known make intervals of new tasks wider: 95 % of Student's t lie within Interval95, and of a variance that is estimated from n
// values, 2/n is the relative variance.
func TestNewTaskOfFewTasks(t *testing.T) {
	p := testParameters(t)
	p.Prior.Rank, p.Prior.Loadings, p.Prior.Spread = 0, nil, 0
	p.Prior.MeanCovariance = make([]float64, 25)
	error := func(u float64) float64 {
		p.Prior.Uncertainty = nil
		if u > 0 {
			p.Prior.Uncertainty = mat.NewSymDense(2, []float64{u, 0, 0, u})
		}
		m, err := New(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.PredictAnyError("nobody", []float64{1, 2, 3, 4})
		if err != nil {
			t.Fatal(err)
		}
		return got.StandardError
	}
	known := error(0)
	checkClose(t, "width", []float64{known, error(2. / 10), error(2. / 3)},
		[]float64{4 * math.Sqrt(0.3*0.7), known * 2.2281388519649385 / 1.959963984540054, known * 3.182446305284263 / 1.959963984540054})
}

// A level that is not known is one without effect, and its width is that of the effects of the known ones: of four levels with effects that are
// known exactly, their root mean square, by t of three degrees of freedom.
func TestNewLevel(t *testing.T) {
	p := testParameters(t)
	p.Schema = schema.Schema{Columns: []string{"f"}, Categories: []schema.Category{{Column: "f", Levels: []string{"a", "b", "c", "d"}}}}
	clear(p.Covariance)
	m, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	none := make([]float64, 4)
	y, _, err := m.PredictError("3", none)
	if err != nil {
		t.Fatal(err)
	}
	squares := 0.0
	for j := range none {
		x := make([]float64, 4)
		x[j] = 1
		of, known, err := m.PredictAny("3", x)
		if err != nil || !known {
			t.Fatal(known, err)
		}
		squares += (of - y) * (of - y) / 4
	}
	got, err := m.PredictAnyError("3", none)
	if err != nil || got.Known {
		t.Fatal(got, err)
	}
	checkClose(t, "new level", []float64{got.Y, got.StandardError}, []float64{y, math.Sqrt(squares) * 3.182446305284263 / 1.959963984540054})
	if got, err := m.PredictAnyError("nobody", none); err != nil || !(got.StandardError > math.Sqrt(squares)) || got.Known {
		t.Errorf("new level of a new task: %v, %v", got, err)
	}
	missing := []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	m.FillMissing(missing)
	if _, known, err := m.PredictAny("3", missing); err != nil || !known {
		t.Errorf("a missing value is taken for a new level: %v", err)
	}
}
