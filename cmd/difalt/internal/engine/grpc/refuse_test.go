package grpc

import (
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
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
		for i, err := range each([]*Transport{a, p.transport(t, 1, o)},
			func(tr *Transport) error { return tr.Join(t.Context()) }) {
			reported(t, text, err, 1-i, transport.Refused, text)
			for _, name := range []string{`at node 0 ("a")`, `at node 1 ("b")`} {
				if !strings.Contains(err.Error(), name) {
					t.Errorf("%v lacks %s", err, name)
				}
			}
		}
	}
}

// barred checks that tr reports why it cannot connect to a neighbour, and that the error of Join after the
// time to join would be that.
func barred(t *testing.T, what string, tr *Transport, log *record, peer int, kind transport.Kind, text string) {
	t.Helper()
	if !log.has(text) {
		t.Errorf("%s: no report of %q in\n%s", what, text, log.String())
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if err := tr.absent(tr.edges[0], tr.o.JoinTimeout-1); err != nil {
		t.Errorf("%s, before its time: %v", what, err)
	}
	err := tr.absent(tr.edges[0], tr.o.JoinTimeout)
	reported(t, what, err, peer, kind, text)
	if !errors.Is(err, engine.ErrAbsent) || !strings.Contains(err.Error(), "has not connected after 2m0s") {
		t.Errorf("%s: %v", what, err)
	}
}

// TestImpostors: during a run, outsiders, members on the wrong edge and second processes of a node are
// refused and reported, and the run goes on.
func TestImpostors(t *testing.T) {
	t.Parallel()
	p, o := newParty(t, "path", 3), quick()
	var log record
	o.Report = log.report
	list := p.joined(t, o)
	begin(t, list)
	outsider, pin := newKey()
	here := check.Loopback(t)
	for _, x := range []struct {
		what   string
		change func(c *cluster.Cluster)
		key    ed25519.PrivateKey
		peer   int
		kind   transport.Kind
		text   string // of its own error
		report string // of a node of the run
	}{
		{"outsider", func(c *cluster.Cluster) { c.Nodes[2].Pin = pin }, outsider, 1, transport.Refused,
			"refuses the key", string(pin) + ", which is not in the list"},
		{"wrong edge", func(c *cluster.Cluster) { c.Edges = [][2]int{{0, 2}, {0, 1}} }, p.keys[2], 0, transport.Refused,
			"no edge on which it dials", `node 2 ("c") at ` + net.JoinHostPort(here, "")},
		{"second process", func(*cluster.Cluster) {}, p.keys[2], 1, transport.Closed, "another process",
			`node 2 ("c"): another process`},
		{"wrong server", func(c *cluster.Cluster) {
			c.Nodes[1].Address, c.Nodes[0].Address = c.Nodes[0].Address, net.JoinHostPort(here, "9")
		}, p.keys[2], 1, transport.Refused, `it has the key of node 0 ("a")`, ""},
	} {
		c, o := p.changed(x.change), brief()
		var own record
		o.Report = own.report
		tr := transportOf(t, c, check.OK(cluster.NewIdentity(c, x.key)), check.Listen(t), o)
		barred(t, x.what, tr, &own, x.peer, x.kind, x.text)
		tr.Leave(errors.New("over"))
		if !log.has(x.report) {
			t.Errorf("%s: no report of %q in\n%s", x.what, x.report, log.String())
		}
	}
	noErrors(t, each(list, func(tr *Transport) error { return exchange(t, tr, 1) }))
}

// TestNobodyThere: the error about a neighbour that cannot be reached, or has not come, has the reason.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	p, o := newParty(t, "path", 2), brief()
	var log record
	o.Report = log.report
	p.listeners[0].Close()
	barred(t, "refused", p.transport(t, 1, o), &log, 0, transport.Closed, "refused")
	p = newParty(t, "path", 2)
	waits := p.transport(t, 0, brief())
	reported(t, "waits", waits.absent(waits.edges[0], patienceOfTests), 1, transport.Timeout, "has not come yet")
	waits.refused("10.0.0.1: it has key sha256:x, which is not in the list of nodes")
	text := "has not come yet; this node has refused 10.0.0.1: it has key sha256:x, which is not in the list of nodes"
	reported(t, "another key", waits.absent(waits.edges[0], patienceOfTests), 1, transport.Timeout, text)
	if err := waits.absence(&edge{address: "h:1"}); err.Error() != "no answer from h:1 yet" {
		t.Error(err)
	}
}

// TestReports: connections without a key of the list are reported, and repeated ones do not fill the log, at
// either end.
func TestReports(t *testing.T) {
	t.Parallel()
	p, other := newParty(t, "path", 2), newParty(t, "path", 2)
	var here, there record
	o, host := brief(), check.Loopback(t)
	o.Report = here.report
	p.transport(t, 0, o)
	try := func(certificates ...tls.Certificate) {
		conn, err := tls.Dial("tcp", p.c.Nodes[0].Address,
			&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: certificates})
		if err == nil {
			_, _ = io.ReadAll(conn)
			conn.Close()
		}
	}
	try()
	plain := check.OK(net.Dial("tcp", p.c.Nodes[0].Address))
	check.OK(plain.Write([]byte("GET / HTTP/1.1\r\n\r\n")))
	_, _ = io.ReadAll(plain)
	wrong := p.changed(func(c *cluster.Cluster) { c.Nodes[1].Pin = other.c.Nodes[1].Pin })
	o.Report = there.report
	tr := transportOf(t, wrong, check.OK(cluster.NewIdentity(wrong, other.keys[1])), p.listeners[1], o)
	barred(t, "a wrong key", tr, &there, 0, transport.Refused, "refuses the key")
	tr.Leave(nil)
	for range 100 {
		try(newParty(t, "path", 2).id(0).Certificate())
	}
	for _, want := range []string{
		host + ": tls: client didn't provide a certificate",
		host + ": tls: first record does not look like a TLS handshake", "further refusals are not reported",
	} {
		if !here.has("refused: " + want) {
			t.Errorf("no report of %q", want)
		}
	}
	if a, b := strings.Count(here.String(), "\n"), strings.Count(there.String(), "\n"); a > mostRefusals+1 || b > 2 {
		t.Errorf("%d reports where they connect, %d where a wrong key dials:\n%s", a, b, there.String())
	}
}
