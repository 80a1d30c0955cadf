package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/faults"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// processes says which nodes live together.
type processes [][]int

func together(nodes, k int) (p processes) {
	for i := range k {
		var group []int
		for g := i * nodes / k; g < (i+1)*nodes/k; g++ {
			group = append(group, g)
		}
		p = append(p, group)
	}
	return p
}

// part is what a process holds of a problem.
func part(p *difalt.Problem, hosted []int) *difalt.Problem {
	q := &difalt.Problem{Start: p.Start, Truth: p.Truth}
	for _, g := range hosted {
		q.Nodes = append(q.Nodes, p.Nodes[g])
		if p.U0 != nil {
			q.U0 = append(q.U0, p.U0[g])
		}
	}
	return q
}

// apart runs one solver a process over transports and returns the results by node: each
// node's status, iterations, U and B.
func apart[T wire.Transport](t testing.TB, p *difalt.Problem, w *topology.Weights, groups processes, transports []T, o func(process int) difalt.Options) (results []*difalt.Result, errs []error) {
	results, errs = make([]*difalt.Result, len(groups)), make([]error, len(groups))
	var wg sync.WaitGroup
	for k, tr := range transports {
		wg.Go(func() {
			defer tr.Close()
			net, err := consensus.New(w, tr)
			if err == nil {
				results[k], err = difalt.Run(t.Context(), part(p, groups[k]), net, o(k))
			}
			errs[k] = err
		})
	}
	wg.Wait()
	return results, errs
}

// sameApart fails unless groups of processes that compute over a network in memory come to the
// bits of one process.
func sameApart(t *testing.T, name string, want *difalt.Result, p *difalt.Problem, w *topology.Weights, groups processes, o difalt.Options) {
	t.Helper()
	transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	got, errs := apart(t, p, w, groups, transports, func(int) difalt.Options { return o })
	sameRun(t, name, want, groups, got, errs)
}

// sameRun fails unless the processes have computed the bits of one process.
func sameRun(t *testing.T, name string, want *difalt.Result, groups processes, got []*difalt.Result, errs []error) {
	t.Helper()
	var sent wire.Traffic
	for k, hosted := range groups {
		if errs[k] != nil && !errors.Is(errs[k], difalt.ErrDiverged) {
			t.Fatalf("%s: %v", name, errs)
		}
		res := got[k]
		same := res.Residual == want.Residual || math.IsNaN(res.Residual) && math.IsNaN(want.Residual)
		if res.Status != want.Status || res.Iterations != want.Iterations || res.Step != want.Step || !same {
			t.Fatalf("%s: process %d ends as %v after %d iterations, step %v, residual %v; together %v, %d, %v, %v",
				name, k, res.Status, res.Iterations, res.Step, res.Residual, want.Status, want.Iterations, want.Step, want.Residual)
		}
		for i, g := range hosted {
			if !mat.Equal(res.U[i], want.U[g]) {
				t.Fatalf("%s: U of node %d differs in process %d", name, g, k)
			}
			for j, b := range res.B[i] {
				if b != want.B[g][j] {
					t.Fatalf("%s: coefficient %d of node %d differs in process %d", name, j, g, k)
				}
			}
		}
		all := res.Last.Traffic.Plus(res.InitTraffic)
		sent.Messages += all.Messages
		sent.Bytes += all.Bytes
		if rounds := want.Last.Traffic.Rounds + want.InitTraffic.Rounds; all.Rounds != rounds {
			t.Errorf("%s: process %d counts %d rounds, together %d", name, k, all.Rounds, rounds)
		}
	}
	if all := want.Last.Traffic.Plus(want.InitTraffic); sent.Messages != all.Messages || sent.Bytes != all.Bytes {
		t.Errorf("%s: the processes sent %+v, together %+v", name, sent, all)
	}
}

// TestSameBits runs every method with every codec and polynomial in one process, in two
// and with one process a node, over pipes, on two graphs: initialisation, iterations,
// stop rules and what was sent are the same to the last bit. With -short every method has some
// of the codecs and polynomials.
func TestSameBits(t *testing.T) {
	const nodes = 5
	combination := 0
	for _, graph := range []string{"er:0.7", "ring"} {
		s := gaussian(1, nodes, 12, 20, 2, fixed(15), 0.01)
		w := network(t, graph, nodes, topology.Metropolis, 1).Weights()
		for _, method := range difalt.Methods() {
			for _, code := range []string{"none", "int8", "int4"} {
				for _, polynomial := range []consensus.Polynomial{consensus.Plain, consensus.Chebyshev, consensus.Tree} {
					if combination++; testing.Short() && combination%5 != 0 {
						continue
					}
					codec, err := consensus.ParseCodec(code)
					if err != nil {
						t.Fatal(err)
					}
					o := difalt.Options{
						Rank: 2, Method: method, Iterations: 40, Rounds: 3, Initialization: difalt.InitializationOptions{PowerIterations: 3}, Tolerance: 1e-5, Workers: 1,
						Agreement: consensus.Agreement{Polynomial: polynomial, Codec: codec, RoundByRound: true},
					}
					net, err := consensus.New(w, nil)
					if err != nil {
						t.Fatal(err)
					}
					want := run(t, s.Problem, net, o)
					for _, k := range []int{2, nodes}[2-draws(1, 2):] {
						name := fmt.Sprintf("%s, %v, %s, %v, %d processes", graph, method, code, polynomial, k)
						sameApart(t, name, want, s.Problem, w, together(nodes, k), o)
					}
				}
			}
		}
	}
}

