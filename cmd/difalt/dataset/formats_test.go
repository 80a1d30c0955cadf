package dataset

import (
	"math"
	"os"
	"reflect"
	"testing"

	"github.com/difalt/difalt/kernel"
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
		_, err := ReadFiles([]string{"testdata/arrow.parquet"}, TableOptions{Task: "id", Target: "y", Features: []string{column}})
		checkMessage(t, column, err, []string{`column "` + column + `"`, want})
	}
}

// Files that Arrow wrote, the second one as older programs do. The days of a date are
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
		{"types", "dec128", []float64{1234567890123456789012345678.0123456789, -0.3, 1}},
		{"types", "day", []float64{-1, 19782, nan}},
		{"types", "ms", []float64{1.25, -0.5, nan}},
		{"types", "us", []float64{1.25, -0.5, nan}},
		{"types", "ns", []float64{1.25, -0.5, nan}},
		{"types", "half", []float64{1.5, -0x1p-24, 65504}},
		{"types", "unsigned", []float64{1 << 64, 1 << 63, 0}},
		{"types-old", "dec128", []float64{1234567890123456789012345678.0123456789, -0.3, 1}},
		{"types-old", "dec64", []float64{12345678901.2345, -0.0001, 7}},
		{"types-old", "ns", []float64{1.25, -0.5, nan}},
	} {
		tab, err := ReadFiles([]string{"testdata/" + c.path + ".parquet"}, TableOptions{Task: "id", Target: "y", Features: []string{c.column}, Missing: MissingKeep})
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
		if dates != (tab.Assumptions() != nil) {
			t.Errorf("%s: assumed %v", c.column, tab.Assumptions())
		}
	}
	for column, want := range map[string][]string{
		"signed": {"-9223372036854775808", "9007199254740993"},
		"dec32":  {"123.45", "-0.01"},
		"dec128": {"1234567890123456789012345678.0123456789", "-0.3000000000", "1.0000000000"},
		"day":    {"1969-12-31", "2024-02-29"},
		"ns":     {"1970-01-02T06:00:00Z", "1969-12-31T12:00:00Z"},
	} {
		tab, err := ReadFiles([]string{"testdata/types.parquet"}, TableOptions{Task: column, Target: "y", Features: []string{"half"}, Missing: MissingDrop})
		if err != nil || !reflect.DeepEqual(tab.Tasks(), want) {
			t.Errorf("tasks of %s: %v, want %q (%v)", column, tab, want, err)
		}
	}
	_, err := ReadFiles([]string{"testdata/types.parquet"}, TableOptions{Task: "id", Target: "y"})
	checkMessage(t, "time", err, []string{`column "time" is of type TIME`})
	_, err = ReadFiles([]string{"testdata/types.parquet"}, TableOptions{Task: "id", Target: "y", Features: []string{"unsigned"}, Storage: kernel.Float32})
	if err != nil {
		t.Error(err)
	}
}

// Every half precision number there is, against its definition by powers of two.
func TestFloat16(t *testing.T) {
	for h := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&31, float64(h&1023)/1024
		want := sign * math.Pow(2, float64(exponent-15)) * (1 + fraction)
		switch {
		case exponent == 0:
			want = sign * math.Pow(2, -14) * fraction
		case exponent == 31 && fraction == 0:
			want = sign * math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if got := halfOf([]byte{byte(h), byte(h >> 8)}); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%04x is %v, want %v", h, got, want)
		}
	}
}

// A damaged Parquet file is an error or another table, never a panic.
func TestDamagedParquet(t *testing.T) {
	whole, err := os.ReadFile("testdata/arrow-plain.parquet")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := TableOptions{Task: "id", Target: "y", Features: []string{"b", "flag"}}
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
