package dataset

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/internal/text"
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
			keep = t.sortByTime(rows, keep)
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
	set := 0
	for _, on := range []bool{s.TrainRows != 0, s.TestRows != 0, s.TestFraction != 0} {
		if on {
			set++
		}
	}
	switch {
	case set > 1:
		return fmt.Errorf("only one of training rows, test rows and test fraction may be set: they are %d, %d and %v", s.TrainRows, s.TestRows, s.TestFraction)
	case s.TrainRows < 0 || s.TestRows < 0:
		return fmt.Errorf("the number of rows a task is %d: must not be negative", min(s.TrainRows, s.TestRows))
	case !(s.TestFraction >= 0 && s.TestFraction < 1):
		return fmt.Errorf("the test fraction is %v: want at least 0 and less than 1", s.TestFraction)
	case s.Last && t.about.times == nil:
		return errors.New("no column says which rows are the last")
	case t.about.marks != nil && (set > 0 || s.Last):
		return errors.New("the marks of the table say which rows are held out: nothing else may")
	case t.about.group.of != nil && !s.Last && set > 0 && s.TestFraction == 0:
		return fmt.Errorf("groups by column %q are held out as a whole: want a fraction, not a number of rows", t.about.group.column)
	}
	return nil
}

// keep returns how many of n rows of a task are for training.
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
