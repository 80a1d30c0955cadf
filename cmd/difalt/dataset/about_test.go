package dataset

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// Columns about rows are no features, whatever is beside them; a time is one unless it is dropped.
func TestColumnsAboutRows(t *testing.T) {
	const text = "task,w,a,mark,site,who,day,y\np,0.5,1,0,s,ann,2024-03-01,3\nq,2,3,0,s,bob,2024-02-29,5\np,1,2,1,r,ann,2024-03-02,4\n"
	o := TableOptions{
		Task: "task", Target: "y", Weight: "w", Holdout: "mark", Time: "day", Group: "who", Categorical: []string{"site"},
	}
	for _, dropped := range []bool{false, true} {
		features, rows := []string{"a", "site=r", "site=s", "day"}, [][]float64{{1, 0, 1, 19783}, {3, 0, 1, 19782}, {2, 1, 0, 19784}}
		if dropped {
			o.Drop = []string{"day"}
			features = features[:3]
			for i := range rows {
				rows[i] = rows[i][:3]
			}
		}
		tab := readCSV(t, text, o)
		if !reflect.DeepEqual(tab.Features(), features) || !reflect.DeepEqual(tab.Schema().Features(), features) {
			t.Errorf("features %q, schema %q, want %q", tab.Features(), tab.Schema().Features(), features)
		}
		for i, want := range rows {
			if x := tab.X(make([]float64, len(features)), i); !reflect.DeepEqual(x, want) {
				t.Errorf("row %d is %v, want %v", i, x, want)
			}
		}
		if w := tab.Weights(); !reflect.DeepEqual(w, []float64{0.5, 2, 1}) || tab.GroupColumn() != "who" {
			t.Errorf("weights %v, groups by %q", w, tab.GroupColumn())
		}
		if train, err := tab.Split(Split{}); err != nil || !reflect.DeepEqual(train, []bool{true, true, false}) {
			t.Error(train, err)
		}
		if err := tab.Append("p", "", make([]float64, len(features)), 1); err == nil {
			t.Error("a row without a weight was added")
		}
	}
}

func TestColumnsAboutRowsErrors(t *testing.T) {
	const text = "t,a,w,m,d,g,y\nx,1,1,0,3,p,2\nx,2,-1,2,x,,3\n"
	for _, c := range []struct {
		text string
		o    TableOptions
		want []string
	}{
		{text, TableOptions{Drop: []string{"m", "d", "g"}, Weight: "w"}, []string{"line 3", `column "w"`, "-1", "negative"}},
		{text, TableOptions{Drop: []string{"w", "d", "g"}, Holdout: "m"}, []string{"line 3", `column "m"`, "2", "want 1"}},
		{text, TableOptions{Drop: []string{"w", "m", "g"}, Time: "d"}, []string{"line 3", `column "d"`, `"x" is not a number`}},
		{text, TableOptions{Drop: []string{"w", "m", "d", "g"}, Time: "d"}, []string{"line 3", `column "d"`, `"x" is not a number`}},
		{text, TableOptions{Drop: []string{"w", "m", "d"}, Group: "g"}, []string{`1 in column "g" (first on line 3)`}},
		{text, TableOptions{Group: "G"}, []string{`no column "G" for the group`, `did you mean "g"`}},
		{text, TableOptions{Time: "T"}, []string{`no column "T" for the time`}},
		{text, TableOptions{Weight: "W"}, []string{`no column "W" for the weight`}},
		{text, TableOptions{Holdout: "n"}, []string{`no column "n" for the mark`}},
		{text, TableOptions{Group: "t"}, []string{`column "t" cannot be both the task and the group`}},
		{text, TableOptions{Weight: "a", Holdout: "a"}, []string{`column "a" cannot be both the weight and the mark`}},
		{text, TableOptions{Time: "y"}, []string{`column "y" cannot be both the target and the time`}},
		{text, TableOptions{Time: "g", Categorical: []string{"g"}, Drop: []string{"w", "m", "d"}}, []string{`column "g" cannot be both the time and a categorical feature`}},
		{"t,w,y\nx,1,2\n", TableOptions{Weight: "w"}, []string{"no feature columns"}},
		{"t,a,w,y\nx,1,,2\n", TableOptions{Weight: "w"}, []string{`1 in column "w" (first on line 2)`}},
	} {
		c.o.Task, c.o.Target = "t", "y"
		_, err := ReadCSV(strings.NewReader(c.text), c.o)
		checkMessage(t, fmt.Sprintf("%+v", c.o), err, c.want)
	}
}

// Rows of which it is not known when they were, or what they belong to, are left out with others
// that cannot be used, and a feature that is missing is none of that.
func TestMissingAboutRows(t *testing.T) {
	const text = "t,a,w,d,g,y\nx,,1,1,p,2\nx,2,,2,p,3\nx,3,1,,p,4\nx,4,1,4,,5\nx,5,1,5,q,6\n"
	for missing, rows := range map[Missing]int{MissingDrop: 1, MissingKeep: 2} {
		tab := readCSV(t, text, TableOptions{Task: "t", Target: "y", Weight: "w", Time: "d", Group: "g", Missing: missing})
		if tab.Rows() != rows || tab.Dropped() != 5-rows || len(tab.Weights()) != rows {
			t.Errorf("%v: %d rows, %d dropped, %d weights", missing, tab.Rows(), tab.Dropped(), len(tab.Weights()))
		}
	}
}

