package grpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/topology"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// A liar is a node that dials a neighbour, and says whatever a test wants it to.
type liar struct {
	t      testing.TB
	stream rpc.ClientStream
	conn   *rpc.ClientConn
}

// liarAt returns the connection of node from to a neighbour with a lower number, of which
// nothing has been said yet.
func (p *party) liarAt(t testing.TB, from, to int, o ...rpc.DialOption) *liar {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	conn := must[*rpc.ClientConn](t)(rpc.NewClient("passthrough:///"+p.c.Nodes[to].Address, append(o, rpc.WithNoProxy(),
		rpc.WithTransportCredentials(credentials.NewTLS(tlsConfig(p.c, p.id(from).Certificate, func(error) {}, func(int) error { return nil }))),
		rpc.WithDefaultCallOptions(rpc.CallContentSubtype(codecName)))...))
	t.Cleanup(func() { conn.Close() })
	s, err := conn.NewStream(ctx, &description.Streams[0], method)
	if err != nil {
		t.Fatal(err)
	}
	return &liar{t, s, conn}
}

// greet says hello as an honest node would.
func (l *liar) greet(p *party, from, to int) {
	l.say(&hello{
		Version: protocolVersion, Run: p.c.Run, From: from, To: to, Instance: "liar", Settings: p.c.Settings(),
	})
	if _, err := receiveHello(l.stream); err != nil {
		l.t.Fatal(err)
	}
}

func (l *liar) say(v any) {
	if err := sendJSON(l.stream, v); err != nil {
		l.t.Error(err)
	}
}

// TestWaitsForever: a node that reports for ever that it waits for others, and sends no frame, ends the round
// when its time is over. Its neighbours name it; no node accuses another one that reports that it waits.
func TestWaitsForever(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 5)
	p.c.Edges = [][2]int{{0, 1}, {1, 4}, {2, 4}, {2, 3}} // the path 0 1 4 2 3
	must[*topology.Graph](t)(p.c.Graph())
	o := quick()
	o.RoundTimeout = 2 * time.Second // ten seconds for a round in which somebody waits
	var list []*Transport
	for i := range 4 {
		list = append(list, p.transport(t, i, o))
	}
	for _, to := range []int{1, 2} {
		l := p.liarAt(t, 4, to)
		l.greet(p, 4, to)
		go func() {
			for {
				time.Sleep(50 * time.Millisecond)
				if sendJSON(l.stream, &note{WaitsFor: []int{3 - to}}) != nil {
					return
				}
			}
		}()
	}
	errs := each(list, func(tr *Transport) error {
		err := tr.Join(t.Context())
		tr.o.JoinTimeout = 0 // all are there
		if err == nil {
			err = exchange(t, tr, 0)
		}
		tr.Leave(err)
		return err
	})
	for i, err := range errs {
		if text := err.Error(); !strings.Contains(text, "it reports that it waits for node") || (i == 1 || i == 2) && !strings.Contains(text, "node 4") {
			t.Errorf("%s: %v", p.c.Label(i), err)
		}
	}
	peerError(t, "a neighbour", errs[1], 4, wire.Waiting, `it reports that it waits for node 2 ("c")`)
}

// TestWaitsForNobody: who says that it waits for nodes that are not there, or for itself, lies.
func TestWaitsForNobody(t *testing.T) {
	for _, on := range [][]int{{9}, {-1}, {1}, {2, 2, 2}, {}} {
		p := newParty(t, "path", 3)
		p.c.Edges = [][2]int{{0, 1}, {0, 2}}
		o := quick()
		o.Linger = time.Millisecond
		a, b := p.transport(t, 0, o), p.transport(t, 2, o)
		l := p.liarAt(t, 1, 0)
		l.greet(p, 1, 0)
		if err := errors.Join(each([]*Transport{a, b}, func(tr *Transport) error { return tr.Join(t.Context()) })...); err != nil {
			t.Fatal(err)
		}
		l.say(map[string][]int{"waits_for": on})
		says(t, "waits for nobody", a.Exchange(t.Context(), 0, [][]byte{frame(t, 0, 8), frame(t, 0, 8)}, make([][]byte, 2), nil), 1, wire.Protocol)
	}
}

// babble says one thing by chance, and reports whether it could.
func (l *liar) babble(rng *rand.Rand, to int, seq *uint64) bool {
	some := func() (list []int) {
		for range rng.IntN(4) {
			list = append(list, rng.IntN(7)-1)
		}
		return list
	}
	raw := func(p []byte) bool { return l.stream.SendMsg(&bytesMessage{p: p}) == nil }
	word := func(v any) bool { return sendJSON(l.stream, v) == nil }
	junk := make([]byte, rng.IntN(200))
	for k := range junk {
		junk[k] = byte(rng.Uint32())
	}
	switch k := rng.IntN(20); {
	case k < 9:
		p := frame(l.t, *seq, 8)
		*seq++
		return raw(p)
	case k < 13:
		return word(&note{WaitsFor: []int{3 - to}})
	case k == 13:
		return word(map[string]any{"waits_for": some()})
	case k == 14:
		return word(&note{Ack: true})
	case k == 15:
		return word(&note{Bye: true, Reason: &reason{Node: rng.IntN(7) - 1, Via: some(), Kind: wire.Kind(rng.IntN(8)), Text: string(junk)}})
	case k == 16:
		return raw(junk)
	case k == 17:
		return raw(append([]byte("{"), junk...))
	case k == 18:
		return raw(frame(l.t, rng.Uint64N(9), rng.IntN(9)*8))
	}
	return raw(append(frame(l.t, *seq, 8), junk...))
}

// TestBabble: whatever a member says, all others end in time. Who speaks of his own finding
// names the liar; whoever else is named, it is said by whom.
func TestBabble(t *testing.T) {
	t.Parallel()
	runs := 8
	if longtest.Enabled() {
		runs = 500
	}
	for seed := range runs {
		p := newParty(t, "path", 5)
		p.c.Edges = [][2]int{{0, 1}, {1, 4}, {2, 4}, {2, 3}}
		o := quick()
		o.RoundTimeout, o.JoinTimeout, o.RejoinTimeout, o.Linger = time.Second, time.Second, time.Second, 300*time.Millisecond
		var list []*Transport
		for i := range 4 {
			list = append(list, p.transport(t, i, o))
		}
		for _, to := range []int{1, 2} {
			l, rng, seq := p.liarAt(t, 4, to), rand.New(rand.NewPCG(uint64(seed), uint64(to))), uint64(0)
			l.greet(p, 4, to)
			go func() {
				for range rng.IntN(60) {
					if time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond); !l.babble(rng, to, &seq) {
						return
					}
				}
			}()
		}
		began := time.Now()
		for i, err := range each(list, func(tr *Transport) error {
			err := tr.Join(t.Context())
			if err == nil {
				err = exchange(t, tr, 0)
			}
			tr.Leave(err)
			return err
		}) {
			var e *wire.PeerError
			if !errors.As(err, &e) || len(e.Via) == 0 && e.Peer != 4 {
				t.Errorf("seed %d, node %d: %v after %v", seed, i, err, time.Since(began))
			}
		}
	}
}
