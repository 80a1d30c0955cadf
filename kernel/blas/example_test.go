package blas_test

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/kernel/blas"
	ifblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	gblas "gonum.org/v1/gonum/blas/gonum"
	glapack "gonum.org/v1/gonum/lapack/gonum"
)

// Implementation has the methods that Use of package gorgonia.org/tensor requires.
var _ interface {
	ifblas.Float32
	ifblas.Float64
} = blas.Implementation{}

// One call makes gonum compute with the tiles.
func ExampleUse() {
	blas.Use()
	defer func() { // only since other tests of this package compare with gonum's own
		blas64.Use(gblas.Implementation{})
		lapack64.Use(glapack.Implementation{})
	}()
	var x mat.VecDense
	if err := x.SolveVec(mat.NewDense(2, 2, []float64{2, 1, 1, 3}), mat.NewVecDense(2, []float64{3, 5})); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%.1f", x.RawVector().Data)
	// Output: [0.8 1.4]
}

// gonum v0.17 solves this system wrongly, without an error: it has dummy variables among more than 32
// columns. After Use the solution, a vector of ones, is right. The example prints the largest coefficient.
func ExampleUse_dummyVariables() {
	defer func() { // only since other tests of this package compare with gonum's own
		blas64.Use(gblas.Implementation{})
		lapack64.Use(glapack.Implementation{})
	}()
	x, y := mat.NewDense(101, 40, nil), make([]float64, 101)
	for i := range y {
		x.Set(i, i%20, 1) // twenty levels
		for j := 20; j < 40; j++ {
			x.Set(i, j, math.Sin(float64(i*i*(j+1))))
		}
		y[i] = mat.Sum(x.RowView(i))
	}
	var b mat.VecDense
	err := b.SolveVec(x, mat.NewVecDense(101, y))
	fmt.Printf("gonum: %.4f, %v\n", mat.Max(&b), err)
	blas.Use()
	err = b.SolveVec(x, mat.NewVecDense(101, y))
	fmt.Printf("kernel/blas: %.4f, %v\n", mat.Max(&b), err)
	// Output:
	// gonum: 1.0016, <nil>
	// kernel/blas: 1.0000, <nil>
}
