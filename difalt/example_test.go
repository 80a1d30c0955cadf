package difalt_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A site owns tasks of 20 features that it does not show.
type site struct {
	samples []int         // of each task
	x       [][][]float64 // of task, sample
	y       [][]float64
}

// learn runs one node a site, on a ring.
func learn(ctx context.Context, sites []site) (*difalt.Result, error) {
	problem := &difalt.Problem{}
	for _, s := range sites { // one node each
		data := kernel.NewBuilder(20, s.samples, kernel.Float64) // 20 features
		for t, n := range s.samples {
			for i := range n {
				data.SetRow(t, i, s.x[t][i], s.y[t][i])
			}
		}
		problem.Nodes = append(problem.Nodes, data.Tasks())
	}
	ring, err := topology.Ring(len(sites))
	if err != nil {
		return nil, err
	}
	weights, err := topology.NewWeights(ring, topology.Metropolis)
	if err != nil {
		return nil, err
	}
	network, err := consensus.New(weights, nil)
	if err != nil {
		return nil, err
	}
	return difalt.Run(ctx, problem, network, difalt.Options{Rank: 2})
}

// Five sites hold eight tasks each, of 15 samples, and recover the representation
// that all forty share.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	sites := make([]site, 5)
	for g := range sites {
		s := &sites[g]
		for range 8 { // tasks y = x'U b with U = [e_0 e_1]
			b0, b1 := rng.NormFloat64(), rng.NormFloat64()
			var xs [][]float64
			var ys []float64
			for range 15 {
				x := make([]float64, 20)
				for k := range x {
					x[k] = rng.NormFloat64()
				}
				xs, ys = append(xs, x), append(ys, b0*x[0]+b1*x[1])
			}
			s.samples, s.x, s.y = append(s.samples, 15), append(s.x, xs), append(s.y, ys)
		}
	}
	result, err := learn(context.Background(), sites)
	if err != nil {
		log.Fatal(err)
	}
	theta := result.Theta(3, 0) // of node 3, task 0
	length := 0.0
	for _, v := range theta {
		length += v * v
	}
	fmt.Printf("%v: theta has %.4f of its length in the first two features\n", result.Status,
		(theta[0]*theta[0]+theta[1]*theta[1])/length)
	// Output: converged: theta has 1.0000 of its length in the first two features
}

// TestReadme holds the example in README.md to the one that compiles above.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```go\n")
	example, _, _ := strings.Cut(rest, "```")
	if !ok || len(strings.Split(example, "\n")) < 10 || !strings.Contains(string(source), example) {
		t.Error("the example in README.md is not in example_test.go")
	}
}
