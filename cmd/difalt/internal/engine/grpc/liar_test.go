package grpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/testnet"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// TestViolations: bytes that are not a frame, or not the one that is due, are an error of the right kind
// about the peer.
func TestViolations(t *testing.T) {
	t.Parallel()
	damaged := frame(1, 80)
	damaged[1]-- // as if it had come before
	for _, x := range []struct {
		what string
		p    []byte
		kind transport.Kind
		text string
	}{
		{"no frame", []byte(strings.Repeat("GET /", 30)), transport.Protocol, "frame 69 came where 1 was due"},
		{"a header cut off", frame(1, 80)[:5], transport.Corrupt, "a frame of 5 bytes"},
		{"too long", frame(1, 1<<20), transport.Corrupt, "more than 1048576 bytes"},
		{"too long for a message", frame(1, 1<<24), transport.Corrupt, "more than 1048576 bytes"},
		{"no note", []byte(`{"ack":3}`), transport.Protocol, "neither a frame nor a note"},
		{"an unknown note", []byte(`{}`), transport.Protocol, "unknown kind"},
		{"a note without nodes", []byte(`{"waits_for":[]}`), transport.Protocol, "unknown kind"},
		{"a frame of the future", frame(3, 80), transport.Protocol, "frame 3 came where 1 was due"},
		{"a damaged number", damaged, transport.Corrupt, "wrong checksum"},
	} {
		o := brief()
		o.MaxFrame = 1 << 20
		list := newParty(t, "path", 2).joined(t, o)
		begin(t, list)
		go list[1].Exchange(t.Context(), 1, [][]byte{x.p}, make([][]byte, 1), nil)
		reported(t, x.what, exchange(t, list[0], 1), 1, x.kind, x.text)
	}
	o := brief()
	o.MaxFrame = 1 << 20
	noErrors(t, each(newParty(t, "path", 2).joined(t, o), func(tr *Transport) error { // the longest frame
		return tr.Exchange(t.Context(), 0, [][]byte{frame(0, o.MaxFrame-transport.FrameOverhead)}, make([][]byte, 1),
			nil)
	}))
}

// A secretError has a local text and a public one.
type secretError struct{}

func (secretError) Error() string      { return "mine.csv: line 7 is wrong" }
func (secretError) PublicText() string { return "cannot read its data" }

// TestReasons: on the path 0-1-2-3 node 1 leaves, or sends node 0 a frame that is not due, or leaves with a
// lie about others. All nodes end with the node at fault, the nodes that report it, and the public text
// alone.
func TestReasons(t *testing.T) {
	t.Parallel()
	seq, short := func([]byte) []byte { return frame(9, 8) }, func(p []byte) []byte { return p[:4] }
	own, asleep := [][]int{nil, nil, nil, {2}}, errors.New("asleep")
	found := [][]int{nil, {0}, {1, 0}, {2, 1, 0}}
	for name, x := range map[string]struct {
		spoil func(p []byte) []byte // of the frame from node 1 to node 0
		leave error                 // of node 1
		node  int
		kind  transport.Kind
		via   [][]int // by node
		text  string
	}{
		"ended":       {nil, nil, 1, transport.Closed, own, "it has ended"},
		"failed":      {nil, errors.New("mine.csv: line 7 is wrong"), 1, transport.Closed, own, "it has failed"},
		"public text": {nil, secretError{}, 1, transport.Closed, own, "cannot read its data"},
		"seq":         {seq, nil, 1, transport.Protocol, found, "frame 9"},
		"short":       {short, nil, 1, transport.Corrupt, found, "4 bytes"},
		"a lie": {nil, &transport.PeerError{Peer: 0, Kind: transport.Timeout, Err: asleep}, 0, transport.Timeout,
			[][]int{{1}, nil, {1}, {2, 1}}, "asleep"},
		"a lie about a far node": {nil,
			&transport.PeerError{Peer: 3, Via: []int{2}, Kind: transport.Timeout, Err: asleep}, 3, transport.Timeout,
			[][]int{{1, 2}, nil, {1, 2}, {2, 1}}, "asleep"},
		"no such node":            {nil, &transport.PeerError{Peer: 9}, 1, transport.Protocol, own, "node 9"},
		"a node before the first": {nil, &transport.PeerError{Peer: -1}, 1, transport.Protocol, own, "node -1"},
		"via no such node": {nil, &transport.PeerError{Peer: 0, Via: []int{9}}, 1, transport.Protocol, own,
			"[9]"},
		"via a node twice": {nil, &transport.PeerError{Peer: 0, Via: []int{2, 2}}, 1, transport.Protocol, own, "[2 2]"},
	} {
		for _, early := range []bool{false, true} { // right after Join, or in round 1
			if early && x.spoil != nil {
				continue
			}
			list := newParty(t, "path", 4).joined(t, quick())
			first := uint64(0)
			if !early {
				begin(t, list)
				first = 1
			}
			for i, err := range each(list, func(tr *Transport) error {
				switch f := frame(1, 8); {
				case tr.node != 1:
					return exchanges(t, tr, first)
				case x.spoil == nil:
					tr.Leave(x.leave)
					return nil
				default: // its own error comes at the latest in the next round
					_ = tr.Exchange(t.Context(), 1, [][]byte{x.spoil(slices.Clone(f)), f}, make([][]byte, 2), nil)
					return exchanges(t, tr, 2)
				}
			}) {
				if i != 1 || x.spoil != nil {
					reported(t, fmt.Sprintf("%s, early %v, node %d", name, early, i), err, x.node, x.kind, x.text,
						x.via[i]...)
					if strings.Contains(err.Error(), "mine.csv") {
						t.Errorf("node %d receives %v", i, err)
					}
				}
			}
		}
	}
}

