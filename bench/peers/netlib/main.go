// Command netlib is the peer on blas64 and lapack64 over the C library that cgo
// links, by gonum.org/v1/netlib. It is a module of its own, so that users of
// difalt never see this dependency.
package main

import (
	"github.com/difalt/difalt/bench/peers/internal/perblas"
	"github.com/difalt/difalt/bench/peers/internal/protocol"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	blasnetlib "gonum.org/v1/netlib/blas/netlib"
	lapacknetlib "gonum.org/v1/netlib/lapack/netlib"
)

func main() {
	blas64.Use(blasnetlib.Implementation{})
	lapack64.Use(lapacknetlib.Implementation{})
	version := "netlib " + protocol.ModuleVersion("gonum.org/v1/netlib")
	protocol.Main(version, func(p *protocol.Problem, threads int, _ string) (iterate, export func(*protocol.Answer), err error) {
		return perblas.New(p, threads).Iterate, nil, nil
	})
}
