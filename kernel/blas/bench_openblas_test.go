//go:build openblas

package blas_test

import (
	_ "github.com/difalt/difalt/cgo" // links the library
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

// OpenBLAS has as many threads as OPENBLAS_NUM_THREADS allows.
func init() {
	peers = append(peers, peer{"OpenBLAS", blasnetlib.Implementation{}, lapacknetlib.Implementation{}})
}
