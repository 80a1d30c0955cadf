//go:build openblas

package blas_test

import (
	openblas "github.com/difalt/difalt/cgo"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
)

func init() {
	defer restore()() // Use is for its one thread
	openblas.Use()
	peers = append(peers, peer{"openblas", blasnetlib.Implementation{}})
}
