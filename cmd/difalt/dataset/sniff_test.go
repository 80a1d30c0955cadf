package dataset

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/difalt/difalt/kernel"
)

// rowsOf returns features and target of all rows.
func rowsOf(t *Table) (rows [][]float64) {
	for i := range t.Rows() {
		row := t.X(make([]float64, len(t.Features())), i)
		if t.HasTarget() {
			row = append(row, t.Y(i))
		}
		rows = append(rows, row)
	}
	return rows
}

// Every way of writing gives the same numbers, and what was assumed is told.
func TestSniffed(t *testing.T) {
	utf16Text := func(order func(uint16) []byte) string {
		var b []byte
		for _, u := range append([]uint16{0xfeff}, utf16.Encode([]rune("t,a,y\nMüller,1.5,2\nx,3,4\n"))...) {
			b = append(b, order(u)...)
		}
		return string(b)
	}
	day := func(s string) float64 { // by another calendar than the reader's: Rata Die
		var y, m, d int
		if _, err := fmt.Sscanf(s, "%d-%d-%d", &y, &m, &d); err != nil {
			t.Fatal(err)
		}
		if m <= 2 {
			y, m = y-1, m+12
		}
		return float64(365*y + y/4 - y/100 + y/400 + (153*(m-3)+2)/5 + d - 1 - 719468)
	}
	for _, c := range []struct {
		name, text string
		o          TableOptions
		want       [][]float64
		assumed    string
	}{
		{"plain", "t,a,y\nx,1.5,2\nx,-3e2,4\n", columnsTY, [][]float64{{1.5, 2}, {-300, 4}}, ""},
		{"three decimals", "t,a,y\nx,1.234,2\nx,5.678,4\n", columnsTY, [][]float64{{1.234, 2}, {5.678, 4}}, ""},
		{"semicolons", "t;a;y\nx;1.5;2\n", columnsTY, [][]float64{{1.5, 2}}, "semicolons"},
		{"tabs", "t\ta\ty\nx\t1.5\t2\n", columnsTY, [][]float64{{1.5, 2}}, "tabs"},
		{"bars", "t|a|y\nx|1.5|2\n", columnsTY, [][]float64{{1.5, 2}}, "vertical bars"},
		{"bars around commas", "t|a|y\nx,z|1.5|2\ny,z|1|2\n", columnsTY, [][]float64{{1.5, 2}, {1, 2}}, "vertical bars"},
		{"decimal commas", "t;a;y\nx;1,5;2\nx;-0,25e1;4,125\n", columnsTY, [][]float64{{1.5, 2}, {-2.5, 4.125}}, "semicolons, decimal commas"},
		{"quoted decimal commas", "t,a,y\nx,\"1,5\",2\nx,\"1,234\",\"4,0\"\n", columnsTY, [][]float64{{1.5, 2}, {1.234, 4}}, "decimal commas"},
		{"long decimals", "t;a;y\nx;0,1234567890123456789;2\nx;12345678901234567890,5;2\n", columnsTY, [][]float64{{0.1234567890123456789, 2}, {12345678901234567890.5, 2}}, "semicolons, decimal commas"},
		{"thousands", "t,a,y\nx,\"1,234,567\",2.5\nx,\"1,234\",3\nx,12,3\n", columnsTY, [][]float64{{1234567, 2.5}, {1234, 3}, {12, 3}}, `commas between thousands in "a"`},
		{"truths", "t,a,b,y\nx,TRUE,true,2\nx,False,,3\nx,1,false,3\n", TableOptions{Task: "t", Target: "y", Features: []string{"b"}, Missing: MissingDrop}, [][]float64{{1, 2}, {0, 3}}, `true and false in "b" as 1 and 0`},
		{"true target", "t,a,y\nx,1,TRUE\nx,2,FALSE\n", columnsTY, [][]float64{{1, 1}, {2, 0}}, `true and false in "y" as 1 and 0`},
		{"months", "t,a,y\nx,2024-02,2\nx,1969-12,3\n", columnsTY, [][]float64{{19754, 2}, {-31, 3}}, `dates in "a" as days since 1970-01-01`},
		{"row names", ",t,a,,y\n1,x,5,7,2\n2,x,6,8,3\n", columnsTY, [][]float64{{5, 2}, {6, 3}}, "without column 1, column 4, of no name"},
		{"both", "t,a,y\nx,\"-1,234.5\",2\nx,\"1,234\",3\nx,.5,3\n", columnsTY, [][]float64{{-1234.5, 2}, {1234, 3}, {.5, 3}}, `commas between thousands in "a"`},
		{"German", "t;a;y\nx;1.234,5;2,25\nx;1.234;3\n", columnsTY, [][]float64{{1234.5, 2.25}, {1234, 3}}, `semicolons, decimal commas, points between thousands in "a"`},
		{"French", "t;a;y\nx;1 234,5;2,25\nx;12\u00a0345;3\nx;1\u202f234\u202f567,125;3\n", columnsTY, [][]float64{{1234.5, 2.25}, {12345, 3}, {1234567.125, 3}}, `semicolons, decimal commas, spaces between thousands in "a"`},
		{"Swiss", "t;a;y\nx;1'234.5;2\nx;1’234’567;3\n", columnsTY, [][]float64{{1234.5, 2}, {1234567, 3}}, `semicolons, apostrophes between thousands in "a"`},
		{"given", "t;a;y\nx;1,234;2\n", TableOptions{Task: "t", Target: "y", Decimal: ','}, [][]float64{{1.234, 2}}, "semicolons"},
		{"given thousands", "t;a;y\nx;1,234;2\n", TableOptions{Task: "t", Target: "y", Decimal: '.', Thousands: ','}, [][]float64{{1234, 2}}, "semicolons"},
		{"given point", "t;a;y\nx;1.234;2\n", TableOptions{Task: "t", Target: "y", Decimal: '.'}, [][]float64{{1.234, 2}}, "semicolons"},
		{"missing", "t;a;y\nx;;2\nx;NA;2\nx;1,5;2\n", TableOptions{Task: "t", Target: "y", Missing: MissingDrop}, [][]float64{{1.5, 2}}, "semicolons, decimal commas"},
		{"apostrophes", "'t','a','note','y'\n'x','1.5','say \"no\", it''s ''','2'\n", TableOptions{Task: "t", Target: "y", Drop: []string{"note"}}, [][]float64{{1.5, 2}}, "cells in apostrophes"},
		{"names with apostrophes", "t,a,y\n's-Hertogenbosch,1.5,2\nx',1,2\n", columnsTY, [][]float64{{1.5, 2}, {1, 2}}, ""},
		{"no header", "x,1.5,2\nz,3,4\n", TableOptions{Task: "c0", Target: "c2"}, [][]float64{{1.5, 2}, {3, 4}}, "no line with the names of columns"},
		{"columns named so", "c0,c1,c2\nx,1.5,2\n", TableOptions{Task: "c0", Target: "c2"}, [][]float64{{1.5, 2}}, ""},
		{"UTF-16LE", utf16Text(func(u uint16) []byte { return []byte{byte(u), byte(u >> 8)} }), columnsTY, [][]float64{{1.5, 2}, {3, 4}}, "UTF-16"},
		{"UTF-16BE", utf16Text(func(u uint16) []byte { return []byte{byte(u >> 8), byte(u)} }), columnsTY, [][]float64{{1.5, 2}, {3, 4}}, "UTF-16"},
		{"ISO dates", "t,a,y\nx,1969-12-31,2\nx,2000-02-29,4\nx,1899-1-2,4\n", columnsTY, [][]float64{{-1, 2}, {day("2000-02-29"), 4}, {day("1899-01-02"), 4}}, `dates in "a" as days since 1970-01-01`},
		{"times", "t,a,y\nx,1970-01-02T06:00:00Z,2\nx,1970-01-01 12:00,4\nx,1970-01-01T00:00:00+06:00,4\nx,1970-01-01T00:00:00.864,4\n", columnsTY, [][]float64{{1.25, 2}, {0.5, 4}, {-0.25, 4}, {1e-5, 4}}, `dates in "a" as days since 1970-01-01`},
		{"dates with points", "t;a;y\nx;1.2.1970;2,5\nx;01.03.1970;4\n", columnsTY, [][]float64{{31, 2.5}, {59, 4}}, `semicolons, decimal commas, dates (day first) in "a" as days since 1970-01-01`},
		{"day first", "t,a,y\nx,1/2/1970,2\nx,13/2/1970,4\n", columnsTY, [][]float64{{31, 2}, {43, 4}}, `dates (day first) in "a" as days since 1970-01-01`},
		{"month first", "t,a,y\nx,1/2/1970,2\nx,1/13/1970,4\n", columnsTY, [][]float64{{1, 2}, {12, 4}}, `dates (month first) in "a" as days since 1970-01-01`},
		{"order of another column", "t,a,b,y\nx,1/2/1970,1/31/1970,2\n", columnsTY, [][]float64{{1, 30, 2}}, `dates (month first) in "a", "b" as days since 1970-01-01`},
		{"given order", "t,a,y\nx,1/2/1970,2\n", TableOptions{Task: "t", Target: "y", Dates: "mdy"}, [][]float64{{1, 2}}, `dates (month first) in "a" as days since 1970-01-01`},
		{"task of dates", "t,a,y\n2024-01-02,1,2\n", columnsTY, [][]float64{{1, 2}}, ""},
		{"float32", "t;a;y\nx;1,5;2\n", TableOptions{Task: "t", Target: "y", Storage: kernel.Float32}, [][]float64{{1.5, 2}}, "semicolons, decimal commas"},
	} {
		tab, err := ReadCSV(strings.NewReader(c.text), c.o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := rowsOf(tab); !close2(got, c.want) {
			t.Errorf("%s: rows %v, want %v", c.name, got, c.want)
		}
		got := ""
		if a := tab.Assumptions(); a != nil {
			got = a[0].Text
		}
		if got != c.assumed {
			t.Errorf("%s: assumed %q, want %q", c.name, got, c.assumed)
		}
		if c.name[:3] == "UTF" && tab.Tasks()[0] != "Müller" {
			t.Errorf("%s: task %q", c.name, tab.Tasks()[0])
		}
	}
}

// close2 compares rows, with the rounding of a time of day.
func close2(a, b [][]float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if len(a[i]) != len(b[i]) {
			return false
		}
		for j := range a[i] {
			if !(math.Abs(a[i][j]-b[i][j]) <= 1e-15*math.Abs(b[i][j])) {
				return false
			}
		}
	}
	return true
}

