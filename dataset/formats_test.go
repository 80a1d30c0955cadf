package dataset

import (
	"math"
	"os"
	"reflect"
	"testing"
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
	for column, want := range map[string]string{"when": "want numbers or strings", "list": "nested", "site": "holds strings"} {
		_, err := ReadFiles([]string{"testdata/arrow.parquet"}, TableOptions{Task: "id", Target: "y", Features: []string{column}})
		checkMessage(t, column, err, []string{`column "` + column + `"`, want})
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
