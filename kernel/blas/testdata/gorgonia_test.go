package blas_test

import (
	"fmt"

	"github.com/difalt/difalt/kernel/blas"
	"gorgonia.org/tensor"
)

// Package tensor of Gorgonia multiplies with this package after tensor.Use.
func ExampleImplementation_gorgonia() {
	tensor.Use(blas.Implementation{})
	a := tensor.New(tensor.WithShape(40, 30), tensor.WithBacking(tensor.Range(tensor.Float32, 0, 40*30)))
	b := tensor.New(tensor.WithShape(30, 20), tensor.WithBacking(tensor.Range(tensor.Float32, 0, 30*20)))
	c, err := tensor.MatMul(a, b)
	if err != nil {
		fmt.Println(err)
		return
	}
	last, err := c.At(0, 19) // the sum of k (20 k + 19), k < 30
	fmt.Printf("%T: %v %v %v\n", tensor.WhichBLAS(), c.Shape(), last, err)
	// Output: blas.Implementation: (40, 20) 179365 <nil>
}
