package tablefile

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type row struct {
	Task  string   `parquet:"task"`
	Y     *float64 `parquet:"y,optional"`
	Known bool     `parquet:"known"`
}

// columnsOf binds columns to what cells are.
func columnsOf(task *string, y *float64, known *bool) []Column {
	return []Column{{Name: "task", Cell: task}, {Name: "y", Cell: y}, {Name: "known", Cell: known}}
}

func rows() (list []row) {
	for i, task := range []string{"a", "", "käse,\"b\"", "\n", "zwölf 12", "-3"} {
		y := []float64{1.0 / 3, -0.1, 1e300, 5e-324, 0, -7}[i]
		list = append(list, row{task, &y, i%2 == 0})
	}
	list[1].Y = nil
	return list
}

func written(t *testing.T, path string) []byte {
	t.Helper()
	var buf bytes.Buffer
	var r row
	var y float64
	w := New(&buf, path, columnsOf(&r.Task, &y, &r.Known))
	for _, r = range rows() {
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

func check(t *testing.T, got []row) {
	t.Helper()
	want := rows()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i, r := range got {
		if r.Task != want[i].Task || r.Known != want[i].Known || (r.Y == nil) != (want[i].Y == nil) || r.Y != nil && *r.Y != *want[i].Y {
			t.Errorf("row %d is %+v, want %+v", i, r, want[i])
		}
	}
}

// Rows are read back to the last bit, by the standard library and the one for Parquet.
func TestFormats(t *testing.T) {
	for _, path := range []string{"p.csv", "P.CSV", "p", "-", "/dev/stdout"} {
		list, err := csv.NewReader(bytes.NewReader(written(t, path))).ReadAll()
		if err != nil || strings.Join(list[0], " ") != "task y known" {
			t.Fatalf("%s: %v, %v", path, list, err)
		}
		var got []row
		for _, r := range list[1:] {
			v, err := strconv.ParseFloat(r[1], 64)
			y := &v
			if err != nil {
				y = nil
			}
			got = append(got, row{r[0], y, r[2] == "true"})
		}
		check(t, got)
	}
	b := written(t, "p.parquet")
	got, err := parquet.Read[row](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	check(t, got)
}

// A name that promises something else is refused.
func TestRefused(t *testing.T) {
	for _, path := range []string{"p.json", "p.jsonl", "p.npy", "p.csv.gz", "dir.csv/p.xlsx", "p.npz", "p.tsv"} {
		if err := CheckExtension(path, Extensions...); err == nil || !strings.Contains(err.Error(), "expected a name that ends in .csv, .parquet") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"dir.x/p", "", "-"} {
		if err := CheckExtension(path, ".npz"); err != nil {
			t.Error(err)
		}
	}
}
