package topology

import (
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
