package cluster

import (
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
)

// TestSigned: every node accepts a signature; nobody accepts it in another node's name, in another run,
// changed, or cut off anywhere, nor one by a key that is not the node's.
func TestSigned(t *testing.T) {
	c, msg := three(t), []byte("an ephemeral key")
	var keys []ed25519.PrivateKey
	for i := range c.Nodes {
		key, _ := NewKey()
		keys = append(keys, key)
		c.Nodes[i].Pin = PinOf(key.Public().(ed25519.PublicKey))
	}
	elsewhere := changed(c, func(c *Cluster) { c.Run = "00000000000000ff" })
	outsider, _ := NewKey()
	for node, key := range keys {
		id := check.OK(NewIdentity(c, key))
		proof := c.Sign(id, msg)
		if err := c.Verify(node, msg, proof); id.Node != node || err != nil {
			t.Errorf("node %d as %d: %v", node, id.Node, err)
		}
		refused := func(want string, err error, node int) {
			t.Helper()
			var peer *transport.PeerError
			if !errors.As(err, &peer) || peer.Peer != node || peer.Kind != transport.Refused ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("node %d: %v, want %q", node, err, want)
			}
		}
		for other := range c.Nodes {
			if other != node {
				refused("it has the key of "+c.Label(node), c.Verify(other, msg, proof), other)
			}
		}
		refused("another signature", c.Verify(node, []byte("an ephemeral kez"), proof), node)
		refused("another signature", c.Verify(node, nil, proof), node)
		for n := range proof {
			refused("a proof of", c.Verify(node, msg, proof[:n]), node)
		}
		refused("a proof of 97 bytes", c.Verify(node, msg, append(slices.Clip(proof), 0)), node)
		refused("another signature", elsewhere.Verify(node, msg, proof), node)
		refused("which is not in the list", c.Verify(node, msg, c.Sign(&Identity{node, outsider}, msg)), node)
		mixed := append(slices.Clone(proof[:ed25519.PublicKeySize]),
			c.Sign(&Identity{node, outsider}, msg)[ed25519.PublicKeySize:]...)
		refused("another signature", c.Verify(node, msg, mixed), node)
	}
	if _, err := NewIdentity(c, outsider); err == nil || !strings.Contains(err.Error(), "which is not in the list") {
		t.Errorf("an outsider: %v", err)
	}
}
