package mixed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// Under the same strengths a design on axes has the evidence of the design on features, the coefficients of
// every task, and the variance of a prediction in any direction.
func TestAxesAreFeatures(t *testing.T) {
	const f = 30
	table := drawing{tasks: 4, rows: 4, features: f, levels: 1, slopes: .3, noise: .5}.table(t, 3)
	table.Weighting = make([]float64, table.Rows())
	for i := range table.Weighting {
		table.Weighting[i] = 1 + float64(i%3)
	}
	full := statsOf(t, table, false, 1)
	r, design := full.rows, *full.design
	x := check.OK(r.standardised(t.Context(), &design))
	design.Axes = check.OK(axes(t.Context(), x, table.Rows(), f))
	if got := design.axes(); got != table.Rows()-1 { // standardised columns have the mean 0
		t.Fatalf("%d axes of %d rows", got, table.Rows())
	}
	wide := check.OK(newStats(t.Context(), r, &design, 1))
	a := design.length()
	toFeatures := func(v []float64) []float64 {
		out := make([]float64, 1+f)
		out[0] = v[0]
		for k := range design.axes() {
			floats.AddScaled(out[1:], v[1+k], design.Axes[k*f:][:f])
		}
		return out
	}
	q, o := full.start(), wide.start()
	q.sigma[linearGroup], q.tau[0], q.rank, o.rank = .2, .3, 1, 1
	o.sigma[linearGroup], o.tau[0] = .2/a, .3/a
	for k := range wide.linear {
		o.w = append(o.w, .1*float64(k%4))
	}
	o.w[design.distance()] = 0
	q.w = toFeatures(o.w)
	want, _, err := full.evaluate(t.Context(), q)
	check.Done(err)
	got, _, err := wide.evaluate(t.Context(), o)
	check.Done(err)
	near(t, "evidence", got.evidence, want.evidence)
	row := make([]float64, f)
	for j := range row {
		row[j] = math.Sin(float64(j * j)) // not in the span
	}
	z, y := make([]float64, full.p), make([]float64, wide.p)
	full.design.Apply(z, row)
	design.Apply(y, row)
	for k := range table.Tasks() {
		theta, cov := make([]float64, full.p), make([]float64, full.p*full.p)
		check.Done(full.coefficients(t.Context(), want, k, theta, cov))
		along, spread := make([]float64, wide.p), make([]float64, wide.p*wide.p)
		check.Done(wide.coefficients(t.Context(), got, k, along, spread))
		for j, v := range toFeatures(along) {
			near(t, "coefficient", v, theta[j])
		}
		v, w := quadratic(dense.Pack(nil, wide.p, spread), y), quadratic(dense.Pack(nil, full.p, cov), z)
		check.FailIf(t, math.Abs(v-w) > 1e-7*w, "variance %v, want %v", v, w) // the distance has half of the digits
	}
}

// wideTable draws a table with more features than rows, in which ten directions matter.
func wideTable(rows, features int) *Data {
	rng := rand.New(rand.NewPCG(7, 8))
	d := &Data{Values: make([][]float64, features)}
	loads := make([]float64, 10*features)
	for i := range loads {
		loads[i] = rng.NormFloat64()
	}
	for j := range features {
		d.Names = append(d.Names, fmt.Sprint("gene", j))
	}
	levels := []float64{-1, 0, 1, 2}
	for k := range levels {
		d.TaskNames = append(d.TaskNames, fmt.Sprint("t", k))
	}
	for i := range rows {
		score := make([]float64, 10)
		for a := range score {
			score[a] = rng.NormFloat64()
		}
		for j := range features {
			d.Values[j] = append(d.Values[j], .5*floats.Dot(score, loads[10*j:][:10])+rng.NormFloat64())
		}
		d.TaskOf = append(d.TaskOf, i%len(levels))
		d.Targets = append(d.Targets, levels[i%len(levels)]+2*score[0]-score[1]+.3*rng.NormFloat64())
	}
	return d
}

