package topology_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

func ExampleParse() {
	g, err := topology.Parse("grid:2x3", 6, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g)
	fmt.Println("neighbours of node 4:", g.Neighbors(4))
	fmt.Println("diameter:", g.Diameter())

	_, err = topology.Parse("grid:2x3", 7, 0)
	fmt.Println(err)
	// Output:
	// grid:2x3 (6 nodes, 7 edges)
	// neighbours of node 4: [1 3 5]
	// diameter: 3
	// topology: graph "grid:2x3": 2 rows and 3 columns do not make 7 nodes; valid are er:P, ring, path, star, grid, grid:RxC, torus, torus:RxC, complete, exponential
}

func ExampleReadEdges() {
	g, err := topology.ReadEdges(strings.NewReader("0 1\n1 2 # the long link\n2 3\n"), 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(g)
	// Output:
	// edges (4 nodes, 3 edges)
}

// The paper's weights 1/deg_g oscillate on an even ring; Metropolis weights do not.
func ExampleNewWeights() {
	g, err := topology.Ring(8)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = topology.NewWeights(g, topology.EqualNeighbor)
	fmt.Println(err)

	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w)
	// Output:
	// topology: equal weights on ring (8 nodes, 8 edges) have gamma(W) = 1: the graph is bipartite and no node weighs its own value, so that averaging oscillates for ever; use metropolis weights
	// metropolis weights on ring (8 nodes, 8 edges), gamma 0.805
}

// Three nodes in a row agree on the mean of what they know.
func ExampleLocal_Mix() {
	g, err := topology.Path(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := topology.NewLocal(w, nil)
	z := make([]topology.Message, 3)
	for i := range z {
		z[i].Basis = kernel.NewBasis(2, 1)
		z[i].Basis.Col(0)[i%2] = float64(i)
	}
	for _, rounds := range []int{1, 50} {
		if err := m.Mix(context.Background(), z, rounds); err != nil {
			fmt.Println(err)
			return
		}
		for i := range z {
			fmt.Printf("node %d: %.3f\n", i, z[i].Basis.Col(0))
		}
	}
	fmt.Printf("%+v\n", m.Traffic())
	// Output:
	// node 0: [0.000 0.333]
	// node 1: [0.667 0.333]
	// node 2: [1.333 0.333]
	// node 0: [0.667 0.333]
	// node 1: [0.667 0.333]
	// node 2: [0.667 0.333]
	// {Rounds:51 Messages:204 Bytes:3264 Silent:0 Lost:0}
}

// Twenty nodes in a ring agree on their mean: by Chebyshev polynomials in fewer
// rounds, and by differences of 4 bits in fewer bytes, with the same accuracy.
func ExampleNewMixer() {
	g, err := topology.Ring(20)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		fmt.Println(err)
		return
	}
	int4, err := topology.ParseCompressor("int4")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range []topology.Agreement{
		{},
		{Compressor: int4},
		{Compressor: int4, Polynomial: topology.Chebyshev},
		{Compressor: int4, Links: topology.Links{Loss: 0.1}},
	} {
		m, err := topology.NewMixer(w, nil, a)
		if err != nil {
			fmt.Println(err)
			return
		}
		z := make([]topology.Message, 20)
		for i := range z {
			z[i] = topology.Message{Basis: kernel.NewBasis(100, 4), Stream: topology.StreamBasis}
			z[i].Basis.Col(3)[i] = 20 // the mean of row i is 1
		}
		for spread := 1.0; spread > 1e-12; {
			if err := m.Mix(context.Background(), z, 20); err != nil {
				fmt.Println(err)
				return
			}
			spread = 0
			for i := range z {
				for row := range z {
					spread = max(spread, math.Abs(z[i].Basis.Col(3)[row]-1))
				}
			}
		}
		t := m.Traffic()
		fmt.Printf("%v: about %d rounds and %d kB\n", a, (t.Rounds+50)/100*100, t.Bytes/1000)
	}
	// Output:
	// plain: about 900 rounds and 110080 kB
	// int4: about 900 rounds and 7155 kB
	// chebyshev int4: about 300 rounds and 1514 kB
	// int4 loss:0.1: about 1100 rounds and 9795 kB
}

// What travels is a few bytes that stand for a vector near the given one; the
// difference is sent the next time.
func ExampleCompressor() {
	c, err := topology.ParseCompressor("int4")
	if err != nil {
		fmt.Println(err)
		return
	}
	z := []float64{0.7, -0.31, 0, 0.11}
	known := make([]float64, len(z)) // to the neighbours
	for range 4 {
		difference := make([]float64, len(z))
		for k := range z {
			difference[k] = z[k] - known[k]
		}
		packet, err := c.AppendEncode(nil, difference, 0)
		if err != nil {
			fmt.Println(err)
			return
		}
		q := make([]float64, len(z))
		if _, err := c.Decode(q, packet); err != nil {
			fmt.Println(err)
			return
		}
		for k := range q {
			known[k] += q[k]
		}
		fmt.Printf("%d bytes: %.5f\n", len(packet), known)
	}
	// Output:
	// 9 bytes: [0.70475 -0.30203 0.00000 0.10068]
	// 9 bytes: [0.69952 -0.30988 0.00000 0.10983]
	// 9 bytes: [0.70000 -0.31002 0.00000 0.10997]
	// 9 bytes: [0.70000 -0.31000 0.00000 0.11000]
}