// The rows that are held out as the last of a task are later than all that are trained on, as many as
// asked for where times differ, and never more.
func TestSplitLast(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("t,day,y\n")
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 60 {
		fmt.Fprintf(&b, "even,%d,0\nties,%d,0\n", (i*37)%60, r.IntN(7))
	}
	tab := readCSV(t, b.String(), TableOptions{Task: "t", Target: "y", Time: "day"})
	for _, s := range []Split{{TestFraction: 0.25, Last: true}, {TestRows: 15, Last: true}, {TrainRows: 45, Last: true}} {
		train, err := tab.Split(s)
		if err != nil {
			t.Fatal(err)
		}
		latest, earliest := []float64{-1, -1}, []float64{100, 100}
		x := make([]float64, 1)
		for i, on := range train {
			day, k := tab.X(x, i)[0], tab.Task(i)
			if on {
				latest[k] = max(latest[k], day)
			} else {
				earliest[k] = min(earliest[k], day)
			}
		}
		if n := tab.Samples(train); n[0] != 45 || n[1] < 45 || n[1] == 60 {
			t.Errorf("%+v: %v rows for training", s, n)
		}
		for k := range latest {
			if latest[k] >= earliest[k] {
				t.Errorf("%+v: trained on day %v, and day %v is held out", s, latest[k], earliest[k])
			}
		}
	}
	_, err := testTable(t, 5).Split(Split{TestRows: 1, Last: true})
	checkMessage(t, "no times", err, []string{"no column says which rows are the last"})
	same := readCSV(t, "t,day,y\nx,1,2\nx,1,3\nz,2,4\nz,2,5\n", TableOptions{Task: "t", Target: "y", Time: "day"})
	_, err = same.Split(Split{TestFraction: 0.5, Last: true})
	checkMessage(t, "one time a task", err, []string{`column "day"`, "of the same time"})
}

// groupedTable has tasks with rows of persons, some of whom are in several tasks.
func groupedTable(t *testing.T, tasks ...string) *Table {
	var b bytes.Buffer
	b.WriteString("t,who,a,y\n")
	for k, task := range tasks {
		for i := range 200 {
			fmt.Fprintf(&b, "%s,p%d,%d,0\n", task, 20*(k%3)+i%40, i)
		}
	}
	return readCSV(t, b.String(), TableOptions{Task: "t", Target: "y", Group: "who"})
}

// A group is held out, or in a fold, as a whole: in all tasks, and in another table too.
func TestSplitGroups(t *testing.T) {
	s := Split{TestFraction: 0.25, Seed: 3}
	held, inFold := map[string]bool{}, map[string]int{}
	rows, out, folds := 0, 0, map[int]bool{}
	for _, tab := range []*Table{groupedTable(t, "a", "b", "c", "d"), groupedTable(t, "x", "y")} {
		train, err := tab.Split(s)
		if err != nil {
			t.Fatal(err)
		}
		fold := tab.Folds(nil, 5, 3)
		for i, on := range train {
			g := &tab.about.group
			who := g.names.list[g.of[i]]
			if was, known := held[who]; known && was == on || inFold[who] != fold[i]+1 && inFold[who] != 0 {
				t.Fatalf("person %s is on both sides, or in two folds", who)
			}
			held[who], inFold[who], folds[fold[i]] = !on, fold[i]+1, true
			rows++
			if !on {
				out++
			}
		}
	}
	if share := float64(out) / float64(rows); share < 0.1 || share > 0.4 || len(folds) != 5 {
		t.Errorf("%v of the rows are held out, in %d folds", share, len(folds))
	}
	train, _ := groupedTable(t, "a").Split(Split{TestFraction: 0.25, Seed: 4})
	if other, _ := groupedTable(t, "a").Split(s); reflect.DeepEqual(train, other) {
		t.Error("the seed has no influence")
	}
	for i, f := range groupedTable(t, "a").Folds(train, 5, 3) {
		if (f >= 0) != train[i] {
			t.Fatalf("row %d has fold %d", i, f)
		}
	}
}

// A task keeps the rows of a group, also where all of its groups would be held out.
func TestSplitGroupsKeepsTasks(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("t,who,a,y\n")
	for k := range 50 {
		fmt.Fprintf(&b, "t%d,p%d,1,0\nt%d,q%d,1,0\n", k, k, k, k)
	}
	tab := readCSV(t, b.String(), TableOptions{Task: "t", Target: "y", Group: "who"})
	train, err := tab.Split(Split{TestFraction: 0.9})
	if err != nil {
		t.Fatal(err)
	}
	for k, n := range tab.Samples(train) {
		if n == 0 {
			t.Errorf("task %d has no row left", k)
		}
	}
	for _, c := range []struct {
		s    Split
		want []string
	}{
		{Split{TestRows: 1}, []string{`groups by column "who"`, "want a fraction"}},
		{Split{TrainRows: 1}, []string{`groups by column "who"`, "want a fraction"}},
	} {
		_, err := tab.Split(c.s)
		checkMessage(t, fmt.Sprintf("%+v", c.s), err, c.want)
	}
	whole := readCSV(t, "t,who,a,y\nx,p,1,2\nx,p,2,3\nz,q,3,4\n", TableOptions{Task: "t", Target: "y", Group: "who"})
	_, err = whole.Split(Split{TestFraction: 0.25})
	checkMessage(t, "groups that are tasks", err, []string{`column "who"`, "whole tasks cannot be held out"})
	marked := readCSV(t, "t,m,a,y\nx,1,1,2\nx,0,2,3\n", TableOptions{Task: "t", Target: "y", Holdout: "m"})
	_, err = marked.Split(Split{TestFraction: 0.25})
	checkMessage(t, "marks and a fraction", err, []string{"the marks of the table"})
}

func readCSV(t *testing.T, text string, o TableOptions) *Table {
	t.Helper()
	tab, err := ReadCSV(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}
