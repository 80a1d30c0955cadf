package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/mixed"
)

// Files of other formats are named.
func TestOtherFormats(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		o    TableOptions
		want []string
	}{
		"tar": {"t.csv" + strings.Repeat("\x00", 252) + "ustar\x0000", TableOptions{},
			[]string{"it is an archive of tar"}},
		"Stata":        {"<stata_dta><header><release>118", TableOptions{}, []string{"it is a file of Stata"}},
		"old Stata":    {"r\x02\x01\x00\x05\x00", TableOptions{}, []string{"it is a file of Stata"}},
		"SPSS, packed": {"$FL3@(#) SPSS DATA FILE", TableOptions{}, []string{"it is a file of SPSS"}},
		"SAS": {strings.Repeat("\x00", 12) + "\xc2\xea\x81\x60\xb3\x14", TableOptions{},
			[]string{"it is a file of SAS"}},
		"MATLAB":       {"MATLAB 5.0 MAT-file, Platform: GLNXA64", TableOptions{}, []string{"it is a file of MATLAB"}},
		"ORC":          {"ORC\x08\x03", TableOptions{}, []string{"it is a file of ORC"}},
		"Arrow stream": {"\xff\xff\xff\xff\x10\x01\x00\x00", TableOptions{}, []string{"it is a stream of Arrow"}},
		"DuckDB": {"\x01\x02\x03\x04\x05\x06\x07\x08DUCK\x40", TableOptions{},
			[]string{"it is a database of DuckDB"}},
		"pickle":            {"\x80\x03}q\x00.", TableOptions{}, []string{"it is a pickle of Python"}},
		"encrypted Parquet": {"PARE\x00\x01", TableOptions{}, []string{"it is an encrypted file of Parquet"}},
		"picture":           {"\x89PNG\r\n\x1a\n\x00", TableOptions{}, []string{"it is a picture"}},
		"Git LFS": {"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", TableOptions{},
			[]string{"it is a pointer of Git LFS", "git lfs pull"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text, c.o)
			check.Error(t, err, c.want...)
		})
	}
}

// Dates with times that are not read have an error that says what is read.
func TestOtherTimes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		o    TableOptions
		want []string
	}{
		"no time": {"t,v,y\nx,2024-01-31 25:00,2\n", TableOptions{Dates: "ymd"},
			[]string{"line 2", "is a date with a time that is not read: write the time as 13:45"}},
		"end of a day": {"t,v,y\nx,31.01.2024 24:00:00,2\n", TableOptions{Dates: "dmy"},
			[]string{"is a date with a time that is not read"}},
		"name of a zone": {"t,v,y\nx,2024-01-31 10:00:00 CET,2\n", TableOptions{Dates: "ymd"},
			[]string{"is a date with a time that is not read", "13:45:00+02:00"}},
		"place of a zone": {"t,v,y\nx,2024-01-31T10:00:00[Europe/Paris],2\n", TableOptions{},
			[]string{"is a date with a time that is not read"}},
		"hour alone": {"t,v,y\nx,2024-01-31T10,2\n", TableOptions{Dates: "ymd"},
			[]string{"is a date with a time that is not read"}},
		"small t": {"t,v,y\nx,2024-01-31t10:00z,2\n", TableOptions{Dates: "ymd"},
			[]string{"is a date with a time that is not read"}},
		"no day, a time": {"t,v,y\nx,2024-02-30 10:00,2\n", TableOptions{Dates: "ymd"},
			[]string{"the calendar has no such day"}},
		"time of ISO 8601": {"t,v,y\nx,20240131T101112Z,2\n", TableOptions{Dates: "ymd"},
			[]string{"a time without hyphens and colons: write it as 2024-01-31T13:45"}},
		"date of SAS": {"t,v,y\nx,31JAN2024,2\n", TableOptions{},
			[]string{"looks like a date: write it as 2024-01-31"}},
		"time of SAS": {"t,v,y\nx,31JAN2024:10:11:12,2\n", TableOptions{},
			[]string{"looks like a date: write it as 2024-01-31"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text, c.o)
			check.Error(t, err, c.want...)
		})
	}
}