// TestOverdue: how long a node waits for a neighbour without a connection, without a frame or note, and with
// notes that it waits itself; and which notes are lies.
func TestOverdue(t *testing.T) {
	o := brief()
	o.RoundTimeout, o.RejoinTimeout, o.JoinTimeout = 2*time.Second, 3*time.Second, time.Minute
	tr := newParty(t, "path", 3).transport(t, 1, o)
	e, second := tr.edges[0], time.Second
	for _, x := range []struct {
		lost, silent, waited time.Duration
		seq                  uint64
		on                   []int
		kind                 transport.Kind
		text                 string // empty: no error
	}{
		{2 * second, 1 * second, 9 * second, 7, nil, 0, ""},
		{3 * second, 0, 3 * second, 7, nil, transport.Closed, "unreachable for 3s: "},
		{0, 2 * second, 2 * second, 7, nil, transport.Timeout, "it has sent nothing for 2s"},
		{0, 0, 10 * second, 3, nil, transport.Timeout, "no frame of this round for 10s"},
		{0, 0, 10 * second, 7, []int{1}, 0, ""},
		{0, 0, 12 * second, 7, []int{1}, transport.Waiting, `it reports that it waits for b, for 12s`},
		{0, 0, 69 * second, 2, nil, 0, ""}, // other nodes may still join
		{0, 0, 70 * second, 2, nil, transport.Timeout, "no frame of this round"},
	} {
		e.overdue, e.waits.on = overdue{x.lost, x.silent}, x.on
		if err := tr.overdue(e, x.seq, x.waited); x.text != "" {
			reported(t, fmt.Sprint(x), err, 0, x.kind, x.text)
		} else if err != nil {
			t.Errorf("%v: %v", x, err)
		}
	}
	for _, lie := range [][]int{{9}, {-1}, {0}, {2}, {1, 1}} {
		reported(t, fmt.Sprint(lie), tr.waitsFor(e, &note{WaitsFor: lie}), 0, transport.Protocol,
			"it reports that it waits for nodes")
	}
	e.overdue.silent = second
	if err := tr.waitsFor(e, &note{WaitsFor: []int{1}}); err != nil || e.overdue.silent != second {
		t.Errorf("a neighbour that waits for this node counts as heard: %v", err)
	}
}

// A lying transport keeps the keys of the transport below.
type lying struct {
	transport.Transport
	transport.Signer
	transport.Identified
}

// lies runs f over the network of every node, where node 1 has an altered transport.
func lies(t *testing.T, p *party, list []*Transport, alter func(tr *Transport) transport.Transport,
	f func(n *consensus.Network) error) []error {
	return each(list, func(tr *Transport) error {
		var at transport.Transport = tr
		if tr.node == 1 {
			at = alter(tr)
		}
		err := f(check.OK(consensus.New(weights(p.c), at)))
		tr.Leave(err)
		return err
	})
}

