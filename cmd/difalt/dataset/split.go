package dataset

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A Split selects the test rows of every task. At most one size may be set; without one, all rows are
// training rows.
type Split struct {
	TrainRows    int     // training rows of every task
	TestFraction float64 // share of test rows in every task
	Seed         uint64
}

// Split returns whether each row of the table is a training row. The test rows of a task depend on the seed,
// its name and the order of its rows only. Every task keeps at least one training row. A table with marks
// (TableOptions.Holdout) follows them, and the split must have no size.
func (t *Table) Split(s Split) ([]bool, error) {
	switch {
	case s.TrainRows != 0 && s.TestFraction != 0:
		return nil, fmt.Errorf("only one of training rows and test fraction may be set: they are %d and %v", s.TrainRows, s.TestFraction)
	case s.TrainRows < 0 || !(s.TestFraction >= 0 && s.TestFraction < 1):
		return nil, fmt.Errorf("the number of training rows per task is %d, the test fraction %v: they must not be negative, "+
			"and the fraction less than 1", s.TrainRows, s.TestFraction)
	case t.held != nil && (s.TrainRows != 0 || s.TestFraction != 0):
		return nil, errors.New("the table marks its test rows: training rows and test fraction must not be set")
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
		keep := s.TrainRows
		if keep == 0 && len(rows) > 0 {
			keep = max(len(rows)-int(math.Round(s.TestFraction*float64(len(rows)))), 1)
		}
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

// Folds divides the rows of every task, those with rows[i] set or all if rows is nil, into
// k folds as evenly as possible, and so all rows. It returns the fold of every row, -1 for
// the others.
func (t *Table) Folds(rows []bool, k int, seed uint64) []int {
	fold := make([]int, t.Rows())
	for i := range fold {
		fold[i] = -1
	}
	next := 0
	for _, members := range t.shuffled(rows, seed, "folds") {
		for _, i := range members {
			fold[i] = next % k
			next++
		}
	}
	return fold
}

// shuffled returns the rows of every task, those with rows[i] set or all if rows is nil,
// in random order.
func (t *Table) shuffled(rows []bool, seed uint64, purpose string) [][]int {
	out := make([][]int, len(t.tasks.list))
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
