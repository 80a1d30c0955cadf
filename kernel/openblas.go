//go:build openblas

package kernel

import (
	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel/blas"
)

const build = openBLAS

// library returns the version of OpenBLAS, "" in builds without it.
func library() string { return openblas.Version() }

func useOpenBLAS() bool {
	openblas.Use()
	return true
}

// stepOpenBLAS does the tasks of a chunk with OpenBLAS and reports whether it did.
// Tasks whose least squares needs more than a QR factorisation are left to the
// tiles, so that every status and every minimum-norm solution is theirs.
func (g *Group) stepOpenBLAS(c *chunk, u *Basis, ridge float64, ws *Workspace) bool {
	if !preferOpenBLAS(max(g.fit.maxRows, g.grad.maxRows), g.r) {
		return false
	}
	s := openblas.Tasks{
		D: u.d, R: g.r,
		X64: g.fit.x64, X32: g.fit.x32, Ldx: g.fit.stride, Y: g.fit.y,
		FitFirst: g.fit.first, FitRows: g.fit.rows,
		GradFirst: g.grad.first, GradRows: g.grad.rows,
		MaxRows: max(g.fit.maxRows, g.grad.maxRows),
		U:       u.data, Ldu: u.stride,
		B:    g.B,
		Grad: c.grad.data, Ldg: c.grad.stride,
		Ridge: ridge,
		Work:  ws.openBLAS,
	}
	for t := c.lo; t < c.hi; {
		next, objective := s.Step(t, c.hi)
		c.objective += objective
		clear(g.Status[t:next]) // lsq.OK
		if next < c.hi {
			g.stepTiles(c, next, next+1, u, ridge, ws)
			next++
		}
		t = next
	}
	return true
}

// openBLASWork returns the scratch memory of stepOpenBLAS, nil if smaller shapes
// never get there.
func openBLASWork(maxSamples, d, r int) []float64 {
	if !preferOpenBLAS(maxSamples, r) {
		return nil
	}
	return alignedFloat64(openblas.WorkLen(max(maxSamples, 1), blas.Stride(d), r))
}
