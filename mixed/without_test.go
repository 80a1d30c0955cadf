package mixed

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// withoutsOf returns the training rows of a table without themselves, at given strengths.
func withoutsOf(t *testing.T, table *Data, noise float64) *withouts {
	t.Helper()
	s := statsOf(t, table, false, 1)
	q := s.start()
	q.sigma, q.noise = []float64{1, 1, 0}, noise
	m, z, err := s.evaluate(t.Context(), q)
	check.Done(err)
	f := &fitter{in: &Input{Table: table}, rows: s.rows, freedom: 1e9}
	return check.OK(f.predictWithout(t.Context(), &choice{s: s, optimum: optimum{q: q, m: m, z: z}}))
}

// A fit that follows its rows, whatever noise they have, is told from one that predicts them, by the rows
// without themselves: here slopes of three features for tasks of four rows, with noise that counts as none.
func TestInterpolationIsNoted(t *testing.T) {
	rows := drawing{tasks: 30, rows: 4, features: 3, levels: 1, noise: 1}.table(t, 1)
	if little, much := withoutsOf(t, rows, 1e-8).closer(), withoutsOf(t, rows, 1).closer(); !(little > 1000 &&
		much < 4) {
		t.Errorf("rows are %v times closer with noise that counts as none, %v with noise", little, much)
	}
	f := &fitter{in: &Input{Table: rows}}
	check.Done(f.read(t.Context()))
	chosen := check.OK(f.choose(t.Context()))
	for closer, want := range map[float64]bool{1.2: false, 9: false, 11: true, math.Inf(1): true} {
		f.without = withoutSummary{closer: (&withouts{squaresWith: 1 / (closer * closer), squaresWithout: 1}).closer()}
		highest := *chosen
		highest.Rank = mostRank
		said := strings.Join(f.notes(&highest, chosen.m, &Report{}), " ")
		noted := strings.Contains(said, "The model follows the training rows")
		check.FailIf(t, noted != want, "rows %v times closer are noted: %v", closer, noted)
		more := strings.Contains(said, "try --rank 4") // which would follow them more closely
		check.FailIf(t, more == want, "rows %v times closer, a larger rank is proposed: %v", closer, more)
	}
	_, r := fitted(t, rows, Options{})
	check.FailIf(t, strings.Contains(strings.Join(r.Notes, " "), "follows"), "notes of a fit with noise: %q", r.Notes)
	// Tasks without noise are predicted by the other rows.
	exact := drawing{tasks: 30, rows: 12, features: 2, levels: 1, slopes: 1}.table(t, 1)
	_, r = fitted(t, exact, Options{})
	check.FailIf(t, strings.Contains(strings.Join(r.Notes, " "), "follows"), "notes of a fit without noise: %q",
		r.Notes)
}

// A training row without itself has the prediction, and is inside or outside of the interval, that a fit of
// the other rows at the same strengths gives.
func TestWithoutsAgainstFitsOfTheOthers(t *testing.T) {
	table := drawing{tasks: 5, rows: 6, features: 2, levels: 1, slopes: 1, noise: 1}.table(t, 3)
	table.Weighting = make([]float64, table.Rows())
	for i := range table.Weighting {
		table.Weighting[i] = 1 + float64(i%3)
	}
	s := statsOf(t, table, false, 1)
	q := s.start()
	q.sigma, q.noise = []float64{1, 1, 0}, .2
	m, z, err := s.evaluate(t.Context(), q)
	check.Done(err)
	f := &fitter{in: &Input{Table: table}, rows: s.rows, freedom: 1e9}
	list := check.OK(f.predictWithout(t.Context(), &choice{s: s, optimum: optimum{q: q, m: m, z: z}}))
	check.FailIf(t, len(list.rows) != table.Rows(), "%d of %d rows", len(list.rows), table.Rows())
	place := 0
	for at, i := range s.rows.order {
		for at == list.ends[place] {
			place++
		}
		one := *s.rows
		one.rowList = one.only(func(row int) bool { return row != int(i) })
		less := *s
		rest := check.OK(newStats(t.Context(), &one, s.design, 1))
		less.rows, less.packed, less.held, less.idle = &one, rest.packed, rest.held, rest.idle
		others, err := less.meanPosterior(t.Context(), less.tasks, q)
		check.Done(err)
		p := s.p
		theta, cov, row := make([]float64, p), make([]float64, p*p), make([]float64, p)
		check.Done(less.coefficients(t.Context(), others, table.TaskOf[i], theta, cov))
		s.design.Apply(row, s.rows.reader()(int(i)))
		want, variance := 0.0, q.noise/s.rows.weight(int(i))
		for a := range p {
			want += row[a] * theta[a]
			for b := range p {
				variance += row[a] * cov[a*p+b] * row[b]
			}
		}
		error := s.rows.standardized(int(i), false) - want
		inside := math.Abs(error) <= normal95*math.Sqrt(variance)
		got := list.rows[at]
		if math.Abs(got.prediction-want) > 1e-8 || got.inside(&list.noise[place], new(Noise)) != inside {
			t.Errorf("row %d: %+v, want the prediction %v, inside %v", i, got, want, inside)
		}
	}
}

