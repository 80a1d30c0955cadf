package grpc

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
)

// TestRefuse: a difference ends the run at both ends before it begins, by its name.
func TestRefuse(t *testing.T) {
	for text, change := range map[string]func(c *cluster.Cluster){
		"the run is ":           func(c *cluster.Cluster) { c.Run = "ffffffffffffffff" },
		"the list of edges is ": func(c *cluster.Cluster) { c.Edges = append(c.Edges, [2]int{0, 2}) },
		"the list of nodes is ": func(c *cluster.Cluster) { c.Nodes[2].Name = "z" },
	} {
		p, o := newParty(t, "path", 3), brief()
		a := p.transport(t, 0, o)
		p.c = p.changed(change)
		for i, err := range each([]*Transport{a, p.transport(t, 1, o)}, func(tr *Transport) error {
			err := tr.Join(t.Context())
			tr.Leave(err)
			return err
		}) {
			reported(t, text, err, 1-i, wire.Refused, text)
			for _, name := range []string{`at node 0 ("a")`, `at node 1 ("b")`} {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%v lacks %s", err, name)
				}
			}
		}
	}
}

// TestImpostors: during a run, strangers, members on the wrong edge and second processes of a node are
// refused and reported, and the run goes on.
func TestImpostors(t *testing.T) {
	t.Parallel()
	p, o := newParty(t, "path", 3), quick()
	var log record
	o.Report = log.report
	list := p.joined(t, o)
	begin(t, list)
	stranger, pin := newKey()
	for _, x := range []struct {
		what   string
		change func(c *cluster.Cluster)
		key    ed25519.PrivateKey
		peer   int
		kind   wire.Kind
		text   string // of its own error
		report string // of a node of the run
	}{
		{"stranger", func(c *cluster.Cluster) { c.Nodes[2].Pin = pin }, stranger, 1, wire.Refused, "refuses the key", string(pin) + ", which is not in the list"},
		{"wrong edge", func(c *cluster.Cluster) { c.Edges = [][2]int{{0, 2}, {0, 1}} }, p.keys[2], 0, wire.Refused, "no edge on which it dials", `node 2 ("c") at 127.0.0.1`},
		{"second process", func(*cluster.Cluster) {}, p.keys[2], 1, wire.Closed, "another process", `node 2 ("c"): another process`},
		{"wrong server", func(c *cluster.Cluster) {
			c.Nodes[1].Address, c.Nodes[0].Address = c.Nodes[0].Address, "127.0.0.1:9"
		}, p.keys[2], 1, wire.Refused, `it has the key of node 0 ("a")`, ""},
	} {
		c, o := p.changed(x.change), brief()
		o.JoinTimeout = 2 * time.Second
		tr := transportOf(t, c, must(cluster.NewIdentity(c, x.key)), listen(t), o)
		reported(t, x.what, tr.Join(t.Context()), x.peer, x.kind, x.text)
		tr.Leave(errors.New("over"))
		if !log.has(x.report) {
			t.Errorf("%s: no report of %q in\n%s", x.what, x.report, log.String())
		}
	}
	noErrors(t, each(list, func(tr *Transport) error { return exchange(t, tr, 1) }))
}

// TestNobodyThere: the error about a neighbour that cannot be reached, or does not answer, has the reason.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for text, x := range map[string]struct {
		node   int
		closed bool
	}{"has not come yet": {0, true}, "connection refused": {1, true}, "no answer from ": {1, false}} {
		p, o := newParty(t, "path", 2), brief()
		if o.JoinTimeout = 2 * time.Second; x.closed {
			p.listeners[1-x.node].Close()
		}
		var peer *wire.PeerError
		err := p.transport(t, x.node, o).Join(t.Context())
		if !errors.As(err, &peer) || peer.Peer != 1-x.node || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "has not connected after 2s") {
			t.Errorf("node %d: %v, want %q", x.node, err, text)
		}
	}
}

