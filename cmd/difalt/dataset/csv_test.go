package dataset

import (
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/kernel"
)

var columnsTY = TableOptions{Task: "t", Target: "y"}

func TestReadCSV(t *testing.T) {
	const plain = "t,a,y,b,site\nx,1,10,2,p\nz,3,20,-4e-1,q\nx, 5 ,30,6,p\n"
	for _, c := range []struct{ name, text string }{
		{"plain", plain},
		{"byte order mark", "\ufeff" + plain},
		{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"quoted", strings.ReplaceAll(plain, "x,", `"x",`)},
		{"no end of last line", strings.TrimSuffix(plain, "\n")},
		{"spaces in header", strings.Replace(plain, "a,", " a ,", 1)},
	} {
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			tab, err := ReadCSV(strings.NewReader(c.text), TableOptions{Task: "t", Target: "y", Node: "site", Storage: storage})
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if !reflect.DeepEqual(tab.Features(), []string{"a", "b"}) || !reflect.DeepEqual(tab.Tasks(), []string{"x", "z"}) || !reflect.DeepEqual(tab.Nodes(), []string{"p", "q"}) {
				t.Errorf("%s: features %q, tasks %q, nodes %q", c.name, tab.Features(), tab.Tasks(), tab.Nodes())
			}
			if tab.Rows() != 3 || tab.Y(1) != 20 || tab.Task(2) != 0 || tab.Node(1) != 1 {
				t.Errorf("%s: rows %d, y %v, task %d", c.name, tab.Rows(), tab.Y(1), tab.Task(2))
			}
			want := []float64{3, -0.4}
			if storage == kernel.Float32 {
				want[1] = float64(float32(-0.4))
			}
			if x := tab.X(make([]float64, 2), 1); !reflect.DeepEqual(x, want) {
				t.Errorf("%s: %v: row 1 is %v, want %v", c.name, storage, x, want)
			}
		}
	}
}

