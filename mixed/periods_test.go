package mixed

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/mat"
)

// periodic returns the table of mixture with seven years in place of its last column, missing in some rows,
// and effects of the years of the given standard deviation. The first task lacks the last year.
func periodic(t testing.TB, seed uint64, tasks int, deviation float64) Input {
	in := mixture(t, seed, tasks)
	d := in.Table.(*Data)
	r := rand.New(rand.NewPCG(seed, 12))
	effects := make([]float64, 7)
	for k := range effects {
		effects[k] = deviation * r.NormFloat64()
	}
	d.Names[3] = "year"
	for i := range d.Rows() {
		year := i % 7
		if d.TaskOf[i] == 0 {
			year = i % 6
		}
		d.Targets[i] += effects[year]
		d.Values[3][i] = float64(2001 + year)
		if r.IntN(20) == 0 {
			d.Values[3][i] = math.NaN()
		}
	}
	return in
}

// The values of a year that all tasks share have effects of their own where rows are then predicted better.
func TestPeriods(t *testing.T) {
	in := periodic(t, 21, 24, 4)
	m, r, err := Fit(t.Context(), in, Options{})
	check.Done(err)
	_, lines, err := Fit(t.Context(), in, Options{NoCurves: true})
	check.Done(err)
	list := m.Parameters().Design.Periods
	if len(list) != 1 || m.Features()[list[0].Feature] != "year" || len(list[0].Values) != 7 ||
		list[0].Values[6] != 2007 {
		t.Fatalf("periods %+v", list)
	}
	ratio := r.Scores[0].Test.RMSE / lines.Scores[0].Test.RMSE
	check.FailIf(t, !(ratio < .7), "the error is %v times the one without", ratio)
	near4 := list[0].Deviation * m.Parameters().Target.Scale
	check.FailIf(t, !(near4 > 1.5 && near4 < 8), "deviation %v, want about 4", near4)
	at := slices.IndexFunc(m.Effects(), func(e Effect) bool { return e.Kind == PeriodEffect })
	if at < 0 || m.Effects()[at].Term != "year" || !(m.Effects()[at].Estimate > 1.5 && m.Effects()[at].Estimate < 8) ||
		m.Effects()[at].Deviation != 0 {
		t.Errorf("effects %+v", m.Effects())
	}
	design := m.Parameters().Design
	for j, c := range design.Columns() {
		check.FailIf(t, c.Kind == PeriodColumn && m.Parameters().Prior.Deviations[j] != 0, "column %d deviates", j)
	}
	refitted, _, err := Fit(t.Context(), in, Options{Refit: true})
	check.Done(err)
	again := refitted.Parameters().Design.Periods
	if len(again) != 1 || again[0].Feature != list[0].Feature || !slices.Equal(again[0].Values, list[0].Values) {
		t.Errorf("periods of all rows %+v", again)
	}
}

// A year without effects, and one that each task has for itself, is no period.
func TestNoPeriod(t *testing.T) {
	none := 0
	for seed := range uint64(6) {
		m, _, err := Fit(t.Context(), periodic(t, 40+seed, 18, 0), Options{})
		check.Done(err)
		none += len(m.Parameters().Design.Periods)
	}
	check.FailIf(t, none > 1, "%d periods in tables without", none)
	in := periodic(t, 21, 24, 4)
	d := in.Table.(*Data)
	for i := range d.Rows() { // of its twelve values a task has three
		d.Values[3][i] = float64(2000 + (d.TaskOf[i]+i%3)%12)
	}
	r := check.OK(newRows(t.Context(), &in, &Options{}))
	design := r.newDesign()
	if list, err := r.periods(t.Context(), &design, nil); err != nil || list != nil {
		t.Errorf("periods %v, %v", list, err)
	}
}

