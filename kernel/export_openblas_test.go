//go:build openblas

package kernel

import (
	"testing"

	openblas "github.com/difalt/difalt/cgo"
	"github.com/difalt/difalt/internal/tiertest"
)

// GuardOpenBLAS moves what OpenBLAS writes to the end of memory beyond which nothing can be read or written.
func GuardOpenBLAS(t testing.TB, g *Group, ws *Workspace) {
	move := func(x []float64) []float64 { return tiertest.Edge(t, len(x))(x, false) }
	g.B = move(g.B)
	g.chunks[0].grad.data = move(g.chunks[0].grad.data)
	ws.gonum = &gonumWork{work: move(make([]float64, openblas.WorkLen(max(g.fit.maxRows, 1), g.fit.stride, g.r)))}
}
