package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// together deals nodes to k processes in blocks.
func together(nodes, k int) (groups [][]int) {
	for i := range k {
		var group []int
		for g := i * nodes / k; g < (i+1)*nodes/k; g++ {
			group = append(group, g)
		}
		groups = append(groups, group)
	}
	return groups
}

// part is the problem of one process.
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

// apart runs f in every process of a network in memory, and returns its results.
func apart[T any](t testing.TB, w *topology.Weights, groups [][]int,
	f func(k int, net *consensus.Network) (T, error)) ([]T, []error) {
	t.Helper()
	return tapped(t, w, groups, testnet.Tap{}, f)
}

// tapped is apart with a tap on all links.
func tapped[T any](t testing.TB, w *topology.Weights, groups [][]int, tap testnet.Tap,
	f func(k int, net *consensus.Network) (T, error)) ([]T, []error) {
	t.Helper()
	results := make([]T, len(groups))
	return results, testnet.Run(w.Graph(), groups, func(k int, tr transport.Transport) error {
		net, err := consensus.New(w, tap.Open(tr, w.Graph(), w.Fingerprint()))
		if err == nil {
			results[k], err = f(k, net)
		}
		return err
	})
}

// sameApart fails unless processes compute the bits of one process, and count the same traffic. All have
// other numbers of workers.
func sameApart(t *testing.T, p *difalt.Problem, w *topology.Weights, groups [][]int, o difalt.Options) {
	t.Helper()
	want := run(t, p, connect(t, w, nil), o)
	got, errs := apart(t, w, groups, func(k int, net *consensus.Network) (*difalt.Result, error) {
		own := o
		own.Workers = 1 + 7*(k%2)
		return difalt.Run(t.Context(), part(p, groups[k]), net, own)
	})
	var sent transport.Traffic
	for k, hosted := range groups {
		if errs[k] != nil && !errors.Is(errs[k], difalt.ErrDiverged) {
			t.Fatal(errs)
		}
		res := got[k]
		if res.Status != want.Status || res.Iterations != want.Iterations ||
			fmt.Sprint(res.Residual, res.StatisticalError, res.Initial.Step) != fmt.Sprint(want.Residual,
				want.StatisticalError, want.Initial.Step) {
			t.Fatalf("process %d ends as %v after %d iterations with %v, %v, %v; one process as %v, %d, %v, %v, %v", k,
				res.Status, res.Iterations,
				res.Residual, res.StatisticalError, res.Initial.Step, want.Status, want.Iterations, want.Residual,
				want.StatisticalError, want.Initial.Step)
		}
		for i, g := range hosted {
			if !slices.Equal(res.U[i].Data(), want.U[g].Data()) || !slices.Equal(res.B[i], want.B[g]) {
				t.Fatalf("U or B of node %d differs in process %d", g, k)
			}
		}
		all := res.Last.Traffic.Plus(res.Initial.Traffic)
		sent.Messages, sent.Bytes, sent.Rounds = sent.Messages+all.Messages, sent.Bytes+all.Bytes, all.Rounds
	}
	if all := want.Last.Traffic.Plus(want.Initial.Traffic); sent != all {
		t.Errorf("the processes sent %+v, one process %+v", sent, all)
	}
}

// TestSameBits compares one process with several for all methods, codecs and numbers of nodes and workers.
func TestSameBits(t *testing.T) {
	sizes := []int{2, 3, 5, 8, 12}
	if testing.Short() {
		sizes = []int{2, 5}
	}
	for _, nodes := range sizes {
		p := draw(t, nodes, 20, 6*nodes, 15, 2, 2, .05, uint64(nodes))
		p.Truth = nil
		for _, graph := range []string{"er:0.6", "ring"} {
			if nodes == 2 {
				graph = "complete"
			}
			w := weights(t, graph, nodes, 3, topology.Metropolis)
			for _, method := range difalt.Methods() {
				for _, codec := range []consensus.Codec{0, consensus.Int16, consensus.Float64} {
					if codec != 0 && method != difalt.Accelerated {
						continue
					}
					for _, processes := range []int{2, nodes} {
						t.Run(fmt.Sprint(nodes, graph, method, codec, processes), func(t *testing.T) {
							sameApart(t, p, w, together(nodes, processes),
								difalt.Options{Rank: 2, Method: method, Codec: codec, Rounds: 3, Iterations: 25,
									Workers: 2})
						})
					}
				}
			}
		}
	}
	t.Run("looks and splits", func(t *testing.T) {
		w := weights(t, "ring", 4, 1, topology.Metropolis)
		p := draw(t, 4, 20, 60, 12, 3, 100, .3, 2)
		sameApart(t, p, w, together(4, 4), difalt.Options{Rank: 3, Method: difalt.Accelerated, StopAtNoise: true,
			Iterations: 200})
		p = draw(t, 4, 10, 24, 60, 2, 2, .1, 2)
		sameApart(t, p, w, together(4, 3), difalt.Options{Rank: 2, SampleSplit: true, Iterations: 10, Rounds: 3})
	})
}

