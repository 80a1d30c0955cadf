//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/grpc"
	"github.com/difalt/difalt/cmd/difalt/internal/federate"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
)

// A falsifier is a member that adds to words of its own part of sums on their way: masks are sums, too, so
// that the total of all nodes changes by that, at all nodes alike.
type falsifier struct {
	*grpc.Transport
	tapped transport.Transport
}

func (f *falsifier) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	return f.tapped.Exchange(ctx, seq, out, in, due)
}

// A sum of three nodes has integers of 192 bits in units of 2^-125; see docs/privacy.md. A number is followed
// by others of the sum, and 9 bytes of statuses are last.
const (
	wordsOfNumber = 3
	unitBits      = 125
	statusBytes   = 9
)

// addTo adds a whole number to number k of the masked words of a sum, if it has that.
func addTo(code []byte, k int, lie int64) {
	if n := (len(code) - statusBytes) / 24; k < 0 {
		k += n
	}
	if k < 0 || 24*k+24 > len(code)-statusBytes {
		return
	}
	words := [wordsOfNumber]uint64{0, uint64(lie) << (unitBits - 64), uint64(lie >> (128 - unitBits))}
	carry := uint64(0)
	for i := range words {
		at := code[24*k+8*i:]
		var sum uint64
		sum, carry = bits.Add64(binary.LittleEndian.Uint64(at), words[i], carry)
		binary.LittleEndian.PutUint64(at, sum)
	}
}

// falsify lets node i add a lie to number k of its sums from the first on, or of one of them.
func (n *network) falsify(t *testing.T, i, first int, always bool, k int, lie int64) {
	graph, sums := check.OK(n.members[i].cluster.Graph()), new(atomic.Int64)
	n.wrap = func(node int, f *federate.Node) {
		if node != i {
			return
		}
		connect := f.Connect
		f.Connect = func(o engine.Options) (engine.Transport, error) {
			tr, err := connect(o)
			if err != nil {
				return nil, err
			}
			own := tr.(*grpc.Transport)
			tap := testnet.Tap{Sent: func(_ transport.Link, p testnet.Frame) {
				if p.Channel() != testnet.Sum || len(p.Code()) < statusBytes+24 {
					return
				}
				if at := int(sums.Add(1)) - 1; at == first || always && at > first {
					addTo(p.Code(), k, lie)
				}
			}}
			return &falsifier{own, tap.Open(own, graph, own.Run())}, nil
		}
	}
}

// What a member adds to totals ends the programs of the others with exit code 0, 3 or 5, and never with a
// text that says that they, or one another, have failed.
func TestLiesOfAMember(t *testing.T) {
	for name, c := range map[string]struct {
		first, number int
		always        bool
		lie           int64
	}{
		"fewer tasks than none":  {0, 0, false, -1e4},
		"no rows":                {0, 1, false, -1e6},
		"more rows":              {0, 1, false, 1e6},
		"more than there are":    {0, 0, false, 1 << 50},
		"values of a column":     {1, 3, false, -1e4},
		"every first number":     {0, 0, true, 1e9},
		"every last flag":        {3, -1, true, 1},
		"a number of a late sum": {60, 2, false, -1e15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t)
			n.falsify(t, 2, c.first, c.always, c.number, c.lie)
			for i, e := range n.train(t, together(t.Context()))[:2] {
				code, text := 0, ""
				if e.err != nil {
					code, text = cli.ExitCode(e.err), e.err.Error()
				}
				if code != 0 && code != cli.ExitPeer && code != cli.ExitUnconverged {
					t.Errorf("%s: exit code %d: %v", siteNames[i], code, e.err)
				}
				for _, honest := range siteNames[:2] {
					if strings.Contains(text, fmt.Sprintf("node %q has failed", honest)) {
						t.Errorf("%s accuses %s: %s", siteNames[i], honest, text)
					}
				}
			}
		})
	}
}

// Three owners train with a budget and spend it, and have the same slopes. Tasks that are too few for it are
// found after the first total: the last line says that the budget counts as spent.
func TestPrivateNodes(t *testing.T) {
	t.Parallel()
	inFull(t)
	privately := func(t *testing.T, tasks int) *network {
		n := newNetwork(t)
		tables := check.OK(filepath.Glob(manyTasks(t, tasks, 12)))
		for i, name := range siteNames {
			text := strings.Replace(string(readFile(t, tables[i])), "task,x,z,y", "clinic,x,patient,score", 1)
			write(t, n.dir, name+".csv", text)
		}
		return n
	}
	budget := []string{"--epsilon", "8", "--delta", "1e-3"}
	t.Run("trains", func(t *testing.T) {
		n := privately(t, 100)
		var slope float64
		for i, e := range n.train(t, together(t.Context()), budget, budget, budget) {
			if e.err != nil {
				t.Fatalf("%s: %v", siteNames[i], e.err)
			}
			own := load(t, e.model).Parameters().Mean[1]
			if slope == 0 {
				slope = own
			}
			if !strings.Contains(e.stdout, "epsilon 8 at delta 0.001") || own != slope || own == 0 {
				t.Errorf("%s: slope %v, want %v: %s", siteNames[i], own, slope, e.stdout)
			}
		}
	})
	t.Run("too few tasks", func(t *testing.T) {
		n := privately(t, 4)
		for i, e := range n.train(t, together(t.Context()), budget, budget, budget) {
			if e.err == nil || cli.ExitCode(e.err) != cli.ExitPeer ||
				!strings.Contains(e.err.Error(), "do not show the size of column") ||
				!strings.Contains(e.err.Error(), "the privacy budget counts as spent") {
				t.Errorf("%s: %v", siteNames[i], e.err)
			}
		}
	})
}
