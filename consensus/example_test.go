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

// Three nodes in a row sum numbers, share the numbers of node 2, and collect a text of every node. Every
// process makes these calls, with the rows of the nodes that it hosts.
func ExampleNetwork() {
	ctx := context.Background()
	n, err := consensus.New(pathOf(3), nil)
	if err != nil {
		log.Fatal(err)
	}
	z := [][]float64{{1, 10}, {2, 20}, {3, 30}}
	if err := n.Sum(ctx, z); err != nil {
		log.Fatal(err)
	}
	fmt.Println(z)
	z = [][]float64{{1}, {2}, {3}}
	if err := n.Broadcast(ctx, 2, z); err != nil {
		log.Fatal(err)
	}
	fmt.Println(z)
	texts, err := n.Gather(ctx, [][]byte{[]byte("a"), []byte("b"), []byte("c")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", texts)
	fmt.Println(n.Confirm(ctx)) // that all nodes have received these results
	// Output:
	// [[6 60] [6 60] [6 60]]
	// [[3] [3] [3]]
	// [a b c]
	// <nil>
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