// growing returns a table of 40 tasks whose noise has the standard deviation that spread gives for a column
// of effect 3.
func growing(t *testing.T, seed uint64, spread func(x float64) float64) *Data {
	r := rand.New(rand.NewPCG(seed, 4))
	table := newTable(t, "x")
	for k := range 40 {
		level := r.NormFloat64()
		for range 60 {
			x := r.NormFloat64()
			add(t, table, fmt.Sprint("t", k), level+3*x+spread(x)*r.NormFloat64(), x)
		}
	}
	return table
}

// quartersOf returns the shares of held-out rows inside their intervals, by quarter of the predictions.
func quartersOf(t *testing.T, m *Model, table *Data, held []bool) [4]float64 {
	var list withouts
	eachRow(t, m, table, held, func(_ int, p Prediction, y float64, train bool) {
		if !train {
			far := map[bool]float64{true: 0, false: 2}[y >= p.Low && y <= p.High]
			list.rows = append(list.rows, without{prediction: p.Value, square: far})
		}
	})
	list.noise, list.ends = []intervalNoise{{1, 1}}, []int{len(list.rows)}
	return list.quarters(new(Noise))
}

// Where the noise grows with the prediction, intervals hold in every quarter of the predictions, and the
// report says how it grows; where rows spread alike it says nothing. One wrong target is no growth.
func TestIntervalsFollowTheNoise(t *testing.T) {
	alike := growing(t, 4, func(float64) float64 { return 1 })
	_, report := fitted(t, alike, Options{NoCurves: true}, holdOut(alike)...)
	if notes := strings.Join(report.Notes, " "); strings.Contains(notes, "noise grows") ||
		strings.Contains(notes, "too narrow") {
		t.Errorf("rows that spread alike: %q", notes)
	}
	alike.Targets[7] += 1e4
	m, _ := fitted(t, alike, Options{NoCurves: true})
	if n := m.Parameters().Prior.Noise; math.Abs(n.Slope) > .2 {
		t.Errorf("one wrong target: %+v", n)
	}
	table := growing(t, 4, func(x float64) float64 { return math.Exp(.6 * x) })
	held := holdOut(table)
	m, report = fitted(t, table, Options{NoCurves: true}, held...)
	shares, noise := quartersOf(t, m, table, held), m.Parameters().Prior.Noise
	for _, share := range shares {
		check.FailIf(t, share < .92 || share > .985, "of held-out rows %v are inside, by quarter", shares)
	}
	// A deviation of the target is 3.6 or so, 3 of which a deviation of x moves: twice .6 over these.
	if want := 2 * .6 / 3 * m.Parameters().Target.Scale; math.Abs(noise.Slope/want-1) > .25 {
		t.Errorf("the slope is %v, want about %v", noise.Slope, want)
	}
	notes := strings.Join(report.Notes, " ")
	check.FailIf(t, !strings.Contains(notes, "The noise grows with the prediction"), "notes %q", notes)
	check.FailIf(t, strings.Contains(notes, "too narrow"), "notes %q", notes)
	free := *m
	free.p.Prior.Noise.Level, free.p.Prior.Noise.Slope = 0, 0
	shares = quartersOf(t, &free, table, held)
	check.FailIf(t, shares[3] > .9, "without the growth, %v are inside, by quarter: the table shows nothing", shares)
}

