package lsq_test

import (
	"fmt"

	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/blas/blas64"
)

// A batch of problems of different sizes over one workspace.
func ExampleSolve() {
	batch := []struct {
		n    int
		a, y []float64 // a is n x 2 by columns
	}{
		{3, []float64{1, 1, 1, 0, 1, 2}, []float64{1, 3, 5}}, // a line through three points
		{1, []float64{3, 4}, []float64{25}},                  // one equation
		{2, []float64{1, 2, 1, 2}, []float64{2, 4}},          // equal columns
	}
	ws := lsq.NewWorkspace(3, 2)
	b := make([]float64, 2)
	for _, p := range batch {
		status := lsq.Solve(b, blas64.GeneralCols{Rows: p.n, Cols: 2, Stride: p.n, Data: p.a}, p.y, 0, ws)
		fmt.Printf("%.3f %v\n", b, status)
	}
	// Output:
	// [1.000 2.000] ok
	// [3.000 4.000] underdetermined
	// [1.000 1.000] rank deficient
}
