package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// The values of the curve are those of SciPy's CubicSpline with bc_type="natural".
func TestDesignApply(t *testing.T) {
	d := Design{
		Fill: []float64{.2, 5, 1}, Center: []float64{1, 3, 8}, Scale: []float64{2, .5, 0},
		Curves: []Curve{NewCurve(0, []float64{-2, -.5, 1, 4}, []float64{1, -2, .5, 3, 0, 1, 0, -1})},
	}
	if d.Width() != 6 {
		t.Fatalf("width is %d, want 6", d.Width())
	}
	for _, c := range []struct {
		name       string
		x, u, v, w float64 // feature, its column, and the two of the curve
	}{
		{"before the first knot", -3, -2, 1, 0},
		{"first knot", -2, -1.5, 1, 0},
		{"first piece", -1.1, -1.05, -1.37182608695652, 0.808695652173913},
		{"inner knot", -.5, -.75, -2, 1},
		{"second piece", .2, -.4, -1.23498228663446, 0.677256038647343},
		{"last piece", 3.3, 1.15, 2.81955555555556, -0.920148148148148},
		{"after the last knot", 9, 4, 3, -1},
		{"missing", math.NaN(), -.4, -1.23498228663446, 0.677256038647343},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make([]float64, 6)
			d.Apply(got, []float64{c.x, 4, 2})
			for j, want := range []float64{1, c.u, 2, 0, c.v, c.w} {
				near(t, "column", got[j], want)
			}
		})
	}
	var kinds []ColumnKind
	for _, c := range d.Columns() {
		kinds = append(kinds, c.Kind)
	}
	if !slices.Equal(kinds, []ColumnKind{Constant, Linear, Linear, Linear, Bend, Bend}) {
		t.Errorf("kinds are %v", kinds)
	}
}

// TestPredict compares predictions with the scaled coefficients times the columns of the design.
func TestPredict(t *testing.T) {
	for _, log := range []bool{false, true} {
		p := synthetic()
		p.Target.Log, p.Prior.Freedom, p.Prior.Noise.Freedom = log, 3, 4
		if log {
			p.Target.Center, p.Target.Scale = 1, .2
		}
		m := mustNew(t, p)
		x := []float64{44, 2.2, 0, 1, 0, 7}
		z := make([]float64, 9)
		p.Design.Apply(z, x)
		column := mat.NewVecDense(9, z)
		unseen := mat.NewDense(9, 9, nil)
		unseen.Scale(square(3.182446305284263/1.959963984540054), spread(&p.Prior)) // t(3) over normal
		unseen.Add(unseen, unpack(p.MeanCovariance, 9))
		noise := .3 * square(2.7764451051977987/1.959963984540054) // t(4) over normal
		for _, c := range []struct {
			task  string
			theta []float64
			cov   mat.Matrix
		}{
			{"e", p.Tasks.Theta[18:27], unpack(p.Tasks.Covariance(2), 9)},
			{"new", p.Mean, unseen},
		} {
			y := p.Target.Center + p.Target.Scale*mat.Dot(mat.NewVecDense(9, c.theta), column)
			v := mat.Inner(column, c.cov, column)
			se, sample := p.Target.Scale*math.Sqrt(v), p.Target.Scale*math.Sqrt(v+noise)
			got, err := m.PredictError(c.task, x)
			if err != nil {
				t.Fatal(err)
			}
			if got.Known != (c.task == "e") {
				t.Errorf("task %q: known is %v", c.task, got.Known)
			}
			if !log {
				near(t, "value", got.Value, y)
				near(t, "standard error", got.StandardError, se)
				near(t, "error of a sample", got.SampleError, sample)
			} else {
				near(t, "median", got.Value, math.Exp(y))
				near(t, "probability", lognormal(got.Value, se, got.StandardError), .95)
				near(t, "probability of a sample", lognormal(got.Value, sample, got.SampleError), .95)
			}
			value, known, err := m.Predict(c.task, x)
			if value != got.Value || known != got.Known || err != nil {
				t.Errorf("Predict returns %v, %v, %v: want %v", value, known, err, got.Value)
			}
		}
	}
}

// lognormal returns the probability that y exp(s Z) is within 1.96 e of y, from a sum over the density.
func lognormal(y, s, e float64) (sum float64) {
	const n = 400000
	for i := range n {
		z := -10 + 20*(float64(i)+.5)/n
		if math.Abs(y*math.Exp(s*z)-y) <= 1.959963984540054*e {
			sum += distuv.UnitNormal.Prob(z) * 20 / n
		}
	}
	return math.Round(sum*1e4) / 1e4
}