// A table of thousands of features and few rows is fitted in the span of its rows, in little memory, and no
// order of rows or features changes a prediction.
func TestMoreFeaturesThanRows(t *testing.T) {
	d := wideTable(40, 3000)
	held := make([]bool, d.Rows())
	for i := range 8 {
		held[5*i] = true
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, report := fitted(t, d, Options{Workers: 1}, held...)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 400<<20 {
		t.Errorf("the fit of %d numbers allocates %d MB in all", d.Rows()*len(d.Names), used>>20)
	}
	if p := m.Parameters(); p.Design.axes() != 31 || len(m.Effects()) != 3001 {
		t.Errorf("%d axes, %d effects", p.Design.axes(), len(m.Effects()))
	}
	if !slices.ContainsFunc(report.Notes,
		func(s string) bool { return strings.Contains(s, "3000 columns for 32 training rows") }) {
		t.Errorf("no note about columns: %q", report.Notes)
	}
	if ours, mean := report.Scores[0].Test.RMSE, report.Scores[len(report.Scores)-1].Test.RMSE; !(ours < .7*mean) {
		t.Errorf("held-out error %v, of %q %v", ours, report.Scores[len(report.Scores)-1].Method, mean)
	}
	other := &Data{TaskNames: d.TaskNames}
	features := rand.New(rand.NewPCG(1, 1)).Perm(len(d.Names))
	rows := rand.New(rand.NewPCG(2, 2)).Perm(d.Rows())
	for _, j := range features {
		var column []float64
		for _, i := range rows {
			column = append(column, d.Values[j][i])
		}
		other.Names, other.Values = append(other.Names, d.Names[j]), append(other.Values, column)
	}
	heldOther := make([]bool, len(held))
	for at, i := range rows {
		other.TaskOf, other.Targets = append(other.TaskOf, d.TaskOf[i]), append(other.Targets, d.Targets[i])
		heldOther[at] = held[i]
	}
	again, _ := fitted(t, other, Options{}, heldOther...)
	x := make([]float64, len(d.Names))
	for at, i := range rows {
		a := check.OK(m.PredictError(d.TaskNames[d.TaskOf[i]], d.X(x, i)))
		b := check.OK(again.PredictError(d.TaskNames[d.TaskOf[i]], other.X(x, at)))
		if math.Abs(a.Value-b.Value) > 1e-3 || math.Abs(a.SampleError/b.SampleError-1) > 1e-3 {
			t.Errorf("row %d: %+v in one order, %+v in another", i, a, b)
		}
	}
}

// A table beyond the limits is refused before it is fitted.
func TestTooManyFeatures(t *testing.T) {
	d := &Data{TaskNames: []string{"a", "b"}}
	column := make([]float64, mostColumns+1)
	for i := range column {
		column[i] = math.Sin(float64(i))
		d.TaskOf = append(d.TaskOf, i%2)
	}
	d.Targets = slices.Clone(column)
	for j := range mostColumns + 1 {
		d.Names, d.Values = append(d.Names, fmt.Sprint(j)), append(d.Values, column)
	}
	_, _, err := Fit(t.Context(), Input{Table: d}, Options{})
	check.Error(t, err, "the table has 1001 features", "1001 training rows",
		"at most 1000 features, or at most 1000 rows", "leave features out")
}

// A table of constant features alone is refused where there are too many for a design of features, and fitted
// otherwise: a design has X'X of its columns.
func TestConstantFeatures(t *testing.T) {
	for _, features := range []int{widest + 1, mostColumns + 1} {
		d := &Data{TaskNames: []string{"a", "b"}, TaskOf: []int{0, 0, 1, 1}, Targets: []float64{1, 2, 3, 5}}
		for j := range features {
			d.Names, d.Values = append(d.Names, fmt.Sprint(j)), append(d.Values, []float64{7, 7, 7, 7})
		}
		_, _, err := Fit(t.Context(), Input{Table: d}, Options{})
		if features > mostColumns {
			check.Error(t, err, "none of the 1001 features varies in the training rows: leave features out")
		} else if err != nil {
			t.Errorf("%d features: %v", features, err)
		}
	}
}

// A fit on axes ends with the error of its context at every stage.
func TestCanceledOnAxes(t *testing.T) {
	table := wideTable(12, 400)
	started := func(looks int64) (*countdown, error) {
		ctx := &countdown{Context: t.Context()}
		ctx.left.Store(looks)
		_, _, err := Fit(ctx, Input{Table: table}, Options{Workers: 1})
		return ctx, err
	}
	ctx, err := started(math.MaxInt64)
	check.Done(err)
	looks := math.MaxInt64 - ctx.left.Load()
	for i := range int64(15) {
		left := i * looks / 15
		if _, err := started(left); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that ends after %d of %d looks: error %v", left, looks, err)
		}
	}
}
