package mixed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// clone returns a copy of a table.
func (d *Data) clone() *Data {
	out := *d
	out.Values = nil
	for _, v := range d.Values {
		out.Values = append(out.Values, slices.Clone(v))
	}
	out.Names, out.Levels, out.TaskNames = slices.Clone(d.Names), slices.Clone(d.Levels), slices.Clone(d.TaskNames)
	out.TaskOf, out.Targets, out.Weighting = slices.Clone(d.TaskOf), slices.Clone(d.Targets), slices.Clone(d.Weighting)
	out.places = nil
	return &out
}

// permuted returns a list in another order.
func permuted[T any](list []T, order []int) (out []T) {
	for _, i := range order {
		out = append(out, list[i])
	}
	return out
}

// A change is a table that is the same to a model, and what becomes of a prediction.
type change struct {
	in     Input
	rows   []int // of the changed table, of every row of the original
	factor float64
	shift  float64
}

// changes lists changes of a table that a model must not notice.
func changes(t *testing.T, in Input) map[string]change {
	d := in.Table.(*Data)
	r := rand.New(rand.NewPCG(7, 7))
	same := make([]int, d.Rows())
	for i := range same {
		same[i] = i
	}
	list := map[string]change{}
	add := func(name string, f func(d *Data) []bool, rows []int, factor, shift float64) {
		out := d.clone()
		held := f(out)
		check.Done(out.Check())
		list[name] = change{Input{Table: out, HeldOut: held}, rows, factor, shift}
	}
	order := r.Perm(d.Rows())
	back := make([]int, len(order))
	for to, from := range order {
		back[from] = to
	}
	add("order of rows", func(d *Data) []bool {
		for j := range d.Values {
			d.Values[j] = permuted(d.Values[j], order)
		}
		d.TaskOf = permuted(d.TaskOf, order)
		d.Targets = permuted(d.Targets, order)
		d.Weighting = permuted(d.Weighting, order)
		return permuted(in.HeldOut, order)
	}, back, 1, 0)
	tasks := r.Perm(len(d.TaskNames))
	add("order of tasks", func(d *Data) []bool {
		d.TaskNames = permuted(d.TaskNames, tasks)
		for i, k := range d.TaskOf {
			d.TaskOf[i] = slices.Index(tasks, k)
		}
		return in.HeldOut
	}, same, 1, 0)
	add("order of columns", func(d *Data) []bool {
		columns := []int{3, 1, 0, 2}
		d.Names = permuted(d.Names, columns)
		d.Values = permuted(d.Values, columns)
		d.Levels = permuted(d.Levels, columns)
		return in.HeldOut
	}, same, 1, 0)
	add("names of columns and tasks", func(d *Data) []bool {
		for j := range d.Names {
			d.Names[j] = fmt.Sprint("other ", 9-j)
		}
		for k := range d.TaskNames {
			d.TaskNames[k] = fmt.Sprint("unit ", 1000-k)
		}
		return in.HeldOut
	}, same, 1, 0)
	add("names and order of levels", func(d *Data) []bool {
		d.Levels[1] = []string{"D", "c", "B", "a"}
		for i, v := range d.Values[1] {
			d.Values[1][i] = 3 - v
		}
		return in.HeldOut
	}, same, 1, 0)
	for _, unit := range []float64{1e-32, -1e-9, 1e12} {
		add(fmt.Sprint("columns times ", unit), func(d *Data) []bool {
			for j, v := range d.Values {
				for i := range v {
					if d.Levels[j] == nil {
						v[i] *= unit
					}
				}
			}
			return in.HeldOut
		}, same, 1, 0)
	}
	for _, unit := range []float64{1e-32, 1e12} {
		add(fmt.Sprint("target times ", unit), func(d *Data) []bool {
			for i := range d.Targets {
				d.Targets[i] *= unit
			}
			return in.HeldOut
		}, same, unit, 0)
	}
	add("target shifted", func(d *Data) []bool {
		for i := range d.Targets {
			d.Targets[i] += 1000
		}
		return in.HeldOut
	}, same, 1, 1000)
	for _, unit := range []float64{1e-30, 7, 1e30} {
		add(fmt.Sprint("weights times ", unit), func(d *Data) []bool {
			for i := range d.Weighting {
				d.Weighting[i] *= unit
			}
			return in.HeldOut
		}, same, 1, 0)
	}
	add("more rows of weight 0", func(d *Data) []bool {
		held := slices.Clone(in.HeldOut)
		for i := range 30 {
			for j := range d.Values {
				d.Values[j] = append(d.Values[j], d.Values[j][i])
			}
			d.TaskOf = append(d.TaskOf, d.TaskOf[i])
			d.Targets = append(d.Targets, 1e9)
			d.Weighting = append(d.Weighting, 0)
			held = append(held, i%2 == 0)
		}
		return held
	}, same, 1, 0)
	return list
}