// TestSameBitsOverFaults loses, delays and duplicates a tenth of all messages each.
func TestSameBitsOverFaults(t *testing.T) {
	const nodes = 5
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated, difalt.AcceleratedTracking} {
		for _, code := range []string{"none", "int4"} {
			synctest.Test(t, func(t *testing.T) {
				codec, err := consensus.ParseCodec(code)
				if err != nil {
					t.Fatal(err)
				}
				s := gaussian(1, nodes, 12, 20, 2, fixed(15), 0)
				w := network(t, "ring", nodes, topology.Metropolis, 1).Weights()
				o := difalt.Options{Rank: 2, Method: method, Iterations: 20, Rounds: 3, Initialization: difalt.InitializationOptions{PowerIterations: 3}, Workers: 1, Agreement: consensus.Agreement{Codec: codec, RoundByRound: true}}
				net, err := consensus.New(w, nil)
				if err != nil {
					t.Fatal(err)
				}
				want := run(t, s.Problem, net, o)
				groups := together(nodes, nodes)
				transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{Faults: faults.Links{Loss: .1, Delay: .1}, Seed: 5})
				if err != nil {
					t.Fatal(err)
				}
				got, errs := apart(t, s.Problem, w, groups, transports, func(int) difalt.Options { return o })
				sameRun(t, fmt.Sprint(method, code), want, groups, got, errs)
			})
		}
	}
}

// TestRetriedIteration lets exchanges of one process fail once, before or after they
// have carried anything, anywhere in a run: the process that asks again computes the
// same bits, and so do the others.
func TestRetriedIteration(t *testing.T) {
	inFull(t)
	const nodes = 4
	s := gaussian(1, nodes, 12, 16, 2, fixed(15), 0.01)
	w := network(t, "path", nodes, topology.Metropolis, 1).Weights()
	for _, method := range difalt.Methods() {
		for _, code := range []string{"none", "int4"} {
			codec, err := consensus.ParseCodec(code)
			if err != nil {
				t.Fatal(err)
			}
			o := difalt.Options{Rank: 2, Method: method, Iterations: 6, Rounds: 2, Initialization: difalt.InitializationOptions{PowerIterations: 1}, Workers: 1, Agreement: consensus.Agreement{Codec: codec, RoundByRound: true}}
			retried(t, s, w, o, 0, 45)
		}
	}
}

