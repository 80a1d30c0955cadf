package blas_test

import (
	"fmt"

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
