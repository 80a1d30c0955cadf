package dataset

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// testTable has tasks "t0", "t1", ... with rows[k] rows of the single feature
// 100 k + i and the target -i.
func testTable(t *testing.T, rows ...int) *Table {
	t.Helper()
	tab, err := NewTable([]string{"a"}, true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for k, n := range rows {
		for i := range n {
			if err := tab.Append(fmt.Sprintf("t%d", k), "", []float64{float64(100*k + i)}, -float64(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tab
}

func TestAppendErrors(t *testing.T) {
	tab := testTable(t, 2)
	checkMessage(t, "width", tab.Append("t0", "", []float64{1, 2}, 0), []string{"row 3 has 2 features, the table 1"})
	checkMessage(t, "NaN", tab.Append("t0", "", []float64{math.NaN()}, 0), []string{"row 3", `column "a"`, "NaN"})
	checkMessage(t, "target", tab.Append("t0", "", []float64{1}, math.Inf(1)), []string{"row 3", "row 3, target: the value is +Inf"})
	checkMessage(t, "no task", tab.Append("", "", []float64{1}, 0), []string{"row 3: task", "is not a name"})
	_, err := NewTable(nil, true, kernel.Float64)
	checkMessage(t, "no features", err, []string{"no feature columns"})
	_, err = NewTable([]string{"a", "a"}, true, kernel.Float64)
	checkMessage(t, "twice", err, []string{`column "a" is there twice`})
}

func TestAssignBlocks(t *testing.T) {
	tab := testTable(t, 1, 1, 1, 1, 1, 1, 1)
	for l := 1; l <= 7; l++ {
		if err := tab.AssignBlocks(l); err != nil {
			t.Fatal(err)
		}
		layout, err := tab.Layout()
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for _, tasks := range layout {
			if n := len(tasks); n != 7/l && n != (7+l-1)/l {
				t.Errorf("%d nodes: one has %d of 7 tasks", l, n)
			}
			for _, k := range tasks {
				if k != next {
					t.Errorf("%d nodes: layout %v is not contiguous", l, layout)
				}
				next++
			}
		}
	}
	checkMessage(t, "too many", tab.AssignBlocks(8), []string{"8 nodes for 7 tasks", "node 7 would have no tasks"})
	checkMessage(t, "none", tab.AssignBlocks(0), []string{"number of nodes is 0"})
	_, err := testTable(t, 1).Layout()
	checkMessage(t, "unassigned", err, []string{`task "t0" is on no node`})
}

func TestPack(t *testing.T) {
	tab := testTable(t, 3, 2, 4)
	if err := tab.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	layout, _ := tab.Layout()
	rows := make([]bool, tab.Rows())
	for i := range rows {
		rows[i] = i != 1 // leaves out the second row of t0
	}
	nodes, err := tab.Pack(layout, rows, 2, func(x []float64, i int) float64 {
		tab.X(x[:1], i)
		x[1] = 7
		return 2 * tab.Y(i)
	})
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 2)
	for g, tasks := range layout {
		for i, k := range tasks {
			want := []int{2, 2, 4}[k]
			if n := nodes[g].Samples(i); n != want {
				t.Fatalf("task %d has %d samples, want %d", k, n, want)
			}
			for s := range want {
				at := s
				if k == 0 && s > 0 {
					at++
				}
				nodes[g].Row(x, i, s)
				if x[0] != float64(100*k+at) || x[1] != 7 || nodes[g].Y(i)[s] != -2*float64(at) {
					t.Errorf("task %d, sample %d: x = %v, y = %v", k, s, x, nodes[g].Y(i)[s])
				}
			}
		}
	}
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
		{Split{TestRows: 3}, []int{1, 7, 4}},
		{Split{TestFraction: 0.5}, []int{2, 5, 3}},
		{Split{TestFraction: 0.99}, []int{1, 1, 1}},
	} {
		train, err := tab.Split(c.s)
		if err != nil {
			t.Errorf("%+v: %v", c.s, err)
			continue
		}
		if n := tab.Samples(train); !reflect.DeepEqual(n, c.want) {
			t.Errorf("%+v: %v rows for training, want %v", c.s, n, c.want)
		}
	}
	for _, c := range []struct {
		s    Split
		want []string
	}{
		{Split{TrainRows: 5}, []string{"1 task with too few rows for 5 rows to train on", `"t0" (4 rows)`}},
		{Split{TestRows: 7}, []string{"2 tasks with too few rows", "7 rows to hold out and one to train on", `"t0" (4 rows), "t2" (7 rows)`}},
		{Split{TrainRows: 1, TestRows: 1}, []string{"only one of"}},
		{Split{TestRows: -1}, []string{"-1"}},
		{Split{TestFraction: 1}, []string{"test fraction is 1"}},
		{Split{TestFraction: math.NaN()}, []string{"test fraction is NaN"}},
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
	used := map[int]bool{}
	for i, f := range fold {
		if (f >= 0) != train[i] {
			t.Errorf("row %d has fold %d", i, f)
			continue
		}
		if f >= 0 {
			count[tab.Task(i)][f]++
			if tab.Task(i) >= 2 {
				used[f] = true
			}
		}
	}
	for _, n := range count[0] {
		if n < 2 || n > 3 {
			t.Errorf("11 rows are dealt as %v", count[0])
		}
	}
	if len(used) < 2 {
		t.Error("tasks of one row are all in the same fold")
	}
}

// The limit of float32 storage is where conversion becomes infinite.
func TestFits(t *testing.T) {
	limit := float64(math.MaxFloat32)
	for range 3 {
		limit = math.Nextafter(limit, math.Inf(1))
	}
	for _, v := range []float64{0, 1, math.MaxFloat32, limit, 0x1.ffffffp127, math.Nextafter(0x1.ffffffp127, 0), 1e39, math.MaxFloat64} {
		for _, v := range []float64{v, -v} {
			if want := !math.IsInf(float64(float32(v)), 0); fits(v) != want {
				t.Errorf("fits(%v) = %v, want %v", v, !want, want)
			}
		}
	}
}

// Entries that the table does not have are an error.
func TestFillBeyond(t *testing.T) {
	for _, at := range []int{-1, 5, 6, 100} {
		tab, err := NewTable([]string{"a", "b"}, true, kernel.Float64)
		if err != nil {
			t.Fatal(err)
		}
		if err := tab.AddTask("x"); err != nil {
			t.Fatal(err)
		}
		err = tab.Fill([]int{0, 0, 0}, []float64{1, 2, 3}, func(put func(at int, run []float64)) error {
			put(at, []float64{1, 2})
			return nil
		})
		checkMessage(t, fmt.Sprint(at), err, []string{fmt.Sprintf("entries from %d on", at), "3 rows of 2 features"})
	}
}
