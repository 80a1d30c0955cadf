package fit

import (
	"math"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/model"
	_ "github.com/difalt/difalt/internal/testblas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// densePosterior returns the expected targets of all rows given all targets, by the joint normal
// distribution of rows (Gaussian process regression), with ridges on intercepts, deviations and
// mean, and a constant that is free.
func densePosterior(z [][]float64, y []float64, task func(i int) int, ridges [3]float64) []float64 {
	n, k := len(y), len(z[0])-1
	signal, all := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			dot := floats.Dot(z[i][:k], z[j][:k])
			v := 1e7 + dot/ridges[2]
			if task(i) == task(j) {
				v += 1/ridges[0] + dot/ridges[1]
			}
			signal.SetSym(i, j, v)
			if i == j {
				v++
			}
			all.SetSym(i, j, v)
		}
	}
	var c mat.Cholesky
	c.Factorize(all)
	var weights, out mat.VecDense
	if err := c.SolveVecTo(&weights, mat.NewVecDense(n, y)); err != nil {
		panic(err)
	}
	out.MulVec(signal, &weights)
	return out.RawVector().Data
}

func checkClose(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d entries, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-6*(1+math.Abs(want[i]))) {
			t.Errorf("%s: entry %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// inFull skips with -short what takes long and does not depend on tags or tiers, nor on goroutines.
func inFull(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; run without -short")
	}
}

// fileOf returns a model as it is written.
func fileOf(t *testing.T, m *model.Model) []byte {
	t.Helper()
	file, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// trainingRows returns the design of a table, and its rows as the estimator needs them.
func trainingRows(t *testing.T, tab *dataset.Table, c *Config) (*design, *evidence.Rows) {
	t.Helper()
	d, err := newDesign(t.Context(), tab, c)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.sufficientRows(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return d, rows
}