func TestReadCSVFeatures(t *testing.T) {
	tab, err := ReadCSV(strings.NewReader("b,note,t,a\n1,hello,x,2\n"), TableOptions{Task: "t", Features: []string{"a", "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if x := tab.X(make([]float64, 2), 0); x[0] != 2 || x[1] != 1 || tab.HasTarget() {
		t.Errorf("row is %v, target %v", x, tab.HasTarget())
	}
	tab, err = ReadCSV(strings.NewReader("b,note,t,y\n1,hello,x,2\n"), TableOptions{Task: "t", Target: "y", Drop: []string{"note"}})
	if err != nil || !reflect.DeepEqual(tab.Features(), []string{"b"}) {
		t.Errorf("features after dropping: %v, %v", tab, err)
	}
}

func TestReadCSVErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          TableOptions
		want       []string
	}{
		{"empty", "", columnsTY, []string{"the table is empty"}},
		{"zero rows", "t,a,y\n", columnsTY, []string{"zero rows"}},
		{"missing task", "a,y\n1,2\n", columnsTY, []string{`no column "t" for the task`, `["a" "y"]`}},
		{"missing target", "t,a\n1,2\n", columnsTY, []string{`no column "y" for the target`, `["t" "a"]`}},
		{"missing node", "t,a,y\n1,2,3\n", TableOptions{Task: "t", Target: "y", Node: "n"}, []string{`no column "n" for the node`}},
		{"missing drop", "t,a,y\n1,2,3\n", TableOptions{Task: "t", Target: "y", Drop: []string{"q"}}, []string{`no column "q" for the columns to drop`}},
		{"missing feature", "t,a,y\n1,2,3\n", TableOptions{Task: "t", Features: []string{"a", "c"}}, []string{`no column "c" for the features`}},
		{"same column", "t,a,y\n1,2,3\n", TableOptions{Task: "t", Target: "t"}, []string{"cannot be both the task and the target", `"t"`}},
		{"no features", "t,y\n1,2\n", columnsTY, []string{"no feature columns", `["t" "y"]`}},
		{"duplicate column", "t,a,a,y\n1,2,3,4\n", columnsTY, []string{`columns 2 and 3 are both named "a"`}},
		{"unnamed columns", ",t,,y\n1,2,3,4\n", columnsTY, []string{"no feature columns"}},
		{"several texts", "t,a,b,c,y\nx,p,1,q,2\n", columnsTY, []string{`column "a": "p" is not a number`}},
		{"money", "t,a,y\nx,$7,2\n", columnsTY, []string{`"$7" is not a number alone`, `take "$" out`}},
		{"percent", "t,a,y\nx,7.5 %,2\n", columnsTY, []string{`take "%" out`}},
		{"no month", "t,a,y\nx,2024-01,2\nx,2024-13,2\n", columnsTY, []string{"line 3", `"2024-13"`}},
		{"text", "t,a,y\nx,1,2\nx,one,2\n", columnsTY, []string{"line 3", `column "a"`, `"one" is not a number`}},
		{"text target", "t,a,y\nx,1,high\n", columnsTY, []string{"line 2", `column "y"`, `"high" is not a number`}},
		{"long text", "t,a,y\nx,1," + strings.Repeat("z", 1000) + "\n", columnsTY, []string{"zzz...", "not a number"}},
		{"NaN", "t,a,y\nx,1,2\nx,NaN,2\n", columnsTY, []string{`1 in column "a" (first on line 3)`, "missing"}},
		{"Inf target", "t,a,y\nx,1,-Inf\n", columnsTY, []string{"line 2", `column "y"`, "the value is -Inf"}},
		{"huge", "t,a,y\nx,1e400,2\n", columnsTY, []string{"line 2", `column "a"`, "1e400 is too large"}},
		{"too large to be squared", "t,a,y\nx,-1e151,2\n", columnsTY, []string{"line 2", `column "a"`, "-1e151 is too large: the largest is 1e150"}},
		{"target too large to be squared", "t,a,y\nx,1,1e200\n", columnsTY, []string{"line 2", `column "y"`, "1e200 is too large"}},
		{"underscore", "t,a,y\nx,1,2\nx,1_000,2\n", columnsTY, []string{"line 3", `column "a"`, `"1_000" is not a number`}},
		{"underscore in an exponent", "t,a,y\nx,1,2\nx,1e1_0,2\n", columnsTY, []string{"line 3", `"1e1_0" is not a number`}},
		{"huge for float32", "t,a,y\nx,1e40,2\n", TableOptions{Task: "t", Target: "y", Storage: kernel.Float32}, []string{"line 2", `column "a"`, "too large for float32"}},
		{"empty cell", "t,a,y\nx,,2\n", columnsTY, []string{`1 in column "a" (first on line 2)`, "missing"}},
		{"empty task", "t,a,y\n,1,2\n", columnsTY, []string{`1 in column "t" (first on line 2)`, "missing"}},
		{"ragged", "t,a,y\nx,1,2\nx,1\n", columnsTY, []string{"line 3 has 2 cells", "3 columns"}},
		{"truncated quote", "t,a,y\nx,1,2\n\"x,1,2\n", columnsTY, []string{"line 3", "truncated"}},
		{"bare quote", "t,a,y\nx\"y,1,2\n", columnsTY, []string{"line 2", "quote"}},
		{"two nodes", "t,a,y,n\nx,1,2,p\nz,1,2,p\nx,1,2,q\n", TableOptions{Task: "t", Target: "y", Node: "n"}, []string{"line 4", `task "x"`, `node "q" here`, `node "p" before`, "line 2"}},
	} {
		_, err := ReadCSV(strings.NewReader(c.text), c.o)
		checkMessage(t, c.name, err, c.want)
	}
}

// TestUnusedTwice: columns of one name are refused only where one of them is used.
func TestUnusedTwice(t *testing.T) {
	const text = "t,a,note,note,y\nx,1,p,q,2\n"
	for _, o := range []TableOptions{
		{Task: "t", Target: "y", Features: []string{"a"}},
		{Task: "t", Target: "y", Drop: []string{"note"}},
	} {
		table, err := ReadCSV(strings.NewReader(text), o)
		if err != nil {
			t.Error(err)
		} else if got := table.Features(); len(got) != 1 || got[0] != "a" {
			t.Errorf("features %q", got)
		}
	}
	for _, o := range []TableOptions{columnsTY, {Task: "note", Target: "y"}, {Task: "t", Target: "note"}, {Task: "t", Target: "y", Features: []string{"a", "note"}}} {
		_, err := ReadCSV(strings.NewReader(text), o)
		checkMessage(t, "used", err, []string{`columns 3 and 4 are both named "note"`})
	}
}

// checkMessage reports an error without one of the wanted pieces.
func checkMessage(t *testing.T, name string, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", name, want)
		return
	}
	for _, piece := range want {
		if !strings.Contains(err.Error(), piece) {
			t.Errorf("%s: error %q lacks %q", name, err, piece)
		}
	}
}
