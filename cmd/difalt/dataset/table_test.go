package dataset

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
)

// testTable has tasks "t0", "t1", ... with rows[k] rows of the single feature
// 100 k + i and the target -i.
func testTable(t *testing.T, rows ...int) *Table {
	t.Helper()
	tab, err := NewTable([]string{"a"}, true)
	if err != nil {
		t.Fatal(err)
	}
	for k, n := range rows {
		for i := range n {
			if err := tab.Append(fmt.Sprintf("t%d", k), []float64{float64(100*k + i)}, -float64(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab
}

func TestAppendErrors(t *testing.T) {
	tab := testTable(t, 2)
	checkMessage(t, "width", tab.Append("t0", []float64{1, 2}, 0), []string{"row 3 has 2 features: expected 1"})
	checkMessage(t, "NaN", tab.Append("t0", []float64{math.NaN()}, 0), []string{"row 3", `column "a"`, "NaN"})
	checkMessage(t, "target", tab.Append("t0", []float64{1}, math.Inf(1)), []string{"row 3", `row 3, column "target": the value is +Inf`})
	checkMessage(t, "no task", tab.Append("", []float64{1}, 0), []string{"row 3: task", "is not a name"})
	_, err := NewTable(nil, true)
	checkMessage(t, "no features", err, []string{"no feature columns"})
	_, err = NewTable([]string{"a", "a"}, true)
	checkMessage(t, "twice", err, []string{`column "a" occurs twice`})
}

func TestSplit(t *testing.T) {
	tab := testTable(t, 4, 10, 7)
	for _, c := range []struct {
		s    Split
		want []int
	}{
		{Split{}, []int{4, 10, 7}},
		{Split{TrainRows: 3}, []int{3, 3, 3}},
		{Split{TrainRows: 4}, []int{4, 4, 4}},
		{Split{TestFraction: 0.5}, []int{2, 5, 3}},
		{Split{TestFraction: 0.99}, []int{1, 1, 1}},
	} {
		train, err := tab.Split(c.s)
		if err != nil {
			t.Errorf("%+v: %v", c.s, err)
			continue
		}
		n := make([]int, 3)
		for i, train := range train {
			if train {
				n[tab.Task(i)]++
			}
		}
		if !reflect.DeepEqual(n, c.want) {
			t.Errorf("%+v: %v rows for training, want %v", c.s, n, c.want)
		}
	}
	for _, c := range []struct {
		s    Split
		want []string
	}{
		{Split{TrainRows: 5}, []string{"1 task with fewer than 5 training rows", `"t0" (4 rows)`}},
		{Split{TrainRows: 8}, []string{"2 tasks with fewer than 8", `"t0" (4 rows), "t2" (7 rows)`}},
		{Split{TrainRows: 1, TestFraction: .5}, []string{"only one of"}},
		{Split{TrainRows: -1}, []string{"-1"}},
		{Split{TestFraction: 1}, []string{"test fraction 1:"}},
		{Split{TestFraction: math.NaN()}, []string{"test fraction NaN:"}},
	} {
		_, err := tab.Split(c.s)
		checkMessage(t, fmt.Sprintf("%+v", c.s), err, c.want)
	}
}

// The split of a task must depend on its name, its rows and the seed only.
func TestSplitIsPerTask(t *testing.T) {
	s := Split{TrainRows: 5, Seed: 3}
	a, _ := testTable(t, 10, 10).Split(s)
	b, _ := testTable(t, 0, 10).Split(s) // t1 alone
	if !reflect.DeepEqual(a[10:], b) {
		t.Error("the split of a task depends on another task")
	}
	if reflect.DeepEqual(a[:10], a[10:]) {
		t.Error("two tasks have the same split")
	}
	s.Seed = 4
	if c, _ := testTable(t, 10, 10).Split(s); reflect.DeepEqual(a, c) {
		t.Error("the seed has no influence")
	}
}

func TestFolds(t *testing.T) {
	tab := testTable(t, 12, 3, 1, 1, 1, 1, 1, 1)
	train := make([]bool, tab.Rows())
	for i := range train {
		train[i] = i != 0
	}
	fold := tab.Folds(train, 5, 1)
	count := make([][5]int, 8)
	var total [5]int
	for i, f := range fold {
		if (f >= 0) != train[i] {
			t.Errorf("row %d has fold %d", i, f)
			continue
		}
		if f >= 0 {
			count[tab.Task(i)][f]++
			total[f]++
		}
	}
	for _, n := range count[0] {
		if n < 2 || n > 3 {
			t.Errorf("11 rows are dealt as %v", count[0])
		}
	}
	if least, most := slices.Min(total[:]), slices.Max(total[:]); most > least+1 {
		t.Errorf("all rows are dealt as %v", total)
	}
}