// What can be read in two ways is an error that names a cell and what would settle it,
// not a guess; and so is what comes later and is written in another way.
func TestAmbiguous(t *testing.T) {
	many := func(row string) string { return strings.Repeat(row, 1+sampleBytes/len(row)) }
	for _, c := range []struct {
		name, text, option string
		o                  TableOptions
		want               []string
	}{
		{"comma", "t;a;y\nx;12;2\nx;1,234;2\n", "Decimal", columnsTY, []string{`line 3, column "a": "1,234"`, "decimal comma", "thousands"}},
		{"quoted comma", "t,a,y\nx,\"1,234\",2\n", "Decimal", columnsTY, []string{`line 2, column "a": "1,234"`}},
		{"point", "t;a;y\nx;1.234;2\nx;5.678;2\n", "Decimal", columnsTY, []string{`line 2, column "a": "1.234"`}},
		{"point with tabs", "t\ta\ty\nx\t1.234\t2\n", "Decimal", columnsTY, []string{`"1.234"`}},
		{"two marks", "t;a;b;y\nx;1.5;2,5;3\n", "Decimal", columnsTY, []string{`column "a": "1.5" has a decimal point`, `column "b": "2,5" a decimal comma`}},
		{"another column's thousands", "t;a;b;y\nx;1.234,5;48.123;3\n", "Thousands", columnsTY, []string{`column "b": "48.123"`}},
		{"thousands with points", "t,a,b,y\nx,1.5,\"1,234\",3\n", "Thousands", columnsTY, []string{`column "b": "1,234"`}},
		{"dates", "t,a,y\nx,1/2/1970,2\nx,11/12/1970,2\n", "Dates", columnsTY, []string{`line 2, column "a": "1/2/1970"`}},
		{"delimiter", "t,a;y|b,c;d|e\n1,2;3|4,5;6|7\n", "Delimiter", TableOptions{}, []string{"line 1", `","`, `";"`}},
		{"text", "t,a,y\nx,north,2\n", "Categorical", columnsTY, []string{`line 2, column "a": "north" is not a number`}},
		{"text among numbers", "t,a,y\nx,1,2\nx,north,2\n", "Categorical", columnsTY, []string{`line 3, column "a": "north" is not a number`}},
		{"no header", "x,1,2\nz,3,4\n", "NoHeader", columnsTY, []string{`no column "t"`, "looks like a row of numbers"}},
		{"later comma", "t;a;y\n" + many("x;1.5;2\n") + "x;1,5;2\n", "Decimal", columnsTY, []string{`column "a": "1,5" is not a number`}},
		{"later point", "t;a;y\n" + many("x;1,5;2\n") + "x;1.234;2\n", "Thousands", columnsTY, []string{`column "a": "1.234" is not a number`}},
		{"later group", "t,a,y\n" + many("x,1.5,2\n") + "x,1'234,2\n", "Thousands", columnsTY, []string{`column "a": "1'234" is not a number`}},
	} {
		_, err := ReadCSV(strings.NewReader(c.text), c.o)
		var format *FormatError
		if !errors.As(err, &format) || format.Option != c.option || format.Option != "NoHeader" && len(format.Values) == 0 {
			t.Errorf("%s: %v: %+v, want one about %s", c.name, err, format, c.option)
			continue
		}
		checkMessage(t, c.name, err, c.want)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"no such date", "t,a,y\nx,2024-02-30,2\n", []string{`line 2, column "a": "2024-02-30" is not a date`}},
		{"later order", "t,a,y\n" + many("x,13/2/1970,2\n") + "x,2/13/1970,2\n", []string{`column "a": "2/13/1970" is not a date`}},
		{"later number", "t,a,y\n" + many("x,2024-01-01,2\n") + "x,2024,2\n", []string{`column "a": "2024" is not a date`}},
		{"date target", "t,a,y\nx,1,2024-01-01\n", []string{`column "y": "2024-01-01" is not a number`}},
		{"did you mean", "store,price,revenue\nx,1,2\n", []string{`no column "Revenu" for the target (did you mean "revenue"?)`}},
	} {
		o := columnsTY
		if c.name == "did you mean" {
			o = TableOptions{Task: "store", Target: "Revenu"}
		}
		_, err := ReadCSV(strings.NewReader(c.text), o)
		checkMessage(t, c.name, err, c.want)
	}
	for want, o := range map[string]TableOptions{
		`the delimiter is '"'`:           {Delimiter: '"'},
		`the decimal mark is ';'`:        {Decimal: ';'},
		`the mark between thousands`:     {Thousands: ';'},
		`and not the decimal mark`:       {Thousands: ',', Decimal: ','},
		`the order of dates is "ydm"`:    {Dates: "ydm"},
		`the mark between thousands is `: {Thousands: 'x'},
	} {
		_, err := ReadCSV(strings.NewReader(sample), o)
		checkMessage(t, want, err, []string{want})
	}
}

