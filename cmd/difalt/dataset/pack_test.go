package dataset

import (
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// What cannot be packed is an error that says what is wrong, and no panic.
func TestPackRefuses(t *testing.T) {
	plain, err := NewTable([]string{"a"}, false, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plain.Pack(nil, nil, 1, nil); err == nil || !strings.Contains(err.Error(), "no target") {
		t.Errorf("no targets: %v", err)
	}
	tab, err := NewTable([]string{"a", "b"}, true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"x", "y"} {
		if err := tab.Append(task, "", []float64{1, 2}, 3); err != nil {
			t.Fatal(err)
		}
	}
	for want, c := range map[string]struct {
		layout   Layout
		rows     []bool
		features int
	}{
		"node 1 of the layout has task 2: there are 2":  {Layout{{0}, {2}}, nil, 2},
		"node 0 of the layout has task -1: there are 2": {Layout{{-1}}, nil, 2},
		"task \"y\" is on nodes 0 and 1":                {Layout{{0, 1}, {1}}, nil, 2},
		"said of 1: the table has 2":                    {Layout{{0}, {1}}, []bool{true}, 2},
		"0 features":                                    {Layout{{0}, {1}}, nil, 0},
		"3 features":                                    {Layout{{0}, {1}}, nil, 3},
	} {
		if _, err := tab.Pack(c.layout, c.rows, c.features, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
