package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/mixed"
)

var columnsTY = TableOptions{Task: "t", Target: "y"}

// only selects features by a schema.
func only(columns ...string) *mixed.Schema { return &mixed.Schema{Columns: columns} }

// shown lists the tasks, the features and the rows of a table: task, features and target, if there is one.
func shown(tab *Table) string {
	s := fmt.Sprintf("%q %q", tab.Tasks(), tab.Features())
	for i := range tab.Rows() {
		row := tab.X(make([]float64, len(tab.Features())), i)
		if tab.HasTarget() {
			row = append(row, tab.Y(i))
		}
		s += fmt.Sprint(" ", tab.Task(i), row)
	}
	return s
}

// checkTable reports an error, or a table that is not shown as wanted.
func checkTable(t *testing.T, tab *Table, err error, want string) {
	t.Helper()
	if err != nil {
		t.Error(err)
	} else if got := shown(tab); got != want {
		t.Errorf("table is %s, want %s", got, want)
	}
}

func TestReadCSV(t *testing.T) {
	weights := TableOptions{Task: "t", Target: "y", Weight: "w", Holdout: "h"}
	for _, c := range []struct {
		name, text string
		o          TableOptions
		want       string
	}{
		{"a schema selects", "b,note,t,a\n1,hello,x,2\n", TableOptions{Task: "t", Schema: only("a", "b")},
			`["x"] ["a" "b"] 0 [2 1]`},
		{"dropped", "b,note,t,y\n1,hello,x,2\n", TableOptions{Task: "t", Target: "y", Drop: []string{"note"}},
			`["x"] ["b"] 0 [1 2]`},
		{"unused twice", "t,a,n,n,y\nx,1,p,q,2\n", TableOptions{Task: "t", Target: "y", Schema: only("a")},
			`["x"] ["a"] 0 [1 2]`},
		{"dropped twice", "t,a,n,n,y\nx,1,p,q,2\n", TableOptions{Task: "t", Target: "y", Drop: []string{"n"}},
			`["x"] ["a"] 0 [1 2]`},
		{"tasks by name", "t,a,y\nx,1,10\nz, 3 ,-4e-1\nx,5,30\n", columnsTY,
			`["x" "z"] ["a"] 0 [1 10] 1 [3 -0.4] 0 [5 30]`},
		{"truth", "t,a,y\nx,TRUE,1\nx,false,2\n", columnsTY, `["x"] ["a"] 0 [1 1] 0 [0 2]`},
		{"weights and marks", "t,a,w,h,y\nx,1,0.5,0,2\nx,2,2,1,3\nx,5,0,1,7\n", weights, `["x"] ["a"] 0 [1 2] 0 [2 3]`},
		{"quotes", "t,note,a\n\"a,\"\"b\"\"\",\"two\nlines, one \"\"cell\"\"\",1\nc,,2\n",
			TableOptions{Task: "t", Schema: only("a")},
			`["a,\"b\"" "c"] ["a"] 0 [1] 1 [2]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab, err := ReadCSV(strings.NewReader(c.text), c.o)
			checkTable(t, tab, err, c.want)
			if c.o.Weight == "" || err != nil {
				return
			}
			if w := tab.Weights(); !reflect.DeepEqual(w, []float64{0.5, 2}) {
				t.Errorf("weights %v", w)
			}
			if train, err := tab.Split(Split{}); err != nil || !reflect.DeepEqual(train, []bool{true, false}) {
				t.Errorf("split %v, %v", train, err)
			}
			_, err = tab.Split(Split{TestFraction: .5})
			check.Error(t, err, "the table marks its test rows")
		})
	}
	tab := check.OK(ReadCSV(strings.NewReader("t,a,h,y\nx,1,1,2\nx,2,1,3\n"),
		TableOptions{Task: "t", Target: "y", Holdout: "h"}))
	_, err := tab.Split(Split{})
	check.Error(t, err, "marks all rows as held out")
	_, err = ReadCSV(strings.NewReader("t,n,m,y\nx,red,blue,1\n"), TableOptions{Task: "t", Target: "y", Numbers: true})
	e, ok := errors.AsType[*FormatError](err)
	if !ok || e.Option != "Categorical" || !reflect.DeepEqual(e.Values, []string{"n", "m"}) {
		t.Errorf("error %v proposes %+v", err, e)
	}
	noLevels := &mixed.Schema{Columns: []string{"a"}, Categories: []mixed.Category{{Column: "a"}}}
	for _, o := range []TableOptions{
		{Decimal: 'x'}, {Dates: "dym"}, {Schema: only("a"), Drop: []string{"b"}}, {Schema: noLevels},
	} {
		if err := o.Validate(); err == nil {
			t.Errorf("%+v is accepted", o)
		}
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
		{"short date and fraction", "2.1.1970 6:00:00.5", TableOptions{Dates: "dmy"}, 1 + 21600.5/86400,
			"Dates", []string{"dmy", "mdy"}},
		{"zone", "1970-01-02T06:00:00.5+06:00", TableOptions{Dates: "ymd"}, 1 + 0.5/86400, "Dates", []string{"ymd"}},
		{"long ago", "1066-10-14", TableOptions{Dates: "ymd"}, -329893, "Dates", []string{"ymd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "t;a;y\nx;" + c.cell + ";2\n"
			c.o.Task, c.o.Target = "t", "y"
			tab, err := ReadCSV(strings.NewReader(text), c.o)
			check.FailIf(t, err != nil || math.Abs(tab.X(make([]float64, 1), 0)[0]-c.want) > 1e-15,
				"%v, %v, want %v", tab, err, c.want)
			_, err = ReadCSV(strings.NewReader(text), columnsTY)
			var format *FormatError
			if !errors.As(err, &format) || format.Option != c.option || !reflect.DeepEqual(format.Values, c.values) {
				t.Errorf("error %v proposes %+v", err, format)
			}
		})
	}
}

// TestDelimiter: the header line gives the delimiter, whatever the cells below contain.
func TestDelimiter(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"comma":            {"t,a,y\n\"x;|\",1,2\n", `["x;|"] ["a"] 0 [1 2]`},
		"semicolon":        {"t;a;y\nx,z;1;2\n", `["x,z"] ["a"] 0 [1 2]`},
		"tab":              {"t\ta\ty\nx,;\t1\t2\n", `["x,;"] ["a"] 0 [1 2]`},
		"bar":              {"t|a|y\nx|1|2\n", `["x"] ["a"] 0 [1 2]`},
		"commas in a name": {"t;\"a,b,c,d\";y\nx;1;2\n", `["x"] ["a,b,c,d"] 0 [1 2]`},
		"names decide":     {"t,a;b;c;d;e,y\nx,1,2\n", `["x"] ["a;b;c;d;e"] 0 [1 2]`},
		"unnamed":          {",t,a,\"\",y\n1,x,1,z,2\n", `["x"] ["a"] 0 [1 2]`},
	} {
		t.Run(name, func(t *testing.T) {
			tab, err := ReadCSV(strings.NewReader(c.text), columnsTY)
			checkTable(t, tab, err, c.want)
			unnamed := []string{"without the unnamed column 1, column 4"}
			if err == nil && (name == "unnamed") != reflect.DeepEqual(tab.Notes(), unnamed) {
				t.Errorf("notes %q", tab.Notes())
			}
		})
	}
}

// TestSchema: a schema, also one that went through JSON, reads other files to the same features.
func TestSchema(t *testing.T) {
	tab, err := ReadCSV(strings.NewReader(sample), TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}})
	checkTable(t, tab, err, sampleTable)
	b, err := json.Marshal(tab.Schema())
	var s mixed.Schema
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := TableOptions{Task: "t", Schema: &s}
	tab, err = ReadCSV(strings.NewReader("extra,a,site,t\n0,7,q,new\n"), o)
	checkTable(t, tab, err, `["new"] ["site=p" "site=q" "a"] 0 [0 1 7]`)
	_, err = ReadCSV(strings.NewReader("a,site,t\n7,r,new\n"), o)
	check.Error(t, err, "line 2", `column "site"`, `level "r" is not known`, `"p", "q"`)
	bad := &mixed.Schema{Columns: []string{"a"}, Categories: []mixed.Category{{Column: "a", Levels: []string{""}}}}
	_, err = ReadCSV(strings.NewReader("a,t\n7,new\n"), TableOptions{Task: "t", Schema: bad})
	check.Error(t, err, `the schema of column "a": the level "" is not a name`)
	o.NewLevels = true
	tab, err = ReadCSV(strings.NewReader("a,site,t\n7,r,new\n"), o)
	checkTable(t, tab, err, `["new"] ["site=p" "site=q" "a"] 0 [0 0 7]`)
}

func TestMissing(t *testing.T) {
	const text = "t,a,site,y\nx,1,q,1\nx,NA,p,2\nz,null,,3\nz,5,p,\n,6,p,5\nz,nan,q,6\n"
	o := TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}}
	_, err := ReadCSV(strings.NewReader(text), o)
	format, _ := errors.AsType[*FormatError](err)
	check.FailIf(t, format == nil || format.Option != "Missing" || fmt.Sprint(format.Values) != "[drop]",
		"the error %v proposes %+v", err, format)
	check.Error(t, err, `3 in column "a" (first on line 3)`, `1 in column "site" (first on line 4)`,
		`1 in column "y" (first on line 5)`, `1 in column "t" (first on line 6)`)
	o.Missing = MissingDrop
	tab, err := ReadCSV(strings.NewReader(text), o)
	checkTable(t, tab, err, `["x"] ["a" "site=p" "site=q"] 0 [1 0 1 1]`)
	check.FailIf(t, tab.Dropped() != 5 || tab.Missing() != nil, "drop: %d, %v", tab.Dropped(), tab.Missing())
	o.Missing = MissingKeep
	tab, err = ReadCSV(strings.NewReader(text), o)
	checkTable(t, tab, err,
		`["x" "z"] ["a" "site=p" "site=q"] 0 [1 0 1 1] 0 [NaN 1 0 2] 1 [NaN NaN NaN 3] 1 [NaN 0 1 6]`)
	if tab.Dropped() != 2 || !reflect.DeepEqual(tab.Missing(), []MissingCount{{"a", 3}, {"site", 1}}) {
		t.Errorf("keep: %d, %v", tab.Dropped(), tab.Missing())
	}
	o.Missing = MissingDrop
	_, err = ReadCSV(strings.NewReader("t,a,site,y\nx,,p,1\n"), o)
	check.Error(t, err, "zero rows", "1 that lack values")
}