// A cell is a number in a notation if, and only if, that is among its readings, and then it is what one gets
// who takes out the one mark and puts a point for the other.
func FuzzReadings(f *testing.F) {
	for _, s := range []string{"1,234", "1.234,5", "-1 234", "1'234.5", "1e5", "0,5", "12", "1,23,456", "0,123", "12345,678", "1 234,5e3", "x", "5.", ".5", "1\x00234"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := readingsOf(s)
		if commas, points := r&commaReadings, r&pointReadings; commas|points != r || commas&points != 0 {
			t.Fatalf("%q has the readings %b", s, r)
		}
		for i, n := range notations {
			v, err, ok := n.parse(s)
			if ok != (r>>i&1 == 1) {
				t.Fatalf("%q in %+v: %v, of readings %b", s, n, ok, r)
			}
			if !ok || err != nil {
				continue
			}
			plain := strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2019", "'").Replace(s)
			if n.group != 0 {
				plain = strings.ReplaceAll(plain, string(rune(n.group)), "")
			}
			want, err := strconv.ParseFloat(strings.ReplaceAll(plain, string(rune(n.decimal)), "."), 64)
			if err != nil || v != want {
				t.Fatalf("%q in %+v is %v, want %v (%v)", s, n, v, want, err)
			}
		}
	})
}

