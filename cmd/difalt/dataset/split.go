package dataset

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// A Split selects the test rows of every task.
type Split struct {
	TestFraction float64 // share of test rows in every task
	Seed         uint64
}

// Split returns whether each row of the table is a training row. The test rows of a task depend on the seed,
// its name and the order of its rows only. Every task keeps at least one training row. A table with marks
// (TableOptions.Holdout) follows them, and the fraction must be 0.
func (t *Table) Split(s Split) ([]bool, error) {
	switch {
	case !(s.TestFraction >= 0 && s.TestFraction < 1):
		return nil, fmt.Errorf("the test fraction is %v: must be from 0 to less than 1", s.TestFraction)
	case t.held != nil && s.TestFraction != 0:
		return nil, errors.New("the table marks its test rows: the test fraction must not be set")
	}
	train := make([]bool, t.Rows())
	for i, held := range t.held {
		train[i] = !held
	}
	if t.held != nil {
		return train, nil
	}
	for _, rows := range t.shuffled(nil, s.Seed, "split") {
		test := int(math.Round(s.TestFraction * float64(len(rows))))
		for _, i := range rows[:max(len(rows)-test, 1)] { // each task has a row
			train[i] = true
		}
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
		h := fnv.New64a()
		fmt.Fprintf(h, "%s\x00%s", purpose, t.tasks.list[k])
		rng := rand.New(rand.NewPCG(seed, h.Sum64()))
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return out
}
