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
	var all routines
	blas32.Use(&all)
	blas64.Use(&all)
	cblas64.Use(&all)
	cblas128.Use(&all)
	lapack64.Use(&own)
}
