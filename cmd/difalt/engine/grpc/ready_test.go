package grpc

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// TestRefusedOnce: who tries again and again with a wrong key is named once, at both ends,
// whatever the ports are.
func TestRefusedOnce(t *testing.T) {
	t.Parallel()
	p, other := newParty(t, "path", 2), newParty(t, "path", 2)
	var here, there gossip
	o := quick()
	o.Report, o.Linger = here.report, 100*time.Millisecond
	p.transport(t, 0, o)
	wrong := p.changed(func(c *cluster.Cluster) { c.Nodes[1].Pin = other.c.Nodes[1].Pin })
	o.Report, o.JoinTimeout, o.Linger = there.report, time.Second, 100*time.Millisecond
	id := must[*cluster.Identity](t)(cluster.NewIdentity(wrong, other.keys[1]))
	tr := must[*Transport](t)(New(wrong, id, p.listeners[1], o))
	err := tr.Join(t.Context())
	tr.Leave(errors.New("test is over"))
	if err == nil || !strings.Contains(err.Error(), "refuses the key") {
		t.Errorf("join: %v", err)
	}
	for end, g := range map[string]*gossip{"that listens": &here, "that dials": &there} {
		if n := strings.Count(g.String(), "\n") + 1; n > 2 || g.String() == "" {
			t.Errorf("the end %s reports %d times:\n%s", end, n, g.String())
		}
	}
}

// TestNoAnswer: where a firewall drops what is sent, or a process is stopped, the error says
// that nothing comes from there.
func TestNoAnswer(t *testing.T) {
	defer func(was time.Duration) { helloTimeout = was }(helloTimeout)
	helloTimeout = time.Second  // it is alone with it: it does not run in parallel
	p := newParty(t, "path", 2) // nobody accepts what reaches the first listener
	for _, wait := range []time.Duration{200 * time.Millisecond, 2 * helloTimeout} {
		want := " yet"
		if wait > helloTimeout {
			want = " for 1s"
		}
		var said gossip
		o := quick()
		o.Report, o.JoinTimeout, o.Linger = said.report, wait, 100*time.Millisecond
		tr := must[*Transport](t)(New(p.c, p.id(1), must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), o))
		err := tr.Join(t.Context())
		tr.Leave(errors.New("test is over"))
		want = "no answer from " + p.c.Nodes[0].Address + want
		if err == nil || !strings.Contains(err.Error(), want) || wait > helloTimeout && !strings.Contains(said.String(), want) {
			t.Errorf("after %v: %v, and reports %q; want %q", wait, err, said.String(), want)
		}
	}
}
