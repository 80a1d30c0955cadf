package difalt_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// Five nodes on a ring hold eight tasks each and never show their data. Together
// they recover the representation that the tasks share.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	problem := &difalt.Problem{}
	for range 5 {
		// Eight tasks of 15 samples and 20 features: y = x'U b_t with U = [e_0 e_1].
		samples := []int{15, 15, 15, 15, 15, 15, 15, 15}
		data := kernel.NewBuilder(20, samples, kernel.Float64)
		for t, n := range samples {
			b0, b1 := rng.NormFloat64(), rng.NormFloat64()
			for i := range n {
				x := make([]float64, 20)
				for k := range x {
					x[k] = rng.NormFloat64()
				}
				data.SetRow(t, i, x, b0*x[0]+b1*x[1])
			}
		}
		problem.Nodes = append(problem.Nodes, data.Tasks())
	}
	ring, err := topology.Ring(5)
	if err != nil {
		log.Fatal(err)
	}
	weights, err := topology.NewWeights(ring, topology.Metropolis)
	if err != nil {
		log.Fatal(err)
	}
	result, err := difalt.Run(context.Background(), problem, &difalt.Network{Weights: weights}, difalt.Options{Rank: 2})
	if err != nil {
		log.Fatal(err)
	}
	theta := result.Theta(3, 0) // of node 3, task 0
	fmt.Printf("%v: theta has %.4f of its length in the first two features\n", result.Status,
		(theta[0]*theta[0]+theta[1]*theta[1])/dot(theta, theta))
	// Output: iteration limit: theta has 1.0000 of its length in the first two features
}

func dot(x, y []float64) (s float64) {
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}