// TestReports: connections without a key of the list are reported, and repeated ones do not fill the log, at
// either end.
func TestReports(t *testing.T) {
	t.Parallel()
	p, other := newParty(t, "path", 2), newParty(t, "path", 2)
	var here, there record
	o := brief()
	o.Report = here.report
	p.transport(t, 0, o)
	try := func(certificates ...tls.Certificate) {
		if conn, err := tls.Dial("tcp", p.c.Nodes[0].Address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: certificates}); err == nil {
			_, _ = io.ReadAll(conn)
			conn.Close()
		}
	}
	try()
	plain := must(net.Dial("tcp", p.c.Nodes[0].Address))
	must(plain.Write([]byte("GET / HTTP/1.1\r\n\r\n")))
	_, _ = io.ReadAll(plain)
	wrong := p.changed(func(c *cluster.Cluster) { c.Nodes[1].Pin = other.c.Nodes[1].Pin })
	o.Report, o.JoinTimeout = there.report, time.Second
	tr := transportOf(t, wrong, must(cluster.NewIdentity(wrong, other.keys[1])), p.listeners[1], o)
	if err := tr.Join(t.Context()); err == nil || !strings.Contains(err.Error(), "refuses the key") {
		t.Errorf("a wrong key: %v", err)
	}
	tr.Leave(nil)
	for range 100 {
		try(newParty(t, "path", 2).id(0).Certificate)
	}
	for _, want := range []string{"tls: client didn't provide a certificate", "tls: first record does not look like a TLS handshake"} {
		if !here.has("refused: 127.0.0.1: " + want) {
			t.Errorf("no report of %q", want)
		}
	}
	if a, b := strings.Count(here.String(), "\n"), strings.Count(there.String(), "\n"); a > mostRefusals+1 || b > 2 {
		t.Errorf("%d reports where they connect, %d where a wrong key dials:\n%s", a, b, there.String())
	}
}

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
}

func newAuthority() *authority {
	key, _ := newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	return &authority{must(x509.ParseCertificate(must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)))), key}
}

// issue returns the identity of a node with a new key and a certificate for a name, valid from an hour ago.
func (a *authority) issue(node int, name string, valid time.Duration) *cluster.Identity {
	key, _ := newKey()
	from := time.Now().Add(-time.Hour)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: from, NotAfter: from.Add(valid)}
	der := must(x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key))
	return &cluster.Identity{Node: node, Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// TestAuthority: where the list has an authority, nodes are identified by the names in their certificates. A
// certificate that has expired, is from another authority or for another name is refused and reported.
func TestAuthority(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(), newAuthority()
	certified := func(nodes int) *party {
		p := newParty(t, "path", nodes)
		p.c.Authority = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
		for i := range p.c.Nodes {
			p.c.Nodes[i].Pin = ""
		}
		return p
	}
	p, list := certified(3), []*Transport{}
	for i, n := range p.c.Nodes {
		list = append(list, transportOf(t, p.c, a.issue(i, n.Name, 2*time.Hour), p.listeners[i], quick()))
	}
	sameBits(t, p.c, list, 20)
	for text, id := range map[string]*cluster.Identity{
		"expired": a.issue(1, "b", time.Minute), "unknown authority": other.issue(1, "b", 2*time.Hour),
		`["d"], which is not a name in the list`: a.issue(1, "d", 2*time.Hour),
	} {
		q, o := certified(2), brief()
		var log record
		o.Report, o.JoinTimeout = log.report, 2*time.Second
		transportOf(t, q.c, a.issue(0, "a", 2*time.Hour), q.listeners[0], o)
		var peer *wire.PeerError // with the reason, if that arrives before the connection is closed
		if err := transportOf(t, q.c, id, q.listeners[1], o).Join(t.Context()); !errors.As(err, &peer) || peer.Peer != 0 {
			t.Errorf("%s: %v", text, err)
		}
		if !log.has(text) {
			t.Errorf("no report of %q: %s", text, log.String())
		}
	}
}
