package qr_test

import (
	"fmt"

	"github.com/difalt/difalt/kernel/qr"
)

// A QR factorisation in the caller's memory: Q replaces the matrix.
func ExampleFactor() {
	a := []float64{ // 3 x 2, by columns
		2, 1, 2,
		1, 1, 4,
	}
	r := make([]float64, 2*2)
	qr.Factor(a, 3, 3, 2, r, 2, make([]float64, qr.WorkLen(2)))
	fmt.Printf("Q = %.2f %.2f\n", a[:3], a[3:])
	fmt.Printf("R = %.2f, %.2f, %.2f\n", r[0], r[2], r[3])
	// Output:
	// Q = [0.67 0.33 0.67] [-0.68 -0.10 0.73]
	// R = 3.00, 3.67, 2.13
}
