//go:build openblas

package kernel

import (
	"time"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/kernel/blas"
)

const build = openBLAS

// library returns the version of OpenBLAS, "" in builds without it.
func library() string { return openblas.Version() }

func useBLAS() { openblas.Use() }

// stepOpenBLAS does the tasks of chunks first to last with OpenBLAS, in one call, and
// reports whether it did. Tasks whose least squares needs more than a QR factorisation
// are left to the tiles, so that every status and every minimum-norm solution is theirs.
func (g *Group) stepOpenBLAS(first, last int, u *Basis, ridge float64, ws *Workspace) bool {
	if !preferOpenBLAS(max(g.fit.maxRows, g.grad.maxRows), g.r) {
		return false
	}
	start := time.Now()
	chunks := g.chunks[first : last+1]
	for i := range chunks {
		clear(chunks[i].grad.data)
		g.objectives[first+i] = 0
	}
	hi := g.cuts[last+1]
	s := openblas.Tasks{
		X64: g.fit.x64, X32: g.fit.x32, Ldx: g.fit.stride, Y: g.fit.y,
		Fit:      openblas.Rows{First: g.fit.first, Count: g.fit.rows},
		Gradient: openblas.Rows{First: g.grad.first, Count: g.grad.rows},
		MaxRows:  max(g.fit.maxRows, g.grad.maxRows),
		U:        u.Matrix(),
		B:        g.B,
		Chunks: openblas.Chunks{
			Cuts: g.cuts, Grad: g.sums, Ldg: g.Grad.stride, Spacing: len(g.Grad.data), Objective: g.objectives,
		},
		Ridge: ridge,
		Work:  ws.openBLAS,
	}
	for t, c := g.cuts[first], first; t < hi; t++ {
		next := s.Step(t, hi)
		clear(g.Status[t:next]) // lsq.OK
		if t = next; t < hi {
			for g.cuts[c+1] <= t {
				c++
			}
			rest := chunk{grad: g.chunks[c].grad}
			g.stepTiles(&rest, t, t+1, u, ridge, ws)
			g.objectives[c] += rest.objective
		}
	}
	for i := range chunks {
		chunks[i].objective = g.objectives[first+i]
		chunks[i].elapsed = time.Since(start) / time.Duration(len(chunks))
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
