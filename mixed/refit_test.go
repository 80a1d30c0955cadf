package mixed

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// The fit to all rows has the form of the judged model, and predicts as a fit that compares no forms and
// starts from nothing: both reach the same optimum. What the held-out rows have judged stays in the report.
func TestRefitIsFitOfAllRows(t *testing.T) {
	flat := []float64{5, -1, 1}
	for name, table := range map[string]*Data{
		"levels":     drawing{tasks: 20, rows: 24, features: 3, mean: flat, levels: 2, noise: 1}.table(t, 1),
		"directions": drawing{tasks: 40, rows: 20, features: 6, rank: 2, length: 2, noise: 1}.table(t, 2),
		"curve": drawing{tasks: 30, rows: 24, features: 2, levels: 1, noise: .5,
			curve: func(x float64) float64 { return x * x }}.table(t, 3),
		"uneven": drawing{tasks: 200, rows: 10, features: 3, levels: 1, noise: 1, uneven: 4, mean: flat}.table(t, 3),
		"alike":  spreading(t, 1),
		"wide":   wideTable(40, 400),
	} {
		t.Run(name, func(t *testing.T) {
			held := holdOut(table)
			judged, want := fitted(t, table, Options{}, held...)
			m, got := fitted(t, table, Options{Refit: true}, held...)
			form, p := judged.Parameters(), m.Parameters()
			if p.Prior.Rank != form.Prior.Rank || (len(p.Design.Curves) > 0) != (len(form.Design.Curves) > 0) {
				t.Errorf("rank %d with %d curves, judged %d with %d",
					p.Prior.Rank, len(p.Design.Curves), form.Prior.Rank, len(form.Design.Curves))
			}
			check.FailIf(t, got.Verdict.Text != want.Verdict.Text,
				"the verdict is %+v, before %+v", got.Verdict, want.Verdict)
			check.FailIf(t, !got.Converged, "not converged")
			same := values(t, got.Judged, table)
			check.FailIf(t, !floats.Equal(same, values(t, judged, table)), "the judged model is another one")
			again, _ := fitted(t, table, Options{Rank: &form.Prior.Rank, NoCurves: len(form.Design.Curves) == 0})
			ours, theirs := values(t, m, table), values(t, again, table)
			distance := floats.Distance(ours, theirs, 2) / math.Sqrt(float64(len(ours)))
			// Both optima are within a nat of the top: predictions within a share of the noise.
			check.FailIf(t, distance > .1*again.Noise(), "predictions differ by %v, noise %v", distance, again.Noise())
			if was, is := again.Parameters().Prior.Noise, p.Prior.Noise; (was.TaskFreedom > 0) != (is.TaskFreedom > 0) {
				t.Errorf("noise %+v, again %+v", is, was)
			}
		})
	}
}

// values returns the predictions of all rows.
func values(t *testing.T, m *Model, table *Data) (list []float64) {
	t.Helper()
	eachRow(t, m, table, make([]bool, table.Rows()),
		func(_ int, p Prediction, _ float64, _ bool) { list = append(list, p.Value) })
	return list
}

// A large table, whose forms are compared on some tasks, is fitted again in few evaluations that lead upwards
// from the judged strengths, and counts as converged if the judged model did.
func TestRefitOfManyTasks(t *testing.T) {
	d := drawing{tasks: 40, rows: 12, features: 3, levels: 2, slopes: 1, noise: 1}
	table := d.table(t, 5)
	f := &fitter{in: &Input{Table: table, HeldOut: holdOut(table)}}
	check.Done(f.read(t.Context()))
	chosen := check.OK(f.choose(t.Context()))
	for _, converged := range []bool{false, true} {
		chosen.converged = converged
		form := &judgedForm{whole: f.rows.whole, chosen: chosen, first: f.first}
		next := &fitter{in: &Input{Table: table}, form: form, Options: Options{NoCurves: !chosen.Curves}}
		check.Done(next.read(t.Context()))
		some := *next.plain.tasks
		next.plain.some = &some
		if next.curved != nil {
			next.curved.some = &some
		}
		end := check.OK(next.follow(t.Context()))
		start, _, err := end.s.evaluate(t.Context(), chosen.q.carry(chosen.s, end.s))
		check.Done(err)
		check.FailIf(t, !(end.evidence > start.evidence),
			"the evidence is %v, at the start %v", end.evidence, start.evidence)
		check.FailIf(t, converged && !end.converged, "not converged")
	}
}

