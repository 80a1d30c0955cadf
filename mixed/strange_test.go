package mixed

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/check"
)

// plainTable returns a table of four tasks with six rows each, and two features.
func plainTable() *Data {
	d := &Data{Names: []string{"a", "b"}, Values: make([][]float64, 2), TaskNames: []string{"n", "e", "s", "w"}}
	for i := range 24 {
		a, b := math.Sin(float64(i)), math.Cos(float64(i*i))
		d.Values[0], d.Values[1] = append(d.Values[0], a), append(d.Values[1], b)
		d.TaskOf = append(d.TaskOf, i%4)
		d.Targets = append(d.Targets, float64(i%4)+2*a-b+.1*math.Sin(float64(7*i)))
	}
	return d
}

// A misplaced table has a row of a task that it has not.
type misplaced struct{ *Data }

func (misplaced) Task(int) int { return 9 }

// fitRefusesCases are the cases of TestFitRefuses.
var fitRefusesCases = []struct {
	name, want string
	change     func(in *Input, d *Data, o *Options)
}{
	{"no table", "there is no table", func(in *Input, _ *Data, _ *Options) { in.Table = nil }},
	{"empty table", "no target column", func(_ *Input, d *Data, _ *Options) { *d = Data{} }},
	{"no rows", "no training rows", func(_ *Input, d *Data, _ *Options) { *d = Data{Targets: []float64{}} }},
	{"no target", "no target column", func(_ *Input, d *Data, _ *Options) { d.Targets = nil }},
	{"short target", "24 rows and 3 targets", func(_ *Input, d *Data, _ *Options) { d.Targets = d.Targets[:3] }},
	{"short column", `column "b" has 5 values: the table has 24 rows`,
		func(_ *Input, d *Data, _ *Options) { d.Values[1] = d.Values[1][:5] }},
	{"missing column", "2 names, 1 columns", func(_ *Input, d *Data, _ *Options) { d.Values = d.Values[:1] }},
	{"short weights", "weights", func(_ *Input, d *Data, _ *Options) { d.Weighting = []float64{1} }},
	{"negative weight", "the weight is -1", func(_ *Input, d *Data, _ *Options) {
		d.Weighting = slices.Repeat([]float64{1}, 24)
		d.Weighting[3] = -1
	}},
	{"no weight", "no training rows of positive weight",
		func(_ *Input, d *Data, _ *Options) { d.Weighting = make([]float64, 24) }},
	{"NaN weight", "the weight is NaN",
		func(_ *Input, d *Data, _ *Options) { d.Weighting = slices.Repeat([]float64{math.NaN()}, 24) }},
	{"NaN target", `row 3 of the table, task "s": the target is NaN`,
		func(_ *Input, d *Data, _ *Options) { d.Targets[2] = math.NaN() }},
	{"infinite feature", `row 1 of the table, task "n": feature "b" is +Inf`,
		func(_ *Input, d *Data, _ *Options) { d.Values[1][0] = math.Inf(1) }},
	{"huge feature", `feature "b" is 1e+300`, func(_ *Input, d *Data, _ *Options) { d.Values[1][0] = 1e300 }},
	{"huge target", "the target is 1e+300", func(_ *Input, d *Data, _ *Options) { d.Targets[0] = 1e300 }},
	{"all held out", "no training rows",
		func(in *Input, _ *Data, _ *Options) { in.HeldOut = slices.Repeat([]bool{true}, 24) }},
	{"short choice", "3 entries for 24 rows",
		func(in *Input, _ *Data, _ *Options) { in.HeldOut = make([]bool, 3) }},
	{"unknown task", "row 1 is of task 9: the table has 4",
		func(in *Input, d *Data, _ *Options) { d.TaskOf[0] = 9 }},
	{"unknown task of another table", "row 1 of the table is of task 9: the table has 4",
		func(in *Input, d *Data, _ *Options) { in.Table = misplaced{d} }},
	{"repeated task", `entry 1 is "n", which is there twice`,
		func(_ *Input, d *Data, _ *Options) { d.TaskNames[1] = "n" }},
	{"repeated feature", `entry 1 is "a", which is there twice`,
		func(_ *Input, d *Data, _ *Options) { d.Names[1] = "a" }},
	{"name", "not UTF-8", func(_ *Input, d *Data, _ *Options) { d.Names[1] = "\xff" }},
	{"level", `column "b": level 7: it has 2 levels`, func(_ *Input, d *Data, _ *Options) {
		d.Levels = [][]string{nil, {"u", "v"}}
		for i := range d.Values[1] {
			d.Values[1][i] = float64(i % 2)
		}
		d.Values[1][5] = 7
	}},
	{"negative rank", "the rank is -1", func(_ *Input, _ *Data, o *Options) { o.Rank = new(-1) }},
	{"large rank", "the rank is 4", func(_ *Input, _ *Data, o *Options) { o.Rank = new(4) }},
	{"workers", "the number of workers is -1", func(_ *Input, _ *Data, o *Options) { o.Workers = -1 }},
	{"logarithm", "has no logarithm", func(_ *Input, _ *Data, o *Options) { o.LogTarget = true }},
}

