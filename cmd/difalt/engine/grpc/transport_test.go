package grpc

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
)

// TestSameBits: over TLS, in frames of one chunk and of many, the bits are those of one
// process, all leave at once, and no goroutine is left.
func TestSameBits(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range []struct {
		graph       string
		nodes, rows int
	}{{"ring", 4, 50}, {"star", 4, 50}, {"path", 2, 12_000}} {
		p := newParty(t, c.graph, c.nodes)
		o := quick()
		o.Linger = time.Minute
		began := time.Now()
		sameBits(t, p.c, p.all(t, o), c.rows)
		if time.Since(began) > 50*time.Second {
			t.Errorf("%s: leaving lingers", c.graph)
		}
	}
	for range 200 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<16)
	t.Errorf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
}

// frame returns a frame with a number and so many bytes of code.
func frame(_ testing.TB, n uint64, code int) []byte {
	p := make([]byte, wire.FrameOverhead+code)
	p[1] = byte(n)
	return testnet.Seal(p, wire.Origin{}, n)
}

func must2[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pair returns connected transports of two nodes, a and b.
func pair(t testing.TB, o engine.Options) (a, b *Transport) {
	p := newParty(t, "path", 2)
	a, b = p.transport(t, 0, o), p.transport(t, 1, o)
	for _, err := range each([]*Transport{a, b}, func(tr *Transport) error { return tr.Join(t.Context()) }) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return a, b
}

// TestViolations: what is not a frame, or not the one that is due, is an error of the
// right kind about the peer, and does not come in.
func TestViolations(t *testing.T) {
	good := frame(t, 0, 80)
	for _, x := range []struct {
		what string
		p    []byte
		kind wire.Kind
		text string
	}{
		{"no frame", []byte(strings.Repeat("GET /", 30)), wire.Protocol, "frame 69 came where 0 was due"},
		{"a header cut off", good[:5], wire.Corrupt, "a frame of 5 bytes"},
		{"too long", frame(t, 0, 1<<20), wire.Corrupt, "more than 1048576 bytes"},
		{"too long for a message", frame(t, 0, 1<<24), wire.Corrupt, "more than 1048576 bytes"},
		{"no note", []byte(`{"ack":3}`), wire.Protocol, "neither a frame nor a note"},
		{"an unknown note", []byte(`{}`), wire.Protocol, "unknown kind"},
		{"a frame of the future", frame(t, 2, 80), wire.Protocol, "frame 2 came where 0 was due"},
	} {
		o := quick()
		o.MaxFrame = 1 << 20
		a, b := pair(t, o)
		go b.Exchange(t.Context(), 0, [][]byte{x.p}, make([][]byte, 1), nil)
		peerError(t, x.what, a.Exchange(t.Context(), 0, [][]byte{good}, make([][]byte, 1), nil), 1, x.kind, x.text)
		peerError(t, x.what+", again", a.Exchange(t.Context(), 0, [][]byte{good}, make([][]byte, 1), nil), 1, x.kind, x.text)
	}
}

// TestDamagedNumber: a frame is not left out, as one that has come before would be, because
// its number is damaged.
func TestDamagedNumber(t *testing.T) {
	a, b := pair(t, quick())
	for _, err := range each([]*Transport{a, b}, func(tr *Transport) error {
		return tr.Exchange(t.Context(), 0, [][]byte{frame(t, 0, 80)}, make([][]byte, 1), nil)
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	damaged := frame(t, 1, 80)
	damaged[1] ^= 1
	go b.Exchange(t.Context(), 1, [][]byte{damaged}, make([][]byte, 1), nil)
	peerError(t, "another number", a.Exchange(t.Context(), 1, [][]byte{frame(t, 1, 80)}, make([][]byte, 1), nil), 1, wire.Corrupt, "wrong checksum")
}

// TestSilence: a neighbour that sends nothing has failed after the time of a round, and
// the exchange can be taken up again; the caller's own end is returned as it is.
func TestSilence(t *testing.T) {
	good := frame(t, 0, 80)
	o := quick()
	o.RoundTimeout = 300 * time.Millisecond
	a, b := pair(t, o)
	in := make([][]byte, 1)
	began := time.Now()
	peerError(t, "silence", a.Exchange(t.Context(), 0, [][]byte{good}, in, nil), 1, wire.Timeout, "sent nothing for 300ms")
	if d := time.Since(began); d < 250*time.Millisecond || d > 5*time.Second {
		t.Errorf("after %v", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.Exchange(ctx, 0, [][]byte{good}, in, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's deadline: %v", err)
	}
	if err := b.Exchange(t.Context(), 0, [][]byte{good}, in, nil); err != nil || string(in[0]) != string(good) {
		t.Errorf("the frame that was sent: %x, %v", in[0], err)
	}
	for range 2 { // as often as it is asked for
		in[0] = nil
		if err := a.Exchange(t.Context(), 0, [][]byte{good}, in, nil); err != nil || string(in[0]) != string(good) {
			t.Errorf("taken up again: %x, %v", in[0], err)
		}
	}
	go b.Exchange(t.Context(), 1, [][]byte{good}, make([][]byte, 1), nil)
	waited := make(chan error)
	go func() { waited <- a.Exchange(t.Context(), 2, [][]byte{good}, in, nil) }()
	a.Close()
	if err := <-waited; !errors.Is(err, engine.ErrClosed) && err == nil {
		t.Errorf("closed while it waits: %v", err)
	}
	if err := a.Exchange(t.Context(), 3, [][]byte{good}, in, nil); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestWaiting: who is waited for is known while it is.
func TestWaiting(t *testing.T) {
	good := frame(t, 0, 80)
	a, b := pair(t, quick())
	if peers, _ := a.Waiting(); peers != nil {
		t.Errorf("connected, but waits for %d", peers)
	}
	done := make(chan error)
	go func() { done <- a.Exchange(t.Context(), 0, [][]byte{good}, make([][]byte, 1), nil) }()
	before := time.Now()
	var peers []int
	var since time.Time
	for len(peers) == 0 {
		time.Sleep(time.Millisecond)
		peers, since = a.Waiting()
	}
	if peers[0] != 1 || since.After(time.Now()) || since.Before(before.Add(-patienceOfTests)) {
		t.Errorf("waits for %d since %v", peers, since)
	}
	if err := errors.Join(b.Exchange(t.Context(), 0, [][]byte{good}, make([][]byte, 1), nil), <-done); err != nil {
		t.Fatal(err)
	}
	if peers, _ := a.Waiting(); peers != nil {
		t.Errorf("done, but waits for %d", peers)
	}
}

// TestLeave: the reason of the first who leaves reaches all nodes, also far ones.
func TestLeave(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		why  error
		peer int
		kind wire.Kind
		text string
	}{
		"trouble of its own": {errors.New("disk full"), 0, wire.Closed, "it has failed"},
		"another node":       {&wire.PeerError{Peer: 4, Kind: wire.Timeout, Err: errors.New("is asleep")}, 4, wire.Timeout, "is asleep"},
		"it has ended":       {nil, 0, wire.Closed, "it has ended"},
	} {
		p := newParty(t, "path", 4)
		p.c.Nodes = append(p.c.Nodes, cluster.Node{Name: "e", Address: "127.0.0.1:1", Pin: cluster.PinOf(must2key())})
		p.c.Edges = append(p.c.Edges, [2]int{0, 4}) // never there: nobody joins
		var list []*Transport
		for i := range 4 {
			const long = 5 * time.Minute // it is not about time limits
			o := engine.Options{JoinTimeout: long, RoundTimeout: long, RejoinTimeout: long, Linger: long}
			list = append(list, p.transport(t, i, o))
		}
		errs := each(list, func(tr *Transport) error {
			if tr.node == 0 {
				for !underway(list) { // who leaves before tells nobody
					time.Sleep(time.Millisecond)
				}
				tr.Leave(x.why)
				return nil
			}
			if err := tr.Join(t.Context()); err != nil {
				tr.Leave(err)
				return err
			}
			in, out := make([][]byte, len(tr.edges)), make([][]byte, len(tr.edges))
			var err error
			for seq := uint64(0); err == nil; seq++ {
				for k := range out {
					out[k] = frame(t, seq, 8)
				}
				err = tr.Exchange(t.Context(), seq, out, in, nil)
			}
			tr.Leave(err)
			return err
		})
		for i := 1; i < 4; i++ {
			peerError(t, fmt.Sprintf("%s, at node %d", name, i), errs[i], x.peer, x.kind, x.text)
		}
	}
}

// underway reports whether all nodes but the first are in a round, and the first is connected with one.
func underway(list []*Transport) bool {
	for i, tr := range list {
		tr.mu.Lock()
		ready := tr.round.started || i == 0 && slices.ContainsFunc(tr.edges, func(e *edge) bool { return e.session != nil })
		tr.mu.Unlock()
		if !ready {
			return false
		}
	}
	return true
}

func must2key() ed25519.PublicKey {
	key, _ := cluster.NewKey()
	return key.Public().(ed25519.PublicKey)
}

// TestSigner: a node can show to those that are not its neighbours that it has said something.
func TestSigner(t *testing.T) {
	p := newParty(t, "path", 3)
	var ends [2]wire.Signer
	for k, i := range []int{0, 2} {
		o := quick()
		o.Linger = time.Millisecond
		ends[k] = p.transport(t, i, o)
	}
	msg := []byte("an ephemeral key")
	proof, err := ends[0].Sign(msg)
	if err != nil {
		t.Fatal(err)
	}
	if err := ends[1].Verify(0, msg, proof); err != nil {
		t.Error(err)
	}
	peerError(t, "in the name of another", ends[1].Verify(1, msg, proof), 1, wire.Refused, `it has the key of node 0 ("a")`)
}
