package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, spec string, nodes int, seed uint64) {
		nodes %= 40 // time is quadratic in it
		g, err := Parse(spec, nodes, seed)
		if err != nil {
			wantError(t, err)
			return
		}
		checkSimple(t, g)
		if g.Len() != nodes || !g.Connected() {
			t.Errorf("%q, %d nodes: got %v, connected %v", spec, nodes, g, g.Connected())
		}
	})
}

func FuzzReadEdges(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, nodes int) {
		nodes %= 1000
		g, err := ReadEdges(strings.NewReader(text), nodes)
		if err != nil {
			wantError(t, err)
			return
		}
		checkSimple(t, g)
		if g.Len() != nodes {
			t.Errorf("got %v, want %d nodes", g, nodes)
		}
		var b strings.Builder
		for i := range g.Len() {
			for _, j := range g.Neighbors(i) {
				if i < j {
					fmt.Fprintln(&b, i, j)
				}
			}
		}
		again, err := ReadEdges(strings.NewReader(b.String()), nodes)
		if err != nil || !slices.EqualFunc(g.adj, again.adj, slices.Equal) {
			t.Errorf("written and read again: %v, %v", again, err)
		}
	})
}
