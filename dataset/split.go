package dataset

import (
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
	Seed         uint64
}

// Split returns, for every row of the table, whether it is for training. Which rows
// of a task are held out depends on the seed, the name of the task and the order of
// its rows, and on no other task. A task keeps at least one row for training.
func (t *Table) Split(s Split) ([]bool, error) {
	set := 0
	for _, on := range []bool{s.TrainRows != 0, s.TestRows != 0, s.TestFraction != 0} {
		if on {
			set++
		}
	}
	switch {
	case set > 1:
		return nil, fmt.Errorf("only one of training rows, test rows and test fraction may be set: they are %d, %d and %v", s.TrainRows, s.TestRows, s.TestFraction)
	case s.TrainRows < 0 || s.TestRows < 0:
		return nil, fmt.Errorf("the number of rows a task is %d: must not be negative", min(s.TrainRows, s.TestRows))
	case !(s.TestFraction >= 0 && s.TestFraction < 1):
		return nil, fmt.Errorf("the test fraction is %v: want at least 0 and less than 1", s.TestFraction)
	}
	train := make([]bool, t.Rows())
	var small []string
	for k, rows := range t.shuffled(nil, s.Seed, "split") {
		n := len(rows)
		keep := n
		switch {
		case s.TrainRows > 0:
			keep = s.TrainRows
		case s.TestRows > 0:
			keep = n - s.TestRows
		case s.TestFraction > 0:
			keep = max(n-int(math.Round(s.TestFraction*float64(n))), 1)
		}
		if keep < 1 || keep > n {
			small = append(small, fmt.Sprintf("%q (%d rows)", t.tasks[k], n))
			continue
		}
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
	return train, nil
}

// Folds deals the chosen rows of every task out to k folds as evenly as possible,
// and returns the fold of every row, or -1 for rows that are not chosen. As in
// Split, the folds of a task do not depend on the other tasks.
func (t *Table) Folds(rows []bool, k int, seed uint64) []int {
	fold := make([]int, t.Rows())
	for i := range fold {
		fold[i] = -1
	}
	for task, members := range t.shuffled(rows, seed, "folds") {
		// Small tasks start at different folds, so that all folds get rows.
		start := int(taskSeed("start", t.tasks[task]) % uint64(k))
		for j, i := range members {
			fold[i] = (start + j) % k
		}
	}
	return fold
}

// shuffled returns the chosen rows of every task in random order.
func (t *Table) shuffled(rows []bool, seed uint64, purpose string) [][]int {
	out := make([][]int, len(t.tasks))
	for k, n := range t.Samples(rows) {
		out[k] = make([]int, 0, n)
	}
	for i, k := range t.task {
		if rows == nil || rows[i] {
			out[k] = append(out[k], i)
		}
	}
	for k, members := range out {
		r := rand.New(rand.NewPCG(seed, taskSeed(purpose, t.tasks[k])))
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return out
}

// taskSeed derives the stream of a task's random numbers from its name.
func taskSeed(purpose, task string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", purpose, task)
	return h.Sum64()
}
