package model

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"gonum.org/v1/gonum/mat"
)

// New refuses parameters of which one array has another length, or a number is none, or makes a model of them that can be used, saved and
// loaded; it panics at none.
func TestNewOfAnything(t *testing.T) {
	whole := func() Parameters {
		p := testParameters(t)
		p.Schema = schema.Schema{Columns: []string{"f0", "site", "f3"}, Categories: []schema.Category{{Column: "site", Levels: []string{"p", "q"}}}}
		p.Scaling.Least, p.Scaling.Most = []float64{-3, 0, 0, -2}, []float64{3, 1, 1, 4}
		p.Scaling.Transforms = []Transform{{Feature: 0, Kind: Clipped, Knots: []float64{-1, 2}}, NewCurve(LogCurved, 3, []float64{1, 2, 4}, []float64{1, 0, 2})}
		p.Scaling.Center, p.Scaling.Scale = append(p.Scaling.Center, 0), append(p.Scaling.Scale, 1)
		p.Mean, p.Theta = make([]float64, 6), make([]float64, 6*len(p.Tasks))
		p.Prior.Loadings, p.Prior.Slopes, p.Prior.SlopesFreedom = make([]float64, 12), []float64{1, 2, 3, 4, 5}, []float64{9, 9, 9, 9, 9}
		p.Prior.MeanCovariance, p.Covariance = make([]float64, 36), make([]float64, 21*len(p.Tasks))
		p.Prior.Uncertainty = mat.NewSymDense(14, nil)
		p.Noise, p.Freedom = make([]float64, len(p.Tasks)), make([]float64, len(p.Tasks))
		return p
	}
	p := whole()
	if _, err := New(p); err != nil {
		t.Fatal(err)
	}
	eachField("p", reflect.ValueOf(&p).Elem(), func(name string, at []int) {
		for change, apply := range changes {
			p := whole()
			apply(follow(reflect.ValueOf(&p).Elem(), at))
			t.Run(name+" "+change, func(t *testing.T) {
				m, err := New(p)
				if err == nil {
					use(t, m)
				} else if err.Error() == "" {
					t.Error("an error without words")
				}
			})
		}
	})
}

// changes are what a slice or a number of parameters is changed to.
var changes = map[string]func(v reflect.Value){
	"none": func(v reflect.Value) { v.SetZero() }, "NaN": set(math.NaN()), "Inf": set(math.Inf(1)), "less": set(-7),
	"empty": resize(0, 0), "shorter": resize(1, -1), "longer": resize(1, 1), "twice": resize(2, 0),
}

// resize returns what makes slices times and more as long, never shorter than 0.
func resize(times, more int) func(v reflect.Value) {
	return func(v reflect.Value) {
		if v.Kind() == reflect.Slice {
			longer := reflect.MakeSlice(v.Type(), max(times*v.Len()+more, 0), max(times*v.Len()+more, 0))
			reflect.Copy(longer, v)
			v.Set(longer)
		}
	}
}

// set returns what sets numbers, or all of a slice.
func set(to float64) func(v reflect.Value) {
	return func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Float64:
			v.SetFloat(to)
		case reflect.Int:
			v.SetInt(-7)
		case reflect.Slice:
			resize(1, 0)(v)
			for i := range v.Len() {
				set(to)(v.Index(i))
			}
		}
	}
}

// eachField calls f with the exported slices and numbers within a value, and the ways to them: fields and entries.
func eachField(name string, v reflect.Value, f func(name string, at []int)) {
	var visit func(name string, v reflect.Value, at []int)
	visit = func(name string, v reflect.Value, at []int) {
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if field := v.Type().Field(i); field.IsExported() {
					visit(name+"."+field.Name, v.Field(i), append(at[:len(at):len(at)], i))
				}
			}
		case reflect.Float64, reflect.Int:
			f(name, at)
		case reflect.Slice:
			f(name, at)
			for i := range min(v.Len(), 3) {
				visit(fmt.Sprintf("%s[%d]", name, i), v.Index(i), append(at[:len(at):len(at)], i))
			}
		}
	}
	visit(name, v, nil)
}

// follow goes the way that eachField has gone.
func follow(v reflect.Value, at []int) reflect.Value {
	for _, i := range at {
		if v.Kind() == reflect.Struct {
			v = v.Field(i)
		} else {
			v = v.Index(i)
		}
	}
	return v
}

// use asks a model everything.
func use(t *testing.T, m *Model) {
	x := make([]float64, len(m.Features()))
	for _, task := range append([]string{"nobody"}, m.Tasks()...) {
		_, _ = m.PredictAnyError(task, x)
		_, _, _ = m.Coefficients(task)
		_, _ = m.TaskNoise(task)
	}
	m.Loadings()
	m.Spread()
	m.Effects()
	m.Beyond(x)
	m.ScaledFeatures()
	rows := newRows(m)
	rows.tasks = []string{"a new one"}
	for i := range 4 {
		rows.x, rows.y, rows.task = append(rows.x, x), append(rows.y, float64(i)), append(rows.task, 0)
	}
	_, _ = m.Adapt(rows)
	data, err := m.MarshalBinary()
	if err == nil {
		err = new(Model).UnmarshalBinary(data)
	}
	if err != nil {
		t.Errorf("a model that New has made: %v", err)
	}
}