// Each of several owners has the noise of its own rows: where that grows with the prediction, its intervals
// hold in every quarter of the predictions, and those of the others are as wide as before. No total says how
// it grows. A file keeps it, and new tasks of joined owners have the mean over their rows.
func TestIntervalsFollowTheNoiseOfOwners(t *testing.T) {
	table := growing(t, 4, func(x float64) float64 { return math.Exp(.6 * x) })
	even := growing(t, 5, func(float64) float64 { return 1 })
	for i := range even.Rows() {
		add(t, table, "even "+even.TaskNames[even.TaskOf[i]], even.Y(i), even.X(make([]float64, 1), i)...)
	}
	held := holdOut(table)
	uneven := func(task int) bool { return task < 40 }
	list := []Input{part(Input{Table: table, HeldOut: held}, uneven),
		part(Input{Table: table, HeldOut: held}, func(task int) bool { return !uneven(task) })}
	o := Options{NoCurves: true, CommonNoise: true, Disclosure: open.Disclosure}
	joined, report, err := Together(t.Context(), list, network("path", 2), o)
	check.Done(err)
	p := joined.Parameters()
	slope := p.Tasks.Growth.Slope[slices.Index(p.Tasks.Names, "t0")]
	if got, want := p.Prior.Noise.Slope, slope/2; math.Abs(got-want) > .05 {
		t.Errorf("new tasks have the slope %v, want about %v", got, want)
	}
	models, errs := apart(t, list, [][]int{{0}, {1}}, o, nil)
	check.Done(errors.Join(errs...))
	for i, in := range list {
		own := models[i].Parameters().Prior.Noise.Slope
		want := []float64{2 * .6 / 3 * p.Target.Scale, 0}[i]
		check.FailIf(t, math.Abs(own-want) > .25*max(want, .5), "owner %d: the slope is %v, want about %v", i, own,
			want)
		shares := quartersOf(t, joined, in.Table.(*Data), in.HeldOut)
		var file bytes.Buffer
		check.Done(joined.Save(&file))
		back := check.OK(Load(bytes.NewReader(file.Bytes()), int64(file.Len())))
		same := shares == quartersOf(t, models[i], in.Table.(*Data), in.HeldOut) &&
			shares == quartersOf(t, back, in.Table.(*Data), in.HeldOut)
		check.FailIf(t, !same, "owner %d: other intervals in its own model, or from a file", i)
		for _, share := range shares[2*i:] { // one variance for both owners is too small for the first one
			check.FailIf(t, share < .92, "owner %d: of held-out rows %v are inside, by quarter", i, shares)
		}
	}
	alone, _, err := Fit(t.Context(), list[0], o)
	check.Done(err)
	check.FailIf(t, alone.Parameters().Tasks.Growth != nil, "one owner has slopes of tasks")
	for _, total := range report.Totals {
		check.FailIf(t, strings.Contains(total.Name, "noise"), "there is a total of %q", total.Name)
	}
}

// Where rows spread at both ends, which no slope of the noise has, the report says which share of the rows
// lies inside their intervals where predictions are highest or lowest, as held-out rows show it.
func TestFunnelIsNoted(t *testing.T) {
	table := growing(t, 4, func(x float64) float64 { return math.Exp(.9 * math.Abs(x)) })
	held := holdOut(table)
	m, report := fitted(t, table, Options{NoCurves: true, CommonNoise: true}, held...)
	notes := strings.Join(report.Notes, " ")
	shares, said := quartersOf(t, m, table, held), 0.0
	_, after, found := strings.Cut(notes, "in that quarter ")
	_, err := fmt.Sscanf(after, "%f", &said)
	share := map[bool]float64{true: shares[3], false: shares[0]}[strings.Contains(notes, "predictions are highest")]
	if !found || err != nil || math.Abs(said/100-share) > .05 {
		t.Errorf("of held-out rows %v are inside: %q", shares, notes)
	}
}
