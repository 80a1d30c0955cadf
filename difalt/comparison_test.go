package difalt_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// referenceCases are the cases of TestReference.
var referenceCases = []struct {
	graph string
	rule  topology.Rule
	tcon  int
}{
	{"er:0.6", topology.EqualNeighbor, 1}, {"er:0.6", topology.Metropolis, 4}, {"ring", topology.Metropolis, 2},
	{"complete", topology.EqualNeighbor, 3}, {"star", topology.LazyMetropolis, 5},
}

// TestReference compares the initialisation and every iteration of all methods with the dense reference.
func TestReference(t *testing.T) {
	const nodes, d, tasks, rank = 6, 23, 31, 3
	for _, c := range referenceCases {
		if testing.Short() && c.graph != "star" {
			continue
		}
		for _, method := range difalt.Methods() {
			t.Run(fmt.Sprintf("%s/%v/%v", c.graph, c.rule, method), func(t *testing.T) {
				p, w := ragged(t, nodes, d, tasks, rank, 3), weights(t, c.graph, nodes, 5, c.rule)
				p.Start = random(d, rank, 1)
				ref := newReference(p, w)
				ref.know(rank)
				start, _ := factorQ(mat.DenseCopyOf(p.Start))
				sigma := ref.initialize(start, 7, 12)
				ref.tcon, ref.eta = c.tcon, .4/(ref.nm*sigma)
				o := difalt.Options{Rank: rank, Rounds: c.tcon, StartRounds: 12, PowerIterations: 7}
				initial, err := difalt.Initialize(t.Context(), p, connect(t, w, nil), o)
				if err != nil {
					t.Fatal(err)
				}
				if e := math.Abs(initial.SigmaSquared/sigma - 1); e > 1e-9 || math.Abs(initial.Step/ref.eta-1) > 1e-9 {
					t.Fatalf("sigma^2 is %v, want %v; the step is %v, want %v", initial.SigmaSquared, sigma,
						initial.Step, ref.eta)
				}
				same(t, "start", initial.U, ref.u, 1e-9)
				if rounds := int64(12 + 2*7*12); initial.Traffic.Rounds < rounds || initial.Traffic.Rounds > rounds+30 {
					t.Errorf("the initialisation takes %d rounds, the paper %d, and the nodes compare options",
						initial.Traffic.Rounds, rounds)
				}
				o.Method, o.Step, o.EveryIteration, p.U0 = method, initial.Step, true, initial.U
				tolerance := 1e-9
				if method == difalt.Accelerated {
					o.Step, o.Codec, tolerance = 0, consensus.Float64, 1e-6
				}
				if method == difalt.Accelerated || method == difalt.AltGDmin { // from node 0's U
					for g := range ref.u {
						ref.u[g] = ref.u[0]
					}
				}
				s, err := difalt.NewSolver(p, connect(t, w, nil), o)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				for it := range 40 {
					if step(t, s, t.Context()); method == difalt.Accelerated {
						ref.accelerate()
					} else {
						ref.step(method)
					}
					same(t, fmt.Sprint("iteration ", it+1), s.U(), ref.u, tolerance)
				}
			})
		}
	}
}

// same fails unless bases are equal to a tolerance.
func same(t *testing.T, name string, got []*kernel.Basis, want []*mat.Dense, tolerance float64) {
	t.Helper()
	for g, u := range got {
		if e := mat.Norm(minus(u, want[g]), 2); !(e < tolerance) {
			t.Fatalf("%s, node %d: U differs from the reference by %g", name, g, e)
		}
	}
}

// TestReferenceGaussNewton compares every iteration of accelerated with the dense reference where the
// objective rises: with few samples, in tasks of which some know nothing about U.
func TestReferenceGaussNewton(t *testing.T) {
	risen := 0
	for seed := range uint64(4) {
		s := drawing{nodes: 3, d: 14, r: 2, kappa: 20, x: 1, y: 1, seed: seed}
		for t := range 24 {
			s.n = append(s.n, []int{1, 4, 5, 6}[t%4])
		}
		p, w := s.problem(), weights(t, "path", s.nodes, 1, topology.Metropolis)
		o := difalt.Options{Method: difalt.Accelerated, Rank: s.r, Codec: consensus.Float64, EveryIteration: true}
		initial, err := difalt.Initialize(t.Context(), p, connect(t, w, nil), o)
		if err != nil {
			t.Fatal(err)
		}
		p.U0 = initial.U
		ref := newReference(p, w)
		ref.know(s.r)
		for _, u := range initial.U {
			ref.u = append(ref.u, mat.DenseCopyOf(u))
		}
		solver, err := difalt.NewSolver(p, connect(t, w, nil), o)
		if err != nil {
			t.Fatal(err)
		}
		defer solver.Close()
		for it := range 40 {
			step(t, solver, t.Context())
			ref.accelerate()
			same(t, fmt.Sprint("iteration ", it+1), solver.U(), ref.u, 1e-6)
		}
		risen += ref.rises
	}
	if risen < 4 {
		t.Errorf("the objective rises %d times: the test wants Gauss-Newton steps", risen)
	}
}
