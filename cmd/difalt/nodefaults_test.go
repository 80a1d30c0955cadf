//go:build unix

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
)

// A node that fails ends with its own exit code, and the others with theirs and its name, or that of the
// option that differs. Nothing of its table reaches the others, and no model is written.
func TestNodesThatFail(t *testing.T) {
	const marker = "MARKER-7a1f"
	inPieces := func(table string) string { return strings.Replace(table, "C15,", "C15,"+marker+",", 1) }
	negative := func(table string) string { return table + strings.Repeat("C15,1,58,64,122,100,62,2,20,8,-1\n", 8) }
	for name, c := range map[string]struct {
		options   []string
		spoil     func(table string) string // of the node that fails
		interrupt bool
		own       int
		want      string // at all nodes but for an interrupted one
	}{
		"another option":    {options: []string{"--common-noise"}, own: cli.ExitPeer, want: "common noise"},
		"no logarithm":      {options: []string{"--log-target"}, spoil: negative, own: cli.ExitFailure, want: "site-b"},
		"a table in pieces": {spoil: inPieces, own: cli.ExitFailure, want: "site-b"},
		"an interruption":   {interrupt: true, own: cli.ExitInterrupted, want: "site-b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			if c.spoil != nil {
				write(t, n.dir, "site-b.csv", c.spoil(string(readFile(t, n.dir, "site-b.csv"))))
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n.begins = func(node int) {
				if node == 1 && c.interrupt {
					cancel()
				}
			}
			for i, e := range n.train(t, []context.Context{t.Context(), ctx, t.Context()}, nil, c.options, nil) {
				want := cli.ExitPeer
				if i == 1 || c.interrupt {
					want = c.own
				}
				isNamed := i == 1 && c.interrupt || strings.Contains(e.err.Error(), c.want)
				if code := cli.ExitCode(e.err); code != want || !isNamed {
					t.Errorf("%s: exit code %d: %v", siteNames[i], code, e.err)
				}
				if i != 1 && strings.Contains(e.err.Error()+e.log+e.stdout, marker) {
					t.Errorf("%s receives a cell of another table: %v %s", siteNames[i], e.err, e.log)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(n.dir, "*m-*")); len(left) > 0 {
				t.Errorf("models are left: %q", left)
			}
		})
	}
}

// A left is a transport that closes a channel when its node begins to leave.
type left struct {
	engine.Transport
	gone chan struct{}
}

func (l *left) Leave(why error) { close(l.gone); l.Transport.Leave(why) }

// Neighbours of a node that cannot read its table receive its excuse as soon as each of them is there: here
// site-c comes when site-a leaves already.
func TestExcuseDoesNotWait(t *testing.T) {
	t.Parallel()
	n, gone := newNetwork(t), make(chan struct{})
	write(t, n.dir, "site-b.csv", "no table")
	n.wrap = func(i int, node *federate.Node) {
		connect := node.Connect
		node.Connect = func(o engine.Options) (engine.Transport, error) {
			switch i {
			case 1:
				o.JoinTimeout = time.Hour
			case 2:
				<-gone
			}
			transport, err := connect(o)
			if i == 0 && err == nil {
				transport = &left{transport, gone}
			}
			return transport, err
		}
	}
	long := []string{"--join-timeout", "1h"}
	for i, e := range n.train(t, together(t.Context()), long, long, long) {
		if want := `node "site-b" has failed`; i != 1 && (e.err == nil || !strings.Contains(e.err.Error(), want)) {
			t.Errorf("%s: error %v, want %s", siteNames[i], e.err, want)
		}
	}
}
