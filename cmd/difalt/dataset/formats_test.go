package dataset

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// Files that NumPy wrote, in C order of float64 and in Fortran order of big-endian
// float32, hold the task and x[i, j] = 10 i + j + 1/2 and y[i] = i.
func TestReadNPY(t *testing.T) {
	for _, path := range []string{"testdata/numpy-c.npy", "testdata/numpy-fortran.npy"} {
		tab, err := ReadFiles([]string{path}, TableOptions{Task: "c0", Target: "c3"})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !reflect.DeepEqual(tab.Tasks(), []string{"3", "1", "7"}) || !reflect.DeepEqual(tab.Features(), []string{"c1", "c2"}) || tab.Rows() != 5 {
			t.Errorf("%s: tasks %q, features %q", path, tab.Tasks(), tab.Features())
		}
		for i := range tab.Rows() {
			v := 10*float64(i) + 0.5
			if x := tab.X(make([]float64, 2), i); x[0] != v || x[1] != v+1 || tab.Y(i) != float64(i) {
				t.Errorf("%s: row %d is %v, %v", path, i, x, tab.Y(i))
			}
		}
	}
}

// Files that Arrow wrote, with and without dictionaries, and in one or more groups.
func TestReadParquet(t *testing.T) {
	o := TableOptions{Task: "id", Target: "y", Drop: []string{"when", "list"}, Categorical: []string{"site"}}
	for _, path := range []string{"testdata/arrow.parquet", "testdata/arrow-plain.parquet"} {
		_, err := ReadFiles([]string{path}, o)
		checkMessage(t, path, err, []string{path, `1 in column "site" (first on row 4)`, `1 in column "a" (first on row 3)`})
		keep := o
		keep.Missing = MissingKeep
		tab, err := ReadFiles([]string{path}, keep)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if !reflect.DeepEqual(tab.Tasks(), []string{"k3", "k1", "k7"}) || !reflect.DeepEqual(tab.Features(), []string{"site=p", "site=q", "a", "b", "flag"}) {
			t.Errorf("%s: tasks %q, features %q", path, tab.Tasks(), tab.Features())
		}
		nan := math.NaN()
		for i, want := range [][]float64{{1, 0, 0.5, 1, 1}, {0, 1, 10.5, 11, 0}, {1, 0, nan, 21, 1}, {nan, nan, 30.5, 31, 0}, {0, 1, 40.5, 41, 1}} {
			x := tab.X(make([]float64, 5), i)
			for j, v := range want {
				if x[j] != v && !(math.IsNaN(v) && math.IsNaN(x[j])) {
					t.Errorf("%s: row %d is %v, want %v", path, i, x, want)
					break
				}
			}
			if tab.Y(i) != float64(i) {
				t.Errorf("%s: row %d has y = %v", path, i, tab.Y(i))
			}
		}
	}
	for column, want := range map[string]string{"list": "nested", "site": "holds strings"} {
		_, err := ReadFiles([]string{"testdata/arrow.parquet"}, TableOptions{Task: "id", Target: "y", Schema: only(column)})
		checkMessage(t, column, err, []string{`column "` + column + `"`, want})
	}
}

// A file that Arrow wrote. The days of a date are
// counted from 1970, decimals rounded once, names keep all digits.
func TestParquetTypes(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		path, column string
		want         []float64
	}{
		{"types", "signed", []float64{-1 << 63, 1 << 53, nan}},
		{"types", "dec32", []float64{123.45, -0.01, nan}},
		{"types", "dec64", []float64{12345678901.2345, -0.0001, 7}},
		{"types", "day", []float64{-1, 19782, nan}},
		{"types", "ms", []float64{1.25, -0.5, nan}},
		{"types", "us", []float64{1.25, -0.5, nan}},
		{"types", "ns", []float64{1.25, -0.5, nan}},
		{"types", "unsigned", []float64{1 << 64, 1 << 63, 0}},
	} {
		tab, err := ReadFiles([]string{"testdata/" + c.path + ".parquet"}, TableOptions{Task: "id", Target: "y", Schema: only(c.column), Missing: MissingKeep})
		if err != nil {
			t.Errorf("%s: %v", c.column, err)
			continue
		}
		for i, want := range c.want {
			if x := tab.X(make([]float64, 1), i)[0]; x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
				t.Errorf("%s: row %d is %v, want %v", c.column, i, x, want)
			}
		}
		if want := []string{"18446744073709551615", "9223372036854775809", "9007199254740993"}; !reflect.DeepEqual(tab.Tasks(), want) {
			t.Errorf("%s: tasks %q", c.column, tab.Tasks())
		}
		dates := map[string]bool{"day": true, "ms": true, "us": true, "ns": true}[c.column]
		if dates != (tab.Notes() != nil) {
			t.Errorf("%s: notes %v", c.column, tab.Notes())
		}
	}
	for column, want := range map[string][]string{
		"dec32": {"123.45", "-0.01"},
		"day":   {"1969-12-31", "2024-02-29"},
		"ns":    {"1970-01-02T06:00:00Z", "1969-12-31T12:00:00Z"},
	} {
		tab, err := ReadFiles([]string{"testdata/types.parquet"}, TableOptions{Task: column, Target: "y", Schema: only("unsigned"), Missing: MissingDrop})
		if err != nil || !reflect.DeepEqual(tab.Tasks(), want) {
			t.Errorf("tasks of %s: %v, want %q (%v)", column, tab, want, err)
		}
	}
	_, err := ReadFiles([]string{"testdata/types.parquet"}, TableOptions{Task: "id", Target: "y", Schema: only("time")})
	checkMessage(t, "time", err, []string{`column "time" is of type TIME`})
}

