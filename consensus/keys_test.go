package consensus_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// twoKeys is a transport whose process tells the hash of one key and then gives out another,
// as who has heard all others' first and looks for one that suits.
type twoKeys struct {
	wire.Transport
	origin wire.Origin
}

func (x twoKeys) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if seq == 2 { // on a star: hashes go up and down, and then keys
		for k, p := range out {
			p = slices.Clone(p)
			p[len(p)-5] ^= 1 // of the key
			out[k] = testnet.Seal(p, x.origin, 1)
		}
	}
	return x.Transport.Exchange(ctx, seq, out, in, due)
}

// TestKeysAreToldByHashFirst: in a network whose partners follow from the keys, a key that is
// not the one whose hash was told is refused by all, with the name of the node.
func TestKeysAreToldByHashFirst(t *testing.T) {
	const nodes, liar = pads.AllPairs + 1, 7
	g := must[*topology.Graph](t)(topology.Star(nodes))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	var others []int
	for i := range nodes {
		if i != liar {
			others = append(others, i)
		}
	}
	for _, lies := range []bool{false, true} {
		_, errs, _ := run(t, w, [][]int{others, {liar}}, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
			ts, err := testnet.Connect(g, groups, testnet.Options{})
			if lies {
				ts[1] = twoKeys{ts[1], wire.Origin{Run: w.Fingerprint(), Node: liar}}
			}
			return ts, err
		}, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
			z := make([][]float64, len(n.Hosted()))
			for i := range z {
				z[i] = []float64{1}
			}
			err := n.Sum(ctx, z)
			if err == nil && z[0][0] != nodes {
				t.Errorf("%v nodes", z[0])
			}
			return z, err
		})
		var peer *wire.PeerError
		if !lies {
			noErrors(t, "honest", errs)
		} else if !errors.As(errs[0], &peer) || peer.Peer != liar || peer.Kind != wire.Refused {
			t.Errorf("%v", errs)
		}
	}
}

// signing is a transport whose nodes sign, by a hash that only the node and its verifier could have
// made. It counts whose signatures it has verified, and may pass on another key in somebody's name.
type signing struct {
	wire.Transport
	node     int
	verified []int
}

func proofOf(node int, msg []byte) []byte {
	hash := sha256.Sum256(append([]byte{byte(node)}, msg...))
	return hash[:]
}

func (s *signing) Sign(msg []byte) ([]byte, error) { return proofOf(s.node, msg), nil }

func (s *signing) Verify(node int, msg, proof []byte) error {
	s.verified = append(s.verified, node)
	if !bytes.Equal(proof, proofOf(node, msg)) {
		return &wire.PeerError{Peer: node, Kind: wire.Refused, Err: errors.New("not signed")}
	}
	return nil
}

// TestPartnersAreVerified: in a large network a node verifies the signatures of its partners and no
// others; these refuse a key that a node has not signed, with its name, and then nobody comes to a
// result.
func TestPartnersAreVerified(t *testing.T) {
	t.Parallel()
	const nodes, forger = 80, 7 // more than pads.AllPairs
	g := must[*topology.Graph](t)(topology.Star(nodes))
	w := must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
	var groups [][]int
	for i := range nodes {
		groups = append(groups, []int{i})
	}
	ends := make([]*signing, nodes)
	_, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
		ts, err := testnet.Connect(g, groups, testnet.Options{})
		for i := range ts {
			ends[i] = &signing{Transport: ts[i], node: i}
			ts[i] = ends[i]
		}
		ends[forger].node++
		return ts, err
	}, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
		return [][]float64{{0}}, n.Sum(ctx, [][]float64{{1}})
	})
	refused := 0
	for i, err := range errs {
		list := ends[i].verified
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) || len(list) > 3*bits.Len(nodes)+3 {
			t.Errorf("node %d has verified %d", i, list)
		}
		switch peer := new(wire.PeerError); {
		case err == nil:
			t.Errorf("node %d has a sum", i)
		case !slices.Contains(list, forger): // it hears that others have left
			if len(list) < 8 {
				t.Errorf("node %d has verified %d", i, list)
			}
		case !errors.As(err, &peer) || peer.Peer != forger || peer.Kind != wire.Refused:
			t.Errorf("node %d, a partner of the forger: %v", i, err)
		default:
			refused++
		}
	}
	if refused < 3 {
		t.Errorf("%d nodes have refused the key", refused)
	}
}
