package dataset

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"
)

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
