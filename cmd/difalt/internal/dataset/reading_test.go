package dataset

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/mixed"
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

// Numbers and text in one column are an error in any order, and so are texts as various as rows. The error
// has the options that help.
func TestMixedColumns(t *testing.T) {
	ids := "t,k,y\n"
	for i := range 30 {
		ids += fmt.Sprintf("x,n%d,%d\n", i, i)
	}
	for _, c := range []struct {
		text, na, option string
		want             []string
	}{
		{"t,k,y\nx,1,1\nx,K,2\n", "K", "Categorical", []string{"line 3", `column "k"`, `"K" is not a number`}},
		{"t,k,y\nx,K,1\nx,1,2\n", "K", "Categorical",
			[]string{"line 3", `column "k"`, `"1" is a number, and others, such as "K", are text`}},
		{"t,a,y\nx,1,1\nx,?,2\n", "?", "Categorical", []string{"line 3", `column "a"`, `"?" is not a number`}},
		{"t,a,y\nx,?,1\nx,1,2\n", "?", "Categorical", []string{"line 2", `column "a"`, `"?" is not a number`}},
		{"t,a,y\nx,#DIV/0!,1\nx,1,2\n", "#DIV/0!", "Categorical", []string{"line 2", "is an error of a spreadsheet"}},
		{ids, "", "Texts", []string{`column "k" has 30 different texts in 30 rows`}},
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
	} {
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

// What looks wrong is said once, with the name of the column and what to do; ordinary tables have no remarks.
func TestRemarks(t *testing.T) {
	table := func(header string, row func(i int) string) string {
		text := header + "\n"
		for i := range 60 {
			text += row(i) + "\n"
		}
		return text
	}
	wave := func(i int) float64 { return math.Round(1e4*math.Sin(float64(i)*1.7))/1e4 + float64(i%5) }
	for name, c := range map[string]struct {
		text string
		want []string // in the remarks; none: no remark
	}{
		"ordinary": {table("t,a,k,year,y", func(i int) string {
			return fmt.Sprintf("x%d,%v,%s,%d,%v", i%6, wave(i), []string{"p", "q", "r"}[i*i%3], 1990+i*i%7, wave(i*i))
		}), nil},
		"three digits of comma files": {table("t,a,y",
			func(i int) string { return fmt.Sprintf("x%d,%.3f,%.3f", i%6, 10+wave(i), wave(i*i)) }), nil},
		"thousands": {table("t;a;y",
			func(i int) string { return fmt.Sprintf("x%d;%.3f;%v", i%6, 46+wave(i)/10, wave(i*i)) }),
			[]string{`All numbers of "a" have three digits after the point`}},
		"decimals": {table("t;a;y",
			func(i int) string { return fmt.Sprintf("x%d;%.3f;%v", i%6, .2+wave(i)/10, wave(i*i)) }), nil},
		"leading zeros": {table("t,plz,y",
			func(i int) string { return fmt.Sprintf("x%d,%05d,%v", i%6, 1000+i*i*137%7000, wave(i*i)) }),
			[]string{`Cells of "plz" have leading zeros, such as 01`, "--categorical plz"}},
		"codes": {table("t,customer_id,serial,y", func(i int) string {
			return fmt.Sprintf("x%d,%d,%d,%v", i%6, 3*(i*i%59), 123456789+i*i*1371%70000000, wave(i*i))
		}), []string{`look like codes, not amounts: "customer_id", "serial"`}},
		"long codes": {table("t,serial,y", func(i int) string {
			return fmt.Sprintf("x%d,%d,%v", i%6, int64(1e17)+int64(i*i), wave(i*i)) // an int may have 32 bits
		}), []string{`Cells of "serial" have more digits than numbers keep, such as 100000000000000001`,
			"--categorical serial"}},
		"large numbers": {table("t,a,y",
			func(i int) string { return fmt.Sprintf("x%d,%.0f,%v", i%6, 1e22*(wave(i)+9), wave(i*i)) }), nil},
		"row numbers": {table("t,n,y", func(i int) string { return fmt.Sprintf("x%d,%d,%v", i%6, i*7%60, wave(i*i)) }),
			[]string{`Whole numbers that are all different, as row numbers are: "n"`, "--drop n"}},
		"a date a row": {table("t,day,y", func(i int) string {
			return fmt.Sprintf("x%d,2024-%02d-%02d,%v", i%6, 1+i/28, 1+i%28, wave(i*i))
		}), nil},
		"rising": {table("t,n,y", func(i int) string { return fmt.Sprintf("x%d,%d,%v", i%6, i*i+1000, wave(i*i)) }),
			[]string{`row numbers are: "n"`}},
		"-999": {table("t,a,y", func(i int) string {
			v := wave(i)
			if i%20 == 3 {
				v = -999
			}
			return fmt.Sprintf("x%d,%v,%v", i%6, v, wave(i*i))
		}), []string{`Column "a" has 3 cells -999`, "--na -999"}},
		"99 in the target": {table("t,a,y", func(i int) string {
			v := wave(i)
			if i%20 == 3 {
				v = 99
			}
			return fmt.Sprintf("x%d,%v,%v", i%6, wave(i*i), v)
		}), []string{`Column "y" has 3 cells 99`}},
		"outlier": {table("t,a,y", func(i int) string {
			v := wave(i)
			if i == 40 {
				v = 1e6
			}
			return fmt.Sprintf("x%d,%v,%v", i%6, wave(i*i), v)
		}), []string{`The value 1e+06 of "y" (line 42)`}},
		"total": {table("t,a,y", func(i int) string {
			if i == 59 {
				return "Total,5,118"
			}
			return fmt.Sprintf("x%d,%v,%d", i%6, wave(i*i), i%5)
		}), []string{`look like totals of the other rows: "Total" (line 61)`}},
		"total by its sum": {table("t,a,y", func(i int) string {
			if i == 59 {
				return "Germany,5,116"
			}
			return fmt.Sprintf("x%d,%v,%d", i%6, wave(i*i), i%5)
		}), []string{`"Germany" (line 61)`}},
		"missing task": {table("t,a,y", func(i int) string {
			return fmt.Sprintf("%s,%v,%v", []string{"DE", "FR", "NA"}[i%3], wave(i*i), wave(i))
		}),
			[]string{`a task with the name "NA"`, "--na NA"}},
		"spellings": {table("t,a,y", func(i int) string {
			return fmt.Sprintf("%s,%v,%v", []string{"s1", "S01", "2"}[i%3], wave(i*i), wave(i))
		}),
			[]string{`"s1" and "S01"`}},
		"levels": {table("t,k,a,y", func(i int) string {
			return fmt.Sprintf("x%d,%s,%v,%v", i%6, []string{"mid", "MID", "low"}[i*i%7%3], wave(i*i), wave(i))
		}),
			[]string{`Levels of k that differ in their spelling alone are different levels: "MID" and "mid"`}},
		"a name of the task": {table("t,k,a,y",
			func(i int) string { return fmt.Sprintf("%d,name %d,%v,%v", i%6, i%6, wave(i*i), wave(i)) }),
			[]string{`determine each other: "t", "k"`}},
		"units": {table("t,cm,inch,y",
			func(i int) string { return fmt.Sprintf("x%d,%v,%v,%v", i%6, wave(i), wave(i)/2.54, wave(i*i)) }),
			[]string{`the same up to a factor and an offset: "inch", "cm"`}},
		"turned": {table("t,a,b,y",
			func(i int) string { return fmt.Sprintf("x%d,%v,%v,%v", i%6, wave(i), 7-3*wave(i), wave(i*i)) }),
			[]string{`the same up to a factor and an offset: "b", "a"`}},
		"target twice": {table("t,a,z,y",
			func(i int) string { return fmt.Sprintf("x%d,%v,%v,%v", i%6, wave(i*i), 2*wave(i), wave(i)) }),
			[]string{`The target repeats other columns, up to a factor and an offset: "z"`}},
		"codes of a category": {table("t,k,code,a,y", func(i int) string {
			return fmt.Sprintf("x%d,%s,%d,%v,%v", i%6, []string{"p", "q", "r"}[i*i%7%3], 10*(i*i%7%3), wave(i*i),
				wave(i))
		}), []string{`determine each other: "k", "code"`}},
	} {
		t.Run(name, func(t *testing.T) {
			tab := check.OK(read(c.text, TableOptions{Dates: "ymd"}))
			said := strings.Join(tab.Remarks(), "\n")
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("remarks %q: want %q", tab.Remarks(), want)
				}
			}
			if most := min(len(c.want), 1); len(tab.Remarks()) > most {
				t.Errorf("remarks %q", tab.Remarks())
			}
		})
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

// Scan passes on every row of every format with its features and cells, in order, complete or not.
func TestScan(t *testing.T) {
	s := &mixed.Schema{Columns: []string{"site", "a"},
		Categories: []mixed.Category{{Column: "site", Levels: []string{"p", "q"}}}}
	scan := func(path string, missing Missing, keep ...string) (rows []string, sum *Summary, err error) {
		o := TableOptions{Task: "t", Schema: s, NewLevels: true, Missing: missing, Keep: keep}
		sum, err = Scan([]string{path}, o, func(r *Row) error {
			rows = append(rows, fmt.Sprintf("%q %v %q %v", r.Task, r.Features, r.Kept, r.Complete))
			return nil
		})
		return rows, sum, err
	}
	dir := t.TempDir()
	text := write(t, dir, "t.csv", []byte("t,site,id,a\nx,p, 01,1\n,q,2,2\nz,r,3,NA\n,,,\nz,,5,7\n"))
	rows, sum, err := scan(text, MissingDrop, "id", "t")
	want := []string{`"x" [1 0 1] [" 01" "x"] true`, `"" [0 1 2] ["2" ""] false`, `"z" [0 0 NaN] ["3" "z"] false`,
		`"" [NaN NaN NaN] ["" ""] false`, `"z" [NaN NaN 7] ["5" "z"] false`}
	if err != nil || !slices.Equal(rows, want) || sum.Rows != 5 || sum.Incomplete != 4 ||
		sum.First != text+", line 3" || sum.Filled != nil {
		t.Errorf("drop: %v, %+v, rows\n%s", err, sum, strings.Join(rows, "\n"))
	}
	want[2], want[4] = `"z" [0 0 NaN] ["3" "z"] true`, `"z" [NaN NaN 7] ["5" "z"] true`
	rows, sum, err = scan(text, MissingKeep, "id", "t")
	if err != nil || !slices.Equal(rows, want) ||
		!reflect.DeepEqual(sum.Filled, []MissingCount{{"site", 1}, {"a", 1}}) {
		t.Errorf("keep: %v, %+v, rows\n%s", err, sum, strings.Join(rows, "\n"))
	}
	_, _, err = scan(text, MissingRefuse)
	check.Error(t, err, "there are missing values", `2 in column "a" (first on line 4)`)

	type row struct {
		ID   int64    `parquet:"id"`
		T    string   `parquet:"t"`
		Site *string  `parquet:"site,optional"`
		A    *float64 `parquet:"a,optional"`
	}
	q, v := "q", math.Copysign(0, -1)
	packed := write(t, dir, "t.parquet", written(t, []row{{1 << 62, "x", &q, &v}, {2, "z", nil, nil}}))
	rows, _, err = scan(packed, MissingKeep, "id", "site", "a")
	want = []string{`"x" [0 1 0] ["4611686018427387904" "q" "0"] true`, `"z" [NaN NaN NaN] ["2" "" ""] true`}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("Parquet: %v, rows\n%s", err, strings.Join(rows, "\n"))
	}
	_, _, err = scan(text, MissingDrop, "nothing")
	check.Error(t, err, `no column "nothing" for the columns to keep`)
	stop := errors.New("stop")
	o := TableOptions{Task: "t", Schema: s, NewLevels: true, Missing: MissingDrop}
	if _, err := Scan([]string{text}, o, func(*Row) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the scan goes on: %v", err)
	}
	if _, err := Scan([]string{text}, TableOptions{Task: "t"}, nil); err == nil {
		t.Error("a scan without a schema")
	}
	_, _, err = scan(write(t, dir, "none.csv", []byte("t,site,a\n")), MissingDrop)
	check.Error(t, err, "zero rows")
}

// Scan holds no more memory late in a table than early in it, from text and Parquet.
func TestScanMemory(t *testing.T) {
	type row struct {
		T string  `parquet:"t"`
		A float64 `parquet:"a"`
	}
	const n = 200_000
	rows := make([]row, n)
	text := []byte("t,a\n")
	for i := range rows {
		rows[i] = row{fmt.Sprintf("task %d", i), float64(i)}
		text = fmt.Appendf(text, "task %d,%d\n", i, i)
	}
	dir := t.TempDir()
	for _, path := range []string{
		write(t, dir, "t.csv", text),
		write(t, dir, "t.parquet", written(t, rows, parquet.MaxRowsPerRowGroup(20_000))),
	} {
		var held [2]uint64
		at := 0
		o := TableOptions{Task: "t", Schema: only("a")}
		_, err := Scan([]string{path}, o, func(*Row) error {
			if at++; at == n/10+7 || at == n-7 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				held[at*2/n] = m.HeapAlloc
			}
			return nil
		})
		if err != nil || at != n || held[1] > held[0]+1<<20 {
			t.Errorf("%s: %v, %d rows; %d bytes after a tenth of the rows, %d at the end", path, err, at, held[0],
				held[1])
		}
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
