package dataset

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/scratch/scratchtest"
	"github.com/difalt/difalt/kernel"
)

// sameRows wants two tables with the same rows, bit by bit.
func sameRows(t *testing.T, name string, got, want *Table) {
	t.Helper()
	if got.Rows() != want.Rows() || len(got.Features()) != len(want.Features()) {
		t.Fatalf("%s: %d rows of %d features, want %d of %d", name, got.Rows(), len(got.Features()), want.Rows(), len(want.Features()))
	}
	x, y := make([]float64, len(got.Features())), make([]float64, len(got.Features()))
	for i := range got.Rows() {
		got.X(x, i)
		want.X(y, i)
		for j := range x {
			if math.Float64bits(x[j]) != math.Float64bits(y[j]) {
				t.Fatalf("%s: row %d, feature %d is %v, want %v", name, i, j, x[j], y[j])
			}
		}
		if got.Y(i) != want.Y(i) || got.Task(i) != want.Task(i) {
			t.Fatalf("%s: row %d differs", name, i)
		}
	}
}

// TestTablesOnDisk: files of every format, and what is packed of them, are the same on disk
// as in memory.
func TestTablesOnDisk(t *testing.T) {
	folder := scratchtest.Folder(t)
	text := write(t, t.TempDir(), "sample.csv", []byte(sample))
	for path, o := range map[string]TableOptions{
		text:                         {Task: "t", Target: "y", Categorical: []string{"site"}},
		"testdata/numpy-c.npy":       {Task: "c0", Target: "c3"},
		"testdata/numpy-fortran.npy": {Task: "c0", Target: "c3", Storage: kernel.Float32},
		"testdata/arrow.parquet":     {Task: "id", Target: "y", Drop: []string{"when", "list"}, Categorical: []string{"site"}, Missing: MissingKeep},
	} {
		want, err := ReadFiles([]string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Folder = folder
		got, err := ReadFiles([]string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, path, got, want)
		if err := got.AssignBlocks(2); err != nil {
			t.Fatal(err)
		}
		layout, err := got.Layout()
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := got.Pack(layout, nil, len(got.Features()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if nodes[1].Folder() != folder || nodes[1].Storage() != o.Storage {
			t.Errorf("%s: packed in %q as %v", path, nodes[1].Folder(), nodes[1].Storage())
		}
	}
	none := filepath.Join(folder, "none")
	if _, err := ReadFiles([]string{text}, TableOptions{Task: "t", Target: "y", Categorical: []string{"site"}, Folder: none}); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("no folder: error %v, want one that names it", err)
	}
}

// TestChunksOnDisk: rows keep their places over several chunks, added or put.
func TestChunksOnDisk(t *testing.T) {
	folder := scratchtest.Folder(t)
	const width, rows = 1 << 20, 10 // of which a chunk holds 8
	rng := rand.New(rand.NewPCG(1, 1))
	added, put := newChunks[float32](width, folder), newChunks[float32](width, folder)
	if err := put.resize(rows); err != nil {
		t.Fatal(err)
	}
	x := make([]float64, width)
	var first []float64
	for i := range rows {
		for _, j := range []int{0, i, width - 1} {
			x[j] = float64(float32(rng.NormFloat64()))
		}
		first = append(first, x[0], x[i], x[width-1])
		if err := added.add(x); err != nil {
			t.Fatal(err)
		}
		put.put(i*width, x)
	}
	if len(added.files) != 2 || len(put.files) != 2 {
		t.Errorf("%d and %d files, want 2", len(added.files), len(put.files))
	}
	for i := range rows {
		for _, c := range []*chunks[float32]{added, put} {
			if c.get(x, i); x[0] != first[3*i] || x[width-1] != first[3*i+2] || x[i] != first[3*i+1] {
				t.Errorf("row %d has %v ... %v ... %v, want %v", i, x[0], x[i], x[width-1], first[3*i:][:3])
			}
		}
	}
}
