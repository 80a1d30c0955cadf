package dataset

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Split selects the test rows of every task. At most one size may be set; without one,
// all rows are training rows.
type Split struct {
	TrainRows    int     // training rows of every task
	TestFraction float64 // share of test rows in every task
	Seed         uint64
}

// Split returns whether each row of the table is a training row. The test rows of a task
// depend on the seed, its name and the order of its rows only. Every task keeps at least
// one training row. A table with marks (TableOptions.Holdout) follows them, and the split
// must have no size.
func (t *Table) Split(s Split) ([]bool, error) {
	if err := t.checkSplit(s); err != nil {
		return nil, err
	}
	train := make([]bool, t.Rows())
	if t.held != nil {
		for i, held := range t.held {
			train[i] = !held
		}
		return train, nil
	}
	var small []string
	for k, rows := range t.shuffled(nil, s.Seed, "split") {
		keep := s.keep(len(rows))
		if keep > len(rows) {
			small = append(small, fmt.Sprintf("%q (%d rows)", clip(t.tasks.list[k]), len(rows)))
			continue
		}
		for _, i := range rows[:keep] {
			train[i] = true
		}
	}
	if small != nil {
		return nil, fmt.Errorf("%s with fewer than %s: %s",
			text.Plural(len(small), "task"), text.Plural(s.TrainRows, "training row"), text.List(small))
	}
	return train, nil
}

// checkSplit refuses sizes that contradict each other or the table.
func (t *Table) checkSplit(s Split) error {
	switch {
	case s.TrainRows != 0 && s.TestFraction != 0:
		return fmt.Errorf("only one of training rows and test fraction may be set: they are %d and %v", s.TrainRows, s.TestFraction)
	case s.TrainRows < 0:
		return fmt.Errorf("the number of training rows per task is %d: must not be negative", s.TrainRows)
	case !(s.TestFraction >= 0 && s.TestFraction < 1):
		return fmt.Errorf("the test fraction is %v: expected at least 0 and less than 1", s.TestFraction)
	case t.held != nil && (s.TrainRows != 0 || s.TestFraction != 0):
		return errors.New("the table marks its test rows: training rows and test fraction must not be set")
	}
	return nil
}

// keep returns the number of training rows among n.
func (s *Split) keep(n int) int {
	switch {
	case s.TrainRows > 0:
		return s.TrainRows
	case s.TestFraction > 0:
		return max(n-int(math.Round(s.TestFraction*float64(n))), 1)
	}
	return n
}

// Folds divides the rows of every task, those with rows[i] set or all if rows is nil, into
// k folds as evenly as possible. It returns the fold of every row, -1 for the others. The
// folds of a task do not depend on other tasks.
func (t *Table) Folds(rows []bool, k int, seed uint64) []int {
	fold := make([]int, t.Rows())
	for i := range fold {
		fold[i] = -1
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

// shuffled returns the rows of every task, those with rows[i] set or all if rows is nil,
// in random order.
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
		rng := rand.New(rand.NewPCG(seed, nameSeed(purpose, t.tasks.list[k])))
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return out
}

func nameSeed(purpose, name string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", purpose, name)
	return h.Sum64()
}
