package consensus_test

import (
	"context"
	"errors"
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
