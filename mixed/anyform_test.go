package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/longtest"
)

// anyTable returns a table of drawn columns, weights, missing values, levels, periods and held-out rows,
// drawn options, and the share of a deviation by which rounding may move a prediction: more where a column
// repeats another one.
func anyTable(seed uint64) (in Input, o Options, tolerance float64) {
	r := rand.New(rand.NewPCG(seed, 91))
	tasks, columns := 10+r.IntN(14), 1+r.IntN(5)
	d, kinds := &Data{}, make([]int, columns)
	tolerance = 1e-9
	for j := range kinds {
		if kinds[j] = r.IntN(9); kinds[j] == 8 {
			tolerance = 1e-7
		}
		d.Names, d.Levels = append(d.Names, fmt.Sprint("x", j)), append(d.Levels, nil)
		if kinds[j] == 5 {
			d.Levels[j] = []string{"m", "n", "o", "p"}[:2+r.IntN(3)]
		}
	}
	missing, weighted, marked, small := r.IntN(3) == 0, r.IntN(3), r.IntN(4) > 0, r.IntN(4) == 0
	if small {
		tasks *= 4
	}
	growing := r.IntN(4) == 0
	o.NoCurves, o.CommonNoise, o.LogTarget = r.IntN(4) == 0, r.IntN(4) == 0, growing && r.IntN(2) == 0
	o.Refit = r.IntN(4) == 0
	if r.IntN(4) == 0 {
		rank := r.IntN(3)
		o.Rank = &rank
	}
	loud := r.IntN(2) == 0
	for k := range tasks {
		level, slope := r.NormFloat64(), r.NormFloat64()
		noise := .5
		if loud {
			noise = math.Exp(r.NormFloat64())
		}
		rows := 12 + r.IntN(25)
		if small {
			rows = 1 + r.IntN(9)
		}
		for i := range rows {
			var x []float64
			sum := level + noise*r.NormFloat64()
			for j, kind := range kinds {
				v := r.NormFloat64()
				switch kind {
				case 1:
					v = math.Exp(v)
				case 2:
					v = float64(r.IntN(6))
				case 3:
					v = float64(r.IntN(2))
				case 4:
					v = 2000 + float64(i%9)
				case 5:
					v = float64(r.IntN(len(d.Levels[j])))
				case 6:
					v = 1e3 + 10*v
				case 7:
					v = 5
				case 8:
					if j > 0 && d.Levels[j-1] == nil { // the column before, in another unit
						v = 4 - 3*x[j-1]
					}
				}
				if v == v {
					sum += v / 10
				}
				if j == 0 {
					sum += slope*math.Sin(v) + v/(10+math.Abs(v))
				}
				if missing && r.IntN(12) == 0 {
					v = math.NaN()
				}
				x = append(x, v)
			}
			if growing {
				sum = math.Exp(min(sum/2, 8))
			}
			check.Done(d.Append(fmt.Sprint("task ", k), sum, x...))
			switch weighted {
			case 1:
				d.Weighting = append(d.Weighting, math.Exp(r.NormFloat64()))
			case 2:
				d.Weighting = append(d.Weighting, float64(r.IntN(4)))
			}
			in.HeldOut = append(in.HeldOut, marked && r.IntN(4) == 0)
		}
	}
	in.Table = d
	return in, o, tolerance
}

