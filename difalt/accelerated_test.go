package difalt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// arrival returns the iteration in which every node is within tol of the truth, or
// infinity.
func arrival(recs []difalt.Record, tol float64) float64 {
	for _, r := range recs {
		if r.SDMax < tol {
			return float64(r.Iteration)
		}
	}
	return math.Inf(1)
}

// TestAcceleratedBehaviour repeats independent measurements in NumPy, with p = .5, n = 30
// and r = 4 unless said: iterations to SD 1e-10 at the worst node, medians over five
// seeds. The bounds are those measurements and a tenth.
func TestAcceleratedBehaviour(t *testing.T) {
	if testing.Short() {
		t.Skip("runs accelerated methods in many settings")
	}
	chebyshev := consensus.Agreement{Polynomial: consensus.Chebyshev}
	for _, c := range []struct {
		graph              string
		nodes, tasks, r, n int
		kappa              float64
		code               string
		o                  difalt.Options
		bound              float64
	}{
		{"er:0.5", 10, 200, 4, 30, 1.5, "none", difalt.Options{Rounds: 10}, 26},
		{"er:0.5", 10, 200, 4, 30, 10, "none", difalt.Options{Rounds: 10}, 29},
		{"er:0.5", 10, 200, 4, 30, 1.5, "int8", difalt.Options{Rounds: 3}, 33},
		{"er:0.5", 10, 200, 4, 30, 10, "int8", difalt.Options{Rounds: 3}, 38},
		{"er:0.5", 10, 200, 4, 30, 100, "int8", difalt.Options{Rounds: 3}, 66},
		{"er:0.5", 10, 200, 4, 30, 1.5, "int4", difalt.Options{Rounds: 1}, 52},
		{"er:0.5", 10, 200, 4, 30, 10, "int4", difalt.Options{Rounds: 2}, 60},
		{"er:0.5", 10, 200, 4, 30, 1.5, "int4", difalt.Options{Rounds: 10, Accelerated: difalt.AcceleratedOptions{Preconditioner: difalt.PreconditionerNone}}, 36},
		{"ring", 20, 200, 4, 30, 1.5, "int8", difalt.Options{Rounds: 12, Agreement: chebyshev}, 41},
		{"ring", 20, 200, 4, 30, 10, "int8", difalt.Options{Rounds: 12, Agreement: chebyshev}, 46},
		{"complete", 1, 200, 4, 30, 1.5, "none", difalt.Options{Rounds: 1}, 26},
		{"complete", 1, 200, 4, 30, 10, "none", difalt.Options{Rounds: 1}, 29},
	} {
		t.Run(fmt.Sprintf("%s/%g/%d/%s/%v", c.graph, c.kappa, c.o.Rounds, c.code, c.o.Accelerated.Preconditioner), func(t *testing.T) {
			codec, err := consensus.ParseCodec(c.code)
			if err != nil {
				t.Fatal(err)
			}
			var all []float64
			for seed := range uint64(draws(2, 5)) {
				s := conditioned(seed+1, c.nodes, 100, c.tasks, c.r, c.n, c.kappa)
				net := network(t, c.graph, c.nodes, topology.Metropolis, seed+1)
				o := c.o
				o.Method, o.Rank, o.Seed, o.Initialization.Rounds, o.Iterations, o.Agreement.Codec = difalt.Accelerated, c.r, seed, 20, 120, codec
				all = append(all, arrival(curve(t, s.Problem, net, o), 1e-10))
			}
			if m := median(all); m > c.bound {
				t.Errorf("%v iterations, want at most %v", all, c.bound)
			}
		})
	}
}

// TestTrackingUnderNoise compares with the minimiser for the data of all nodes, which one
// node with all of them finds: with few rounds diffusion ends between the nodes'
// minimisers, and says so; tracking ends at it.
func TestTrackingUnderNoise(t *testing.T) {
	inFull(t)
	codec, err := consensus.ParseCodec("int8")
	if err != nil {
		t.Fatal(err)
	}
	var coarse, fine []float64
	for seed := range uint64(5) {
		s := noisy(seed+1, 10, 100, 200, 4, 30, 3, 0.05)
		alone := network(t, "complete", 1, topology.Metropolis, 1)
		best := run(t, &difalt.Problem{Nodes: []*kernel.Tasks{pooled(s)}, Truth: s.Truth}, alone, difalt.Options{Rank: 4, Method: difalt.Accelerated, Tolerance: 1e-14, Iterations: 150})
		statistical := difalt.SubspaceDistance(best.U[0], s.Truth)
		if q := best.StatisticalError / statistical; q < 0.5 || q > 2 {
			t.Errorf("seed %d: the statistical error is estimated as %.2g, and is %.2g", seed, best.StatisticalError, statistical)
		}
		s.Truth = best.U[0]
		net := network(t, "er:0.5", 10, topology.Metropolis, seed+1)
		o := difalt.Options{Rank: 4, Rounds: 3, Seed: seed, Initialization: difalt.InitializationOptions{Rounds: 20}, Iterations: 150, Agreement: consensus.Agreement{Codec: codec}}
		o.Method = difalt.Accelerated
		biased := run(t, s.Problem, net, o)
		if biased.Status == difalt.Converged || biased.Last.SDMax < 1e-3 || biased.Residual < biased.Last.SDMax/10 {
			t.Errorf("seed %d: diffusion ends as %v, %.2g from the minimiser, and says %.2g", seed, biased.Status, biased.Last.SDMax, biased.Residual)
		}
		o.Method = difalt.AcceleratedTracking
		exact := run(t, s.Problem, net, o)
		if exact.Status != difalt.Converged || exact.Last.SDMax > 1e-9 {
			t.Errorf("seed %d: tracking ends as %v, %.2g from the minimiser", seed, exact.Status, exact.Last.SDMax)
		}
		recs := curve(t, s.Problem, net, o)
		coarse, fine = append(coarse, arrival(recs, statistical/10)), append(fine, arrival(recs, 1e-10))
	}
	if median(coarse) > 12 || median(fine) > 50 {
		t.Errorf("%v iterations to a tenth of the statistical error, want 12; %v to 1e-10, want 50", coarse, fine)
	}
}

