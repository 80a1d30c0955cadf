package wire

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/difalt/difalt/topology"
)

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

func (greeting) Channel() Channel                  { return Gather }
func (greeting) Sends(int, int) bool               { return true }
func (greeting) AppendTo(dst []byte, _ int) []byte { return append(dst, "hello"...) }
func (greeting) Step() Traffic                     { return Traffic{Rounds: 1, Messages: 1, Bytes: 5} }
func (greeting) Check(_ int, code []byte) (err error) {
	if string(code) != "hello" {
		err = fmt.Errorf("consensus: code %q", code)
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
	const run = 9
	good := func(n uint64) []byte { return frameOf(Origin{run, 1}, n, Gather, "hello") }
	closed := &PeerError{Peer: 1, Kind: Closed}
	for name, c := range map[string]struct {
		second []byte
		err    error
		want   string
	}{
		"good":             {second: good(1)},
		"damaged":          {second: good(1)[:12], want: "node 1, round 1: corrupt: consensus: a frame has a wrong checksum"},
		"cut off":          {second: good(1)[:3], want: "node 1, round 1: corrupt: consensus: a frame has 3 bytes"},
		"missing":          {want: "node 1, round 1: corrupt"},
		"repeated":         {second: good(0), want: "node 1, round 1: corrupt"},
		"other operation":  {second: frameOf(Origin{run, 1}, 1, Sum, "hello"), want: "node 1, round 1: protocol: consensus: a frame of a sum"},
		"other code":       {second: frameOf(Origin{run, 1}, 1, Gather, "hallo"), want: `node 1, round 1: protocol: consensus: code "hallo"`},
		"a farewell":       {second: frameOf(Origin{run, 1}, 1, Farewell, ""), want: "received different totals"},
		"another tag":      {second: Origin{run, 1}.seed().endFrame(append(beginFrame(nil, Gather, 1, 8), "hello"...), 1), want: "received different totals"},
		"transport's":      {second: good(1), err: closed, want: "node 1, round 0: closed"},
		"context's, later": {second: good(1), err: context.Canceled, want: "canceled"},
	} {
		r, err := NewRounds(g, &peer{[]int{0}, [][]byte{good(0), c.second, good(2)}, c.err}, run)
		if err != nil {
			t.Fatal(err)
		}
		r.SetTag(7)
		var sent Traffic
		err = r.Run(t.Context(), greeting{}, 2, &sent)
		if c.want == "" {
			if err != nil || sent != (Traffic{2, 2, 2 * (5 + FrameOverhead)}) {
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

// TestPlacement: what a transport may not host is an error.
func TestPlacement(t *testing.T) {
	g, err := topology.Path(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, hosted := range [][]int{{}, {1, 0}, {1, 1}, {3}, {-1}} {
		_, err := NewRounds(g, &peer{hosted: hosted}, 0)
		wantError(t, err, "hosts")
	}
	r, err := NewRounds(g, &peer{hosted: []int{1}}, 0)
	if err != nil || fmt.Sprint(r.Links, r.Row, r.Rows, r.Ends, r.AllHosted()) != "[{1 0} {1 2}] [1 0 2] 3 2 false" {
		t.Errorf("%v, %+v", err, r.Placement)
	}
}

// TestErrorTexts: an error names all nodes that relayed it.
func TestErrorTexts(t *testing.T) {
	err := &PeerError{Peer: 4, Via: []int{2, 3}, Round: 7, Kind: Timeout, Err: errors.New("why")}
	if got, want := err.Error(), "consensus: node 2 reports that node 3 reports that node 4, round 7: timeout: why"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for k, want := range []string{"timeout", "closed", "refused", "protocol", "corrupt", "waiting", "Kind(6)"} {
		if got := Kind(k).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Channel(9).String(); got != "channel 9" {
		t.Error(got)
	}
}
