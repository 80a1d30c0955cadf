// Package testblas is for tests, which import it for its effect: gonum computes as it does in the command.
package testblas

import "github.com/difalt/difalt/kernel/blas"

func init() { blas.Use() }
