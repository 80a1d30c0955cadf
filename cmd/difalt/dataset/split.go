package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Split says which rows of every task are held out for testing. At most one of
// the three sizes may be set; with none, all rows are for training.
type Split struct {
	TrainRows    int     // rows of every task to train on, the others are held out
	TestRows     int     // rows of every task to hold out
	TestFraction float64 // share of the rows of every task to hold out
	// Last holds out the last rows of every task, by TableOptions.Time, not random ones: all
	// of them are later than those that the task is trained on, so that there are fewer
	// where rows are of the same time.
	Last bool
	Seed uint64
}

// Split returns, for every row of the table, whether it is for training. Which rows
// of a task are held out depends on the seed, the name of the task and the order of
// its rows, and on no other task. A task keeps at least one row for training.
//
// A table with marks (TableOptions.Holdout) holds out those that have one, and the split must
// have no size. In a table with groups, unless Last is set, a share TestFraction of the groups
// is held out, drawn by their names and the seed: the same in all tasks, and in all tables
// with that seed. A task of which nothing would be left keeps the rows of one group.
func (t *Table) Split(s Split) ([]bool, error) {
	if err := t.checkSplit(s); err != nil {
		return nil, err
	}
	train := make([]bool, t.Rows())
	if t.about.marks != nil {
		for i, held := range t.about.marks {
			train[i] = !held
		}
		return train, nil
	}
	if t.about.group.of != nil && !s.Last {
		return t.splitGroups(s)
	}
	var small []string
	asked, held := false, false // some rows
	for k, rows := range t.shuffled(nil, s.Seed, "split") {
		n := len(rows)
		keep := s.keep(n)
		if keep < 1 || keep > n {
			small = append(small, fmt.Sprintf("%q (%d rows)", t.tasks.list[k], n))
			continue
		}
		asked = asked || keep < n
		if s.Last {
			times := t.about.times
			slices.SortFunc(rows, func(a, b int) int { return cmp.Or(cmp.Compare(times[a], times[b]), a-b) })
			for keep < n && times[rows[keep]] == times[rows[keep-1]] {
				keep++ // it is of the same time
			}
		}
		held = held || keep < n
		for _, i := range rows[:keep] {
			train[i] = true
		}
	}
	if small != nil {
		want := fmt.Sprintf("%d rows to train on", s.TrainRows)
		if s.TestRows > 0 {
			want = fmt.Sprintf("%d rows to hold out and one to train on", s.TestRows)
		}
		return nil, fmt.Errorf("%s with too few rows for %s: %s", text.Plural(len(small), "task"), want, text.List(small))
	}
	if asked && !held {
		return nil, fmt.Errorf("column %q: the last rows of every task are of the same time as those before them: none can be held out", t.about.timeColumn)
	}
	return train, nil
}

// checkSplit refuses what is no split, or none of this table.
func (t *Table) checkSplit(s Split) error {
	sizes := s.TrainRows != 0 || s.TestRows != 0 || s.TestFraction != 0
	switch {
	case s.TrainRows != 0 && s.TestRows != 0, s.TestFraction != 0 && (s.TrainRows != 0 || s.TestRows != 0):
		return fmt.Errorf("only one of training rows, test rows and test fraction may be set: they are %d, %d and %v", s.TrainRows, s.TestRows, s.TestFraction)
	case s.TrainRows < 0 || s.TestRows < 0:
		return fmt.Errorf("the number of rows a task is %d: must not be negative", min(s.TrainRows, s.TestRows))
	case !(s.TestFraction >= 0 && s.TestFraction < 1):
		return fmt.Errorf("the test fraction is %v: want at least 0 and less than 1", s.TestFraction)
	case s.Last && t.about.times == nil:
		return errors.New("no column says which rows are the last")
	case t.about.marks != nil && (sizes || s.Last):
		return errors.New("the marks of the table say which rows are held out: nothing else may")
	case t.about.group.of != nil && !s.Last && sizes && s.TestFraction == 0:
		return fmt.Errorf("groups by column %q are held out as a whole: want a fraction, not a number of rows", t.about.group.column)
	}
	return nil
}

func (s *Split) keep(n int) int {
	switch {
	case s.TrainRows > 0:
		return s.TrainRows
	case s.TestRows > 0:
		return n - s.TestRows
	case s.TestFraction > 0:
		return max(n-int(math.Round(s.TestFraction*float64(n))), 1)
	}
	return n
}

// Folds deals the rows of every task, those with rows[i] set or all if rows is nil, out to k
// folds as evenly as possible, and returns the fold of every row, or -1 for the others. As in
// Split, the folds of a task do not depend on the other tasks. Groups are in a fold as a
// whole, in all tasks and in all tables with that seed.
func (t *Table) Folds(rows []bool, k int, seed uint64) []int {
	fold := make([]int, t.Rows())
	for i := range fold {
		fold[i] = -1
	}
	if g := &t.about.group; g.of != nil {
		u := g.draws(seed, "folds of groups")
		for i := range fold {
			if rows == nil || rows[i] {
				fold[i] = int(u[g.of[i]] * float64(k))
			}
		}
		return fold
	}
	for task, members := range t.shuffled(rows, seed, "folds") {
		// Small tasks start at different folds, so that all folds get rows.
		start := int(nameSeed("start", t.tasks.list[task]) % uint64(k))
		for j, i := range members {
			fold[i] = (start + j) % k
		}
	}
	return fold
}

// shuffled returns the rows of every task, those with rows[i] set or all if rows is nil, in random order.
func (t *Table) shuffled(rows []bool, seed uint64, purpose string) [][]int {
	out := make([][]int, len(t.tasks.list))
	for k, n := range t.Samples(rows) {
		out[k] = make([]int, 0, n)
	}
	for i, k := range t.task {
		if rows == nil || rows[i] {
			out[k] = append(out[k], i)
		}
	}
	for k, members := range out {
		stream(seed, purpose, t.tasks.list[k]).Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return out
}

// stream returns the random numbers of a task, or of a group, from its name.
func stream(seed uint64, purpose, name string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, nameSeed(purpose, name)))
}

func nameSeed(purpose, name string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", purpose, name)
	return h.Sum64()
}

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

func (l *builder) addAbout(r *row) error {
	x, a, c := r.x, &l.t.about, l.cols
	complain := func(column string, v float64, want string) error {
		return fmt.Errorf("%s %d, column %q: the value is %v: %s", l.unit, r.line, column, v, want)
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
	k, err := a.group.names.of(r.names[groupName])
	if err != nil {
		return fmt.Errorf("%s %d, column %q: %w", l.unit, r.line, l.o.Group, err)
	}
	a.group.of = append(a.group.of, int32(k))
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