// TestLeave: if the context of one node ends, or its observer returns ErrStop, all nodes end in the same
// iteration, at most ten later, as Canceled.
func TestLeave(t *testing.T) {
	const nodes, at = 4, 13
	p, w := draw(t, nodes, 20, 24, 15, 2, 2, 0, 1), weights(t, "ring", nodes, 1, topology.Metropolis)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated} {
		for _, observer := range []bool{false, true} {
			results, errs := apart(t, w, together(nodes, nodes),
				func(k int, net *consensus.Network) (*difalt.Result, error) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					o := difalt.Options{Rank: 2, Method: method, EveryIteration: true}
					o.Observer = func(r *difalt.Record) error {
						if k != 2 || r.Iteration < at {
							return nil
						}
						if observer {
							return fmt.Errorf("enough: %w", difalt.ErrStop)
						}
						cancel()
						return nil
					}
					return difalt.Run(ctx, part(p, []int{k}), net, o)
				})
			for k, err := range errs {
				if own := k == 2 && !observer; err != nil && !errors.Is(err, context.Canceled) || own != (err != nil) {
					t.Fatalf("%v, observer %v, node %d: %v", method, observer, k, err)
				}
			}
			for k, res := range results {
				if res.Status != difalt.Canceled || res.Iterations < at || res.Iterations > at+difalt.CheckEvery ||
					res.Iterations != results[0].Iterations {
					t.Errorf("%v, observer %v, node %d: %v after %d iterations", method, observer, k, res.Status,
						res.Iterations)
				}
			}
		}
	}
}

// TestOptionsDiffer: the nodes name the first option that differs.
func TestOptionsDiffer(t *testing.T) {
	p, w := draw(t, 3, 10, 12, 15, 2, 2, 0, 1), weights(t, "path", 3, 1, topology.Metropolis)
	for name, o := range map[string]difalt.Options{
		"Ridge is 0.5": {Rank: 2, Ridge: .5}, "Seed is 7": {Rank: 2, Seed: 7},
		"Rounds is 2": {Rank: 2, Rounds: 2, StartRounds: 10},
		"Codec":       {Rank: 2, Method: difalt.Accelerated, Codec: consensus.Float64},
	} {
		_, errs := apart(t, w, together(3, 3), func(k int, net *consensus.Network) (*difalt.Result, error) {
			mine := difalt.Options{Rank: 2, Method: o.Method}
			if k == 1 {
				mine = o
			}
			return difalt.Run(t.Context(), part(p, []int{k}), net, mine)
		})
		var peer *transport.PeerError
		if err := errs[0]; !errors.As(err, &peer) || peer.Peer != 1 || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, errs[0])
		}
		if errs[1] == nil || errs[2] == nil {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestInconsistent: in a run on the path 0-1-2-3-4, the root 2 alters one bit of one result on its way to
// node 1, or the inner node 1 on its way to node 0: of any operation, from the first to the last before the
// keys confirm the results. All nodes end with ErrInconsistent.
func TestInconsistent(t *testing.T) {
	p, w := draw(t, 5, 12, 20, 15, 2, 1.5, 0, 1), weights(t, "path", 5, 1, topology.Metropolis)
	for _, codec := range []consensus.Codec{consensus.Int8, consensus.Float64} {
		for _, lie := range []transport.Link{{Node: 2, Peer: 1}, {Node: 1, Peer: 0}} {
			results := 0 // that came down the link in an honest run
			for at := -1; at < results; at += 1 + results/12 {
				seen := 0
				_, errs := tapped(t, w, together(5, 5), testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
					c, code := f.Channel(), f.Code()
					if l != lie || c == testnet.Keys || c == testnet.Farewell {
						return
					}
					if seen == at && c == testnet.Gather {
						code[len(code)-1] ^= 1
					} else if seen == at {
						code[0] ^= 1
					}
					seen++
				}}, func(k int, net *consensus.Network) (*difalt.Result, error) {
					o := difalt.Options{Method: difalt.Accelerated, Rank: 2, Codec: codec, Workers: 1, Iterations: 40}
					return difalt.Run(t.Context(), part(p, []int{k}), net, o)
				})
				if at < 0 {
					results = seen - 1 // the last is of Confirm itself, which repeats the check
				}
				for node, err := range errs {
					if at >= 0 && !errors.Is(err, consensus.ErrInconsistent) || at < 0 && err != nil {
						t.Errorf("%v, %v lies in result %d of %d, node %d: %v", codec, lie, at, results, node, err)
					}
				}
			}
		}
	}
}

// TestNotFinite: a node whose gradient overflows ends the run at all nodes as Diverged, and nothing that is
// not finite is sent.
func TestNotFinite(t *testing.T) {
	const nodes = 3
	p, w := draw(t, nodes, 10, 12, 15, 2, 2, .1, 1), weights(t, "path", nodes, 1, topology.Metropolis)
	results, errs := apart(t, w, together(nodes, nodes), func(k int, net *consensus.Network) (*difalt.Result, error) {
		return difalt.Run(t.Context(), part(p, []int{k}), net,
			difalt.Options{Rank: 2, Step: math.MaxFloat64, EveryIteration: true})
	})
	for k, res := range results {
		if !errors.Is(errs[k], difalt.ErrDiverged) || res == nil || res.Status != difalt.Diverged ||
			res.Iterations != difalt.CheckEvery {
			t.Errorf("node %d: %+v, %v", k, res, errs[k])
		}
	}
}