// TestInconsistent: node 1 sends node 0 another total than the others. All honest nodes end with that error
// in the next operation, over connections that close right after it.
func TestInconsistent(t *testing.T) {
	t.Parallel()
	for _, lie := range []bool{false, true} {
		p := newParty(t, "path", 4)
		results := 0 // from node 1 to node 0
		for i, err := range lies(t, p, p.joined(t, quick()), func(tr *Transport) transport.Transport {
			tap := testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
				if l.Peer == 0 && f.Channel() == testnet.Sum {
					if results++; lie && results == 3 {
						f.Code()[0] ^= 1
					}
				}
			}, Received: func(transport.Link, testnet.Frame) {}}
			return lying{tap.Open(tr, check.OK(p.c.Graph()), p.c.RunID()), tr, tr}
		}, func(n *consensus.Network) error {
			for range 4 {
				if err := n.Sum(t.Context(), [][]float64{{1, 2}}); err != nil {
					return err
				}
			}
			return n.Confirm(t.Context())
		}) {
			if i != 1 && errors.Is(err, consensus.ErrInconsistent) != lie || !lie && err != nil {
				t.Errorf("a lie: %v; node %d: %v", lie, i, err)
			}
		}
	}
}

// A forger proves its keys by other means.
type forger struct {
	*Transport
	sign func(msg []byte) []byte
}

func (f forger) Sign(msg []byte) []byte { return f.sign(msg) }

// TestForgedKeys: a node that sends a key for masks which it has not signed ends the run before any sum, at
// all nodes, with its name.
func TestForgedKeys(t *testing.T) {
	t.Parallel()
	const run = "00000000000000ff"
	for what, forge := range map[string]func(p *party, list []*Transport, msg []byte) []byte{
		"signed by another node": func(_ *party, list []*Transport, msg []byte) []byte { return list[3].Sign(msg) },
		"another key than is signed": func(_ *party, list []*Transport, _ []byte) []byte {
			return list[1].Sign([]byte("another key"))
		},
		"of another run": func(p *party, _ []*Transport, msg []byte) []byte {
			return p.changed(func(c *cluster.Cluster) { c.Run = run }).Sign(p.id(1), msg)
		},
	} {
		p := newParty(t, "path", 4)
		list := p.joined(t, quick())
		for i, err := range lies(t, p, list, func(tr *Transport) transport.Transport {
			return forger{tr, func(msg []byte) []byte { return forge(p, list, msg) }}
		}, func(n *consensus.Network) error { return n.Sum(t.Context(), [][]float64{{1}}) }) {
			var e *transport.PeerError
			if !errors.As(err, &e) || e.Peer != 1 || e.Kind != transport.Refused {
				t.Errorf("%s: node %d: %v, want that the key of node 1 is refused", what, i, err)
			}
		}
	}
}

// dial returns a connection from one member to another, and a stream with its handshake, which requires frame
// next.
func (p *party) dial(from, to int, next uint64) (*rpc.ClientConn, stream) {
	config := tlsConfig(p.c, p.id(from).Certificate(), func(error) {}, func(int) error { return nil })
	conn := check.OK(rpc.NewClient("passthrough:///"+p.c.Nodes[to].Address, rpc.WithNoProxy(),
		rpc.WithTransportCredentials(credentials.NewTLS(config)),
		rpc.WithDefaultCallOptions(rpc.CallContentSubtype(codecName))))
	// A node of little patience closes a slow connection before its handshake: then another one is made.
	s := check.OK(conn.NewStream(context.Background(), &description.Streams[0], method, rpc.WaitForReady(true)))
	_ = sendJSON(s,
		&handshake{Version: protocolVersion, Run: p.c.Run, From: from, To: to, Instance: "liar", Next: next,
			Settings: p.c.Settings()})
	return conn, s
}

// TestNoSuchFrame: a member that requires a frame that was never sent is at fault.
func TestNoSuchFrame(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 2)
	tr := p.transport(t, 0, brief())
	conn, _ := p.dial(1, 0, 7)
	defer conn.Close()
	reported(t, "a ownHandshake", tr.Join(t.Context()), 1, transport.Protocol, "it needs frame 7, but 0 were sent")
}

