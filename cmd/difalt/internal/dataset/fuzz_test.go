package dataset

import (
	"math"
	"os"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// checkNumbers asserts what holds for every table that was read without error.
func checkNumbers(t *testing.T, tab *Table) {
	if tab.Rows() == 0 || len(tab.Tasks()) == 0 || len(tab.Features()) == 0 {
		t.Fatalf("%d rows, %d tasks, %d features", tab.Rows(), len(tab.Tasks()), len(tab.Features()))
	}
	x := make([]float64, len(tab.Features()))
	for i := range tab.Rows() {
		for _, v := range append(tab.X(x, i), tab.Y(i)) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("row %d holds %v", i, v)
			}
		}
		if k := tab.Task(i); k < 0 || k >= len(tab.Tasks()) {
			t.Fatalf("row %d has task %d of %d", i, k, len(tab.Tasks()))
		}
	}
}

// FuzzReadFiles covers the formats that the content decides: text, gzip, zstd, Parquet and NPY.
func FuzzReadFiles(f *testing.F) {
	gz, zst := packed(f, []byte(sample))
	for _, text := range []string{
		"t,a,y\nx,1,2\n", "t,a,y\r\n\"x\"\"\",1e3,-.5\r\n", "\ufefft,a,y\n\nx,NA,2\nx, 1 ,2", string(gz),
		string(zst),
	} {
		f.Add([]byte(text))
	}
	for _, name := range []string{"arrow.parquet", "arrow-plain.parquet", "numpy-c.npy", "numpy-fortran.npy"} {
		b := check.OK(os.ReadFile("testdata/" + name))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := write(t, t.TempDir(), "file", b)
		for _, o := range []TableOptions{
			{Task: "id", Target: "y", Drop: []string{"when", "list"}, Categorical: []string{"site"},
				Missing: MissingDrop},
			{Task: "c0", Target: "c3"}, {Task: "t", Target: "y", Missing: MissingDrop, Categorical: []string{"a"}},
			columnsTY,
		} {
			if tab, err := ReadFiles([]string{path}, o); err == nil {
				checkNumbers(t, tab)
			}
		}
	})
}