// Several owners have the periods of one table, though no owner has all years.
func TestPeriodsTogether(t *testing.T) {
	in := periodic(t, 22, 24, 4)
	d := in.Table.(*Data)
	d.Levels = make([][]string, 4) // features have the same names at all owners
	for i := range d.Rows() {
		if own := d.TaskOf[i] % 3; d.Values[3][i] == float64(2004+own) {
			d.Values[3][i] = math.NaN()
		}
	}
	one, want, err := Fit(t.Context(), in, Options{})
	check.Done(err)
	check.FailIf(t, len(one.Parameters().Design.Periods) != 1, "no period")
	for _, n := range []int{2, 3, 5} {
		m, r, err := Together(t.Context(), cut(in, n), network("exponential", n), open)
		check.Done(err)
		most := gap(predictions(t, oneNoise(m), in), predictions(t, oneNoise(one), in), one.Parameters().Target.Scale)
		check.FailIf(t, !(most <= 1e-9), "%d owners: predictions differ by %v", n, most)
		check.FailIf(t, math.Abs(r.Scores[0].Test.RMSE-want.Scores[0].Test.RMSE) > 1e-8*want.Scores[0].Test.RMSE,
			"%d owners: other scores", n)
	}
	list := cut(in, 3)
	models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, open, nil)
	check.Done(errors.Join(errs...))
	for g, m := range models {
		p := m.Parameters().Design.Periods
		check.FailIf(t, len(p) != 1 || len(p[0].Values) != 7, "owner %d: periods %+v", g, p)
		unknown := 0
		for _, v := range p[0].Values {
			if math.IsNaN(v) {
				unknown++
			}
		}
		check.FailIf(t, unknown != 1, "owner %d: %d unknown values", g, unknown)
		most := gap(predictions(t, oneNoise(m), list[g]), predictions(t, oneNoise(one), list[g]),
			one.Parameters().Target.Scale)
		check.FailIf(t, !(most <= 1e-9), "owner %d: predictions differ by %v", g, most)
		var file bytes.Buffer
		check.Done(m.Save(&file))
		back := check.OK(Load(bytes.NewReader(file.Bytes()), int64(file.Len())))
		if !slices.Equal(predictions(t, back, list[g]), predictions(t, m, list[g])) {
			t.Errorf("owner %d: a stored model predicts otherwise", g)
		}
	}
}

// An owner with a year in few rows, one that trusts nobody, and one with few rows for the columns vote
// against a period, and say so.
func TestPeriodVotes(t *testing.T) {
	in := periodic(t, 23, 36, 4)
	in.Table.(*Data).Levels = make([][]string, 4)
	for name, c := range map[string]struct {
		rules Disclosure
		say   string
		want  int
	}{
		"enough rows": {Disclosure{LeastRows: 1, LeastLevel: 3, LeastSmall: 1}, "", 1},
		"few rows": {Disclosure{LeastRows: 1, LeastLevel: 12, LeastSmall: Off},
			`values of "year": some values have fewer than 12`, 0},
		"few small": {Disclosure{LeastRows: Off, LeastLevel: Off, LeastSmall: 50}, "", 0},
		"strict":    {Disclosure{LeastRows: Off, LeastLevel: Off, LeastSmall: Off, Strict: true}, "", 0},
		"columns": {Disclosure{LeastRows: 11, LeastLevel: Off, LeastSmall: Off},
			"effects of the values of columns", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, r, err := Together(t.Context(), cut(in, 3), network("path", 3), Options{Disclosure: c.rules})
			if name == "few small" && err != nil { // all tasks are small: nobody takes part
				return
			}
			check.Done(err)
			notes := strings.Join(r.Notes, "\n")
			if n := len(m.Parameters().Design.Periods); n != c.want || !strings.Contains(notes, c.say) {
				t.Errorf("%d periods, want %d:\n%s", n, c.want, notes)
			}
		})
	}
}

// withPeriod returns the parameters of synthetic with a period of the first feature.
func withPeriod() Parameters {
	p := synthetic()
	w := len(p.Mean)
	old, values := p, []float64{40, 50, 60}
	n := w + len(values)
	p.Design.Periods = []Period{{0, values, .7}}
	wide := func(packed []float64, more float64) []float64 {
		from, to := unpack(packed, w), mat.NewDense(n, n, nil)
		for i := range w {
			for j := range w {
				to.Set(i, j, from.At(min(i, j), max(i, j)))
			}
		}
		for k := w; k < n; k++ {
			to.Set(k, k, more)
		}
		return pack(to)
	}
	p.Mean = append(slices.Clone(old.Mean), .5, -.4, .2)
	p.MeanCovariance = wide(old.MeanCovariance, .04)
	p.Effects = nil
	p.Prior.Deviations = append(slices.Clone(old.Prior.Deviations), 0, 0, 0)
	p.Prior.Loadings, p.Tasks.Theta, p.Tasks.Covariances = nil, nil, nil
	for k := range p.Prior.Rank {
		p.Prior.Loadings = append(append(p.Prior.Loadings, old.Prior.Loadings[k*w:][:w]...), 0, 0, 0)
	}
	for k := range p.Tasks.Names {
		p.Tasks.Theta = append(append(p.Tasks.Theta, old.Tasks.Theta[k*w:][:w]...), .5, -.4, .2)
		if old.Tasks.Covariances != nil {
			p.Tasks.Covariances = append(p.Tasks.Covariances,
				Covariance{Packed: wide(old.Tasks.Covariances[k].Packed, .04)})
		}
	}
	return p
}

