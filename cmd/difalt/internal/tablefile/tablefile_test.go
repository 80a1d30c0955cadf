package tablefile

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
)

type row struct {
	Task  string   `json:"task" parquet:"task"`
	Y     *float64 `json:"y" parquet:"y,optional"`
	Known bool     `json:"known" parquet:"known"`
}

// columnsOf binds columns to what cells are.
func columnsOf(task *string, y *float64, known *bool) []Column {
	return []Column{{Name: "task", Cell: task, Runes: 8}, {Name: "y", Cell: y}, {Name: "known", Cell: known}}
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
	w := New(&buf, path, columnsOf(&r.Task, &y, &r.Known), len(rows()))
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

// Rows are read back by readers of others to the last bit: the standard library's, the library's for Parquet, and the
// documented layout of NumPy.
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
	var got []row
	for d := json.NewDecoder(bytes.NewReader(written(t, "p.jsonl"))); ; {
		var r row
		if err := d.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	check(t, got)
	if lines := bytes.Count(written(t, "p.jsonl"), []byte("\n")); lines != len(got) {
		t.Errorf("%d lines for %d rows", lines, len(got))
	}
	b := written(t, "p.parquet")
	got, err := parquet.Read[row](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	check(t, got)
	check(t, numPyRows(t, written(t, "p.npy")))
}

// numPyRows reads a structured array by the definition of the format (NEP 1).
func numPyRows(t *testing.T, b []byte) (list []row) {
	t.Helper()
	n := int(binary.LittleEndian.Uint16(b[8:]))
	head := string(b[10 : 10+n])
	const want = "{'descr': [('task', '<U8'), ('y', '<f8'), ('known', '|b1')], 'fortran_order': False, 'shape': (6,), }"
	if string(b[:8]) != "\x93NUMPY\x01\x00" || strings.TrimRight(head, " \n") != want || (10+n)%64 != 0 {
		t.Fatalf("header %q", b[:10+n])
	}
	for b = b[10+n:]; len(b) > 0; b = b[8*4+8+1:] {
		var task []byte
		for k := range 8 {
			if c := rune(binary.LittleEndian.Uint32(b[4*k:])); c != 0 {
				task = utf8.AppendRune(task, c)
			}
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(b[32:]))
		y := &v
		if math.IsNaN(v) {
			y = nil
		}
		list = append(list, row{string(task), y, b[40] == 1})
	}
	return list
}

// A name that promises something else is refused, and so is a text that does not fit.
func TestRefused(t *testing.T) {
	for _, path := range []string{"p.json", "p.csv.gz", "dir.csv/p.xlsx", "p.npz", "p.tsv"} {
		if err := CheckExtension(path, Extensions...); err == nil || !strings.Contains(err.Error(), ".csv, .parquet, .jsonl, .npy") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{"dir.x/p", "", "-"} {
		if err := CheckExtension(path, ".npz"); err != nil {
			t.Error(err)
		}
	}
	task := "nine runes"
	columns := columnsOf(&task, new(float64), new(bool))
	w := New(io.Discard, "p.npy", columns, 2)
	w.Write()
	if err := w.Close(); err == nil || err.Error() != "a text of 10 characters does not fit a field of 8" {
		t.Errorf("a text is cut: %v", err)
	}
	task = "a"
	w = New(io.Discard, "p.npy", columns, 2)
	w.Write()
	if err := w.Close(); err == nil {
		t.Error("an array that is not full is closed without an error")
	}
}
