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

// dependentTable draws a table of 300 rows and 10 tasks: three dummies of one factor, two of another one, a
// sum of two columns in other units, and two columns on their own. spoil changes a row before it is added.
func dependentTable(t *testing.T, spoil func(i int, x []float64)) *Data {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 8))
	table := newTable(t, "red", "green", "blue", "left", "a", "b", "sum", "right", "own")
	for i := range 300 {
		a, b := r.NormFloat64(), 1e-3*r.NormFloat64()
		x := []float64{0, 0, 0, 0, a, b, 20*a - 1e4*b + 7, 1, 3 + r.ExpFloat64()}
		x[r.IntN(3)] = 1
		if r.IntN(4) == 0 {
			x[3], x[7] = 1, 0
		}
		if spoil != nil {
			spoil(i, x)
		}
		y := x[0] - 2*x[1] + a + r.NormFloat64()
		add(t, table, string(rune('a'+i%10)), y, x...)
	}
	return table
}

const (
	colours = `"red", "green", "blue"`
	sides   = `"left", "right"`
	sum     = `"a", "b", "sum"`
)

// dependentIn lists the groups of the notes that name columns that follow from each other.
func dependentIn(notes []string) (groups []string) {
	for _, note := range notes {
		if _, after, ok := strings.Cut(note, "as dummies that add up to 1 do: "); ok {
			group, _, _ := strings.Cut(after, ". ")
			groups = append(groups, group)
		}
	}
	return groups
}

// Notes name each group of columns that depend on each other, and no other column.
func TestDependentColumns(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(i int, x []float64)
		want  []string
	}{
		"all":         {nil, []string{colours, sides, sum}},
		"no colour":   {func(i int, x []float64) { x[i%3] = max(x[i%3], float64(i%7/6)) }, []string{sides, sum}},
		"one row off": {func(i int, x []float64) { x[6] += float64(i / 299) }, []string{colours, sides}},
		"tiny units": {func(_ int, x []float64) {
			for j := range x {
				x[j] *= 1e-30
			}
		}, []string{colours, sides, sum}},
		"large offset": {func(_ int, x []float64) { x[4] += 1e6; x[6] += 2e7 }, []string{colours, sides, sum}},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := fitted(t, dependentTable(t, c.spoil), Options{})
			check.FailIf(t, !slices.Equal(dependentIn(r.Notes), c.want),
				"groups %q, want %q", dependentIn(r.Notes), c.want)
		})
	}
}

// The standard errors say why a note is needed: without one column of each group they are small.
func TestDependentColumnsHaveNoEffectsOfTheirOwn(t *testing.T) {
	table := dependentTable(t, nil)
	largest := func(left ...string) (sd float64) {
		small := newTable(t)
		for _, name := range table.Names {
			if !slices.Contains(left, name) {
				small.Names = append(small.Names, name)
			}
		}
		for i := range table.Rows() {
			var x []float64
			for j, name := range table.Names {
				if !slices.Contains(left, name) {
					x = append(x, table.Values[j][i])
				}
			}
			add(t, small, table.Tasks()[table.Task(i)], table.Y(i), x...)
		}
		m, r := fitted(t, small, Options{NoCurves: true})
		check.FailIf(t, len(left) > 0 && dependentIn(r.Notes) != nil, "without %q: %q", left, r.Notes)
		for _, e := range m.Effects() {
			if e.Term == "red" || e.Term == "left" {
				sd = max(sd, e.StandardError)
			}
		}
		return sd
	}
	all, some := largest(), largest("blue", "right", "sum")
	check.FailIf(t, !(all > 10) || !(some < 1), "standard errors %v with all columns, %v without three", all, some)
}

// Levels of a category add up to 1 and need no note; a second category that follows from the first one does.
func TestDependentLevels(t *testing.T) {
	draw := func(nested bool) *Data {
		r, table := rand.New(rand.NewPCG(6, 8)), newTable(t, "town", "x", "country")
		table.Levels = [][]string{{"p", "q", "r", "s"}, nil, {"u", "v"}}
		for i := range 240 {
			town, x := i%4, r.NormFloat64()
			country := r.IntN(2)
			if nested {
				country = town / 2
			}
			add(t, table, string(rune('a'+i/4%8)), x+r.NormFloat64(), float64(town), x, float64(country))
		}
		return table
	}
	_, r := fitted(t, draw(false), Options{})
	check.FailIf(t, dependentIn(r.Notes) != nil, "crossed categories: %q", r.Notes)
	_, r = fitted(t, draw(true), Options{})
	got := dependentIn(r.Notes)
	check.FailIf(t, len(got) != 1 || !strings.Contains(got[0], `"country=v"`) || strings.Contains(got[0], `"x"`),
		"nested categories: %q", r.Notes)
}

// Several owners find the groups of one table. Their columns have the order of their names.
func TestDependentColumnsOfOwners(t *testing.T) {
	in := Input{Table: dependentTable(t, nil)}
	_, r, err := Together(t.Context(), cut(in, 3), network("path", 3), open)
	check.Done(err)
	want := []string{sum, `"blue", "green", "red"`, sides}
	check.FailIf(t, !slices.Equal(dependentIn(r.Notes), want), "groups %q, want %q", dependentIn(r.Notes), want)
}

// Many groups are counted.
func TestManyDependentColumns(t *testing.T) {
	for _, pairs := range []int{groupsShown, groupsShown + 1, groupsShown + 2} {
		r, table := rand.New(rand.NewPCG(7, 8)), newTable(t)
		for k := range pairs {
			table.Names = append(table.Names, fmt.Sprint("x", k), fmt.Sprint("y", k))
		}
		for i := range 200 {
			var x []float64
			for range pairs {
				v := r.NormFloat64()
				x = append(x, v, 5-math.Pi*v)
			}
			add(t, table, string(rune('a'+i%8)), x[0]+r.NormFloat64(), x...)
		}
		_, report := fitted(t, table, Options{NoCurves: true})
		all := strings.Join(report.Notes, "\n")
		counted := strings.Contains(all, "There are 2 more groups")
		check.FailIf(t, counted != (pairs == groupsShown+2), "%d pairs:\n%s", pairs, all)
		shown := min(pairs, groupsShown+1)
		if counted {
			shown = groupsShown
		}
		check.FailIf(t, len(dependentIn(report.Notes)) != shown, "%d pairs:\n%s", pairs, all)
	}
}

// With fewer rows than columns one sentence says so, in place of groups.
func TestFewerRowsThanColumnsIsOneNote(t *testing.T) {
	r, table := rand.New(rand.NewPCG(8, 8)), newTable(t)
	for j := range 20 {
		table.Names = append(table.Names, fmt.Sprint("x", j))
	}
	for i := range 16 {
		x := make([]float64, 20)
		for j := range x {
			x[j] = r.NormFloat64()
		}
		add(t, table, string(rune('a'+i%4)), x[0]+r.NormFloat64(), x...)
	}
	_, report := fitted(t, table, Options{NoCurves: true})
	all := strings.Join(report.Notes, "\n")
	check.FailIf(t, dependentIn(report.Notes) != nil || !strings.Contains(all, "no more training rows than columns"),
		"notes:\n%s", all)
}
