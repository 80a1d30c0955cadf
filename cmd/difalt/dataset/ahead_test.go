package dataset

import (
	"fmt"
	"strings"
	"testing"
)

// TestParsedInOrder reads so many rows that they are parsed several at a time: they keep their order, and the error is about the first
// line that is wrong, also if a later one was found before.
func TestParsedInOrder(t *testing.T) {
	const rows = 200000
	text := func(line int, instead string) string {
		var b strings.Builder
		b.WriteString("task,x,y\n")
		for i := range rows {
			if i+2 == line {
				b.WriteString(instead)
			}
			fmt.Fprintf(&b, "t%d,%d.25,%d\n", i%7, i, i)
		}
		return b.String()
	}
	o := TableOptions{Task: "task", Target: "y"}
	tab, err := ReadCSV(strings.NewReader(text(0, "")), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if x := tab.X(make([]float64, 1), i); tab.Y(i) != float64(i) || x[0] != float64(i)+0.25 {
			t.Fatalf("row %d has the features %v and the target %v", i, x, tab.Y(i))
		}
	}
	for _, line := range []int{2, 3, 70000, 150000, rows + 1} {
		for _, c := range []struct{ cells, want string }{
			{"t1,1,wrong\nt1,\"no end,2\n", `column "y": "wrong" is not a number`},
			{"t1,1\nt1,1,wrong\n", "has 2 cells, but there are 3 columns"},
		} {
			_, err := ReadCSV(strings.NewReader(text(line, c.cells)), o)
			if want := fmt.Sprintf("line %d", line); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("line %d is %q: %v", line, c.cells, err)
			}
		}
	}
}
