//go:build openblas

package kernel

import (
	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/internal/dense"
)

const build = openBLASName

// library returns the version of OpenBLAS, "" in builds without it.
func library() string { return openblas.Version() }

// openBLAS computes a chunk in one call to C over OpenBLAS and LAPACK. Tasks whose least squares
// needs more than a QR factorisation are left to the tiles, so that every status and every solution
// of minimum norm is theirs; so is a step without gradient.
type openBLAS struct{}

func openBLASBackend() backend { return openBLAS{} }

func (openBLAS) step(g *Group, c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	if !gradient {
		tiles{}.step(g, c, u, ridge, ws, false)
		return
	}
	maxRows := max(g.fit.maxRows, g.grad.maxRows)
	if n := openblas.WorkLen(max(maxRows, 1), g.fit.stride, g.r); n > len(ws.openBLAS) { // rows of a View may be farther apart
		ws.openBLAS = alignedFloat64(n)
	}
	s := openblas.Tasks{
		X64: g.fit.x64, X32: g.fit.x32, Ldx: g.fit.stride, Y: g.fit.y,
		Fit:      openblas.Rows{First: g.fit.first, Count: g.fit.rows},
		Gradient: openblas.Rows{First: g.grad.first, Count: g.grad.rows},
		MaxRows:  maxRows,
		U:        u.Matrix(), B: g.B, Grad: c.grad.Matrix(),
		Ridge: ridge,
		Work:  ws.openBLAS,
	}
	for t := c.lo; t < c.hi; t++ {
		next := s.Step(t, c.hi)
		clear(g.Status[t:next]) // lsq.OK
		if t = next; t < c.hi {
			g.stepTiles(c, t, t+1, u, ridge, ws, true)
		}
	}
	c.objective += s.Objective
}

// openBLASWork returns the scratch memory of a step, nil unless OpenBLAS was chosen.
func openBLASWork(maxSamples, d, r int) []float64 {
	if chosenName != openBLASName {
		return nil
	}
	return alignedFloat64(openblas.WorkLen(max(maxSamples, 1), dense.Stride(d), r))
}

func useBLAS() { openblas.Use() }
