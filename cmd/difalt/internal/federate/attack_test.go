package federate

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
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
					contradiction := errors.Is(err, consensus.ErrInconsistent) ||
						errors.Is(err, consensus.ErrContradiction)
					if !contradiction && (!errors.As(err, &peer) || peer.Kind != transport.Closed) {
						t.Errorf("node %d: %v", node, err)
					}
				}
			})
		}
	}
}

// A signing transport signs what its node gathers, as that of gRPC does.
type signing struct{ transport.Transport }

// Sign implements transport.Signer.
func (s signing) Sign(msg []byte) []byte { return proofOf(s.Hosted()[0], msg) }

// Verify implements transport.Signer.
func (s signing) Verify(node int, msg, proof []byte) error {
	if !bytes.Equal(proof, proofOf(node, msg)) {
		return &transport.PeerError{Peer: node, Kind: transport.Refused,
			Err: errors.New("passed on by others, has no valid signature")}
	}
	return nil
}

// proofOf stands for a signature of a node.
func proofOf(node int, msg []byte) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "secret of node %d %q", node, msg))
	return sum[:]
}

// A node on the way that makes the settings of two others look equal ends both where nodes sign, and neither
// starts. Over MPI, where they do not sign, both go on: the rules of owners hold all the same.
func TestSettingsAltered(t *testing.T) {
	c := cluster.Named([]string{"a", "b", "c"}, check.OK(topology.Path(3)))
	w := check.OK(topology.NewWeights(check.OK(c.Graph()), topology.Metropolis))
	settings := func(node int) []consensus.Setting {
		return []consensus.Setting{{Name: "curves left out", Value: fmt.Sprint(node == 2)}}
	}
	hash := func(node int) []byte {
		sum := sha256.Sum256(check.OK(json.Marshal(settings(node))))
		return sum[:]
	}
	for _, signs := range []bool{true, false} {
		replaced := 0
		errs := testnet.Run(w.Graph(), nil, func(i int, tr transport.Transport) error {
			if i == 1 { // all that it sends to a neighbour has the hash of that one
				tr = testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
					if f.Channel() != testnet.Gather {
						return
					}
					other := hash(2 - l.Peer)
					for at := bytes.Index(f.Code(), other); at >= 0; at = bytes.Index(f.Code(), other) {
						copy(f.Code()[at:], hash(l.Peer))
						replaced++
					}
				}}.Open(tr, w.Graph(), w.Fingerprint())
			}
			if signs {
				tr = signing{tr}
			}
			net := check.OK(consensus.New(w, tr))
			if i == 1 {
				_, err := net.Gather(t.Context(), [][]byte{hash(0)})
				return err
			}
			n := &Node{Cluster: c, Number: i, Settings: settings(i)}
			return n.compare(t.Context(), net)
		})
		check.FailIf(t, replaced == 0, "signed %v: nothing was replaced", signs)
		for _, i := range []int{0, 2} {
			var peer *transport.PeerError
			refused := errors.As(errs[i], &peer) && (peer.Kind == transport.Refused || peer.Kind == transport.Closed)
			check.FailIf(t, refused != signs, "signed %v: node %d: %v", signs, i, errs[i])
		}
	}
}
