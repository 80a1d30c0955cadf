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
	"fmt"
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

func newAuthority() *authority {
	key, _ := NewKey()
	template := certificateOf("authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return &authority{must(x509.ParseCertificate(der)), key}
}

func certificateOf(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// identity returns what a node with a key and a certificate for a name shows.
func (a *authority) identity(node int, name string, key crypto.Signer) *Identity {
	der := must(x509.CreateCertificate(rand.Reader, certificateOf(name), a.cert, key.Public(), a.key))
	return &Identity{node, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// TestSigned: all nodes accept a signature of every kind of key, by key and by authority; nobody accepts it
// in another node's name, in another run, changed, or cut off anywhere.
func TestSigned(t *testing.T) {
	msg := []byte("an ephemeral key")
	pinned := three(t)
	for i := range pinned.Nodes {
		key, _ := NewKey()
		pinned.Nodes[i].Pin = PinOf(key.Public().(ed25519.PublicKey))
		id := must(NewIdentity(pinned, key))
		onlyBy(t, pinned, id.Node, msg, must(pinned.Sign(id, msg)))
	}
	a := newAuthority()
	c := &Cluster{Version: version, Run: "00000000000000a7", Authority: a.pem(), Edges: [][2]int{{0, 1}, {0, 2}, {0, 3}, {0, 4}}}
	own, _ := NewKey()
	var ids []*Identity
	for i, key := range []crypto.Signer{
		must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)), must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)),
		must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), must(rsa.GenerateKey(rand.Reader, 2048)), own,
	} {
		c.Nodes = append(c.Nodes, Node{Name: fmt.Sprint("n", i), Address: fmt.Sprint("h:", i)})
		ids = append(ids, a.identity(i, c.Nodes[i].Name, key))
	}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		onlyBy(t, c, id.Node, msg, must(c.Sign(id, msg)))
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
	a := newAuthority()
	c.Authority = a.pem()
	for i := range c.Nodes {
		c.Nodes[i].Pin = ""
	}
	own, _ := NewKey()
	first := a.identity(0, "a", own)
	msg := []byte("an ephemeral key")
	stranger, _ := NewKey()
	shown := certificate(stranger)
	as := a.identity(2, c.Nodes[2].Name, stranger)
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
		if err := c.Verify(x.node, msg, must(c.Sign(x.id, msg))); err == nil || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%s: %v, want %q", x.what, err, x.text)
		}
	}
}
