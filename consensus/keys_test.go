package consensus_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/internal/testnet"
)

// otherKey is a transport whose process exchanges the hash of one key and then another key.
type otherKey struct {
	wire.Transport
	origin wire.Origin
}

func (x otherKey) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if seq == 2 { // on a star: hashes go up and down, and then keys
		for k, p := range out {
			p = slices.Clone(p)
			p[len(p)-5] ^= 1
			out[k] = testnet.Seal(p, x.origin, 1)
		}
	}
	return x.Transport.Exchange(ctx, seq, out, in, due)
}

// TestKeysAfterHashes: in a network whose partners follow from the keys, all nodes refuse a key without the
// hash that was sent before, and name its node. Sums of such a network are those of one process.
func TestKeysAfterHashes(t *testing.T) {
	const nodes, liar = pads.AllPairs + 1, 7
	w := weightsOf(t, "star", nodes)
	var others []int
	for i := range nodes {
		if i != liar {
			others = append(others, i)
		}
	}
	for _, lies := range []bool{false, true} {
		errs := run(t, w, [][]int{others, {liar}}, testnet.Options{}, func(k int, tr wire.Transport) wire.Transport {
			if lies && k == 1 {
				return otherKey{tr, wire.Origin{Run: w.Fingerprint(), Node: liar}}
			}
			return tr
		}, func(ctx context.Context, n *consensus.Network) error {
			var z [][]float64
			for _, node := range n.Hosted() {
				z = append(z, []float64{float64(node)})
			}
			if err := n.Sum(ctx, z); err != nil {
				return err
			}
			if z[0][0] != nodes*(nodes-1)/2 {
				t.Errorf("sum %v", z[0])
			}
			return n.Confirm(ctx)
		})
		if !lies {
			noErrors(t, "keys", errs)
		} else if !blames(errs[0], liar, wire.Refused) {
			t.Errorf("%v", errs)
		}
	}
}

// signs is a wire.Signer: node i signs with byte i, and spoils the proof of node bad.
type signs struct {
	wire.Transport
	bad int
}

func (s signs) Sign(msg []byte) ([]byte, error) {
	node := s.Hosted()[0]
	if node == s.bad {
		node++
	}
	return append([]byte{byte(node)}, msg[:4]...), nil
}

func (s signs) Verify(node int, msg, proof []byte) error {
	if !bytes.Equal(proof, append([]byte{byte(node)}, msg[:4]...)) {
		return &wire.PeerError{Peer: node, Kind: wire.Refused, Err: errors.New("a wrong proof")}
	}
	return nil
}

// TestSignatures: keys with proofs are accepted, and all nodes name the node with a wrong one. Nodes without
// signatures name the one that sends more than a key.
func TestSignatures(t *testing.T) {
	const node = 2
	for name, c := range map[string]struct {
		wrap func(k int, tr wire.Transport) wire.Transport
		want string // of the error about node; none: no error
	}{
		"all sign":        {func(_ int, tr wire.Transport) wire.Transport { return signs{tr, -1} }, ""},
		"one signs wrong": {func(_ int, tr wire.Transport) wire.Transport { return signs{tr, node} }, "a wrong proof"},
		"one signs": {func(k int, tr wire.Transport) wire.Transport {
			if k == node {
				return signs{tr, -1}
			}
			return tr
		}, "5 bytes more than a key"},
	} {
		errs := run(t, weightsOf(t, "path", 4), splits(4)[1], testnet.Options{}, c.wrap, sumOfOnes)
		for k, err := range errs {
			var peer *wire.PeerError
			if c.want == "" && err != nil ||
				c.want != "" && k != node && (!errors.As(err, &peer) || peer.Peer != node || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, node %d: %v", name, k, err)
			}
		}
	}
}