// Strengths are carried to the columns of their features, whatever curves another design has.
func TestCarry(t *testing.T) {
	table := drawing{tasks: 12, rows: 20, features: 3, levels: 1, noise: 1}.table(t, 1)
	from, to := statsOf(t, table, true, 1), statsOf(t, table, true, 1)
	q := from.start()
	q.sigma, q.tau, q.common, q.noise = []float64{1, 2, 3, 4, 5, 6, 7}, []float64{.1, .2, .3, .4}, nil, .7
	for j, c := range from.columns {
		switch c.Kind {
		case LinearColumn:
			q.group[j] = 1 + c.Feature
		case CurveColumn:
			q.group[j] = 4 + c.Curve
		}
	}
	q.w, q.rank = []float64{1, 2, 3, 4}, 1
	q.common = []float64{.5, .6, .7, .8, .9, 1, 1.1}
	less := *to.design
	less.Curves = slices.Delete(slices.Clone(less.Curves), 1, 2) // of the second feature
	other := check.OK(newStats(t.Context(), to.rows, &less, 1))
	got := q.carry(from, other)
	want := &varianceComponents{sigma: []float64{1, 2, 3, 4, 5, 7}, common: []float64{.5, .6, .7, .8, .9, 1.1}, rank: 1,
		w: q.w, noise: .7,
		tau: []float64{.1, .2, .4}, group: got.group}
	check.FailIf(t, !reflect.DeepEqual(got, want), "carried %+v, want %+v", got, want)
	back := got.carry(other, from) // the curve that is new begins as any
	want = &varianceComponents{sigma: []float64{1, 2, 3, 4, 5, .2, 7}, common: []float64{.5, .6, .7, .8, .9, .2, 1.1},
		rank: 1, w: q.w,
		noise: .7, tau: []float64{.1, .2, math.Exp(-1.5), .4}, group: q.group}
	check.FailIf(t, !reflect.DeepEqual(back, want), "carried back %+v, want %+v", back, want)
}

// Held-out rows without a logarithm are not learned, and those of several owners are not learned by a refit.
func TestRefitRows(t *testing.T) {
	table := drawing{tasks: 8, rows: 20, features: 1, levels: .1, noise: .1}.table(t, 1)
	held := holdOut(table)
	table.Targets[3] = -1 // held out
	m, _ := fitted(t, table, Options{Refit: true, LogTarget: true}, held...)
	n := stat.Mean(intsToFloats(m.Parameters().Tasks.Samples), nil) * 8
	check.FailIf(t, n != 159, "the model has learned %v of 159 rows with a logarithm", n)
	m, r := fitted(t, table, Options{Refit: true})
	check.FailIf(t, r.Judged != nil || m == nil, "a model is judged without held-out rows")
	in := clinics(t)
	for _, o := range []Options{{Refit: true}, {Refit: true, Sums: twoOwners{}}} {
		_, _, err := Together(context.Background(), cut(in, 2), network("ring", 2), o)
		check.FailIf(t, err == nil, "two owners fit again")
	}
	_, _, err := Fit(context.Background(), in, Options{Refit: true, Sums: twoOwners{}})
	check.FailIf(t, err == nil, "one of two owners fits again")
}

func intsToFloats(list []int) (out []float64) {
	for _, v := range list {
		out = append(out, float64(v))
	}
	return out
}

// Which rows were held out decides on the form. The strengths of the model that is kept depend on all rows:
// the spread of slopes over tasks varies by a tenth at most, where it once had twice the size by other rows.
func TestRefitForgetsHeldOutRows(t *testing.T) {
	table := drawing{tasks: 24, rows: 12, features: 3, mean: []float64{5, -1, 1}, levels: 1, slopes: .06,
		noise: .3}.table(t, 1)
	least, most := math.Inf(1), 0.0
	for first := range 6 {
		held := make([]bool, table.Rows())
		for i := range held {
			held[i] = (i/12*5+i%12+first)%6 < 2
		}
		rank := 0
		m, _ := fitted(t, table, Options{Refit: true, Rank: &rank, NoCurves: true, CommonNoise: true}, held...)
		sd := m.Parameters().Prior.Deviations[1]
		least, most = min(least, sd), max(most, sd)
	}
	check.FailIf(t, most > 1.1*least, "the deviations of slopes are %v to %v", least, most)
}

// A period of the judged model is one of the model of all rows, with curves and without.
func TestPeriodsOfRefit(t *testing.T) {
	seen := map[bool]int{}
	for seed := range uint64(4) {
		bent := periodic(t, seed, 24, 4)
		straight := drawing{tasks: 12, rows: 94, features: 2, levels: 1, noise: .5}.table(t, seed)
		for i := range straight.Targets { // no curve of few knots goes up and down from year to year
			year := i % 47
			straight.Values[1][i] = float64(2001 + year)
			straight.Targets[i] += float64(1 - 2*(year%2))
		}
		for _, in := range []Input{bent, {Table: straight}} {
			in.HeldOut = holdOut(in.Table.(*Data))
			m, r, err := Fit(t.Context(), in, Options{Refit: true})
			check.Done(err)
			judged, all := r.Judged.Parameters().Design, m.Parameters().Design
			if len(judged.Periods) > 0 {
				seen[len(judged.Curves) > 0]++
			}
			check.FailIf(t, len(all.Periods) != len(judged.Periods), "seed %d, %d curves: %d periods, judged %d", seed,
				len(judged.Curves), len(all.Periods), len(judged.Periods))
		}
	}
	check.FailIf(t, seen[true] == 0 || seen[false] == 0, "forms with periods, with curves and without: %v", seen)
}
