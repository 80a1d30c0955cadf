package difalt_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestRank lets the initialisation look for more directions than there are.
func TestRank(t *testing.T) {
	for seed := range uint64(5) {
		for _, rank := range []int{1, 3, 5} {
			s := gaussian(seed+1, 6, 60, 150, rank, fixed(50), 0.5)
			net := network(t, "er:0.6", 6, topology.Metropolis, seed)
			initial, err := difalt.Initialize(t.Context(), s.Problem, net, difalt.Options{Rank: 8, Seed: seed, Initialization: difalt.InitializationOptions{Rounds: 40}})
			if err != nil {
				t.Fatal(err)
			}
			if initial.Rank() != rank {
				t.Errorf("seed %d: rank %d looks like %d: spectrum %.1f, edge %.1f", seed, rank, initial.Rank(), initial.Spectrum, initial.NoiseEdge)
			}
			largest, _ := s.spectrum()
			// Truncation takes away from it, most at rank 1, and the samples' noise adds
			// up to the edge.
			if got := initial.Spectrum[0]; got < 0.5*largest || got > 1.5*(largest+initial.NoiseEdge) {
				t.Errorf("seed %d, rank %d: sigma_max^2 is estimated as %.1f, want about %.1f", seed, rank, got, largest)
			}
		}
	}
}

// TestTruncation checks the threshold of Alg. 2, line 3: one response a thousand
// times too large must not lead the initialisation astray.
func TestTruncation(t *testing.T) {
	s := gaussian(4, 5, 20, 40, 2, fixed(30), 0)
	net := network(t, "complete", 5, topology.Metropolis, 1)
	o := difalt.Options{Rank: 2}
	clean, err := difalt.Initialize(t.Context(), s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	// The mean of y^2 grows from 2 to 800, so the threshold is 7,200: below 1e6.
	s.y[2][3][4] = 1000
	s.rebuild()
	spoilt, err := difalt.Initialize(t.Context(), s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	before, after := difalt.SubspaceDistance(clean.U[0], s.Truth), difalt.SubspaceDistance(spoilt.U[0], s.Truth)
	if after > before+0.1 || math.IsNaN(after) {
		t.Errorf("one outlier moves the start from distance %.2f to %.2f", before, after)
	}
}
