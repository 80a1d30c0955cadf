package tablefile

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

type row struct {
	Task  string   `parquet:"task"`
	Y     *float64 `parquet:"y,optional"`
	Known bool     `parquet:"known"`
}

// written returns rows in the format of a path.
func written(t *testing.T, path string, rows []row) []byte {
	t.Helper()
	var buf bytes.Buffer
	var r row
	var y float64
	w := New(&buf, path,
		[]Column{{Name: "task", Cell: &r.Task}, {Name: "y", Cell: &y}, {Name: "known", Cell: &r.Known}})
	for _, r = range rows {
		if y = math.NaN(); r.Y != nil {
			y = *r.Y
		}
		w.Write()
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Rows are read back to the last bit, by the standard library and the one for Parquet.
func TestFormats(t *testing.T) {
	y := []float64{1.0 / 3, 1e300, 5e-324, 0, -7}
	rows := []row{{"a", &y[0], true}, {"", nil, false}, {"käse,\"b\"", &y[1], true}, {"\n", &y[2], false},
		{"zwölf 12", &y[3], true}, {"-3", &y[4], false}}
	for _, path := range []string{"p.csv", "P.CSV", "p", "-", "/dev/stdout"} {
		list, err := csv.NewReader(bytes.NewReader(written(t, path, rows))).ReadAll()
		if err != nil || strings.Join(list[0], " ") != "task y known" {
			t.Fatalf("%s: %v, %v", path, list, err)
		}
		var got []row
		for _, r := range list[1:] {
			got = append(got, row{Task: r[0], Known: r[2] == "true"})
			if v, err := strconv.ParseFloat(r[1], 64); err == nil {
				got[len(got)-1].Y = &v
			}
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	b := written(t, "p.parquet", rows)
	got, err := parquet.Read[row](bytes.NewReader(b), int64(len(b)))
	if diff := cmp.Diff(rows, got); err != nil || diff != "" {
		t.Errorf("Parquet: %v, %s", err, diff)
	}
}

// Columns keep their order and any names; a line with one empty cell is no blank line.
func TestNames(t *testing.T) {
	names := []string{"z", "a,b", "x y=\"1\"", "größe", " b", "a", "A"}
	cells := make([]string, len(names))
	var columns []Column
	for i, name := range names {
		cells[i] = strconv.Itoa(i)
		columns = append(columns, Column{Name: name, Cell: &cells[i]})
	}
	for _, path := range []string{"t.csv", "t.parquet"} {
		var buf bytes.Buffer
		w := New(&buf, path, columns)
		_ = w.Write()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var header, row []string
		if path == "t.csv" {
			list, err := csv.NewReader(&buf).ReadAll()
			if err != nil || len(list) != 2 {
				t.Fatalf("%v, %v", list, err)
			}
			header, row = list[0], list[1]
		} else {
			f, err := parquet.OpenFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range f.Root().Columns() {
				header = append(header, c.Name())
			}
			rows := make([]parquet.Row, 1)
			if n, _ := f.RowGroups()[0].Rows().ReadRows(rows); n != 1 {
				t.Fatalf("%d rows", n)
			}
			for _, v := range rows[0] {
				row = append(row, v.String())
			}
		}
		if diff := cmp.Diff([][]string{names, cells}, [][]string{header, row}); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
	var buf bytes.Buffer
	cell := ""
	w := New(&buf, "t.csv", []Column{{Name: "a", Cell: &cell}})
	_ = w.Write()
	if err := w.Close(); err != nil || buf.String() != "a\n\"\"\n" {
		t.Errorf("%q, %v", buf.String(), err)
	}
}

// A name that promises something else is refused.
func TestRefused(t *testing.T) {
	for _, path := range []string{"p.json", "p.jsonl", "p.npy", "p.csv.gz", "dir.csv/p.xlsx", "p.npz", "p.tsv"} {
		if err := CheckExtension(path, Extensions...); err == nil ||
			!strings.Contains(err.Error(), "expected a name that ends in .csv, .parquet") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"dir.x/p", "", "-"} {
		if err := CheckExtension(path, ".npz"); err != nil {
			t.Error(err)
		}
	}
}