// TestUnevenLoads has nodes of 1 to 80 tasks, and one node with coefficients ten times
// as large, where everything without acceleration stalls.
func TestUnevenLoads(t *testing.T) {
	inFull(t)
	codec, err := consensus.ParseCodec("int8")
	if err != nil {
		t.Fatal(err)
	}
	var uneven, large []float64
	for seed := range uint64(5) {
		s := deal(conditioned(seed+1, 1, 100, 200, 4, 30, 1.5), []int{1, 2, 4, 8, 12, 16, 20, 25, 32, 80})
		net := network(t, "er:0.5", 10, topology.Metropolis, seed+1)
		o := difalt.Options{Rank: 4, Method: difalt.Accelerated, Rounds: 3, Seed: seed, Initialization: difalt.InitializationOptions{Rounds: 20}, Iterations: 200}
		uneven = append(uneven, arrival(curve(t, s.Problem, net, o), 1e-10))
		s = conditioned(seed+1, 10, 100, 200, 4, 30, 1.5)
		for k := range s.y[3] {
			for i := range s.y[3][k] {
				s.y[3][k][i] *= 10
			}
		}
		s.rebuild()
		o.Agreement.Codec = codec
		large = append(large, arrival(curve(t, s.Problem, net, o), 1e-10))
	}
	if median(uneven) > 32 || median(large) > 120 {
		t.Errorf("%v iterations with uneven loads, want 32; %v with one node's coefficients ten times as large, want 120", uneven, large)
	}
}

// TestTrackingWhenNoiseShows: with StopAtNoise, tracking sends what diffusion does where
// there is no noise, and where there is ends at the minimiser for the data of all nodes,
// which diffusion with so few rounds does not. Interrupted anywhere, and in one process a
// node, it computes the same bits.
func TestTrackingWhenNoiseShows(t *testing.T) {
	const nodes = 6
	o := difalt.Options{Rank: 3, Method: difalt.AcceleratedTracking, Rounds: 2, StopAtNoise: true, Iterations: 80, Workers: 1, Agreement: consensus.Agreement{RoundByRound: true}}
	w := network(t, "ring", nodes, topology.Metropolis, 1).Weights()
	solve := func(s *synthetic, o difalt.Options) *difalt.Result {
		net, err := consensus.New(w, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run(t, s.Problem, net, o)
	}
	plain := o
	plain.Method = difalt.Accelerated
	clean := noisy(1, nodes, 40, 90, 3, 25, 2, 0)
	if a, b := solve(clean, o), solve(clean, plain); a.Last.Traffic != b.Last.Traffic || a.Status != difalt.Converged {
		t.Errorf("without noise tracking sends %+v and ends as %v, diffusion %+v", a.Last.Traffic, a.Status, b.Last.Traffic)
	}

	s := noisy(1, nodes, 40, 90, 3, 25, 2, 0.2)
	alone := network(t, "complete", 1, topology.Metropolis, 1)
	s.Truth = run(t, &difalt.Problem{Nodes: []*kernel.Tasks{pooled(s)}}, alone, difalt.Options{Rank: 3, Method: difalt.Accelerated, Tolerance: 1e-13}).U[0]
	want := solve(s, o)
	if far := 0.3 * want.StatisticalError; want.Status != difalt.Converged || want.Last.SDMax > far {
		t.Errorf("under noise tracking ends as %v, %.2g from the minimiser, want %.2g", want.Status, want.Last.SDMax, far)
	}
	if biased := solve(s, plain); biased.Status == difalt.Converged {
		t.Errorf("diffusion with 2 rounds converged, %.2g from the minimiser", biased.Last.SDMax)
	}
	for at := 1; at < want.Iterations; at++ {
		net, err := consensus.New(w, nil)
		if err != nil {
			t.Fatal(err)
		}
		first := interrupted(t, s.Problem, net, o, at)
		if net, err = consensus.New(w, nil); err != nil {
			t.Fatal(err)
		}
		got := restored(t, s.Problem, net, o, first)
		if got.Last.Compute = want.Last.Compute; got.Last != want.Last || got.Status != want.Status {
			t.Errorf("interrupted in iteration %d: ends as %v at %+v, want %+v", at, got.Status, got.Last, want.Last)
		}
	}
	for _, k := range []int{2, nodes} {
		sameApart(t, fmt.Sprintf("%d processes", k), want, s.Problem, w, together(nodes, k), o)
	}
}
