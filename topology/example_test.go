package topology_test

import (
	"fmt"
	"strings"

	"github.com/difalt/difalt/topology"
)

// The paper's weights 1/deg_g oscillate on an even ring; Metropolis weights do not.
func ExampleNewWeights() {
	g, err := topology.Ring(8)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = topology.NewWeights(g, topology.EqualNeighbor)
	fault, cause, _ := strings.Cut(err.Error(), ": the graph is ")
	fmt.Println(fault)
	fmt.Println(strings.HasPrefix(cause, "bipartite"))

	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v: gamma %.3f\n", w, w.Gamma())
	// Output:
	// topology: equal weights on ring (8 nodes, 8 edges) have gamma(W) = 1
	// true
	// metropolis weights on ring (8 nodes, 8 edges): gamma 0.805
}
