package dataset

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
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
		t.Run(c.name, func(t *testing.T) {
			tab, err := ReadCSV(strings.NewReader(c.text), TableOptions{Task: "t", Target: "y", Drop: []string{"site"}})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(tab.Features(), []string{"a", "b"}) || !reflect.DeepEqual(tab.Tasks(), []string{"x", "z"}) {
				t.Errorf("features %q, tasks %q", tab.Features(), tab.Tasks())
			}
			if x := tab.X(make([]float64, 2), 1); tab.Rows() != 3 || tab.Y(1) != 20 || tab.Task(2) != 0 || !reflect.DeepEqual(x, []float64{3, -0.4}) {
				t.Errorf("rows %d, row 1 %v, %v, task %d", tab.Rows(), x, tab.Y(1), tab.Task(2))
			}
		})
	}
}

// only selects features by a schema.
func only(columns ...string) *schema.Schema { return &schema.Schema{Columns: columns} }

func TestReadCSVFeatures(t *testing.T) {
	tab, err := ReadCSV(strings.NewReader("b,note,t,a\n1,hello,x,2\n"), TableOptions{Task: "t", Schema: only("a", "b")})
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

// TestNotations: numbers and dates in another notation are read with the option, and the
// error without it proposes it.
func TestNotations(t *testing.T) {
	for _, c := range []struct {
		name, cell string
		o          TableOptions
		want       float64
		option     string // proposed without o
		values     []string
	}{
		{"decimal comma", "1,5", TableOptions{Decimal: ','}, 1.5, "Decimal", []string{","}},
		{"comma and exponent", "-1,5e2", TableOptions{Decimal: ','}, -150, "Decimal", []string{","}},
		{"thousands or decimal", "1,234", TableOptions{Decimal: ','}, 1.234, "Decimal", []string{","}},
		{"year first", "2024-02-29", TableOptions{Dates: "ymd"}, 19782, "Dates", []string{"ymd"}},
		{"day first", "29.2.2024", TableOptions{Dates: "dmy"}, 19782, "Dates", []string{"dmy"}},
		{"month first", "2/29/2024", TableOptions{Dates: "mdy"}, 19782, "Dates", []string{"mdy"}},
		{"day or month", "2/3/1970", TableOptions{Dates: "mdy"}, 33, "Dates", []string{"dmy", "mdy"}},
		{"time", "1970-01-02 06:00", TableOptions{Dates: "ymd"}, 1.25, "Dates", []string{"ymd"}},
		{"zone", "1970-01-02T06:00:00.5+06:00", TableOptions{Dates: "ymd"}, 1 + 0.5/86400, "Dates", []string{"ymd"}},
		{"before 1970", "1969-12-31", TableOptions{Dates: "ymd"}, -1, "Dates", []string{"ymd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "t;a;y\nx;" + c.cell + ";2\n"
			c.o.Task, c.o.Target = "t", "y"
			tab, err := ReadCSV(strings.NewReader(text), c.o)
			if err != nil || tab.X(make([]float64, 1), 0)[0] != c.want {
				t.Errorf("%v, %v, want %v", tab, err, c.want)
			}
			_, err = ReadCSV(strings.NewReader(text), columnsTY)
			var format *FormatError
			if !errors.As(err, &format) || format.Option != c.option || !reflect.DeepEqual(format.Values, c.values) {
				t.Errorf("error %v proposes %+v", err, format)
			}
		})
	}
	_, err := ReadCSV(strings.NewReader("t;a;y\nx;1.5;2\n"), TableOptions{Task: "t", Target: "y", Decimal: ','})
	checkMessage(t, "point", err, []string{"line 2", `"1.5" has '.' as decimal mark`})
	for _, o := range []TableOptions{{Decimal: 'x'}, {Dates: "dym"}, {Delimiter: '1'}, {Delimiter: ',', Decimal: ','}, {Schema: only("a"), Drop: []string{"b"}}} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	tab, err := ReadCSV(strings.NewReader("t,a,y\nx,TRUE,1\nx,false,2\n"), columnsTY)
	if err != nil || tab.X(make([]float64, 1), 0)[0] != 1 || tab.X(make([]float64, 1), 1)[0] != 0 {
		t.Errorf("truth values: %v, %v", tab, err)
	}
}

// TestDelimiter: the header line gives the delimiter, whatever the cells below contain.
func TestDelimiter(t *testing.T) {
	for _, c := range []struct{ name, text, note string }{
		{"comma", "t,a,y\n\"x;|\",1,2\n", ""},
		{"semicolon", "t;a;y\nx,z;1;2\n", "semicolons"},
		{"tab", "t\ta\ty\nx,;\t1\t2\n", "tabs"},
		{"bar", "t|a|y\nx|1|2\n", "vertical bars"},
		{"commas in a name", "t;\"a,b,c,d\";y\nx;1;2\n", "semicolons"},
		{"unnamed", ",t,a,y\n1,x,1,2\n", "without column 1, of no name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab, err := ReadCSV(strings.NewReader(c.text), columnsTY)
			if err != nil || len(tab.Features()) != 1 || tab.Y(0) != 2 || strings.Join(tab.Notes(), "|") != c.note {
				t.Errorf("%v, %v", tab, err)
			}
		})
	}
}

// TestRowColumns: weights and marks come with the rows, and a split follows the marks.
func TestRowColumns(t *testing.T) {
	o := TableOptions{Task: "t", Target: "y", Weight: "w", Holdout: "h"}
	tab, err := ReadCSV(strings.NewReader("t,a,w,h,y\nx,1,0.5,0,2\nx,2,0,1,3\n"), o)
	if err != nil || !reflect.DeepEqual(tab.Weights(), []float64{0.5, 0}) || !reflect.DeepEqual(tab.Features(), []string{"a"}) {
		t.Fatalf("%v, %v", tab, err)
	}
	if train, err := tab.Split(Split{}); err != nil || !reflect.DeepEqual(train, []bool{true, false}) {
		t.Errorf("split %v, %v", train, err)
	}
	_, err = tab.Split(Split{TestFraction: .5})
	checkMessage(t, "marks and fraction", err, []string{"the table marks its test rows"})
	_, err = ReadCSV(strings.NewReader("t,a,w,h,y\nx,1,-1,0,2\n"), o)
	checkMessage(t, "weight", err, []string{`line 2, column "w": the weight is -1`})
	_, err = ReadCSV(strings.NewReader("t,a,w,h,y\nx,1,1,.5,2\n"), o)
	checkMessage(t, "mark", err, []string{`line 2, column "h": the mark is 0.5`})
	o.Drop = []string{"h"}
	_, err = ReadCSV(strings.NewReader("t,a,w,h,y\nx,1,1,1,2\n"), o)
	checkMessage(t, "dropped", err, []string{`column "h" is the mark of test rows: it cannot be dropped`})
}

// TestUnusedTwice: columns of one name are refused only where one of them is used.
func TestUnusedTwice(t *testing.T) {
	const text = "t,a,note,note,y\nx,1,p,q,2\n"
	for _, o := range []TableOptions{
		{Task: "t", Target: "y", Schema: only("a")},
		{Task: "t", Target: "y", Drop: []string{"note"}},
	} {
		table, err := ReadCSV(strings.NewReader(text), o)
		if err != nil {
			t.Error(err)
		} else if got := table.Features(); len(got) != 1 || got[0] != "a" {
			t.Errorf("features %q", got)
		}
	}
	for _, o := range []TableOptions{columnsTY, {Task: "note", Target: "y"}, {Task: "t", Target: "note"}, {Task: "t", Target: "y", Schema: only("a", "note")}} {
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