// Rounding may leave a covariance with a negative variance along a row.
func TestNegativeVariance(t *testing.T) {
	p := Parameters{
		Target: Target{Scale: 1}, Mean: []float64{0, 0}, MeanCovariance: make([]float64, 3),
		Design: Design{Fill: []float64{0}, Center: []float64{0}, Scale: []float64{1}},
		Prior:  Prior{Deviations: []float64{0, 0}, Noise: Noise{Variance: 4}},
		Tasks:  Tasks{Names: []string{"t"}, Samples: []int{1}, Theta: []float64{0, 0}, Covariance: func(int) []float64 { return []float64{1, 2, 1} }},
	}
	p.Schema.Columns = []string{"x"}
	got, err := mustNew(t, p).PredictError("t", []float64{-1})
	if err != nil || got.StandardError != 0 || got.SampleError != 2 {
		t.Errorf("errors are %v and %v (%v): want 0 and 2", got.StandardError, got.SampleError, err)
	}
}

// An unseen level has the effect 0 and the variance of the effects of known levels.
func TestUnseenLevel(t *testing.T) {
	p := synthetic()
	m := mustNew(t, p)
	x := []float64{44, 2.2, 0, 0, 0, 7}
	got, err := m.PredictError("n", x)
	if err != nil || got.Known {
		t.Fatalf("known is %v, the error %v", got.Known, err)
	}
	z := make([]float64, 9)
	p.Design.Apply(z, x)
	column, cov := mat.NewVecDense(9, z), unpack(p.Tasks.Covariance(0), 9)
	sum := 0.0
	for j := 3; j <= 5; j++ {
		sum += (square(p.Tasks.Theta[j]) + cov.At(j, j)) / square(p.Design.Scale[j-1]) / 3
	}
	sum *= square(4.302652729911275 / 1.959963984540054) // t(2) over normal
	near(t, "standard error", got.StandardError, 3*math.Sqrt(mat.Inner(column, cov, column)+sum))
}

func TestPredictRefuses(t *testing.T) {
	m := mustNew(t, synthetic())
	for _, c := range []struct {
		name, want string
		x          []float64
	}{
		{"length", "the row has 1 features, the model 6", []float64{1}},
		{"infinite", `feature "dose" is -Inf`, []float64{1, math.Inf(-1), 1, 0, 0, 7}},
		{"overflow", "overflows", []float64{1, math.MaxFloat64, 1, 0, 0, 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := m.Predict("n", c.x); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// Without covariances known tasks have the errors of unseen ones.
func TestNoCovariances(t *testing.T) {
	p := synthetic()
	x := []float64{44, 2.2, 0, 1, 0, 7}
	with, _ := mustNew(t, p).PredictError("s", x)
	p.Tasks.Covariance = nil
	m := mustNew(t, p)
	known, _ := m.PredictError("s", x)
	unseen, _ := m.PredictError("new", x)
	if m.KeepsIntervals() || known.StandardError != unseen.StandardError || known.Value != with.Value {
		t.Errorf("without covariances: %v, unseen: %v", known, unseen)
	}
}

// A task that had no training rows is an unseen one.
func TestTaskWithoutRows(t *testing.T) {
	p := synthetic()
	p.Tasks.Samples[1] = 0
	m := mustNew(t, p)
	x := []float64{44, 2.2, 0, 1, 0, 7}
	got, _ := m.PredictError("s", x)
	if want, _ := m.PredictError("new", x); got != want || m.Knows("s") {
		t.Errorf("prediction is %v, want %v", got, want)
	}
}

func TestTaskNoise(t *testing.T) {
	p := synthetic()
	p.Prior.Noise.TaskFreedom = 5
	p.Tasks.Noise, p.Tasks.Freedom = []float64{.1, .2, .3, .4}, []float64{10, 10, 10, 10}
	m := mustNew(t, p)
	for task, want := range map[string]float64{"s": .2 * square(2.228138851964939/1.959963984540054), "new": .3 * square(2.570581835636314/1.959963984540054)} {
		got, err := m.PredictError(task, []float64{44, 2.2, 0, 1, 0, 7})
		if err != nil {
			t.Fatal(err)
		}
		near(t, task, square(got.SampleError)-square(got.StandardError), 9*want)
	}
}

// The exponential of a far extrapolation is limited to 8 standard deviations of the logarithm.
func TestRestore(t *testing.T) {
	s := Target{Center: 1, Scale: .5, Log: true}
	near(t, "high", s.Restore(20), math.Exp(5))
	near(t, "low", s.Restore(-20), math.Exp(-3))
	near(t, "restored", s.Restore(s.Standardize(3)), 3)
}

func TestPredictAllocatesNothing(t *testing.T) {
	m := mustNew(t, synthetic())
	x := []float64{44, 2.2, 0, 1, 0, 7}
	if n := testing.AllocsPerRun(10, func() { m.Predict("n", x); m.PredictError("n", x) }); n != 0 {
		t.Errorf("predictions allocate %v times", n)
	}
}
