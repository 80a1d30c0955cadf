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

// Alternating least squares for ratings: with the factors of the items fixed, every user is a problem of its
// own, with as many rows as ratings and a ridge that grows with them.
func ExampleBatch() {
	items := [][]float64{{1, 0}, {0, 1}, {1, 1}, {2, 1}} // the factors
	rated := [][]int{{0, 1, 2}, {3}, {0, 1, 2, 3}}       // the items of every user
	ratings := [][]float64{{4, 1, 5}, {3}, {1, 2, 3, 4}}
	const k, lambda = 2, 0.1
	users := make(lsq.Batch, len(rated))
	for u, list := range rated {
		n := len(list)
		a := blas64.GeneralCols{Rows: n, Cols: k, Stride: n, Data: make([]float64, n*k)}
		for i, item := range list {
			for j, v := range items[item] {
				a.Data[j*n+i] = v
			}
		}
		users[u] = lsq.Problem{A: a, Y: ratings[u], B: make([]float64, k), Ridge: lambda * float64(n)}
	}
	users.Solve(lsq.Options{}, nil)
	for _, user := range users {
		fmt.Printf("%.2f %v\n", user.B, user.Result.Status)
	}
	// Output:
	// [3.43 1.12] ok
	// [1.18 0.59] ok
	// [1.08 1.69] ok
}
