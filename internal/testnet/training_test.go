package testnet_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/internal/testnet"
)

// TestInconsistentTraining: in a whole run of difalt on the path 0-1-2-3-4, the root 2 alters one bit of
// one result on its way to node 1, or the inner node 1 on its way to node 0: of any operation, from the
// first to the last before the keys confirm the results. All nodes end with ErrInconsistent.
func TestInconsistentTraining(t *testing.T) {
	w := path(t, 5)
	data := synth.Data{Features: 12, Tasks: 20, Samples: 15, Rank: 2, Kappa: 1.5}
	p, err := data.Generate(t.Context(), 5, nil, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []consensus.Codec{consensus.Int8, consensus.Float64} {
		for _, lie := range []wire.Link{{Node: 2, Peer: 1}, {Node: 1, Peer: 0}} {
			results := 0 // that came down the link in an honest run
			for at := -1; at < results; at += 1 + results/12 {
				transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}, {3}, {4}}, testnet.Options{})
				if err != nil {
					t.Fatal(err)
				}
				seen := 0
				errs := make([]error, 5)
				var wg sync.WaitGroup
				for node, tr := range transports {
					wg.Go(func() {
						defer tr.Close()
						tapped := testnet.Tap{Sent: func(l wire.Link, f testnet.Frame) {
							c, code := f.Channel(), f.Code()
							if l != lie || c == wire.Keys || c == wire.Farewell {
								return
							}
							if seen == at && c == wire.Gather {
								code[len(code)-1] ^= 1
							} else if seen == at {
								code[0] ^= 1
							}
							seen++
						}}.Open(tr, w.Graph(), w.Fingerprint())
						if node != lie.Node {
							tapped = tr
						}
						net, err := consensus.New(w, tapped)
						if err == nil {
							o := difalt.Options{Method: difalt.Accelerated, Rank: 2, Codec: codec, Workers: 1, Iterations: 40}
							_, err = difalt.Run(t.Context(), &difalt.Problem{Nodes: p.Nodes[node:][:1]}, net, o)
						}
						errs[node] = err
					})
				}
				wg.Wait()
				if at < 0 {
					results = seen - 1 // the last is of Confirm itself, which repeats the check
				}
				for node, err := range errs {
					if what := fmt.Sprintf("%v, %v lies in result %d of %d", codec, lie, at, results); at >= 0 && !errors.Is(err, wire.ErrInconsistent) || at < 0 && err != nil {
						t.Errorf("%s, node %d: %v", what, node, err)
					}
				}
			}
		}
	}
}
