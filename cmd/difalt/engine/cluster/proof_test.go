package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus/wire"
)

// An authority gives certificates.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	key, _ := NewKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// identity returns what a node with a key and a certificate for a name shows.
func (a *authority) identity(t *testing.T, node int, name string, key crypto.Signer) *Identity {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &Identity{node, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// withKeys is three, and the keys of its nodes.
func withKeys(t *testing.T) (c *Cluster, keys []ed25519.PrivateKey) {
	c = three(t)
	for i := range c.Nodes {
		key, _ := NewKey()
		c.Nodes[i].Pin = PinOf(key.Public().(ed25519.PublicKey))
		keys = append(keys, key)
	}
	return c, keys
}

// TestSigned: all nodes accept a signature of every kind of key, by pin and by authority; nobody accepts it
// in another node's name, in another run, changed, or cut off anywhere.
func TestSigned(t *testing.T) {
	msg := []byte("an ephemeral key")
	pinned, keys := withKeys(t)
	for _, key := range keys {
		id, err := NewIdentity(pinned, key)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := pinned.Sign(id, msg)
		if err != nil {
			t.Fatal(err)
		}
		onlyBy(t, pinned, id.Node, msg, proof)
	}
	a := newAuthority(t)
	c := &Cluster{Version: version, Run: "00000000000000a7", Authority: a.pem()}
	keysOf := map[string]crypto.Signer{}
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384(), "p521": elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keysOf[name] = key
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keysOf["rsa"] = long
	keysOf["ed25519"], _ = NewKey()
	var who []*Identity
	for name, key := range keysOf {
		if c.Nodes = append(c.Nodes, Node{Name: name, Address: name + ":1"}); len(c.Nodes) > 1 {
			c.Edges = append(c.Edges, [2]int{0, len(c.Nodes) - 1})
		}
		who = append(who, a.identity(t, len(c.Nodes)-1, name, key))
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for _, id := range who {
		proof, err := c.Sign(id, msg)
		if err != nil {
			t.Fatal(err)
		}
		onlyBy(t, c, id.Node, msg, proof)
	}
}

// onlyBy checks that a proof holds for a node and a message, and for nothing else.
func onlyBy(t *testing.T, c *Cluster, node int, msg, proof []byte) {
	t.Helper()
	label := c.Label(node)
	if err := c.Verify(node, msg, proof); err != nil {
		t.Errorf("%s: %v", label, err)
	}
	refused := func(what string, err error, node int) {
		t.Helper()
		var peer *wire.PeerError
		if !errors.As(err, &peer) || peer.Peer != node || peer.Kind != wire.Refused {
			t.Errorf("%s, %s: %v", label, what, err)
		}
	}
	for other := range c.Nodes {
		if other != node {
			refused("in another's name", c.Verify(other, msg, proof), other)
		}
	}
	refused("another message", c.Verify(node, []byte("an ephemeral kez"), proof), node)
	refused("no message", c.Verify(node, nil, proof), node)
	for n := range proof {
		refused("cut off", c.Verify(node, msg, proof[:n]), node)
	}
	refused("longer", c.Verify(node, msg, append(slices.Clip(proof), 0)), node)
	elsewhere := *c
	elsewhere.Run = "00000000000000ff"
	refused("of another run", elsewhere.Verify(node, msg, proof), node)
}

// TestSignedByAnother: a key that is not the node's, and a certificate of another node of the
// same authority, are refused with the reason.
func TestSignedByAnother(t *testing.T) {
	c := three(t)
	a := newAuthority(t)
	c.Authority = a.pem()
	for i := range c.Nodes {
		c.Nodes[i].Pin = ""
	}
	own, _ := NewKey()
	first := a.identity(t, 0, "a", own)
	msg := []byte("an ephemeral key")
	stranger, _ := NewKey()
	shown := certificate(stranger)
	as := a.identity(t, 2, c.Nodes[2].Name, stranger)
	for _, x := range []struct {
		what string
		id   *Identity
		node int
		text string
	}{
		{"a stranger's key", &Identity{0, shown}, 0, "certificate"},
		{"a stranger's key with the certificate of a node", &Identity{2, tls.Certificate{Certificate: as.Certificate.Certificate, PrivateKey: own}}, 2, "signature"},
		{"the certificate of another node", &Identity{1, as.Certificate}, 1, `node 2 ("c")`},
		{"the key of another node", &Identity{1, first.Certificate}, 1, `node 0 ("a")`},
	} {
		proof, err := c.Sign(x.id, msg)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Verify(x.node, msg, proof)
		if err == nil || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v, want %q", x.what, err, x.text)
		}
	}
}
