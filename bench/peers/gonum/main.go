// Command gonum is the peer on gonum's own BLAS and LAPACK. Its variant mat is
// what one writes first, with package mat; blas is what one ends with, on blas64
// and lapack64 with all memory allocated once.
package main

import (
	"fmt"

	"github.com/difalt/difalt/bench/peers/internal/perblas"
	"github.com/difalt/difalt/bench/peers/internal/protocol"
	"gonum.org/v1/gonum/mat"
)

func main() {
	version := "gonum " + protocol.ModuleVersion("gonum.org/v1/gonum")
	protocol.Main(version, func(p *protocol.Problem, threads int, variant string) (iterate, export func(*protocol.Answer), err error) {
		switch variant {
		case "blas":
			return perblas.New(p, threads).Iterate, nil, nil
		case "mat":
			return naive(p), nil, nil
		}
		return nil, nil, fmt.Errorf("variant %q: want blas or mat", variant)
	})
}

func naive(p *protocol.Problem) func(*protocol.Answer) {
	x := make([]*mat.Dense, p.Tasks)
	y := make([]*mat.VecDense, p.Tasks)
	for t := range x {
		x[t] = mat.NewDense(p.N, p.D, p.X[t*p.N*p.D:][:p.N*p.D])
		y[t] = mat.NewVecDense(p.N, p.Y[t*p.N:][:p.N])
	}
	u := mat.NewDense(p.D, p.R, p.U)
	return func(a *protocol.Answer) {
		grad := mat.NewDense(p.D, p.R, nil)
		for t := range x {
			var xu, g mat.Dense
			var qr mat.QR
			var b, e, v mat.VecDense
			xu.Mul(x[t], u)
			qr.Factorize(&xu)
			if err := qr.SolveVecTo(&b, false, y[t]); err != nil {
				panic(err)
			}
			e.MulVec(&xu, &b)
			e.SubVec(&e, y[t])
			v.MulVec(x[t].T(), &e)
			g.Outer(1, &v, &b)
			grad.Add(grad, &g)
			copy(a.B[t*p.R:], b.RawVector().Data)
		}
		copy(a.Grad, grad.RawMatrix().Data)
	}
}
