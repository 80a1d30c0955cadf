//go:build openblas

package kernel

import (
	"testing"

	"github.com/difalt/difalt/internal/tiertest"
)

// GuardOpenBLAS moves what OpenBLAS writes to the end of memory beyond which nothing can be read or written.
func GuardOpenBLAS(t testing.TB, g *Group, ws *Workspace) {
	move := func(x []float64) []float64 { return tiertest.Edge(t, len(x))(x, false) }
	g.b = move(g.b)
	g.B = g.b
	g.chunks[0].sums().grad.data = move(g.grad.data)
	ws.scratch = move(make([]float64, g.chunks[0].needs().scratch))
}
