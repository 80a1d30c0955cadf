package federate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/topology"
)

// In a whole training on the path 0-1-2-3-4, the root 2 or the inner node 1 alters a low bit of one result
// for one node: of the first, the last, or one between. All nodes end with an error about the others. The
// tests of consensus show that such a node reads nothing of what the others add, even if it hides the tags.
func TestInconsistentTraining(t *testing.T) {
	g := check.OK(topology.Path(5))
	w := check.OK(topology.NewWeights(g, topology.Metropolis))
	var tables []mixed.Input
	o := dataset.TableOptions{Task: "task", Target: "y", Categorical: []string{"kind"}}
	c := mixed.Options{Workers: 1, TaskColumn: "task", TargetColumn: "y",
		Disclosure: mixed.Disclosure{LeastRows: mixed.Off, LeastLevel: mixed.Off, LeastSmall: mixed.Off}}
	for i := range 5 {
		path := file(t, i, func(rows []string) []string { return rows })
		tables = append(tables, mixed.Input{Table: check.OK(dataset.ReadFiles([]string{path}, o))})
	}
	// train returns the errors of a training, and the number of results that came down the link; at is the
	// one to alter, negative for none.
	train := func(lie transport.Link, at int) (errs []error, results int) {
		errs = testnet.Run(g, nil, func(i int, tr transport.Transport) error {
			if i == lie.Node {
				tr = testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
					if l != lie || f.Channel() != testnet.Sum {
						return
					}
					if results++; results == at+1 {
						f.Code()[2] ^= 1
					}
				}}.Open(tr, g, w.Fingerprint())
			}
			_, _, err := mixed.Together(t.Context(), tables[i:i+1], check.OK(consensus.New(w, tr)), c)
			return err
		})
		return errs, results
	}
	for _, lie := range []transport.Link{{Node: 2, Peer: 1}, {Node: 1, Peer: 0}} {
		errs, n := train(lie, -1)
		if err := errors.Join(errs...); err != nil || n < 40 {
			t.Fatalf("honest: %d results, %v", n, err)
		}
		for _, at := range []int{0, 1, n / 3, n / 2, n - 2} { // the very last is of Confirm, which repeats the check
			t.Run(fmt.Sprintf("%d lies to %d in %d", lie.Node, lie.Peer, at), func(t *testing.T) {
				errs, _ := train(lie, at)
				for node, err := range errs {
					// A node may see that a total cannot be, and leave before the next total is random.
					var peer *transport.PeerError
					contradiction := errors.Is(err, consensus.ErrInconsistent) || errors.Is(err, consensus.ErrContradiction)
					if !contradiction && (!errors.As(err, &peer) || peer.Kind != transport.Closed) {
						t.Errorf("node %d: %v", node, err)
					}
				}
			})
		}
	}
}