// retried runs a problem on nodes that are a process each, one of which fails once, at an
// exchange from first to last.
func retried(t *testing.T, s *synthetic, w *topology.Weights, o difalt.Options, first, last uint64) {
	t.Helper()
	nodes := w.Len()
	net, err := consensus.New(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := run(t, s.Problem, net, o)
	for seq := first; seq < last; seq += 1 + seq%3 {
		groups := together(nodes, nodes)
		pipes, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		got, errs := make([]*difalt.Result, nodes), make([]error, nodes)
		var wg sync.WaitGroup
		for k := range pipes {
			wg.Go(func() {
				defer pipes[k].Close()
				var tr wire.Transport = pipes[k]
				if k == 1 {
					tr = testnet.FailOnce(tr, seq, seq%2 == 0)
				}
				got[k], errs[k] = insist(t.Context(), part(s.Problem, groups[k]), w, tr, o)
			})
		}
		wg.Wait()
		sameRun(t, fmt.Sprintf("%v, %v, failing at %d", o.Method, o.Agreement, seq), want, groups, got, errs)
	}
}

// insist runs a solver whose steps are repeated when they fail as injected.
func insist(ctx context.Context, p *difalt.Problem, w *topology.Weights, tr wire.Transport, o difalt.Options) (*difalt.Result, error) {
	net, err := consensus.New(w, tr)
	if err != nil {
		return nil, err
	}
	solver, err := difalt.NewSolver(p, net, o)
	if err != nil {
		return nil, err
	}
	defer solver.Close()
	for {
		status, err := solver.Step(ctx)
		if errors.Is(err, testnet.ErrInjected) {
			continue
		}
		if err != nil && !errors.Is(err, difalt.ErrDiverged) {
			return nil, err
		}
		if status != difalt.Running {
			return solver.Result()
		}
	}
}

// TestLeavingTogether has one node of a path of eight in trouble: numbers that cease to
// be finite, or a context that ends. All nodes leave after the same iteration with the
// same status.
func TestLeavingTogether(t *testing.T) {
	const nodes = 8
	s := gaussian(1, nodes, 12, 32, 2, fixed(15), 0.01)
	w := network(t, "path", nodes, topology.Metropolis, 1).Weights()
	groups := together(nodes, nodes)
	connect := func() []wire.Transport {
		transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return transports
	}
	for _, code := range []string{"none", "int4"} {
		codec, err := consensus.ParseCodec(code)
		if err != nil {
			t.Fatal(err)
		}
		o := difalt.Options{Rank: 2, Iterations: 400, Rounds: 2, Initialization: difalt.InitializationOptions{PowerIterations: 2}, Tolerance: 1e-300, Workers: 1, Agreement: consensus.Agreement{Codec: codec}}
		for _, bad := range []int{0, 3, 7} {
			ctx, cancel := context.WithCancel(t.Context())
			got, errs := make([]*difalt.Result, nodes), make([]error, nodes)
			var wg sync.WaitGroup
			for k, tr := range connect() {
				wg.Go(func() {
					defer tr.Close()
					net, err := consensus.New(w, tr)
					if err != nil {
						errs[k] = err
						return
					}
					o, own := o, t.Context()
					if k == bad {
						own = ctx
						o.Observer = func(r *difalt.Record) error {
							if r.Iteration == 9 {
								cancel()
							}
							return nil
						}
					}
					got[k], errs[k] = difalt.Run(own, part(s.Problem, groups[k]), net, o)
				})
			}
			wg.Wait()
			cancel()
			for k := range got {
				if errs[k] != nil || got[k].Status != difalt.Canceled || got[k].Iterations != got[bad].Iterations || got[k].Iterations > 40 {
					t.Fatalf("%s, node %d cancels: node %d ends with %v, %+v", code, bad, k, errs[k], got[k])
				}
			}
		}
		// A step that makes every node overflow, and one that diverges with finite numbers.
		for _, step := range []float64{1e300, 1e3} {
			o := o
			o.Step = step
			got, errs := apart(t, s.Problem, w, groups, connect(), func(int) difalt.Options { return o })
			for k := range got {
				if !errors.Is(errs[k], difalt.ErrDiverged) || got[k].Status != difalt.Diverged || got[k].Iterations != got[0].Iterations {
					t.Fatalf("%s, step %g: node %d ends with %v, %+v", code, step, k, errs[k], got[k])
				}
			}
		}
	}
	// Numbers that cease to be finite at one node only: the others have nothing to fit.
	lonely := gaussian(1, nodes, 12, 32, 2, fixed(15), 0)
	for g := range lonely.y {
		for k := range lonely.y[g] {
			if g != 3 {
				clear(lonely.y[g][k])
			}
		}
	}
	lonely.rebuild()
	lonely.U0 = nil
	for range nodes {
		u := gaussian(7, 1, 12, 1, 2, fixed(1), 0).Truth
		lonely.U0 = append(lonely.U0, u)
	}
	for _, step := range []float64{1e307, 1e200} {
		o := difalt.Options{Rank: 2, Iterations: 400, Rounds: 2, Step: step, Tolerance: 1e-300, Workers: 1}
		got, errs := apart(t, lonely.Problem, w, groups, connect(), func(int) difalt.Options { return o })
		for k := range got {
			if !errors.Is(errs[k], difalt.ErrDiverged) || got[k].Status != difalt.Diverged || got[k].Iterations != got[0].Iterations {
				t.Fatalf("one node alone, step %g: node %d ends with %v, %+v", step, k, errs[k], got[k])
			}
		}
	}
	// A node that dies: the others get a named error, not a cancellation of their own.
	got, errs := make([]*difalt.Result, nodes), make([]error, nodes)
	var wg sync.WaitGroup
	gone := errors.New("gone")
	for k, tr := range connect() {
		wg.Go(func() {
			defer tr.Close()
			net, err := consensus.New(w, tr)
			if err != nil {
				errs[k] = err
				return
			}
			o := difalt.Options{Rank: 2, Iterations: 400, Rounds: 2, Initialization: difalt.InitializationOptions{PowerIterations: 2}, Tolerance: 1e-300, Workers: 1}
			if k == 3 {
				o.Observer = func(r *difalt.Record) error {
					if r.Iteration == 9 {
						return gone
					}
					return nil
				}
			}
			got[k], errs[k] = difalt.Run(t.Context(), part(s.Problem, groups[k]), net, o)
		})
	}
	wg.Wait()
	for k, err := range errs {
		var peer *wire.PeerError
		if k == 3 && !errors.Is(err, gone) || k != 3 && (!errors.As(err, &peer) || errors.Is(err, context.Canceled)) {
			t.Errorf("node 3 died: node %d ends with %v", k, err)
		}
	}
}
