package dataset

import (
	"cmp"
	"fmt"
	"slices"
)

// aboutRows is what columns other than features say about the rows of a table; nil where there
// is no such column.
type aboutRows struct {
	weights    []float64
	marks      []bool // of rows that are held out
	times      []float64
	timeColumn string
	group      grouping
}

// A grouping says which rows belong together.
type grouping struct {
	column string
	names  names
	of     []int32 // of every row
}

// given reports whether there is any such column.
func (a *aboutRows) given() bool {
	return a.weights != nil || a.marks != nil || a.times != nil || a.group.of != nil
}

// Weights returns how much every row counts, by TableOptions.Weight; nil if nothing says it.
// The slice aliases the table.
func (t *Table) Weights() []float64 { return t.about.weights }

// TimeColumn returns TableOptions.Time.
func (t *Table) TimeColumn() string { return t.about.timeColumn }

// GroupColumn returns TableOptions.Group.
func (t *Table) GroupColumn() string { return t.about.group.column }

// addAbout adds what a row of a batch says about itself.
func (l *builder) addAbout(b *batch, i int) error {
	x, a, c := b.numbers(i), &l.t.about, l.cols
	complain := func(column string, v float64, want string) error {
		return fmt.Errorf("%s %d, column %q: the value is %v: %s", l.unit, b.line[i], column, v, want)
	}
	if k := c.weight; k >= 0 {
		if x[k] < 0 {
			return complain(l.o.Weight, x[k], "weights must not be negative")
		}
		a.weights = append(a.weights, x[k])
	}
	if k := c.mark; k >= 0 {
		if x[k] != 0 && x[k] != 1 {
			return complain(l.o.Holdout, x[k], "want 1 for a row that is held out, and 0 for the others")
		}
		a.marks = append(a.marks, x[k] == 1)
	}
	if k := c.time; k >= 0 {
		a.times = append(a.times, x[k])
	}
	if l.o.Group == "" {
		return nil
	}
	cell := b.name(i, groupName)
	if err := checkName(string(cell)); err != nil {
		return fmt.Errorf("%s %d, column %q: %w", l.unit, b.line[i], l.o.Group, err)
	}
	a.group.of = append(a.group.of, int32(a.group.names.number(string(cell))))
	return nil
}

// draws returns a number in [0, 1) for every group, by its name: the same in all tables.
func (g *grouping) draws(seed uint64, purpose string) []float64 {
	u := make([]float64, len(g.names.list))
	for k, name := range g.names.list {
		u[k] = stream(seed, purpose, name).Float64()
	}
	return u
}

// splitGroups holds out the groups that a share of all names falls on, wherever they are, but for
// one in a task that would have no row left.
func (t *Table) splitGroups(s Split) ([]bool, error) {
	g := &t.about.group
	u := g.draws(s.Seed, "split groups")
	most, several := make([]float64, len(t.tasks.list)), false
	first := make([]int32, len(t.tasks.list)) // group of every task, and 1 more
	for i, k := range t.task {
		most[k] = max(most[k], u[g.of[i]])
		several = several || first[k] > 0 && first[k] != g.of[i]+1
		first[k] = g.of[i] + 1
	}
	if s.TestFraction > 0 && !several {
		return nil, fmt.Errorf("column %q has a single value in each task: whole tasks cannot be held out", g.column)
	}
	train := make([]bool, t.Rows())
	for i, k := range t.task {
		train[i] = u[g.of[i]] >= min(s.TestFraction, most[k])
	}
	return train, nil
}

// sortByTime sorts rows of a task by their time, and returns how many are for training: n, and
// those after them that are of the same time.
func (t *Table) sortByTime(rows []int, n int) int {
	times := t.about.times
	slices.SortFunc(rows, func(a, b int) int { return cmp.Or(cmp.Compare(times[a], times[b]), a-b) })
	for n < len(rows) && times[rows[n]] == times[rows[n-1]] {
		n++
	}
	return n
}
