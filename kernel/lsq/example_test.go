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
		result := lsq.Solve(b, blas64.GeneralCols{Rows: p.n, Cols: 2, Stride: p.n, Data: p.a}, p.y, lsq.Options{}, ws)
		fmt.Printf("%.3f %v\n", b, result.Status)
	}
	// Output:
	// [1.000 2.000] ok
	// [3.000 4.000] underdetermined
	// [1.000 1.000] rank deficient
}

// A strided batch: two problems of 3 x 1, one after the other.
func ExampleSolveBatch() {
	a := []float64{1, 1, 1, 1, 2, 3}
	y := []float64{1, 2, 6, 2, 4, 6}
	b, results := make([]float64, 2), make([]lsq.Result, 2)
	lsq.SolveBatch(b, a, 3, 1, 3, 3, y, 3, 2, lsq.Options{}, results, nil)
	fmt.Printf("%.2f %v, residuals %.2f and %.2f\n", b, results[0].Status, results[0].SquaredResidual, results[1].SquaredResidual)
	// Output:
	// [3.00 2.00] ok, residuals 14.00 and 0.00
}
