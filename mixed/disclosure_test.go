package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// ample returns a table on which no rule binds for so many owners: many tasks, of many rows or of few, two
// columns of numbers and a category with frequent levels.
func ample(seed uint64, owners int) Input {
	r := rand.New(rand.NewPCG(seed, 3))
	d := &Data{Names: []string{"a", "kind", "b"}, Levels: [][]string{nil, {"x", "y", "z"}, nil}}
	for k := range 60 * owners {
		level, slope := 2*r.NormFloat64(), r.NormFloat64()
		rows := 30
		if k/owners%2 == 0 {
			rows = 5
		}
		for range rows {
			a, kind, b := r.NormFloat64(), float64(r.IntN(3)), r.Float64()
			check.Done(d.Append(fmt.Sprint("task ", k), level+slope*a+kind+3*math.Sin(6*b)+.3*r.NormFloat64(), a, kind, b))
		}
	}
	return Input{Table: d, HeldOut: holdOut(d)}
}

// Where no rule binds, owners have the model of one table.
func TestNoRuleBinds(t *testing.T) {
	for _, owners := range []int{2, 3} {
		in := ample(uint64(owners), owners)
		one, _, err := Fit(t.Context(), in, Options{})
		check.Done(err)
		m, r, err := Together(t.Context(), cut(in, owners), network("exponential", owners), Options{})
		check.Done(err)
		if most := gap(predictions(t, oneNoise(m), in), predictions(t, oneNoise(one), in), one.Parameters().Target.Scale); most > 1e-9 {
			t.Errorf("%d owners: predictions differ by %v deviations: %q", owners, most, r.Notes)
		}
		check.FailIf(t, len(m.Parameters().Design.Curves) == 0, "%d owners have no curve: %q", owners, r.Notes)
		for _, note := range r.Notes {
			check.FailIf(t, strings.Contains(note, "voted") || strings.Contains(note, "total"), "%d owners: a rule binds: %q", owners, note)
		}
	}
}

