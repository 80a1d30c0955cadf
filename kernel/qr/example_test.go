package qr_test

import (
	"fmt"

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
