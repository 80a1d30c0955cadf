package collective

import (
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// TestNil: what is nil is refused by words of the project.
func TestNil(t *testing.T) {
	if _, err := wire.NewRounds(nil, nil, 1); err == nil || err.Error() != "consensus: rounds need a graph" {
		t.Errorf("rounds without a graph: %v", err)
	}
	g, err := topology.Ring(3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := wire.NewRounds(g, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	const needs = "consensus: collective operations need rounds, a tree and traffic"
	for name, x := range map[string]struct {
		make func()
		want string
	}{
		"links":      {func() { wire.Links(nil, []int{0}) }, "consensus: links of a graph that is nil"},
		"tree":       {func() { NewTree(nil, 0) }, "consensus: tree of a graph that is nil"},
		"no rounds":  {func() { New(nil, NewTree(g, 0), new(wire.Traffic)) }, needs},
		"no tree":    {func() { New(r, nil, new(wire.Traffic)) }, needs},
		"no traffic": {func() { New(r, NewTree(g, 0), nil) }, needs},
	} {
		func() {
			defer func() {
				if said, _ := recover().(string); said != x.want {
					t.Errorf("%s: panic with %q, want %q", name, said, x.want)
				}
			}()
			x.make()
		}()
	}
}