// What may stand between thousands where the decimal mark is a point, and where it is a comma; nothing where a cell is
// no number then. A mark of 0 is none.
func TestReadings(t *testing.T) {
	for cell, want := range map[string][2]string{
		"12": {"\x00, '", "\x00. '"}, "-1.5": {"\x00, '", ""}, "1,234": {",", "\x00. '"}, "1,234,567": {",", ""}, "1.234,5": {"", "."},
		"1 234": {" ", " "}, "1'234.5": {"'", ""}, "0,123": {"", "\x00. '"}, "001,234.5": {}, "1,23,456": {}, "1,234e5": {"", "\x00. '"}, "x": {}, "": {}, "-": {},
	} {
		for k, decimal := range []byte(".,") {
			if got := string(readingsOf(cell).groups(decimal)); got != want[k] {
				t.Errorf("%q with %q: %q, want %q", cell, decimal, got, want[k])
			}
		}
	}
}

func TestSuggestion(t *testing.T) {
	names := []string{"clinic", "score", "a", "bb", "Größe"}
	for wrong, want := range map[string]string{"clinics": "clinic", "Clinic": "clinic", "scroe": "score", "b": "", "x": "", "Grösse": "Größe", "nothing": "", "SCORE": "score"} {
		got := suggestion(wrong, names)
		if want == "" != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
	if !reflect.DeepEqual(orderNames["dmy"], dayFirst) {
		t.Error("dmy is not the day first")
	}
}