// A damaged Parquet file is an error or another table, never a panic.
func TestDamagedParquet(t *testing.T) {
	whole, err := os.ReadFile("testdata/arrow-plain.parquet")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := TableOptions{Task: "id", Target: "y", Schema: only("b", "flag")}
	for n := 0; n < len(whole); n += 7 {
		path := write(t, dir, "short.parquet", whole[:n])
		if _, err := ReadFiles([]string{path}, o); err == nil {
			t.Fatalf("no error with %d of %d bytes", n, len(whole))
		}
		b := append([]byte(nil), whole...)
		b[n] ^= 0xff
		if tab, err := ReadFiles([]string{write(t, dir, "flipped.parquet", b)}, o); err == nil {
			checkTable(t, tab)
		}
	}
}

// TestCodecs: every codec is read but LZ4_RAW, which is refused where it is in use.
func TestCodecs(t *testing.T) {
	type row struct {
		T    string  `parquet:"t"`
		A    float64 `parquet:"a"`
		Y    float64 `parquet:"y"`
		Note string  `parquet:"note,lz4"`
	}
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw} {
		var buf bytes.Buffer
		w := parquet.NewGenericWriter[row](&buf, parquet.Compression(codec))
		if _, err := w.Write([]row{{"x", 1, 2, "n"}, {"x", 3, 4, "n"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "t.parquet")
		if err := os.WriteFile(path, buf.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		o := TableOptions{Task: "t", Target: "y", Drop: []string{"note"}}
		table, err := ReadFiles([]string{path}, o)
		if codec == &parquet.Lz4Raw {
			checkMessage(t, codec.String(), err, []string{"is compressed by LZ4_RAW", "snappy or zstd"})
			continue
		}
		if err != nil || table.Rows() != 2 || table.Y(1) != 4 {
			t.Errorf("%v: %v", codec, err)
		}
		o.Drop = nil
		o.Categorical = []string{"note"}
		_, err = ReadFiles([]string{path}, o)
		checkMessage(t, "a column of another codec", err, []string{`column "note": it is compressed by LZ4_RAW`})
	}
}

// Columns of floats over many pages and groups, with dictionaries and without, must
// come back as they were written, missing values included.
func TestParquetFloatPages(t *testing.T) {
	type row struct {
		Task string   `parquet:"task"`
		A    *float64 `parquet:"a,optional"`
		B    *float32 `parquet:"b,optional,dict"`
		C    float64  `parquet:"c,dict"`
		D    float32  `parquet:"d"`
	}
	r := rand.New(rand.NewPCG(1, 2))
	rows := make([]row, 3000)
	for i := range rows {
		rows[i] = row{Task: "k", C: float64(r.IntN(9)), D: r.Float32()}
		if a := r.NormFloat64(); r.IntN(5) > 0 {
			rows[i].A = &a
		}
		if b := float32(r.IntN(700)) / 4; r.IntN(5) > 0 {
			rows[i].B = &b
		}
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf, parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(1100))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "f.parquet")
	write(t, filepath.Dir(path), filepath.Base(path), buf.Bytes())
	tab, err := ReadFiles([]string{path}, TableOptions{Task: "task", Missing: MissingKeep})
	if err != nil || tab.Rows() != len(rows) {
		t.Fatal(tab, err)
	}
	x := make([]float64, 4)
	for i, want := range rows {
		a, b := math.NaN(), math.NaN()
		if want.A != nil {
			a = *want.A
		}
		if want.B != nil {
			b = float64(*want.B)
		}
		tab.X(x, i)
		for j, v := range []float64{a, b, want.C, float64(want.D)} {
			if x[j] != v && !(math.IsNaN(v) && math.IsNaN(x[j])) {
				t.Fatalf("row %d is %v: column %d should be %v", i, x, j, v)
			}
		}
	}
}