// Names that differ in blanks alone, and times of which some have a zone, have a remark that shows the
// difference.
func TestRemarksOnBlanksAndZones(t *testing.T) {
	zone := func(i int) string {
		return fmt.Sprintf("2024-%02d-%02d", 1+i%12, 1+i%28) + []string{" 10:00", "T10:00:00+02:00"}[i%2]
	}
	for text, want := range map[string]string{
		taskText(oneOf("a 1", "a  1", "b")): `"a 1" and "a  1" (one has more blanks)`,
		columnText(zone): `Column "v" has times without a zone, such as 2024-01-01 10:00, and times with one, ` +
			`such as 2024-02-02T10:00:00+02:00: the former are read as UTC.`,
	} {
		tab := check.OK(read(text, TableOptions{Dates: "ymd"}))
		if said := tab.Remarks(); len(said) != 1 || !strings.Contains(said[0], want) {
			t.Errorf("remarks %q: want %q", said, want)
		}
	}
}

// Scan refuses a file whose lines end with CR: its header has all that a prediction needs.
func TestScanOfLinesWithCR(t *testing.T) {
	o := TableOptions{Task: "t", Schema: only("a"), Missing: MissingDrop}
	path := write(t, t.TempDir(), "cr.csv", []byte("t,a,y\rx,1,2\rx,3,4\r"))
	_, err := Scan([]string{path}, o, func(*Row) error { return nil })
	check.Error(t, err, path, "line 1 contains a CR that no LF follows")
}

// Scan refuses names of tasks, new levels and kept cells that are not UTF-8, as ReadFiles refuses names: a
// column of Parquet cannot hold them, and a CSV file of two encodings has no reader. Other cells may be.
func TestScanRefusesOtherEncodings(t *testing.T) {
	site := mixed.Category{Column: "site", Levels: []string{"p", "q"}}
	s := &mixed.Schema{Columns: []string{"site", "a"}, Categories: []mixed.Category{site}}
	type row struct {
		T    string  `parquet:"t"`
		Site string  `parquet:"site"`
		Note string  `parquet:"note"`
		A    float64 `parquet:"a"`
	}
	dir := t.TempDir()
	for name, c := range map[string]struct {
		row  row
		keep []string
		want []string
	}{
		"task": {row{"M\xfcller", "p", "", 1}, nil,
			[]string{`task "M\xfcller" is not a name in UTF-8: is the file in Latin-1?`}},
		"zero byte": {row{"a\x00b", "p", "", 1}, nil, []string{`task "a\x00b" is not a name in UTF-8`}},
		"new level": {row{"x", "r\xe9", "", 1}, nil,
			[]string{`column "site": the level "r\xe9" is not a name in UTF-8`}},
		"kept cell": {row{"x", "p", "na\xefve", 1}, []string{"note"},
			[]string{`column "note": "na\xefve" is not text in UTF-8: is the file in Latin-1?`}},
		"other cell": {row{"x", "p", "na\xefve", 1}, nil, nil},
		"empty task": {row{"", "p", "", 1}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.row
			text := fmt.Appendf(nil, "t,site,note,a\nx,p,,1\n%s,%s,%s,%v\n", r.T, r.Site, r.Note, r.A)
			packed := written(t, []row{{"x", "p", "", 1}, r})
			places := map[string]string{
				write(t, dir, "t.csv", text): "line 3", write(t, dir, "t.parquet", packed): "row 2",
			}
			for path, place := range places {
				o := TableOptions{Task: "t", Schema: s, NewLevels: true, Missing: MissingDrop, Keep: c.keep}
				_, err := Scan([]string{path}, o, func(*Row) error { return nil })
				if c.want == nil && err != nil {
					t.Errorf("%s: %v", path, err)
				} else if c.want != nil {
					check.Error(t, err, append(c.want, path, place)...)
				}
			}
		})
	}
}
