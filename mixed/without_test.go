package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// withoutsOf returns the training rows of a table without themselves, at given strengths.
func withoutsOf(t *testing.T, table *Data, noise float64) withouts {
	t.Helper()
	s := statsOf(t, table, false, 1)
	q := s.start()
	q.sigma, q.noise = []float64{1, 1, 0}, noise
	m, z, err := s.evaluate(t.Context(), q)
	check.Done(err)
	f := &fitter{in: &Input{Table: table}, rows: s.rows, freedom: 1e9}
	return check.OK(f.predictWithout(t.Context(), &choice{s: s, climbed: climbed{q: q, m: m, z: z}}))
}

// A fit that follows its rows, whatever noise they have, is told from one that predicts them, by the rows
// without themselves: here slopes of three features for tasks of four rows, with noise that counts as none.
func TestInterpolationIsNoted(t *testing.T) {
	rows := drawing{tasks: 30, rows: 4, features: 3, levels: 1, noise: 1}.table(t, 1)
	if little, much := withoutsOf(t, rows, 1e-8).closer(), withoutsOf(t, rows, 1).closer(); !(little > 1000 && much < 4) {
		t.Errorf("rows are %v times closer with noise that counts as none, %v with noise", little, much)
	}
	f := &fitter{in: &Input{Table: rows}}
	check.Done(f.read(t.Context()))
	chosen := check.OK(f.choose(t.Context()))
	for closer, want := range map[float64]bool{1.2: false, 9: false, 11: true, math.Inf(1): true} {
		f.without = withouts{{squareWith: 1 / (closer * closer), squareWithout: 1}}
		noted := strings.Contains(strings.Join(f.notes(chosen, chosen.m, &Report{}), " "), "The model follows the training rows")
		check.FailIf(t, noted != want, "rows %v times closer are noted: %v", closer, noted)
	}
	_, r := fitted(t, rows, Options{})
	check.FailIf(t, strings.Contains(strings.Join(r.Notes, " "), "follows"), "notes of a fit with noise: %q", r.Notes)
	// Tasks without noise are predicted by the other rows.
	exact := drawing{tasks: 30, rows: 12, features: 2, levels: 1, slopes: 1}.table(t, 1)
	_, r = fitted(t, exact, Options{})
	check.FailIf(t, strings.Contains(strings.Join(r.Notes, " "), "follows"), "notes of a fit without noise: %q", r.Notes)
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
	list := check.OK(f.predictWithout(t.Context(), &choice{s: s, climbed: climbed{q: q, m: m, z: z}}))
	check.FailIf(t, len(list) != table.Rows(), "%d of %d rows", len(list), table.Rows())
	for at, i := range s.rows.order {
		one := *s.rows
		one.rowList = one.only(func(row int) bool { return row != int(i) })
		less := *s
		rest := check.OK(newStats(t.Context(), &one, s.design, 1))
		less.rows, less.packed, less.held, less.idle = &one, rest.packed, rest.held, rest.idle
		others, err := less.moments(t.Context(), less.tasks, q)
		check.Done(err)
		p := s.p
		theta, cov, row := make([]float64, p), make([]float64, p*p), make([]float64, p)
		check.Done(less.coefficients(others, table.TaskOf[i], theta, cov))
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
		if got := list[at]; math.Abs(got.prediction-want) > 1e-8 || got.inside != inside {
			t.Errorf("row %d: %+v, want the prediction %v, inside %v", i, got, want, inside)
		}
	}
}

// Where targets spread in proportion to their mean, the report says which share of the rows lies inside their
// intervals where predictions are highest, as held-out rows show it; where they spread alike it says nothing.
func TestFunnelIsNoted(t *testing.T) {
	for _, grows := range []bool{false, true} {
		r := rand.New(rand.NewPCG(4, 4))
		table := newTable(t, "x")
		for k := range 40 {
			level := r.NormFloat64()
			for range 60 {
				x := r.NormFloat64()
				spread := 1.0
				if grows {
					spread = math.Exp(.9 * x)
				}
				add(t, table, fmt.Sprint("t", k), level+3*x+spread*r.NormFloat64(), x)
			}
		}
		held := holdOut(table)
		m, report := fitted(t, table, Options{NoCurves: true, CommonNoise: true}, held...)
		notes := strings.Join(report.Notes, " ")
		if !grows {
			check.FailIf(t, strings.Contains(notes, "too narrow"), "rows that spread alike: %q", notes)
			continue
		}
		var list withouts
		eachRow(t, m, table, held, func(_ int, p Prediction, y float64, train bool) {
			if !train {
				list = append(list, without{prediction: p.Value, inside: y >= p.Low && y <= p.High})
			}
		})
		shares, said := list.quarters(), 0.0
		_, after, found := strings.Cut(notes, "in that quarter ")
		_, err := fmt.Sscanf(after, "%f", &said)
		if !found || err != nil || math.Abs(said/100-shares[3]) > .04 || !strings.Contains(notes, "predictions are highest") {
			t.Errorf("of held-out rows %v are inside: %q", shares, notes)
		}
	}
}
