//go:build openblas

package kernel

import (
	"unsafe"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel/lsq"
)

const build = openBLASName

// library returns the version of OpenBLAS, "" in builds without it.
func library() string { return openblas.Version() }

func useBLAS() { openblas.Use() }

// openBLAS computes a chunk in one call to C over OpenBLAS and LAPACK. Tasks whose least squares needs more
// than a QR factorisation are left to the tiles, so that every status and every solution of minimum norm is
// theirs; so is a step without gradient.
type openBLAS struct{}

// openBLASBackend returns the backend, nil in builds without it, and limits OpenBLAS to one thread: the
// kernel runs one chunk of tasks a thread.
func openBLASBackend() backend {
	openblas.SingleThread()
	return openBLAS{}
}

func (openBLAS) step(g *Group, c *chunk, u *Basis, ridge float64, ws *Workspace, gradient bool) {
	if !gradient || c.lo == c.hi {
		tiles{}.step(g, c, u, ridge, ws, gradient)
		return
	}
	maxRows := max(g.fit.maxRows, g.grad.maxRows, 1)
	if ws.gonum == nil {
		ws.gonum = &gonumWork{}
	}
	// The rows of a View may be farther apart than those of other groups.
	if n := openblas.WorkLen(maxRows, g.fit.stride, g.r); n > len(ws.gonum.work) {
		ws.gonum.work = alignedFloat64(n)
	}
	s := openblas.Tasks{
		X64: g.fit.x64, X32: g.fit.x32, Ldx: g.fit.stride, Y: g.fit.y,
		Fit: openblas.Rows{First: g.fit.first, Count: g.fit.rows}, Gradient: openblas.Rows{First: g.grad.first, Count: g.grad.rows},
		MaxRows: maxRows, U: u.matrix(u.d), B: g.B, Status: (*uint8)(unsafe.SliceData(g.Status)), Grad: c.grad.matrix(u.d),
		Ridge: ridge, Work: ws.gonum.work,
	}
	c.objective += s.Step(c.lo, c.hi)
	for t := c.lo; t < c.hi; t++ {
		if g.Status[t] == lsq.Status(openblas.Left) {
			g.stepTiles(c, t, t+1, u, ridge, ws, true)
		}
	}
}