// Fit refuses what it cannot use, with the cause, and does not panic.
func TestFitRefuses(t *testing.T) {
	for _, c := range fitRefusesCases {
		t.Run(c.name, func(t *testing.T) {
			d := plainTable()
			in, o := Input{Table: d}, Options{}
			c.change(&in, d, &o)
			m, _, err := Fit(t.Context(), in, o)
			check.Error(t, err, c.want)
			check.FailIf(t, m != nil, "there is a model beside the error")
		})
	}
}

// eachIndex calls f with the index of every row.
func eachIndex(d *Data, f func(i int)) {
	for i := range d.TaskOf {
		f(i)
	}
}

// fitsStrangeTablesCases are the cases of TestFitsStrangeTables.
var fitsStrangeTablesCases = []struct {
	name   string
	change func(in *Input, d *Data)
}{
	{"plain", func(*Input, *Data) {}},
	{"one row", func(_ *Input, d *Data) {
		*d = Data{Names: []string{"a"}, Values: [][]float64{{3}}, TaskNames: []string{"n"}, TaskOf: []int{0},
			Targets: []float64{5}}
	}},
	{"two rows", func(_ *Input, d *Data) {
		*d = Data{Names: []string{"a"}, Values: [][]float64{{3, 4}}, TaskNames: []string{"n", "s"},
			TaskOf: []int{0, 1}, Targets: []float64{5, 6}}
	}},
	{"one task", func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.TaskOf[i] = 2 }) }},
	{"a task a row", func(_ *Input, d *Data) {
		d.TaskNames = nil
		eachIndex(d, func(i int) {
			d.TaskOf[i], d.TaskNames = i, append(d.TaskNames, fmt.Sprint(i))
		})
	}},
	{"one row in each of many tasks", func(_ *Input, d *Data) {
		*d = Data{Names: []string{"a", "b"}, Values: make([][]float64, 2)}
		for i := range 20_000 {
			d.TaskOf, d.TaskNames = append(d.TaskOf, i), append(d.TaskNames, fmt.Sprint(i))
			d.Values[0] = append(d.Values[0], math.Sin(float64(i)))
			d.Values[1] = append(d.Values[1], math.Cos(float64(i*i)))
			d.Targets = append(d.Targets, math.Sin(float64(i))+.3*math.Sin(float64(i*i)))
		}
	}},
	{"no features", func(_ *Input, d *Data) { d.Names, d.Values = nil, nil }},
	{"missing feature", func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.Values[1][i] = math.NaN() }) }},
	{"constant feature", func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.Values[1][i] = 7 }) }},
	{"equal features", func(_ *Input, d *Data) { d.Values[1] = d.Values[0] }},
	{"equal targets", func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.Targets[i] = 7 }) }},
	{"targets of 0", func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.Targets[i] = 0 }) }},
	{"exact targets", func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.Targets[i] = 3 * d.Values[0][i] }) }},
	{"large units",
		func(_ *Input, d *Data) { eachIndex(d, func(i int) { d.Values[0][i] *= 1e100; d.Targets[i] *= 1e100 }) }},
	{"small units",
		func(_ *Input, d *Data) {
			eachIndex(d, func(i int) { d.Values[0][i] *= 1e-100; d.Targets[i] *= 1e-100 })
		}},
	{"one row out", func(_ *Input, d *Data) { d.Targets[5] = 1e9 }},
	{"a feature far out", func(_ *Input, d *Data) { d.Values[0][5] = 1e12 }},
	{"one weight", func(_ *Input, d *Data) {
		d.Weighting = make([]float64, 24)
		d.Weighting[7] = 3
	}},
	{"unequal weights", func(_ *Input, d *Data) {
		d.Weighting = slices.Repeat([]float64{1e-30}, 24)
		d.Weighting[7] = 1e30
	}},
	{"tasks without training rows", func(in *Input, d *Data) {
		in.HeldOut = make([]bool, 24)
		eachIndex(d, func(i int) { in.HeldOut[i] = d.TaskOf[i] > 0 })
	}},
	{"tasks without rows", func(_ *Input, d *Data) { d.TaskNames = append(d.TaskNames, "absent") }},
	{"a level a row", func(_ *Input, d *Data) {
		d.Levels = make([][]string, 2)
		eachIndex(d, func(i int) {
			d.Values[1][i], d.Levels[1] = float64(i), append(d.Levels[1], fmt.Sprint(i))
		})
	}},
}

