//go:build unix

package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/consensus/wire"
)

// TestPortTaken: a node whose port is taken ends at once and says which, and those that
// wait for it end with it, on whichever side of the edge they are.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	f := newFederation(t, "path", nil)
	l, err := net.Listen("tcp", f.listen[1])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, c := launch(t, f.arguments(0)...), launch(t, f.arguments(2)...)
	a.said(t, "stage=joining")
	c.said(t, "stage=joining")
	b := launch(t, f.arguments(1)...)
	if code := b.code(t, 15*time.Second); code != exitFailure || !strings.Contains(b.err.String(), "--listen: listen tcp "+f.listen[1]) {
		t.Errorf("exit code %d: %s", code, tail(b))
	}
	for _, p := range []*process{a, c} {
		if code := p.code(t, 15*time.Second); code != exitPeer || !strings.Contains(p.err.String(), `node "site-b" has failed (closed, round 0): --listen: listen tcp`) {
			t.Errorf("who waits for it: exit code %d: %s", code, tail(p))
		}
	}
}

// TestHearsayIsNoOwnFailure: what a node ends with is its own failure only if it is; of what
// another one says of whomsoever, the code says that another one has failed.
func TestHearsayIsNoOwnFailure(t *testing.T) {
	c := &cluster.Cluster{Nodes: []cluster.Node{{Name: "a"}, {Name: "b"}}}
	for _, about := range []int{0, 1} {
		for _, via := range [][]int{nil, {1}} {
			err := federate.Explain(c, &wire.PeerError{Peer: about, Via: via, Kind: wire.NotFinite, Err: fmt.Errorf("%w: a sum", wire.ErrNotFinite)})
			if code := exitCode(t.Context(), err); code != exitPeer {
				t.Errorf("%v: exit code %d", err, code)
			}
		}
	}
}
