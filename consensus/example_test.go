package consensus_test

import (
	"context"
	"fmt"
	"log"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// pathOf returns the weights of a path, for examples.
func pathOf(nodes int) *topology.Weights {
	g, err := topology.Path(nodes)
	if err != nil {
		log.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		log.Fatal(err)
	}
	return w
}

// Three nodes in a row agree on the mean of their vectors: by AGREE nearly, along the tree exactly.
func ExampleExchange() {
	n, err := consensus.New(pathOf(3), nil)
	if err != nil {
		log.Fatal(err)
	}
	agree, err := n.Agree(10, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range []consensus.Exchange{agree, n.TreeMean()} {
		z := make([]consensus.Message, 3)
		for i := range z {
			z[i].Basis = kernel.NewBasis(2, 1)
			z[i].Basis.Col(0)[i%2] = float64(i)
		}
		before := n.Traffic()
		if err := x.Average(context.Background(), z, consensus.Float64); err != nil {
			log.Fatal(err)
		}
		for i := range z {
			fmt.Printf("node %d: %.3f\n", i, z[i].Basis.Col(0))
		}
		fmt.Printf("%+v\n", n.Traffic().Minus(before))
	}
	// Output:
	// node 0: [0.649 0.333]
	// node 1: [0.667 0.333]
	// node 2: [0.684 0.333]
	// {Rounds:10 Messages:40 Bytes:1040}
	// node 0: [0.667 0.333]
	// node 1: [0.667 0.333]
	// node 2: [0.667 0.333]
	// {Rounds:2 Messages:4 Bytes:188}
}