// Where rules bind, owners have the model of one table without the rows that are in no total, and with the
// replaced values.
func TestRulesBind(t *testing.T) {
	in := ample(7, 3)
	list := cut(in, 3)
	d := list[1].Table.(*Data)
	kind := slices.Index(d.Names, "kind")
	rare := -1
	for i := range d.Values[kind] { // a level that 8 rows of one owner have, and a column of few values
		if len(d.Levels[kind]) == 3 {
			d.Levels[kind] = append(slices.Clone(d.Levels[kind]), "rare")
			rare = 3
		}
		if i%41 == 1 && i < 8*41 {
			d.Values[kind][i] = float64(rare)
		}
	}
	for g := range list {
		own := list[g].Table.(*Data)
		own.Names, own.Values, own.Levels = append(slices.Clone(own.Names), "flag"), append(slices.Clone(own.Values), make([]float64, own.Rows())),
			append(slices.Clone(own.Levels), nil)
		for i := range own.Rows() {
			own.Values[3][i] = float64(i % 2)
			if g == 2 { // here 1 in few rows
				own.Values[3][i] = 0
				if i > 100 && i <= 110 && own.TaskOf[i]%2 == 1 {
					own.Values[3][i] = 1
				}
			}
		}
	}
	few := part(list[0], func(task int) bool { return task%2 == 1 || task < 6 }) // 3 tasks of few rows beside large ones
	list[0] = few
	o := Options{}
	for g := range list {
		list[g].Name = fmt.Sprintf("owner %d", g)
	}
	m, r, err := Together(t.Context(), list, network("path", 3), o)
	check.Done(err)
	// A note about one table begins with its name.
	for _, want := range []string{"owner 0: 12 training rows of 3 small tasks are in no total", `: Levels of "kind"`,
		`owner 2: Columns with one value in nearly all own rows count as constant (--least-level): "flag".`} {
		check.FailIf(t, !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, want) }), "no note %q: %q", want, r.Notes)
	}
	// The same by hand.
	all := &Data{Names: list[0].Table.(*Data).Names, Levels: [][]string{nil, {"x", "y", "z"}, nil, nil}}
	var held []bool
	for g, own := range list {
		d := own.Table.(*Data)
		for i := range d.Rows() {
			name := d.TaskNames[d.TaskOf[i]]
			if g == 0 && slices.Index(d.TaskNames, name) >= 0 && rowsOf(d, d.TaskOf[i]) == 5 {
				continue
			}
			text := d.Levels[1][int(d.Values[1][i])]
			if text == "rare" { // its 6 training rows are too few to count as missing
				text = mostFrequent(d, own.HeldOut)
			}
			level := float64(slices.Index(all.Levels[1], text))
			flag := d.Values[3][i]
			if g == 2 {
				flag = 0
			}
			check.Done(all.Append(name, d.Targets[i], d.Values[0][i], level, d.Values[2][i], flag))
			held = append(held, own.HeldOut[i])
		}
	}
	one, _, err := Fit(t.Context(), Input{Table: all, HeldOut: held}, o)
	check.Done(err)
	if a, b := m.Parameters().Prior.Noise.Variance, one.Parameters().Prior.Noise.Variance; math.Abs(a-b) > 1e-9*b {
		t.Errorf("the noise is %v, by hand %v: %q", a, b, r.Notes)
	}
	x := []float64{.3, 1, 0, 0, .6, 0}
	for k, name := range one.Features() {
		at := slices.Index(m.Features(), name)
		check.FailIf(t, at < 0, "feature %d, %q, is missing: %q", k, name, m.Features())
	}
	ordered := make([]float64, len(m.Features()))
	for k, name := range one.Features() {
		ordered[slices.Index(m.Features(), name)] = x[k]
	}
	for _, task := range one.Tasks() {
		a, _, err := m.Predict(task, ordered)
		b, _, err2 := one.Predict(task, x[:len(one.Features())])
		if err != nil || err2 != nil || math.Abs(a-b) > 1e-9*(1+math.Abs(b)) {
			t.Fatalf("task %q: %v, by hand %v (%v, %v)", task, a, b, err, err2)
		}
	}
	// Tasks in no total have coefficients at their owner.
	for k, name := range few.Table.Tasks() {
		if rowsOf(few.Table.(*Data), k) == 5 {
			if _, known, err := m.Predict(name, ordered); err != nil || !known {
				t.Errorf("task %q in no total has no coefficients: %v", name, err)
			}
		}
	}
}

// rowsOf counts the rows of a task.
func rowsOf(d *Data, task int) (n int) {
	for _, k := range d.TaskOf {
		if k == task {
			n++
		}
	}
	return n
}

// mostFrequent returns the level that most training rows have.
func mostFrequent(d *Data, held []bool) string {
	counts := make([]int, len(d.Levels[1]))
	for i, v := range d.Values[1] {
		if !held[i] {
			counts[int(v)]++
		}
	}
	best := 0
	for k, n := range counts {
		if n > counts[best] {
			best = k
		}
	}
	return d.Levels[1][best]
}