// TestLeaveGone: a node that has failed does not wait for a neighbour whose connection ends without an
// answer, nor if none has ever connected.
func TestLeaveGone(t *testing.T) {
	t.Parallel()
	p, o, left := newParty(t, "path", 2), quick(), make(chan bool)
	o.Linger = time.Hour
	for i := range 2 { // one dials, and one is dialled
		alone := newParty(t, "path", 2)
		alone.listeners[1-i].Close()
		alone.transport(t, i, o).Leave(errors.New("failed"))
	}
	tr := p.transport(t, 0, o)
	conn, s := p.dial(1, 0, 0)
	noErrors(t, []error{tr.Join(t.Context())})
	check.OK(receiveHandshake(s))
	go func() { tr.Leave(errors.New("failed")); close(left) }()
	for m := (bytesMessage{}); !strings.Contains(string(m.p), `"bye":true`); {
		if m.p = nil; s.RecvMsg(&m) != nil {
			t.Fatal("no Bye")
		}
	}
	conn.Close()
	<-left
}

// babble sends random messages over a stream of a member until the other end closes it, or some are sent.
func babble(s stream, rng *rand.Rand, to int) {
	node := func() int { return rng.IntN(7) - 1 }
	var err error
	for seq := uint64(0); err == nil && rng.IntN(60) > 0; {
		junk := make([]byte, rng.IntN(200))
		for k := range junk {
			junk[k] = byte(rng.Uint32())
		}
		message := frame(seq, 8)
		switch k := rng.IntN(20); {
		case k < 9:
			seq++
		case k < 13:
			message = check.OK(json.Marshal(note{WaitsFor: []int{3 - to}}))
		case k < 17:
			why := &reason{node(), []int{node(), node()}[:rng.IntN(3)], transport.Kind(rng.IntN(8)), string(junk)}
			message = check.OK(json.Marshal([]any{note{WaitsFor: []int{node()}}, note{Ack: true},
				note{Bye: true, Reason: why}, note{}}[k-13]))
		case k == 17:
			message = append([]byte("{")[:rng.IntN(2)], junk...)
		case k == 18:
			message = frame(rng.Uint64N(9), rng.IntN(9)*8)
		default:
			message = append(message, junk...)
		}
		err = s.SendMsg(&bytesMessage{p: message})
	}
}

// TestBabble: whatever a member sends before it ends, all others end. A node that reports a failure of its
// own finding names the liar; a report about another node names its source.
func TestBabble(t *testing.T) {
	t.Parallel()
	runs := 8
	if longtest.Enabled() {
		runs = 500
	}
	for seed := range runs {
		p := newParty(t, "path", 5)
		p.c.Edges = [][2]int{{0, 1}, {1, 4}, {2, 4}, {2, 3}}
		waits := quick()
		waits.RejoinTimeout, waits.JoinTimeout = time.Second, 2*time.Second // of the neighbours of the liar, for it
		var list []*Transport
		for i, o := range []engine.Options{quick(), waits, waits, quick()} {
			list = append(list, p.transport(t, i, o))
		}
		for _, tr := range list { // a node is connected to its honest neighbour before it waits for the liar
			for !slices.ContainsFunc(tr.Stats().Edges, func(e engine.EdgeStats) bool { return e.Connected }) {
				time.Sleep(time.Millisecond)
			}
		}
		for _, to := range []int{1, 2} {
			conn, s := p.dial(4, to, 0)
			defer conn.Close()
			go func() {
				defer conn.Close()
				if _, err := receiveHandshake(s); err == nil {
					if seed == 0 {
						_ = s.SendMsg(&bytesMessage{}) // no bytes at all
					}
					babble(s, rand.New(rand.NewPCG(uint64(seed), uint64(to))), to)
				}
			}()
		}
		for i, err := range each(list, func(tr *Transport) error {
			if err := tr.Join(t.Context()); err != nil {
				tr.Leave(err)
				return err
			}
			return exchanges(t, tr, 0)
		}) {
			var e *transport.PeerError
			if !errors.As(err, &e) || len(e.Via) == 0 && e.Peer != 4 {
				t.Errorf("seed %d, node %d: %v", seed, i, err)
			}
		}
	}
}
