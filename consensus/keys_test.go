package consensus_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/testnet"
)

// TestMaxMasked: a network with too many nodes for masks is refused before a frame is sent.
func TestMaxMasked(t *testing.T) {
	const nodes = consensus.MaxMasked + 1
	all := splits(nodes)[0][0]
	errs := run(t, weightsOf(t, "star", nodes), [][]int{all[:1], all[1:]},
		nil, nil, func(ctx context.Context, n *consensus.Network) error {
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
	return binary.LittleEndian.AppendUint32([]byte{byte(node)}, crc32.ChecksumIEEE(msg))
}

func (s signs) Verify(node int, msg, proof []byte) error {
	if !bytes.Equal(proof, binary.LittleEndian.AppendUint32([]byte{byte(node)}, crc32.ChecksumIEEE(msg))) {
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
		"all sign": {func(_ int, tr transport.Transport) transport.Transport { return signs{tr, -1} }, ""},
		"one signs wrong": {func(_ int, tr transport.Transport) transport.Transport { return signs{tr, node} },
			"a wrong proof"},
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
				c.want != "" && k != node &&
					(!errors.As(err, &peer) || peer.Peer != node || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s, node %d: %v", name, k, err)
			}
		}
	}
}

// TestKeysWithoutSecrets: a key with which nobody can share a secret, of low order, is an error about its
// node at all others.
func TestKeysWithoutSecrets(t *testing.T) {
	const liar = 3 // a leaf
	for _, key := range []string{
		strings.Repeat("00", 32), "01" + strings.Repeat("00", 31),
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		low, err := hex.DecodeString(key)
		if err != nil {
			t.Fatal(err)
		}
		errs := run(t, weightsOf(t, "path", 4), splits(4)[1], nil,
			func(k int, tr transport.Transport) transport.Transport {
				return testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
					if k == liar && f.Channel() == testnet.Keys && len(f.Code()) == 33 {
						copy(f.Code()[1:], low) // after its length
					}
				}}.Open(tr, weightsOf(t, "path", 4).Graph(), weightsOf(t, "path", 4).Fingerprint())
			}, sumOfOnes)
		for k, err := range errs {
			var peer *transport.PeerError
			if k != liar && (!errors.As(err, &peer) || peer.Peer != liar || peer.Kind != transport.Refused ||
				!strings.Contains(err.Error(), "low order")) {
				t.Errorf("key %s, node %d: %v", key, k, err)
			}
		}
	}
}

// TestGatherIsSigned: all nodes receive the bytes of all from nodes that sign. Bytes that a node on the way
// alters, cuts, or keeps from an earlier call, are an error about a node whose signature is wrong, and never
// the bytes of somebody else.
func TestGatherIsSigned(t *testing.T) {
	w := weightsOf(t, "path", 3) // node 1 relays the bytes of node 2 to node 0, and down again
	for name, alter := range map[string]func(code, before []byte){
		"nothing":     nil,
		"first byte":  func(code, _ []byte) { code[2] ^= 1 },
		"last byte":   func(code, _ []byte) { code[len(code)-1] ^= 1 },
		"its length":  func(code, _ []byte) { code[1] = 0x7f },
		"one shorter": func(code, _ []byte) { code[1]-- },
		"replayed":    func(code, before []byte) { copy(code, before) },
	} {
		calls, before := 0, []byte(nil)
		errs := run(t, w, splits(3)[1], nil, func(k int, tr transport.Transport) transport.Transport {
			tr = signs{tr, -1}
			if k != 2 {
				return tr
			}
			tap := testnet.Tap{Sent: func(_ transport.Link, f testnet.Frame) {
				if f.Channel() != testnet.Gather || alter == nil {
					return
				}
				if calls++; calls == 2 {
					alter(f.Code(), before)
				}
				before = bytes.Clone(f.Code())
			}}
			return signs{tap.Open(tr, w.Graph(), w.Fingerprint()), -1}
		}, func(ctx context.Context, n *consensus.Network) error {
			for call := range 2 {
				all, err := n.Gather(ctx, [][]byte{fmt.Appendf(nil, "node %d, call %d", n.Hosted()[0], call)})
				if err != nil {
					return err
				}
				for node, text := range all {
					if want := fmt.Sprintf("node %d, call %d", node, call); string(text) != want {
						t.Errorf("%s: %q in place of %q", name, text, want)
					}
				}
			}
			return nil
		})
		for k, err := range errs {
			var peer *transport.PeerError
			if alter == nil && err != nil || alter != nil && k != 2 && (!errors.As(err, &peer) || peer.Peer != 2) {
				t.Errorf("%s: node %d: %v", name, k, err)
			}
		}
	}
}
