package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/topology"
)

// A context that has ended is an error, and nothing is lost by it.
func TestSumCancelled(t *testing.T) {
	a := &Group{Net: path(t, 3)}
	ctx, cancel := context.WithCancel(t.Context())
	z := [][]float64{{1}, {2}, {3}}
	if s, err := a.Sum(ctx, z); err != nil || len(s) != 1 || s[0] != 6 {
		t.Errorf("sum %v, %v", s, err)
	}
	cancel()
	if _, err := a.Sum(ctx, [][]float64{{1}, {2}, {3}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := a.Check(t.Context(), errors.New("mine")); err == nil || err.Error() != "mine" {
		t.Errorf("error %v", err)
	}
	if err := a.Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// Two tasks of one name are refused, whatever their nodes.
func TestDistinct(t *testing.T) {
	a := &Group{Net: path(t, 3), Names: []string{"x", "y", "z"}}
	var many []string
	for i := range 30000 {
		many = append(many, fmt.Sprint(i))
	}
	if err := a.CheckDistinct(t.Context(), [][]string{{"a"}, many, {"b"}}); err != nil {
		t.Error(err)
	}
	err := a.CheckDistinct(t.Context(), [][]string{{"a"}, many, {"b", "1234"}})
	if err == nil || !strings.Contains(err.Error(), `task "1234" is at node 1 ("y") and at node 2 ("z")`) {
		t.Errorf("error %v", err)
	}
}

// path is a network of nodes in a row, all of this process.
func path(t *testing.T, nodes int) *consensus.Network {
	t.Helper()
	graph, err := topology.Path(nodes)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	net, err := consensus.New(weights, nil)
	if err != nil {
		t.Fatal(err)
	}
	return net
}
