package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/parquet-go/parquet-go"
)

// read reads CSV with tasks t and targets y, where the options do not say otherwise.
func read(text string, o TableOptions) (*Table, error) {
	if o.Task == "" {
		o.Task, o.Target = "t", "y"
	}
	return ReadCSV(strings.NewReader(text), o)
}

// Columns of text are categories without being listed, whatever their order, and words for missing values are
// levels there.
func TestTextIsCategorical(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          TableOptions
		want       string
	}{
		{"text", "t,k,y\nx,b,1\nx,a,2\n", TableOptions{}, `["x"] ["k=a" "k=b"] 0 [0 1 1] 0 [1 0 2]`},
		{"words are levels", "t,k,y\nx,none,1\nx,low,2\nx,NA,3\nx,null,4\n", TableOptions{},
			`["x"] ["k=NA" "k=low" "k=none" "k=null"] 0 [0 0 1 0 1] 0 [0 1 0 0 2] 0 [1 0 0 0 3] 0 [0 0 0 1 4]`},
		{"listed", "t,k,y\nx,None,1\nx,2,2\n", TableOptions{Categorical: []string{"k"}},
			`["x"] ["k=2" "k=None"] 0 [0 1 1] 0 [1 0 2]`},
		{"missing at first", "t,k,a,y\nx,?,-,1\nx,q,3,2\nx,?,4,2\n",
			TableOptions{NA: []string{"-", "?"}, Missing: MissingDrop},
			`["x"] ["k=q" "a"] 0 [1 3 2]`},
		{"na of numbers", "t,a,y\nx,-999,1\nx,-999.0,2\nx,3,2\n",
			TableOptions{NA: []string{"-999"}, Missing: MissingDrop}, `["x"] ["a"] 0 [3 2]`},
		{"na of tasks", "t,a,y\nNA,1,1\nNA,2,2\nx,3,2\n", TableOptions{NA: []string{"NA"}, Missing: MissingDrop},
			`["x"] ["a"] 0 [3 2]`},
		{"features", "t,a,note,b,y\nx,1,text,2,3\n", TableOptions{Features: []string{"b", "a"}},
			`["x"] ["b" "a"] 0 [2 1 3]`},
		{"no features", "t,y\nx,1\nz,2\n", TableOptions{}, `["x" "z"] [] 0 [1] 1 [2]`},
		{"row numbers alone", "Unnamed: 0,t,y\n0,x,1\n1,z,2\n", TableOptions{}, `["x" "z"] [] 0 [1] 1 [2]`},
		{"minus zero", "t,a,y\nx,-0.0,-0\n", TableOptions{}, `["x"] ["a"] 0 [0 0]`},
		{"separator", "sep=;\r\nt;a;y\r\nx;1;2\r\n", TableOptions{}, `["x"] ["a"] 0 [1 2]`},
		{"empty rows", "t,a,y\nx,1,2\n,,\n , ,\nx,3,4\n,,\n", TableOptions{}, `["x"] ["a"] 0 [1 2] 0 [3 4]`},
		{"blanks alone", "t,a,y\nx,1,2\n  \nx,3,4\n", TableOptions{}, `["x"] ["a"] 0 [1 2] 0 [3 4]`},
		{"spreadsheet's NA", "t,a,y\nx,#N/A,2\nx,2,3\n", TableOptions{Missing: MissingDrop}, `["x"] ["a"] 0 [2 3]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tab, err := read(c.text, c.o)
			checkTable(t, tab, err, c.want)
			if err == nil && strings.Contains(fmt.Sprint(math.Signbit(tab.Y(0)), tab.x.row(0)), "-0") {
				t.Error("-0 is kept")
			}
		})
	}
	tab := check.OK(read("t,k,y\nx,b,1\nx,a,2\n,,\n", TableOptions{}))
	if want := []string{`Text is read as categories: "k".`, "1 empty row left out."}; !slices.Equal(tab.Notes(), want) {
		t.Errorf("notes %q", tab.Notes())
	}
}

// A title above the header is said, with the line that names the columns, or that there may be one where the
// options name no column. A first line that names all is a header, whatever is below it.
func TestTitles(t *testing.T) {
	const rows = "t,a,y\nx,1,2\nx,2,3\n"
	named, schema := TableOptions{Task: "t", Target: "y"}, TableOptions{Task: "t", Schema: only("a")}
	for _, c := range []struct {
		text string
		line int
	}{
		{"Report of 2025\n" + rows, 2}, {"Report of 2025\nby the office\n" + rows, 3},
		{"Report of 2025\n\n" + rows, 3}, {"Report,,\nof 2025,,\n,,\n" + rows, 4},
		{"Report\n" + strings.ReplaceAll(rows, ",", ";"), 2}, {"\"Report\nof 2025\"\n" + rows, 3},
	} {
		want := fmt.Sprintf("line %d names the columns, but is not the first line", c.line)
		_, err := read(c.text, named)
		check.Error(t, err, want)
		_, err = Scan([]string{write(t, t.TempDir(), "t.csv", []byte(c.text))}, schema, func(*Row) error { return nil })
		check.Error(t, err, want)
	}
	for _, text := range []string{"Report\n" + rows, "Report\nby us\n" + rows, "Report, 2025\nby us\n" + rows} {
		_, err := ReadCSV(strings.NewReader(text), TableOptions{})
		check.Error(t, err, " but the header has", "is there a title above the names of the columns?")
	}
	if _, err := read(rows+"x,1,2\n", named); err != nil {
		t.Error(err)
	}
	_, err := read("t,a,y\nt,a,y\n", TableOptions{Task: "t", Target: "y", Holdout: "h"})
	if check.Error(t, err, `no column "h"`); strings.Contains(fmt.Sprint(err), "not the first line") {
		t.Error(err)
	}
}

// A file without rows beside others is said, in every format; files without rows alone are an error.
func TestFileWithoutRows(t *testing.T) {
	dir := t.TempDir()
	full := write(t, dir, "full.csv", []byte("t,a,y\nx,1,2\nx,2,3\n"))
	empty := write(t, dir, "empty.csv", []byte("t,a,y\n\n"))
	none := write(t, dir, "none.parquet", written(t, []struct {
		T string  `parquet:"t"`
		A float64 `parquet:"a"`
		Y float64 `parquet:"y"`
	}{}))
	const want = "no rows after the names of the columns"
	for _, file := range []string{empty, none} {
		for _, files := range [][]string{{full, file}, {file, full}} {
			tab, err := ReadFiles(files, columnsTY)
			if err != nil || !slices.Equal(tab.Notes(), []string{file + ": " + want}) {
				t.Errorf("%v: notes %q, %v", files, tab.Notes(), err)
			}
			o := TableOptions{Task: "t", Schema: only("a")}
			s, err := Scan(files, o, func(*Row) error { return nil })
			if err != nil || s.Rows != 2 || !slices.Equal(s.Notes, []string{file + ": " + want}) {
				t.Errorf("scan of %v: %+v, %v", files, s, err)
			}
		}
	}
	for _, files := range [][]string{{empty}, {empty, none}} {
		_, err := ReadFiles(files, columnsTY)
		check.Error(t, err, "zero rows")
		_, err = Scan(files, TableOptions{Task: "t", Schema: only("a")}, func(*Row) error { return nil })
		check.Error(t, err, "zero rows")
	}
}

// thirtyTexts returns a table with a column of 30 different texts.
func thirtyTexts() string {
	text := "t,k,y\n"
	for i := range 30 {
		text += fmt.Sprintf("x,n%d,%d\n", i, i)
	}
	return text
}

// mixedColumnsCases are the cases of TestMixedColumns.
var mixedColumnsCases = []struct {
	text, na, option string
	want             []string
}{
	{"t,k,y\nx,1,1\nx,K,2\n", "K", "Categorical", []string{"line 3", `column "k"`, `"K" is not a number`}},
	{"t,k,y\nx,K,1\nx,1,2\n", "K", "Categorical",
		[]string{"line 3", `column "k"`, `"1" is a number, and others, such as "K", are text`}},
	{"t,a,y\nx,1,1\nx,?,2\n", "?", "Categorical", []string{"line 3", `column "a"`, `"?" is not a number`}},
	{"t,a,y\nx,?,1\nx,1,2\n", "?", "Categorical", []string{"line 2", `column "a"`, `"?" is not a number`}},
	{"t,a,y\nx,#DIV/0!,1\nx,1,2\n", "#DIV/0!", "Categorical", []string{"line 2", "is an error of a spreadsheet"}},
	{thirtyTexts(), "", "Texts", []string{`column "k" has 30 different texts in 30 rows`}},
	{"t,a,y\nx,01.01.24,1\n", "01.01.24", "Categorical", []string{"a date with a year of two digits"}},
	{"t,a,y\nx,1-Jan-24,1\n", "1-Jan-24", "Categorical", []string{"looks like a date", "2024-01-31"}},
	{"t,a,y\nx,Jan 2024,1\n", "Jan 2024", "Categorical", []string{"looks like a month"}},
	{"t,a,y\nx,1998 Q1,1\n", "1998 Q1", "Categorical", []string{"looks like a quarter"}},
	{"t,a,y\nx,13:45,1\n", "13:45", "Categorical", []string{"looks like a time of the day"}},
	{"t,a,y\nx,(74.491),1\n", "", "", []string{"negative number of accounts? Write -74.491"}},
	{"t,a,y\nx,74.491-,1\n", "", "", []string{"negative number of accounts? Write -74.491"}},
	{"t,a,y\nx,\"46,820.00\",1\n", "", "", []string{"not a plain number", "marks between thousands"}},
	{"t,a,y\nx,45 %,1\n", "", "", []string{"not a plain number", "per cent"}},
	{"t,a,y\nx,\"$3\",1\n", "", "", []string{"not a plain number", "currency"}},
	{"t,Age,y\nx,1,2\n", "", "", []string{`did you mean "Age"?`}},
	{"t,a,y\nx,1,2,3\n", "", "",
		[]string{"line 2 has 4 cells, but the header has 3 columns", "row name without a header"}},
	{"t,a,y\nx\n", "", "", []string{"line 2 has 1 cell, but"}},
	{"t,n\xe9,y\nx,1,2\n", "", "", []string{"UTF-8", "Latin-1"}},
}

// Numbers and text in one column are an error in any order, and so are texts as various as rows. The error
// has the options that help.
func TestMixedColumns(t *testing.T) {
	for _, c := range mixedColumnsCases {
		o := TableOptions{}
		if strings.Contains(c.text, "Age") {
			o.Drop = []string{"age"}
		}
		_, err := read(c.text, o)
		check.Error(t, err, c.want...)
		e, ok := errors.AsType[*FormatError](err)
		if ok != (c.option != "") || ok && (e.Option != c.option || e.NA != c.na) {
			t.Errorf("%q: the error %v proposes %+v", c.text, err, e)
		}
	}
	_, err := read("t,h,a,y\nx,test,1,2\n", TableOptions{Task: "t", Target: "y", Holdout: "h"})
	check.Error(t, err, `"test" is not a mark of held-out rows: expected 1 or 0, TRUE or FALSE`)
	type texts struct {
		T string  `parquet:"t"`
		K string  `parquet:"k"`
		Y float64 `parquet:"y"`
	}
	kinds := map[string]string{"true": "a mark of yes or no", "1.5": "a number", "007": "a number",
		"2024-01-31": "a date"}
	for k, what := range kinds {
		_, err := ReadFiles([]string{write(t, t.TempDir(),
			"t.parquet", written(t, []texts{{"x", k, 1}, {"x", "b", 2}}))}, columnsTY)
		check.Error(t, err, `row 1, column "k"`, fmt.Sprintf("%q is %s that the file keeps as text", k, what))
	}
	for _, o := range []TableOptions{
		{Features: []string{"a"}, Drop: []string{"b"}}, {Features: []string{"a"}, Schema: only("a")},
	} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// Columns that other programs add are left out, and named. Listed ones are read.
func TestAddedColumns(t *testing.T) {
	table := func(name, of string) string {
		text := name + ",t,a,y\n"
		for i := range 30 {
			text += fmt.Sprintf("%s,x%d,%d.5,%d\n", strings.ReplaceAll(of, "#", fmt.Sprint((i*7)%30)), i%3, i*i%11, i%4)
		}
		return text
	}
	for _, c := range []struct {
		name, cells string
		out         bool
	}{
		{"__index_level_0__", "#", true}, {"Unnamed: 0", "#.5", true}, {"Unnamed: 0.1", "#", true},
		{"_rescued_data", "", true}, {"X", "#", true}, {"X", "#.5", false}, {"X.1", "#", true},
		{"index", "#", true}, {"_c0", "#", true}, {"...1", "#", true}, {"level_0", "#", true},
		{"X", "Mazda #", true}, {"rownames", "car #", true}, {"x", "#", false}, {"idx", "#.25", false},
	} {
		tab, err := read(table(c.name, c.cells), TableOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		notes := fmt.Sprint(tab.Notes())
		says := strings.Contains(notes, fmt.Sprintf("without %q", c.name)) ||
			strings.Contains(notes, fmt.Sprintf("left out: %q", c.name))
		got := !slices.Contains(tab.Features(), c.name)
		if got != c.out || says != c.out || tab.x.width != len(tab.Schema().Columns) {
			t.Errorf("%s with %s: features %q, notes %q", c.name, c.cells, tab.Features(), tab.Notes())
		}
		if a := tab.X(make([]float64, len(tab.Features())), 7)[len(tab.Features())-1]; a != 5.5 {
			t.Errorf("%s: a is %v after columns were left out", c.name, a)
		}
	}
	tab := check.OK(read("index,t,y\n2024-01-01,x,1\n2024-01-02,x,3\n2024-01-03,x,2\n", TableOptions{Dates: "ymd"}))
	check.FailIf(t, !slices.Equal(tab.Features(), []string{"index"}), "dates of an index: features %q", tab.Features())
	tab = check.OK(read(table("Unnamed: 0", "#"), TableOptions{Features: []string{"Unnamed: 0"}}))
	check.FailIf(t, !slices.Equal(tab.Features(), []string{"Unnamed: 0"}), "features %q", tab.Features())

	type row struct {
		T     string  `parquet:"t"`
		Row   int64   `parquet:"row"`
		A     float64 `parquet:"a"`
		Level string  `parquet:"level"`
		Y     float64 `parquet:"y"`
	}
	var rows []row
	for i := range 30 {
		rows = append(rows,
			row{"x", int64(i*7) % 30, float64(i*i%11) + .5, []string{"None", "NA", "low"}[i%3], float64(i % 4)})
	}
	path := write(t, t.TempDir(), "t.parquet",
		written(t, rows, parquet.KeyValueMetadata("pandas", `{"index_columns": ["row", {"kind": "range"}]}`)))
	tab, err := ReadFiles([]string{path}, columnsTY)
	if err != nil || !slices.Equal(tab.Features(), []string{"a", "level=NA", "level=None", "level=low"}) {
		t.Errorf("features %v, %v", tab, err)
	}
}

// The place of a row is its line, whatever rows were left out before it, and its file.
func TestPlaces(t *testing.T) {
	tab := check.OK(read("t,a,y\nx,1,2\nx,,3\n\n\"x\ny\",4,5\nx,6,7\n", TableOptions{Missing: MissingDrop}))
	for row, want := range []string{"line 2", "line 5", "line 7"} {
		if got := tab.Place(row); got != want {
			t.Errorf("row %d is at %q, want %q", row, got, want)
		}
	}
	check.FailIf(t, tab.FirstDropped() != "line 3", "the first row that lacks a value is at %q", tab.FirstDropped())
	dir := t.TempDir()
	a := write(t, dir, "a.csv", []byte("t,a,y\nx,1,2\nx,2,2\n"))
	b := write(t, dir, "b.csv", []byte("t,a,y\nx,1,2\nx,2,2\n"))
	tab = check.OK(ReadFiles([]string{a, b}, columnsTY))
	if got := tab.Place(3); got != b+", line 3" {
		t.Errorf("row 3 is at %q", got)
	}
}

// Check describes every column of a file, also those that are left out.
func TestCheck(t *testing.T) {
	text := "Unnamed: 0,t,X,a,k,note,,gone,y\n"
	for i := range 30 {
		text += fmt.Sprintf("%d,x%d,%d,%d.5,%s,text %d,,1,%d\n", i, i%3, i*7%30, i*i%11, []string{"p", "q", ""}[i%3], i,
			i%4)
	}
	path := write(t, t.TempDir(), "t.csv", []byte(text))
	o := TableOptions{Task: "t", Target: "y", Drop: []string{"gone"}, Missing: MissingKeep}
	tab, columns, err := Check([]string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, c := range columns {
		said += fmt.Sprintf("%q %s %q %d %v %v %q\n", c.Name, c.ReadAs, c.Why, c.Missing, c.Least, c.Most, c.Levels)
	}
	want := `"Unnamed: 0" left out "another program has added it" 0 NaN NaN []
"t" task "" 0 NaN NaN ["x0" "x1" "x2"]
"X" left out "it numbers the rows" 0 NaN NaN []
"a" number "" 0 0.5 9.5 []
"k" category "" 10 NaN NaN ["p" "q"]
"note" left out "it has 30 different texts" 0 NaN NaN []
"" left out "it has no name" 0 NaN NaN []
"gone" left out "it is dropped" 0 NaN NaN []
"y" target "" 0 0 3 []
`
	if said != want || tab.Rows() != 30 {
		t.Errorf("%d rows\n%s", tab.Rows(), said)
	}
	if _, _, err := Check([]string{path}, TableOptions{Drop: []string{"gone"}, Missing: MissingKeep}); err != nil {
		t.Errorf("without a task: %v", err)
	}
}

// Leading zeros of dates do not make a column one of codes.
func TestDatesAreNoCodes(t *testing.T) {
	content := "t,when,y\n"
	for i := range 30 {
		content += fmt.Sprintf("x%d,%02d.01.2024,%d\n", i%5, 1+i%9, i*i%7)
	}
	table, err := ReadCSV(strings.NewReader(content), TableOptions{Task: "t", Target: "y", Dates: "dmy"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range table.Remarks() {
		if strings.Contains(s, "leading zeros") {
			t.Error(s)
		}
	}
}

// A column may have 1 and 0 besides TRUE and FALSE, and marks of missing values besides dates.
func TestFormsOfNumbers(t *testing.T) {
	o := TableOptions{Task: "t", Target: "y", Dates: "ymd", NA: []string{"-1", "9999-12-31"}, Missing: MissingKeep}
	table, err := read("t,a,b,y\nx,1,2024-01-31,2\nx,TRUE,-1,3\nx,0,-1.0,4\nx,false,9999-12-31,5\n", o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 1, 0, 0} {
		x := table.X(make([]float64, 2), i)
		check.FailIf(t, x[0] != want || math.IsNaN(x[1]) != (i > 0), "row %d is %v", i, x)
	}
}
