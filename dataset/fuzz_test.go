package dataset

import (
	"math"
	"os"
	"strings"
	"testing"
)

// checkTable asserts what holds for every table that was read without error.
func checkTable(t *testing.T, tab *Table) {
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

func FuzzReadCSV(f *testing.F) {
	f.Add("t,a,y\nx,1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := ReadCSV(strings.NewReader(text), columnsTY)
		if err == nil {
			checkTable(t, tab)
		}
	})
}

func FuzzReadProblem(f *testing.F) {
	f.Add(validFile().bytes(f))
	for _, name := range []string{"numpy-fortran.npz", "numpy-stacked.npz"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readBytes(b)
		if err != nil {
			return
		}
		checkTable(t, p.Table)
		if p.HasNodes {
			layout, err := p.Table.Layout()
			if err != nil {
				t.Fatal(err)
			}
			p.Problem(layout)
		}
	})
}
