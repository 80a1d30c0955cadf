package rounds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/topology"
)

const run = 9

// frameOf returns frame number n of node 1.
func frameOf(n uint64, c frame.Channel, tag uint32, code string) []byte {
	return frame.NewSeed(run, 1).End(append(frame.Begin(nil, c, n, tag), code...), n)
}

// wantError fails unless err contains text.
func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v lacks %q", err, text)
	}
}

// peer is a transport of node 0 on a path of two nodes whose neighbour sends the given frames.
type peer struct {
	hosted []int
	frames [][]byte
	err    error
}

func (p *peer) Hosted() []int { return p.hosted }

func (p *peer) Close() error { return nil }

func (p *peer) Exchange(_ context.Context, seq uint64, _, in [][]byte, due []bool) error {
	if p.err != nil {
		return p.err
	}
	if due[0] {
		in[0] = p.frames[seq]
	}
	return nil
}

// greeting is an operation in which every node sends "hello".
type greeting struct{}

func (greeting) Start()                          {}
func (greeting) Channel() frame.Channel          { return frame.Gather }
func (greeting) Sends(int, int) bool             { return true }
func (greeting) Append(dst []byte, _ int) []byte { return append(dst, "hello"...) }
func (greeting) Step() transport.Traffic         { return transport.Traffic{Rounds: 1, Messages: 1, Bytes: 5} }
func (greeting) Receive(_ int, code []byte) (err error) {
	if string(code) != "hello" {
		err = fmt.Errorf("code %q", code)
	}
	return err
}

// TestPeerErrors: a frame that differs from the one that is due names the peer and the round, and ends the
// rounds.
func TestPeerErrors(t *testing.T) {
	g, err := topology.Path(2)
	if err != nil {
		t.Fatal(err)
	}
	good := func(n uint64) []byte { return frameOf(n, frame.Gather, 7, "hello") }
	closed := &transport.PeerError{Peer: 1, Kind: transport.Closed}
	for name, c := range map[string]struct {
		second []byte
		err    error
		want   string
	}{
		"good":     {second: good(1)},
		"damaged":  {second: good(1)[:12], want: "node 1, round 1: corrupt: a frame has a wrong checksum"},
		"cut off":  {second: good(1)[:3], want: "node 1, round 1: corrupt: a frame has 3 bytes"},
		"missing":  {want: "node 1, round 1: corrupt"},
		"repeated": {second: good(0), want: "node 1, round 1: corrupt"},
		"other operation": {second: frameOf(1, frame.Sum, 7, "hello"),
			want: "node 1, round 1: protocol: a frame of a sum"},
		"other code": {second: frameOf(1, frame.Gather, 7, "hallo"),
			want: `node 1, round 1: protocol: code "hallo"`},
		"a farewell":       {second: frameOf(1, frame.Farewell, 7, ""), want: "received different totals"},
		"another tag":      {second: frameOf(1, frame.Gather, 8, "hello"), want: "received different totals"},
		"transport's":      {second: good(1), err: closed, want: "node 1, round 0: closed"},
		"context's, later": {second: good(1), err: context.Canceled, want: "canceled"},
	} {
		r, err := NewEngine(g, &peer{[]int{0}, [][]byte{good(0), c.second, good(2)}, c.err}, run)
		if err != nil {
			t.Fatal(err)
		}
		r.SetTag(7)
		var sent transport.Traffic
		err = r.Run(t.Context(), greeting{}, 2, &sent)
		if c.want == "" {
			if err != nil || sent != (transport.Traffic{Rounds: 2, Messages: 2, Bytes: 2 * (5 + frame.Overhead)}) {
				t.Errorf("%s: %v, sent %+v", name, err, sent)
			}
			continue
		}
		if c.want != "canceled" {
			wantError(t, err, c.want)
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if again := r.Run(t.Context(), greeting{}, 1, &sent); !errors.Is(again, err) {
			t.Errorf("%s: the next call returns %v", name, again)
		}
	}
}

// TestHosting: what a transport may not host is an error.
func TestHosting(t *testing.T) {
	g, err := topology.Path(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, hosted := range [][]int{{}, {1, 0}, {1, 1}, {3}, {-1}} {
		_, err := NewEngine(g, &peer{hosted: hosted}, 0)
		wantError(t, err, "hosts")
	}
	r, err := NewEngine(g, &peer{hosted: []int{1}}, 0)
	if err != nil || fmt.Sprint(r.Links, r.Row, r.Rows, r.MessagesPerRound,
		r.AllHosted()) != "[{1 0} {1 2}] [1 0 2] 3 2 false" {
		t.Errorf("%v, %+v", err, r.Hosting)
	}
}
