package model

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
)

// logModels returns two models of the same parameters, of the target and of its logarithm.
func logModels(t *testing.T) (linear, log *Model) {
	t.Helper()
	_, p := alternatives(t)
	p.Scaling.Target, p.Scaling.TargetScale = 0.7, 0.25
	models := make([]*Model, 2)
	for i := range models {
		p.Scaling.LogTarget = i == 1
		var err error
		if models[i], err = New(p); err != nil {
			t.Fatal(err)
		}
	}
	return models[0], models[1]
}

// A model of the logarithm predicts the exponential of what one of the target predicts, and 95 of 100 targets lie within 1.96 standard errors of that, as they
// lie within those of the logarithm.
func TestLogTarget(t *testing.T) {
	linear, log := logModels(t)
	r := rand.New(rand.NewPCG(3, 5))
	for _, task := range []string{"3", "nobody"} {
		x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		want, err := linear.PredictAnyError(task, x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := log.PredictAnyError(task, x)
		if err != nil {
			t.Fatal(err)
		}
		checkClose(t, "prediction", []float64{got.Y}, []float64{math.Exp(want.Y)})
		for _, e := range [][2]float64{{want.StandardError, got.StandardError}, {want.SampleError, got.SampleError}} {
			within, n := 0.0, 200000.0
			for range int(n) {
				if y := math.Exp(want.Y + e[0]*r.NormFloat64()); math.Abs(y-got.Y) <= mixedmodel.Normal95*e[1] {
					within++
				}
			}
			if math.Abs(within/n-0.95) > 0.002 {
				t.Errorf("task %s: %.4f within 1.96 standard errors of %.3g", task, within/n, e[1]/got.Y)
			}
		}
	}
	y, e, err := log.PredictError("3", make([]float64, 4))
	both, _ := log.PredictAnyError("3", make([]float64, 4))
	if err != nil || y != both.Y || e != both.StandardError {
		t.Errorf("%v ± %v, %v: want %+v", y, e, err, both)
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = log.PredictError("3", make([]float64, 4)) }); n != 0 {
		t.Errorf("PredictError allocates %v times", n)
	}
}

// Relative errors are those of small deviations, and stay numbers of large ones.
func TestRelativeError(t *testing.T) {
	for _, s := range []float64{1e-12, 1e-6, 1e-3} {
		if got := relativeError(s); math.Abs(got/s-1) > s+1e-9 {
			t.Errorf("%v for a deviation of %v", got, s)
		}
	}
	// From where no target is as far below as above, 95 in 100 are below.
	checkClose(t, "a deviation of 2", []float64{relativeError(2)}, []float64{math.Expm1(2*1.6448536269514722) / mixedmodel.Normal95})
	if got := relativeError(0); got != 0 {
		t.Errorf("%v for a deviation of 0", got)
	}
	if !math.IsNaN(relativeError(math.NaN())) || !math.IsInf(relativeError(1000), 1) {
		t.Error("what is not known, or beyond all numbers, has an error")
	}
}

// A new task of the logarithm is one of the logarithms of its targets; what has none is refused.
func TestLogTargetAdapts(t *testing.T) {
	linear, log := logModels(t)
	rows := newRows(linear)
	rows.add(rand.New(rand.NewPCG(1, 1)), "new", 7, []float64{0.1, -0.2, 0.3, 0.1}, 0.5, 0.1)
	want, err := linear.Adapt(rows)
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range rows.y {
		rows.y[i] = math.Exp(y)
	}
	got, err := log.Adapt(rows)
	if err != nil {
		t.Fatal(err)
	}
	checkClose(t, "coefficients", got.Parameters().Theta, want.Parameters().Theta)
	for _, y := range []float64{0, -1} {
		rows.y[4] = y
		_, err = log.Adapt(rows)
		check(t, err, `task "new", row 4 of the table: its target is `)
		check(t, err, "want more than 0")
	}
}

// Files of the logarithm have a version that older programs refuse, which would predict the logarithm for the target.
func TestFileOfLogTarget(t *testing.T) {
	_, log := logModels(t)
	data, err := log.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := new(Model)
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	p := again.Parameters()
	if twice, err := again.MarshalBinary(); err != nil || !bytes.Equal(twice, data) || !p.Scaling.LogTarget || p.Version() != 8 {
		t.Errorf("version %d, logarithm %v, %v: a file gives another model", p.Version(), p.Scaling.LogTarget, err)
	}
	if got := again.Unit(); got != "logarithm of the target" {
		t.Errorf("the unit is the %s", got)
	}
}

// However far features are, a prediction stays a number above 0.
func TestLogTargetStaysInRange(t *testing.T) {
	_, log := logModels(t)
	for _, v := range []float64{1e3, -1e3, 1e100, -1e100} {
		y, err := log.Predict("3", []float64{v, v, v, v})
		if s := log.Parameters().Scaling; err != nil || !(math.Abs(math.Log(y)-s.Target) <= farthestLog*s.TargetScale+1e-9) {
			t.Errorf("%v, %v", y, err)
		}
	}
	_, err := log.Predict("3", []float64{0, math.Inf(1), 0, 0})
	check(t, err, "feature 1 is +Inf")
}
