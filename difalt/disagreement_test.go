package difalt_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestDisagreement compares with the distances of all pairs: of up to 1,000 nodes it is the largest;
// of more it lies between half of that and all of it.
func TestDisagreement(t *testing.T) {
	for _, nodes := range []int{7, 1000, 1030} {
		s := gaussian(4, nodes, 5, nodes, 1, fixed(9), 0)
		res, err := difalt.Run(t.Context(), s.Problem, network(t, "torus", nodes, topology.Metropolis, 1), difalt.Options{Rank: 1, Rounds: 1, Iterations: 3, EveryIteration: true,
			Observer: func(*difalt.Record) error { return nil }})
		if err != nil {
			t.Fatal(err)
		}
		largest := 0.0
		for i, u := range res.U {
			for _, v := range res.U[:i] {
				sum := 0.0
				for k, x := range u.Col(0) {
					sum += (x - v.Col(0)[k]) * (x - v.Col(0)[k])
				}
				largest = max(largest, math.Sqrt(sum))
			}
		}
		if got := res.Last.Disagreement; math.Abs(got-largest) > 1e-12*largest && (nodes <= 1000 || got < largest/2 || got > largest) {
			t.Errorf("%d nodes: disagreement %v, the largest distance of a pair is %v", nodes, got, largest)
		}
	}
}
