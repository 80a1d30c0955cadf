package dataset

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/internal/check"
)

// testTable has tasks "t0", "t1", ... with rows[k] rows of the single feature
// 100 k + i and the target -i.
func testTable(t *testing.T, rows ...int) *Table {
	t.Helper()
	content := "t,a,y\n"
	for k, n := range rows {
		for i := range n {
			content += fmt.Sprintf("t%d,%d,%d\n", k, 100*k+i, -i)
		}
	}
	return check.OK(read(content, columnsTY))
}

// A table of several pieces of at most 4 MB: rows come back.
func TestPieces(t *testing.T) {
	const columns = 150_000
	content := "t,y," + strings.Join(text.Numbered("x", columns), ",") + "\n"
	for i := range 8 {
		content += fmt.Sprintf("u,%d,%d%s,%d\n", i, i, strings.Repeat(",0", columns-2), -i)
	}
	wide := check.OK(read(content, columnsTY))
	x := make([]float64, columns)
	for i := range 8 {
		if wide.X(x, i); x[0] != float64(i) || x[1] != 0 || x[len(x)-1] != -float64(i) {
			t.Errorf("row %d is %v, ..., %v", i, x[0], x[len(x)-1])
		}
	}
	if len(wide.x.pieces) != 3 || cap(wide.x.pieces[1]) > 4<<20/8 {
		t.Errorf("%d pieces of %d numbers", len(wide.x.pieces), cap(wide.x.pieces[1]))
	}
}

// TestSplit: of every task its share of rows is held out, at most all but one. The split of a task depends on
// its name, its rows and the seed only.
func TestSplit(t *testing.T) {
	tab := testTable(t, 4, 10, 7)
	for fraction, want := range map[float64][]int{0: {4, 10, 7}, 0.5: {2, 5, 3}, 0.99: {1, 1, 1}} {
		train, err := tab.Split(Split{TestFraction: fraction})
		n := make([]int, 3)
		for i, train := range train {
			if train {
				n[tab.Task(i)]++
			}
		}
		check.FailIf(t, err != nil || !reflect.DeepEqual(n, want),
			"fraction %v: %v rows for training, %v: want %v", fraction, n, err, want)
	}
	for _, f := range []float64{1, -0.1, math.NaN()} {
		_, err := tab.Split(Split{TestFraction: f})
		check.Error(t, err, fmt.Sprintf("test fraction is %v:", f))
	}
	s := Split{TestFraction: .5, Seed: 3}
	a, _ := testTable(t, 10, 10).Split(s)
	b, _ := testTable(t, 0, 10).Split(s) // t1 alone
	check.FailIf(t, !reflect.DeepEqual(a[10:], b), "the split of a task depends on another task")
	check.FailIf(t, reflect.DeepEqual(a[:10], a[10:]), "two tasks have the same split")
	s.Seed = 4
	if c, _ := testTable(t, 10, 10).Split(s); reflect.DeepEqual(a, c) {
		t.Error("the seed has no influence")
	}
}

// TestRowsOfWeightZero: a row of weight 0 is as absent, with its task, its level and whatever looks wrong in
// it, and the split of the other rows stays as it is.
func TestRowsOfWeightZero(t *testing.T) {
	some, all := "t,a,b,y,w\n", "t,a,b,y,w\n"
	for i := range 40 {
		row := fmt.Sprintf("t%d,%v,l%d,%d,2\n", i/30, math.Sin(float64(i)), i%2, i*i%37)
		some, all = some+row, all+row+row[:len(row)-2]+"0\n"
	}
	all += "t2,1e9,l7,999999,0\n"
	o := columnsTY
	o.Weight = "w"
	tab, want := check.OK(read(all, o)), check.OK(read(some, o))
	split := Split{TestFraction: .5, Seed: 5}
	got := check.OK(tab.Split(split))
	check.FailIf(t, !slices.Equal(got, check.OK(want.Split(split))), "rows of weight 0 change the split to %v", got)
	check.FailIf(t, tab.Rows() != 40 || len(tab.Tasks()) != 2 || !reflect.DeepEqual(tab.Schema(), want.Schema()),
		"%d rows of tasks %v in columns %+v", tab.Rows(), tab.Tasks(), tab.Schema())
	check.FailIf(t, len(tab.Remarks()) > 0, "remarks: %q", tab.Remarks())
	_, err := read("t,a,y,w\nt0,1,2,0\n", o)
	check.Error(t, err, `column "w": all weights are 0`)
}

// Names keep their numbers whether they are few, and looked for one after the other, or many.
func TestNamesKeepTheirNumbers(t *testing.T) {
	var n names
	for round := range 2 {
		for k := range 3 * fewNames {
			got, err := n.of(fmt.Sprint("name ", k))
			check.FailIf(t, got != k || err != nil, "round %d: name %d has the number %d (%v)", round, k, got, err)
			if _, known := n.find(fmt.Sprint("name ", k+1)); known != (round == 1 && k+1 < 3*fewNames) {
				t.Errorf("round %d: the name after %d is known: %v", round, k, known)
			}
		}
	}
}

// A table with two features of one name is refused: columns of one name, and a column with the name of a
// level.
func TestFeaturesOfOneName(t *testing.T) {
	_, err := ReadCSV(strings.NewReader("t,y,a,a=u\ng,1,u,2\nh,2,v,3\n"), TableOptions{Task: "t", Target: "y"})
	check.FailIf(t, err == nil || !strings.Contains(err.Error(), "a=u"), "the error is %v", err)
}

// Each of many columns of text takes a few kilobytes to read: no map of its levels, and no attempt to read
// them as dates.
func TestManyColumnsOfText(t *testing.T) {
	const columns, rows = 3000, 12
	var text strings.Builder
	text.WriteString("t,y")
	for j := range columns {
		fmt.Fprintf(&text, ",c%d", j)
	}
	for i := range rows {
		fmt.Fprintf(&text, "\ng%d,%d", i%3, i)
		for j := range columns {
			fmt.Fprintf(&text, ",%c%d", 'a'+(i+j)%2, (i*j)%3)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table := check.OK(ReadCSV(strings.NewReader(text.String()), TableOptions{Task: "t", Target: "y"}))
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / columns
	check.FailIf(t, len(table.Schema().Categories) != columns, "%d categories", len(table.Schema().Categories))
	check.FailIf(t, each > 6000, "%d bytes for each column", each)
}

// TestRowsOfWeightZeroMayLack: a row of weight 0 is as absent, also where it lacks a value, whatever is done
// with missing values. A row with another weight is refused.
func TestRowsOfWeightZeroMayLack(t *testing.T) {
	const whole = "t,a,y,w\nt0,1,1,2\nt0,2,3,1\nt1,4,2,1\n"
	for _, missing := range []Missing{MissingRefuse, MissingDrop, MissingKeep} {
		o := columnsTY
		o.Weight, o.Missing = "w", missing
		tab := check.OK(read(whole+"t1,,2,0\nt2,3,,0\n", o))
		check.FailIf(t, len(tab.Tasks()) != 2 || tab.Rows() != 3 || tab.Dropped() != 0,
			"%v: %d rows of %d tasks count, %d left out", missing, tab.Rows(), len(tab.Tasks()), tab.Dropped())
		check.FailIf(t, !slices.Contains(tab.Notes(), "2 rows of weight 0 taken as absent."), "notes: %q", tab.Notes())
	}
	o := columnsTY
	o.Weight = "w"
	_, err := read(whole+"t1,,2,1\n", o)
	check.Error(t, err, "there are missing values", "line 5")
}
