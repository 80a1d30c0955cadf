package qr_test

import (
	"fmt"

	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/kernel/qr"
	"gonum.org/v1/gonum/blas/blas64"
)

// A QR factorisation in the caller's memory: Q replaces the matrix.
func ExampleFactor() {
	a := blas64.GeneralCols{Rows: 3, Cols: 2, Stride: 3, Data: []float64{
		2, 1, 2, // by columns
		1, 1, 4,
	}}
	r := blas64.GeneralCols{Rows: 2, Cols: 2, Stride: 2, Data: make([]float64, 2*2)}
	qr.Factor(a, r, make([]float64, qr.WorkLen(2)))
	fmt.Printf("Q = %.2f %.2f\n", a.Data[:3], a.Data[3:])
	fmt.Printf("R = %.2f, %.2f, %.2f\n", r.Data[0], r.Data[2], r.Data[3])
	// Output:
	// Q = [0.67 0.33 0.67] [-0.68 -0.10 0.73]
	// R = 3.00, 3.67, 2.13
}

// A stream of regressions: R of the rows [x y] is all that is kept, and each day's rows update it.
func ExampleUpdate() {
	const d = 2
	r := blas64.GeneralCols{Rows: d + 1, Cols: d + 1, Stride: d + 1, Data: make([]float64, (d+1)*(d+1))}
	ws := qr.NewWorkspace(d + 1)
	for _, day := range [][]float64{
		{1, 0, 2, 1, 1, 5}, // two rows of y = 2 + 3 x
		{1, 2, 8},
		{1, 3, 11, 1, 4, 14},
	} {
		qr.Update(r, blas64.General{Rows: len(day) / (d + 1), Cols: d + 1, Stride: d + 1, Data: day}, ws)
	}
	x, y := r, r.Data[d*r.Stride:]
	x.Cols = d
	b := make([]float64, d)
	result := lsq.Solve(b, x, y, lsq.Options{}, nil)
	fmt.Printf("%.3f %v\n", b, result.Status)
	// Output: [2.000 3.000] ok
}