// anyChange returns a drawn change of a table that a model must not notice, and a name for it.
func anyChange(in Input, o Options, r *rand.Rand) (string, change) {
	out, held := in.Table.(*Data).clone(), slices.Clone(in.HeldOut)
	c := change{rows: make([]int, out.Rows()), factor: 1}
	for i := range c.rows {
		c.rows[i] = i
	}
	name := ""
	units := []float64{1e-32, 1e-9, 7, 1e12}
	switch r.IntN(9) {
	case 0:
		name = "order of rows and tasks"
		seed := r.Uint64()
		again := *out
		again.Weighting = make([]float64, out.Rows())
		for i := range again.Weighting {
			again.Weighting[i] = float64(i)
		}
		places, _ := again.shuffled(seed, nil)
		for to, from := range places.Weighting {
			c.rows[int(from)] = to
		}
		out, held = out.shuffled(seed, held)
	case 1:
		name = "order of columns"
		order := r.Perm(len(out.Names))
		out.Names = permuted(out.Names, order)
		out.Values = permuted(out.Values, order)
		out.Levels = permuted(out.Levels, order)
	case 2:
		name = "names of columns, tasks and levels"
		for j := range out.Names {
			out.Names[j] = fmt.Sprint("other ", 9-j)
		}
		for k := range out.TaskNames {
			out.TaskNames[k] = fmt.Sprint("unit ", 1000-k)
		}
		for j, levels := range out.Levels {
			if levels != nil {
				out.Levels[j] = nil
				for l := range levels {
					out.Levels[j] = append(out.Levels[j], fmt.Sprint(9-l))
				}
			}
		}
	case 3:
		name = "order of levels"
		for j, levels := range out.Levels {
			if levels != nil {
				out.Levels[j] = slices.Clone(levels)
				slices.Reverse(out.Levels[j])
				for i, v := range out.Values[j] {
					out.Values[j][i] = float64(len(levels)-1) - v
				}
			}
		}
	case 4:
		j := r.IntN(len(out.Names))
		unit := units[r.IntN(len(units))] * float64(1-2*r.IntN(2))
		name = fmt.Sprintf("column %d times %v", j, unit)
		for i := range out.Values[j] {
			if out.Levels[j] == nil {
				out.Values[j][i] *= unit
			}
		}
	case 5:
		c.factor = units[r.IntN(len(units))]
		name = fmt.Sprint("target times ", c.factor)
		for i := range out.Targets {
			out.Targets[i] *= c.factor
		}
	case 6:
		unit := []float64{1e-30, 1e-9, 2500, 1e30}[r.IntN(4)]
		name = fmt.Sprint("weights times ", unit)
		if out.Weighting == nil {
			out.Weighting = slices.Repeat([]float64{1}, out.Rows())
		}
		for i := range out.Weighting {
			out.Weighting[i] *= unit
		}
	case 7:
		name = "rows of weight 0"
		if out.Weighting == nil {
			out.Weighting = slices.Repeat([]float64{1}, out.Rows())
		}
		out.TaskNames = append(out.TaskNames, "absent")
		for i := range 20 {
			for j := range out.Values {
				v := 1e9 * r.NormFloat64()
				if levels := out.Levels[j]; levels != nil {
					if i == 0 {
						out.Levels[j] = append(slices.Clone(levels), "absent")
					}
					v = float64(r.IntN(len(out.Levels[j])))
				}
				out.Values[j] = append(out.Values[j], v)
			}
			k := len(out.TaskNames) - 1
			if i%2 == 0 {
				k = r.IntN(k)
			}
			y := 1e6 * (1 + r.Float64())
			out.TaskOf = append(out.TaskOf, k)
			out.Targets = append(out.Targets, y)
			out.Weighting = append(out.Weighting, 0)
			held = append(held, r.IntN(2) == 0)
		}
	case 8:
		name = "target shifted"
		if o.LogTarget {
			return anyChange(in, o, r)
		}
		c.shift = 1000
		for i := range out.Targets {
			out.Targets[i] += c.shift
		}
	}
	check.Done(out.Check())
	c.in = Input{Table: out, HeldOut: held}
	return name, c
}