// The effect of a value is added to predictions; one that is new has the effect 0, and its spread in the
// interval, and so has a missing one.
func TestPredictPeriods(t *testing.T) {
	with, without := check.OK(New(withPeriod())), check.OK(New(synthetic()))
	scale, target := with.p.Target.Scale, &with.p.Target
	for _, c := range []struct {
		x, effect, variance float64
		known               bool
	}{
		{40, .5, .04, true}, {50, -.4, .04, true}, {45, 0, square(.7 * t2), false},
		{math.NaN(), 0, square(.7 * t2), true},
	} {
		x := []float64{c.x, 3, 0, 0, 1, 7}
		got, want := check.OK(with.PredictError("w", x)), check.OK(without.PredictError("w", x))
		if target.Log {
			t.Fatal("the model is of a logarithm")
		}
		near(t, "value", got.Value, want.Value+scale*c.effect)
		near(t, "error", got.StandardError, math.Sqrt(square(want.StandardError)+square(scale)*c.variance))
		near(t, "error of a sample", got.SampleError, math.Sqrt(square(want.SampleError)+square(scale)*c.variance))
		check.FailIf(t, got.Known != (want.Known && c.known), "at %v: known %v", c.x, got.Known)
		_, known, err := with.Predict("w", x)
		check.Done(err)
		check.FailIf(t, known != got.Known, "at %v: known %v", c.x, known)
	}
}

// Adapt learns rows at known values exactly; the effect of a new value is noise of its rows.
func TestAdaptPeriods(t *testing.T) {
	p := withPeriod()
	m := check.OK(New(p))
	l := drawRows(m, 8, "new")
	for i := range l.y {
		l.weights = append(l.weights, 1)
		l.x[i][0] = []float64{40, 50, 60, 45}[i%4]
	}
	prior := m.prior(-1, false)
	n := len(p.Mean)
	c := unpack(prior.packed, n)
	mean := mat.NewVecDense(n, slices.Clone(prior.theta))
	z, y, noise := mat.NewDense(8, n, nil), mat.NewVecDense(8, nil), mat.NewSymDense(8, nil)
	row := make([]float64, n)
	for i := range 8 {
		p.Design.Apply(row, l.x[i])
		z.SetRow(i, row)
		y.SetVec(i, p.Target.Standardize(l.y[i]))
		v := p.Prior.Noise.Variance
		if i%4 == 3 {
			v += square(.7 * t2)
		}
		noise.SetSym(i, i, v)
	}
	var zc, v, residual, gain mat.Dense
	zc.Mul(z, c)
	v.Mul(&zc, z.T())
	v.Add(&v, noise)
	residual.Mul(z, mean)
	residual.Sub(y, &residual)
	var solved mat.Dense
	check.Done(solved.Solve(&v, &residual))
	gain.Mul(zc.T(), &solved)
	got := check.OK(m.Adapt(t.Context(), l))
	theta := got.theta(got.index["new"])
	for i := range n {
		near(t, "coefficient", theta[i], mean.AtVec(i)+gain.At(i, 0))
	}
}

// A model refuses periods that are none.
func TestPeriodRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *Period)
		want   string
	}{
		"feature":   {func(p *Period) { p.Feature = 9 }, "period 0: it is of feature 9"},
		"twice":     {func(p *Period) { p.Values = []float64{40, 50, 40} }, "value 2 is 40"},
		"infinite":  {func(p *Period) { p.Values = []float64{40, math.Inf(1), 60} }, "value 1 is +Inf"},
		"deviation": {func(p *Period) { p.Deviation = -1 }, "the deviation is -1"},
		"missing":   {func(p *Period) { p.Values = p.Values[:2] }, `"mean" has 12 entries: 11 are required`},
		"none":      {func(p *Period) { p.Values = nil }, "it has 0 values"},
	} {
		t.Run(name, func(t *testing.T) {
			p := withPeriod()
			c.change(&p.Design.Periods[0])
			_, err := New(p)
			check.FailIf(t, err == nil || !strings.Contains(err.Error(), c.want),
				"the error is %v, want %q", err, c.want)
		})
	}
}
