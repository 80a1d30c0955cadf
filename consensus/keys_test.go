package consensus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
)

// TestMaxMasked: a network with too many nodes for masks is refused before a frame is sent.
func TestMaxMasked(t *testing.T) {
	const nodes = consensus.MaxMasked + 1
	all := splits(nodes)[0][0]
	errs := run(t, weightsOf(t, "star", nodes), [][]int{all[:1], all[1:]}, nil, nil, func(ctx context.Context, n *consensus.Network) error {
		return n.Sum(ctx, make([][]float64, len(n.Hosted())))
	})
	for _, err := range errs {
		wantError(t, err, "masks for 1001 nodes: at most 1000")
	}
}

// signs is a transport.Signer: node i signs with byte i, and spoils the proof of node bad.
type signs struct {
	transport.Transport
	bad int
}

func (s signs) Sign(msg []byte) []byte {
	node := s.Hosted()[0]
	if node == s.bad {
		node++
	}
	return append([]byte{byte(node)}, msg[:4]...)
}

func (s signs) Verify(node int, msg, proof []byte) error {
	if !bytes.Equal(proof, append([]byte{byte(node)}, msg[:4]...)) {
		return &transport.PeerError{Peer: node, Kind: transport.Refused, Err: errors.New("a wrong proof")}
	}
	return nil
}

// TestSignatures: keys with proofs are accepted, and all nodes name the node with a wrong one. Nodes without
// signatures name the one that sends more than a key.
func TestSignatures(t *testing.T) {
	const node = 2
	for name, c := range map[string]struct {
		wrap func(k int, tr transport.Transport) transport.Transport
		want string // of the error about node; none: no error
	}{
		"all sign":        {func(_ int, tr transport.Transport) transport.Transport { return signs{tr, -1} }, ""},
		"one signs wrong": {func(_ int, tr transport.Transport) transport.Transport { return signs{tr, node} }, "a wrong proof"},
		"one signs": {func(k int, tr transport.Transport) transport.Transport {
			if k == node {
				return signs{tr, -1}
			}
			return tr
		}, "5 bytes more than a key"},
	} {
		errs := run(t, weightsOf(t, "path", 4), splits(4)[1], nil, c.wrap, sumOfOnes)
		for k, err := range errs {
			var peer *transport.PeerError
			if c.want == "" && err != nil ||
				c.want != "" && k != node && (!errors.As(err, &peer) || peer.Peer != node || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, node %d: %v", name, k, err)
			}
		}
	}
}