// Every rule acts from the number of rows on that its limit says, and not at all where it is off.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		rows int // in each of 4 tasks of one owner, whose table has 2 columns
		want string
	}{
		"rows a column":     {Options{NoCurves: true}, 6, ""},
		"too few rows":      {Options{NoCurves: true, Disclosure: Disclosure{LeastRows: 9}}, 6, "it needs 9 for each, 27 rows"},
		"no limit":          {Options{NoCurves: true, Disclosure: Disclosure{LeastRows: Off}}, 6, ""},
		"small tasks":       {Options{NoCurves: true}, 4, "16 more rows are of tasks with fewer than 5 rows"},
		"small tasks, off":  {Options{NoCurves: true, Disclosure: Disclosure{LeastSmall: Off}}, 4, ""},
		"small tasks, four": {Options{NoCurves: true, Disclosure: Disclosure{LeastSmall: 3}}, 4, ""},
		"strict":            {Options{NoCurves: true, Disclosure: Disclosure{LeastSmall: 3, Strict: true}}, 4, "are of tasks with fewer than 5 rows"},
	} {
		t.Run(name, func(t *testing.T) {
			var list []Input
			r := rand.New(rand.NewPCG(1, 2))
			for g := range 3 {
				d := &Data{Names: []string{"a", "b"}}
				for k := range 4 {
					for range map[bool]int{true: c.rows, false: 20}[g == 1] {
						check.Done(d.Append(fmt.Sprint(g, k), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()))
					}
				}
				list = append(list, Input{Table: d})
			}
			_, report, err := Together(t.Context(), list, network("path", 3), c.o)
			if report != nil && strings.Contains(strings.Join(report.Notes, " "), "urves") {
				t.Errorf("there are no curves to vote for: %q", report.Notes)
			}
			switch {
			case c.want == "":
				check.Done(err)
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// Where other owners are not trusted, a column with another value than the usual one in fewer rows than
// columns and two counts as constant: a member could have these rows alone in a total.
func TestStrictColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for rows, constant := range map[int]bool{6: true, 11: true, 12: false} {
		for _, strict := range []bool{true, false} {
			list := cut(wide(r, 8, rows), 2)
			_, report, err := Together(t.Context(), list, network("path", 2), Options{NoCurves: true, Disclosure: Disclosure{Strict: strict}})
			check.Done(err)
			said := slices.ContainsFunc(report.Notes, func(note string) bool { return strings.Contains(note, `count as constant (--least-level): "flag"`) })
			check.FailIf(t, said != (constant && strict), "%d rows, strict %v: %q", rows, strict, report.Notes)
		}
	}
}

// wide returns a table of so many drawn columns, and one more that is 1 in so many rows of an owner of two.
func wide(r *rand.Rand, columns, rows int) Input {
	d := &Data{}
	for j := range columns {
		d.Names = append(d.Names, fmt.Sprint("x", j))
	}
	d.Names = append(d.Names, "flag")
	for k := range 40 {
		for i := range 20 {
			x := make([]float64, columns+1)
			for j := range columns {
				x[j] = r.NormFloat64()
			}
			if k%2 == 1 && i%2 == 0 || k%2 == 0 && i == 3 && k/2 < rows {
				x[columns] = 1
			}
			check.Done(d.Append(fmt.Sprint("task ", k), r.NormFloat64(), x...))
		}
	}
	return Input{Table: d}
}

// A few tasks with fewer rows than a design with curves has columns are left out, from every total, where
// they have a small share of the rows; otherwise their owner votes against as many curves.
func TestMiddlingTasks(t *testing.T) {
	for name, c := range map[string]struct {
		middling, rows int // so many tasks of so many rows at one owner, beside 20 of 30 rows
		o              Options
		curves         bool
		note           string
	}{
		"none":           {0, 12, Options{}, true, ""},
		"one":            {1, 12, Options{}, true, "12 training rows of 1 small tasks are in no total"},
		"three":          {3, 12, Options{}, true, "36 training rows of 3 small tasks are in no total"},
		"five":           {5, 12, Options{}, true, "voted against more than 9 columns of curves: 5 tasks with fewer than 15"},
		"seven":          {7, 8, Options{}, true, "voted against more than 3 columns of curves: 7 tasks with fewer than 15"},
		"many":           {12, 12, Options{}, true, ""},
		"no rule":        {1, 12, Options{Disclosure: Disclosure{LeastSmall: Off}}, true, ""},
		"straight lines": {1, 12, Options{NoCurves: true}, false, ""},
	} {
		var list []*Data
		r := rand.New(rand.NewPCG(3, 14))
		for g := range 2 {
			rows := slices.Repeat([]int{30}, 20)
			if g == 0 {
				rows = append(rows, slices.Repeat([]int{c.rows}, c.middling)...)
			}
			d := drawn(uint64(g), fmt.Sprint("owner ", g, " task "), 2, rows...)
			for i := range d.Targets {
				d.Targets[i] += 5*math.Sin(2*d.Values[0][i]) + .1*r.NormFloat64()
			}
			list = append(list, d)
		}
		three := drawn(9, "third", 2, slices.Repeat([]int{30}, 20)...)
		in := []Input{{Table: list[0]}, {Table: list[1]}, {Table: three}}
		m, report, err := Together(t.Context(), in, network("path", 3), c.o)
		check.FailIf(t, err != nil, "%s: %v", name, err)
		curved := slices.ContainsFunc(report.Candidates, func(c Candidate) bool { return c.Curves })
		check.FailIf(t, curved != c.curves, "%s: curves %v: %q", name, curved, report.Notes)
		said := slices.ContainsFunc(report.Notes, func(note string) bool { return strings.Contains(note, c.note) })
		bound := slices.ContainsFunc(report.Notes, func(note string) bool {
			return strings.Contains(note, "wner voted against") || strings.Contains(note, "no total")
		})
		check.FailIf(t, c.note != "" && !said || c.note == "" && bound, "%s: %q", name, report.Notes)
		for k, task := range list[0].TaskNames { // all tasks have coefficients
			_, known, err := m.Predict(task, []float64{1, 1})
			check.FailIf(t, err != nil || !known, "%s: task %d: %v", name, k, err)
		}
	}
}

// A category whose levels are all rare, or hidden by strict rules, is no column of the model.
func TestHiddenCategory(t *testing.T) {
	for name, o := range map[string]Options{"rare": {}, "strict": strictly} {
		list := cut(ample(6, 3), 3)
		for g := range list {
			d := list[g].Table.(*Data)
			rare := make([]float64, d.Rows())
			for i := range rare {
				rare[i] = math.NaN()
			}
			levels := []string{"p", "q"}
			for i := range 6 {
				rare[40*i] = float64(i % 2)
			}
			d.Names, d.Values = append(slices.Clone(d.Names), "a rare one"), append(slices.Clone(d.Values), rare)
			d.Levels = append(slices.Clone(d.Levels), levels)
		}
		m, r, err := Together(t.Context(), list, network("path", 3), o)
		check.FailIf(t, err != nil, "%s: %v", name, err)
		want := []string{"a", "b", "kind=x", "kind=y", "kind=z"}
		if name == "strict" {
			want = want[:2]
		}
		check.FailIf(t, !slices.Equal(slices.Sorted(slices.Values(m.Features())), want), "%s: the features are %q: %q", name, m.Features(), r.Notes)
	}
}

// A level of few own rows is not among the levels that others learn.
func TestRareLevelIsNotNamed(t *testing.T) {
	list := cut(ample(4, 3), 3)
	d := list[0].Table.(*Data)
	d.Levels[1] = append(slices.Clone(d.Levels[1]), "secret")
	for i := range 8 {
		d.Values[1][40*i] = float64(len(d.Levels[1]) - 1)
	}
	for limit, named := range map[int]bool{0: false, Off: true} {
		m, _, err := Together(t.Context(), list, network("path", 3), Options{Disclosure: Disclosure{LeastLevel: limit}})
		check.Done(err)
		if got := slices.Contains(m.Features(), "kind=secret"); got != named {
			t.Errorf("limit %d: the levels are %q", limit, m.Features())
		}
	}
}

// The supports of a curve: the part beyond an outer knot with two intervals, and four neighbouring intervals.
func TestBendsAlone(t *testing.T) {
	knots := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	curve := newSpline(0, knots, 1)
	for name, c := range map[string]struct {
		counts map[float64]int // of values
		alone  bool
	}{
		"none":                    {map[float64]int{}, false},
		"enough everywhere":       {map[float64]int{-1: 12, 1.5: 12, 3.5: 12, 5.5: 12, 8: 12}, false},
		"few beyond the first":    {map[float64]int{-1: 6, 1.5: 5, 3.5: 40, 6.5: 40}, true},
		"few beyond the last":     {map[float64]int{.5: 40, 3.5: 40, 8: 11}, true},
		"few within":              {map[float64]int{-1: 30, 3.5: 11, 8: 30}, true},
		"few at a knot within":    {map[float64]int{-1: 30, 4: 11, 8: 30}, true},
		"none within":             {map[float64]int{-1: 30, 8: 30}, false},
		"few with many beside":    {map[float64]int{.5: 30, 3.5: 1, 3.6: 30, 6.5: 30}, false},
		"few, in five intervals":  {map[float64]int{-1: 30, 1.5: 6, 5.5: 6, 8: 30}, true},
		"many at the end of them": {map[float64]int{-1: 30, 2.5: 12, 8: 30}, false},
	} {
		d := &Data{Names: []string{"a"}}
		for v, n := range c.counts {
			for range n {
				check.Done(d.Append("t", 0, v))
			}
		}
		r := &rows{in: &Input{Table: d}, features: 1, stats: make([]columnStat, 1)}
		r.rowList = check.OK(rowsByTask(t.Context(), r.in, 2))
		g := &guard{Disclosure: Disclosure{LeastLevel: 12}, rows: r, left: make([]bool, len(d.TaskNames))}
		r.guard = g
		if got := g.bendAlone([]Curve{curve})[0]; got != c.alone {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A column with few values other than the usual one has neither deviations nor loadings beside curves,
// whatever others send.
func TestRareColumnHasNoDeviations(t *testing.T) {
	list := cut(ample(5, 3), 3)
	for g := range list {
		d := list[g].Table.(*Data)
		flag, ones := make([]float64, d.Rows()), 0
		for i := range flag {
			flag[i] = float64(i % 2)
			if g == 0 {
				flag[i] = 0
				if !list[g].HeldOut[i] && i%20 == 2 && ones < 14 { // fewer than columns
					flag[i] = 1
					ones++
				}
			}
		}
		d.Names, d.Values, d.Levels = append(slices.Clone(d.Names), "flag"), append(slices.Clone(d.Values), flag), append(slices.Clone(d.Levels), nil)
		for i, v := range flag {
			d.Targets[i] += 2 * v * float64(d.TaskOf[i]%3)
		}
	}
	for limit, free := range map[int]bool{0: false, Off: true} {
		m, r, err := Together(t.Context(), list, network("path", 3), Options{Disclosure: Disclosure{LeastLevel: limit}})
		check.Done(err)
		p := m.Parameters()
		check.FailIf(t, len(p.Design.Curves) == 0, "no curves: %q", r.Notes)
		at := 1 + slices.Index(m.Features(), "flag")
		loads := 0.0
		for a := range p.Prior.Rank {
			loads += math.Abs(p.Prior.Loadings[a*len(p.Mean)+at])
		}
		if got := p.Prior.Deviations[at] > 0 || loads > 0; got != free {
			t.Errorf("limit %d: the deviation of the column is %v, its loadings %v", limit, p.Prior.Deviations[at], loads)
		}
	}
}

// A table may have no column but categories whose levels are all rare: the model then has intercepts alone.
func TestNoColumnIsLeft(t *testing.T) {
	var list []Input
	r := rand.New(rand.NewPCG(4, 14))
	for g := range 3 {
		d := &Data{Names: []string{"kind"}, Levels: [][]string{nil}}
		for k := range 12 {
			for i := range 8 {
				d.Levels[0] = append(d.Levels[0], fmt.Sprint(g, k, i))
				check.Done(d.Append(fmt.Sprint(g, k), float64(k)+r.NormFloat64(), float64(8*k+i)))
			}
		}
		list = append(list, Input{Table: d})
	}
	m, _, err := Together(t.Context(), list, network("path", 3), Options{})
	check.Done(err)
	check.FailIf(t, len(m.Features()) != 0, "the features are %q", m.Features())
}