// Fit gives a model of strange tables that are tables all the same: it predicts numbers, and can be stored.
func TestFitsStrangeTables(t *testing.T) {
	for _, c := range fitsStrangeTablesCases {
		t.Run(c.name, func(t *testing.T) {
			check.Limit(t)
			d := plainTable()
			in := Input{Table: d}
			c.change(&in, d)
			m, report, err := Fit(t.Context(), in, Options{})
			if err != nil {
				t.Fatal(err)
			}
			check.FailIf(t, len(report.Scores) == 0, "the report has no scores")
			x := make([]float64, len(m.Features()))
			for i := 0; i < d.Rows(); i += 1 + d.Rows()/50 {
				for _, task := range []string{d.TaskNames[d.TaskOf[i]], "another"} {
					p, err := m.PredictError(task, d.X(x, i))
					if err != nil || !finite(p.Value) || !finite(p.SampleError) || p.SampleError < 0 {
						t.Fatalf("row %d, task %q: %+v, %v", i, task, p, err)
					}
				}
			}
			for _, e := range m.Effects() {
				if !finite(e.Estimate) || !finite(e.StandardError) || !finite(e.Deviation) {
					t.Errorf("effect %+v", e)
				}
			}
			check.OK(readBytes(bytesOf(t, m)))
		})
	}
}

// Training between owners refuses no network, no tables and another number of them.
func TestOwnersRefuse(t *testing.T) {
	one := Input{Table: plainTable()}
	rank := 1
	for name, c := range map[string]struct {
		list []Input
		net  *consensus.Network
	}{
		"no network":    {[]Input{one, one}, nil},
		"no tables":     {nil, network("path", 3)},
		"too few":       {[]Input{one, one}, network("path", 3)},
		"another is no": {[]Input{one, {}, one}, network("path", 3)},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Together(t.Context(), c.list, c.net, Options{})
			_, _, private := Privately(t.Context(), c.list, c.net, Options{Rank: &rank}, Privacy{Epsilon: 1})
			for _, err := range []error{err, private} {
				if name == "another is no" {
					check.Error(t, err, "there is no table")
				} else {
					check.Error(t, err, "need a network and one table per node of this process")
				}
			}
		})
	}
}