// compareChange compares predictions, errors and scores of a changed table with the original.
func compareChange(t *testing.T, m, changed *Model, r, other *Report, in Input, c change, tolerance float64) {
	t.Helper()
	want, got := predictions(t, m, in), predictions(t, changed, c.in)
	scale, worst := m.Parameters().Target.Scale, 0.0
	weights := in.Table.Weights()
	for i, to := range c.rows {
		if weights[i] == 0 {
			continue
		}
		value := got[3*to]/c.factor - c.shift
		worst = max(worst, math.Abs(value-want[3*i])/scale)
		for k := 1; k < 3; k++ {
			worst = max(worst, math.Abs(got[3*to+k]/c.factor-want[3*i+k])/scale)
		}
	}
	check.FailIf(t, !(worst <= tolerance), "predictions or errors differ by %v deviations", worst)
	for i, s := range other.Scores {
		w := r.Scores[i]
		if s.Train.Rows != w.Train.Rows || s.Test.Rows != w.Test.Rows ||
			math.Abs(s.Test.RMSE/c.factor-w.Test.RMSE) > 10*tolerance*scale ||
			math.Abs(s.Train.ExplainedVariance-w.Train.ExplainedVariance) > 10*tolerance {
			t.Errorf("score %+v, want %+v", s, w)
		}
	}
}

// A model does not depend on the order of rows, tasks and columns, on names, nor on units, for one owner and
// for three. Rows of weight 0 count as absent.
func TestInvariance(t *testing.T) { testInvariance(t, mixture(t, 8, 18), 0) }

// The same holds with a period.
func TestInvariancePeriods(t *testing.T) { testInvariance(t, periodic(t, 6, 18, 4), 1) }

func testInvariance(t *testing.T, in Input, periods int) {
	m, r, err := Fit(t.Context(), in, Options{})
	check.Done(err)
	check.FailIf(t, len(m.Parameters().Design.Periods) != periods, "periods: %+v", m.Parameters().Design.Periods)
	for name, c := range changes(t, in) {
		t.Run(name, func(t *testing.T) {
			one, report, err := Fit(t.Context(), c.in, Options{})
			check.Done(err)
			compareChange(t, m, one, r, report, in, c, 1e-9)
			several, report, err := Together(context.Background(), cut(c.in, 3), network("path", 3), open)
			check.Done(err)
			compareChange(t, oneNoise(m), oneNoise(several), r, report, in, c, 1e-9)
		})
	}
}

// Weights that are all alike are none.
func TestEqualWeights(t *testing.T) {
	in := mixture(t, 9, 18)
	d := in.Table.(*Data)
	for i := range d.Weighting {
		d.Weighting[i] = 1
	}
	without := d.clone()
	without.Weighting = nil
	plain := Input{Table: without, HeldOut: in.HeldOut}
	m, r, err := Fit(t.Context(), plain, Options{})
	check.Done(err)
	for _, w := range []float64{1e-12, 1, 2500} {
		for i := range d.Weighting {
			d.Weighting[i] = w
		}
		for owners := range 3 {
			other, report := m, r
			if owners == 0 {
				other, report, err = Fit(t.Context(), in, Options{})
			} else {
				other, report, err = Together(t.Context(), cut(in, 2+owners), network("path", 2+owners), open)
			}
			check.Done(err)
			most := gap(predictions(t, oneNoise(m), in), predictions(t, oneNoise(other), in),
				m.Parameters().Target.Scale)
			if most > 1e-9 {
				t.Errorf("weights %v, %d owners: predictions differ by %v", w, 2+owners, most)
			}
			check.FailIf(t, report.Scores[0].Train.Rows != r.Scores[0].Train.Rows, "weights %v: other rows", w)
		}
	}
}

// A column that is there twice predicts nothing else: the two share its coefficient.
func TestDuplicatedColumn(t *testing.T) {
	in := mixture(t, 10, 20)
	d := in.Table.(*Data).clone()
	d.Names, d.Levels = append(d.Names, "a again"), append(d.Levels, nil)
	d.Values = append(d.Values, slices.Clone(d.Values[0]))
	twice := Input{Table: d, HeldOut: in.HeldOut}
	_, r, err := Fit(t.Context(), in, Options{})
	check.Done(err)
	m, other, err := Fit(t.Context(), twice, Options{})
	check.Done(err)
	ratio := other.Scores[0].Test.RMSE / r.Scores[0].Test.RMSE
	check.FailIf(t, ratio > 1.05 || ratio < .95, "the error is %v times the one without the column", ratio)
	several, _, err := Together(t.Context(), cut(twice, 3), network("path", 3), open)
	check.Done(err)
	most := gap(predictions(t, oneNoise(several), twice), predictions(t, oneNoise(m), twice),
		m.Parameters().Target.Scale)
	if most > 1e-8 {
		t.Errorf("three owners differ by %v", most)
	}
}
