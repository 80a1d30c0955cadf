//go:build !openblas

package blas

import (
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/cblas128"
	"gonum.org/v1/gonum/blas/cblas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

func use() {
	blas32.Use(Implementation{})
	blas64.Use(Implementation{})
	cblas64.Use(Implementation{})
	cblas128.Use(Implementation{})
	lapack64.Use(Lapack{})
}