// Whatever the columns and the options, a model does not notice another order, other names and units, and
// rows of weight 0; for one table, and for three owners.
func TestInvarianceOfManyTables(t *testing.T) {
	tables := uint64(16)
	switch {
	case longtest.Enabled():
		tables = 200
	case testing.Short():
		tables = 8
	}
	for seed := range tables {
		in, o, tolerance := anyTable(seed)
		check.Done(in.Table.(*Data).Check())
		m, report, err := Fit(t.Context(), in, o)
		check.Done(err)
		if scale := m.Parameters().Target.Scale; m.Noise() < .01*scale { // rounding decides there
			continue
		}
		r := rand.New(rand.NewPCG(seed, 92))
		for range 3 {
			name, c := anyChange(in, o, r)
			other, again, err := Fit(t.Context(), c.in, o)
			if err != nil {
				t.Errorf("table %d, %s: %v", seed, name, err)
				continue
			}
			t.Run(fmt.Sprintf("table %d, %s", seed, name), func(t *testing.T) {
				compareAny(t, m, other, report, again, in, c, tolerance)
			})
		}
		name, c := anyChange(in, o, r)
		with := o
		with.Refit, with.Disclosure = false, open.Disclosure
		m, report, err = Together(t.Context(), cut(in, 3), network("path", 3), with)
		if err != nil { // an owner has few held-out rows
			continue
		}
		several, again, err := Together(t.Context(), cut(c.in, 3), network("path", 3), with)
		if err != nil {
			t.Errorf("table %d, %s, three owners: %v", seed, name, err)
			continue
		}
		t.Run(fmt.Sprintf("table %d, %s, three owners", seed, name), func(t *testing.T) {
			compareAny(t, oneNoise(m), oneNoise(several), report, again, in, c, tolerance)
		})
	}
}

// compareAny compares predictions, errors and scores of a changed table with the original.
func compareAny(t *testing.T, m, changed *Model, r, other *Report, in Input, c change, tolerance float64) {
	t.Helper()
	seen := c.in
	if n := len(c.rows); n < seen.Table.Rows() { // without rows of weight 0, some of which are too far
		d := *seen.Table.(*Data)
		d.TaskOf = d.TaskOf[:n]
		seen.Table = &d
	}
	want, got := predictions(t, m, in), predictions(t, changed, seen)
	scale, worst := m.Parameters().Target.Scale, 0.0
	log := m.Parameters().Target.Log
	for i, to := range c.rows {
		if in.weight(i) == 0 {
			continue
		}
		for k := range 3 {
			unit := max(scale, math.Abs(want[3*i+k]))
			if log {
				unit = math.Abs(want[3*i+k])
			}
			v := got[3*to+k] / c.factor
			if k == 0 {
				v -= c.shift
			}
			worst = max(worst, math.Abs(v-want[3*i+k])/unit)
		}
	}
	check.FailIf(t, !(worst <= tolerance), "predictions or errors differ by %v deviations", worst)
	check.FailIf(t, len(m.Tasks()) != len(changed.Tasks()), "%d tasks, want %d", len(changed.Tasks()), len(m.Tasks()))
	check.FailIf(t, r.TaskCount != other.TaskCount, "%d tasks in totals, want %d", other.TaskCount, r.TaskCount)
	for i, s := range other.Scores {
		w := r.Scores[i]
		near := func(a, b, unit float64) bool {
			return a == b || math.Abs(a-b) <= 10*tolerance*unit || a != a && b != b
		}
		if s.Method != w.Method || s.Train.Rows != w.Train.Rows || s.Test.Rows != w.Test.Rows ||
			!near(s.Test.RMSE/c.factor, w.Test.RMSE, w.Test.RMSE) ||
			s.Train.MAE == s.Train.MAE && !near(s.Train.MAE/c.factor, w.Train.MAE, w.Train.MAE) ||
			!near(s.Train.ExplainedVariance, w.Train.ExplainedVariance, 1) {
			t.Errorf("score %+v, want %+v", s, w)
		}
	}
	for i, f := range other.Candidates {
		if w := r.Candidates[i]; f.Rank != w.Rank || f.Curves != w.Curves || f.Chosen != w.Chosen {
			t.Errorf("form %+v, want %+v", f, w)
		}
	}
	check.FailIf(t, len(r.Outliers) != len(other.Outliers),
		"%d outliers, want %d", len(other.Outliers), len(r.Outliers))
}
