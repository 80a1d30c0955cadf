package difalt_test

import (
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

func connect(t testing.TB, w *topology.Weights, tr transport.Transport) *consensus.Network {
	t.Helper()
	n, err := consensus.New(w, tr)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// within returns the first iteration whose largest distance from p.Truth is at most 1e-10.
func within(t *testing.T, p *difalt.Problem, net *consensus.Network, o difalt.Options) int {
	list := curve(t, p, net, o)
	if i := slices.IndexFunc(list, func(r difalt.Record) bool { return r.SDMax <= 1e-10 }); i >= 0 {
		return i
	}
	return len(list)
}

// TestBars counts the iterations of Accelerated to 1e-10 of the truth, or with noise of the minimiser, on a
// small setting: the median of five draws, or with -short of three.
func TestBars(t *testing.T) {
	draws := 5
	if testing.Short() {
		draws = 3
	}
	for _, c := range []struct {
		name         string
		kappa, noise float64
		codec        consensus.Codec
		most         int
	}{
		{"kappa 1.5", 1.5, 0, consensus.Float64, 24}, {"kappa 10", 10, 0, consensus.Float64, 33},
		{"noise", 3, .05, consensus.Float64, 30},
		{"kappa 1.5, int8", 1.5, 0, consensus.Int8, 26}, {"kappa 10, int8", 10, 0, consensus.Int8, 40},
		{"kappa 100, int8", 100, 0, consensus.Int8, 50}, {"kappa 1000, int8", 1000, 0, consensus.Int8, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			var counts []int
			for seed := uint64(1); seed <= uint64(draws); seed++ {
				p, net := draw(t, 10, 100, 200, 30, 4, c.kappa, c.noise, seed), network(t, "er:0.5", 10, seed)
				if c.noise > 0 {
					p.Truth = run(t, p, net,
						difalt.Options{Method: difalt.Accelerated, Rank: 4, Codec: consensus.Float64,
							Tolerance: 1e-13}).U[0]
				}
				counts = append(counts,
					within(t, p, net, difalt.Options{Method: difalt.Accelerated, Rank: 4, Codec: c.codec,
						Iterations: 200}))
			}
			slices.Sort(counts)
			if t.Log(counts); counts[draws/2] > c.most {
				t.Errorf("%v iterations, want a median of at most %d", counts, c.most)
			}
		})
	}
}

// TestFirstExperiment measures the paper's first experiment from start to end, with int8.
func TestFirstExperiment(t *testing.T) {
	if testing.Short() {
		t.Skip("draws 10 million numbers")
	}
	const nodes = 20
	p := draw(t, nodes, 600, 600, 30, 4, 1.5, 0, 1)
	res := run(t, p, connect(t, weights(t, "er:0.5", nodes, 1, topology.EqualNeighbor), nil),
		difalt.Options{Method: difalt.Accelerated, Rank: 4})
	all := res.Last.Traffic.Plus(res.Initial.Traffic)
	t.Log(res.Status, res.Iterations, all, res.Last.SDMax)
	if res.Status != difalt.Converged || res.Iterations > 36 || all.Rounds > 190 || all.Bytes > nodes*300_000 ||
		res.Last.SDMax > 1e-10 {
		t.Errorf("%v after %d iterations, %d rounds, %d KB a node, %g from the truth", res.Status, res.Iterations,
			all.Rounds, all.Bytes/nodes/1000, res.Last.SDMax)
	}
}
