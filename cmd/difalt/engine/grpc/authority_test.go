package grpc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
)

// An authority gives out certificates.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t testing.TB) *authority {
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	return &authority{t, must[*x509.Certificate](t)(x509.ParseCertificate(der)), key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// issue writes a key and a certificate for a name, valid for so long from an hour ago.
func (a *authority) issue(name string, valid time.Duration) (key, cert string) {
	t, folder := a.t, a.t.TempDir()
	k := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: from, NotAfter: from.Add(valid)}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, a.cert, k.Public(), a.key))
	text := must[[]byte](t)(x509.MarshalPKCS8PrivateKey(k))
	key, cert = filepath.Join(folder, "key"), filepath.Join(folder, "cert")
	for path, block := range map[string]*pem.Block{key: {Type: "PRIVATE KEY", Bytes: text}, cert: {Type: "CERTIFICATE", Bytes: der}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return key, cert
}

// certify replaces the keys of a cluster by an authority.
func (p *party) certify(a *authority) {
	p.c.Authority = a.pem
	for i := range p.c.Nodes {
		p.c.Nodes[i].Pin = ""
	}
}

// TestAuthority: where the list has an authority, nodes are identified by the names in their certificates. A
// certificate that has expired, is from another authority or for another name is refused at both ends.
func TestAuthority(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	p := newParty(t, "path", 3)
	p.certify(a)
	identity := func(name string, from *authority, valid time.Duration) *cluster.Identity {
		key, cert := from.issue(name, valid)
		return must[*cluster.Identity](t)(cluster.ReadIdentity(p.c, key, cert))
	}
	first, last := identity("a", a, 2*time.Hour), identity("c", a, 2*time.Hour)
	if first.Node != 0 || last.Node != 2 {
		t.Fatalf("nodes %d and %d", first.Node, last.Node)
	}
	list := []*Transport{
		must[*Transport](t)(New(p.c, first, p.listeners[0], quick())),
		must[*Transport](t)(New(p.c, identity("b", a, 2*time.Hour), p.listeners[1], quick())),
		must[*Transport](t)(New(p.c, last, p.listeners[2], quick())),
	}
	sameBits(t, p.c, list, 20)

	for _, x := range []struct {
		name  string
		from  *authority
		valid time.Duration
		text  string
	}{
		{"c", a, time.Minute, "expired"}, {"c", other, 2 * time.Hour, "unknown authority"}, {"d", a, 2 * time.Hour, `["d"], which is not a name in the list`},
	} {
		t.Run(x.text, func(t *testing.T) {
			t.Parallel()
			key, cert := x.from.issue(x.name, x.valid)
			if _, err := cluster.ReadIdentity(p.c, key, cert); err == nil || !strings.Contains(err.Error(), x.text) {
				t.Errorf("%s: read: %v", x.text, err)
			}
			// One that does not look at what it has.
			odd := &cluster.Identity{Node: 2, Certificate: must[tls.Certificate](t)(tls.LoadX509KeyPair(cert, key))}
			q := newParty(t, "path", 3)
			q.certify(a)
			var heard gossip
			o := quick()
			o.Report, o.JoinTimeout, o.Linger = heard.report, 3*time.Second, 50*time.Millisecond
			key, cert = a.issue("b", 2*time.Hour)
			b := must[*Transport](t)(New(q.c, must[*cluster.Identity](t)(cluster.ReadIdentity(q.c, key, cert)), q.listeners[1], o))
			c := must[*Transport](t)(New(q.c, odd, q.listeners[2], o))
			err := c.Join(t.Context())
			// Whether it hears why before the connection is closed is a matter of luck.
			var peer *wire.PeerError
			if !errors.As(err, &peer) || peer.Peer != 1 {
				t.Errorf("%s: %v", x.text, err)
			}
			if !heard.hears(x.text) {
				t.Errorf("nobody reports %q: %s", x.text, &heard)
			}
			c.Leave(err)
			b.Leave(err)
		})
	}
}
