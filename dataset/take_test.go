package dataset

import (
	"reflect"
	"strings"
	"testing"
)

// What Take removes is no feature any more, whatever is beside it, and is returned.
func TestTake(t *testing.T) {
	tab, err := ReadCSV(strings.NewReader("task,a,mark,site,y\np,1,0,s,3\np,2,1,r,4\n"), TableOptions{Task: "task", Target: "y", Categorical: []string{"site"}})
	if err != nil {
		t.Fatal(err)
	}
	marks, err := tab.Take("mark")
	if err != nil || !reflect.DeepEqual(marks, []float64{0, 1}) {
		t.Fatal(marks, err)
	}
	if want := []string{"a", "site=r", "site=s"}; !reflect.DeepEqual(tab.Features(), want) || !reflect.DeepEqual(tab.Schema().Features(), want) {
		t.Errorf("features %q, schema %q", tab.Features(), tab.Schema().Features())
	}
	for i, want := range [][]float64{{1, 0, 1}, {2, 1, 0}} {
		if x := tab.X(make([]float64, 3), i); !reflect.DeepEqual(x, want) {
			t.Errorf("row %d is %v, want %v", i, x, want)
		}
	}
	if _, err := tab.Take("site"); err == nil || !strings.Contains(err.Error(), `no column "site" of numbers`) {
		t.Error(err)
	}
}
