package grpc

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus/wire"
)

// A cutter is a proxy that cuts connections in the middle, by a seed.
type cutter struct {
	l      net.Listener
	target string
	mu     sync.Mutex
	rng    *rand.Rand
	cuts   int // how many are left
	done   int
}

// cut stands in front of target. It cuts so many connections, after between least and
// most bytes in one of the directions.
func cut(t testing.TB, target string, seed uint64, cuts, least, most int) *cutter {
	c := &cutter{l: must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), target: target, rng: rand.New(rand.NewPCG(seed, 1)), cuts: cuts}
	t.Cleanup(func() { c.l.Close() })
	go func() {
		for {
			in, err := c.l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			c.mu.Lock()
			limits := [2]int64{1 << 60, 1 << 60}
			if c.cuts > 0 {
				c.cuts--
				limits[c.rng.IntN(2)] = int64(least + c.rng.IntN(most-least))
			}
			c.mu.Unlock()
			both := func() { in.Close(); out.Close() }
			for k, ends := range [][2]net.Conn{{out, in}, {in, out}} {
				go func() {
					if n, _ := io.CopyN(ends[0], ends[1], limits[k]); n == limits[k] {
						c.mu.Lock()
						c.done++
						c.mu.Unlock()
					}
					both()
				}()
			}
		}
	}()
	return c
}

// TestCut: connections that are cut, in the middle of frames too, are made again, and
// the result has the same bits.
func TestCut(t *testing.T) {
	t.Parallel()
	for seed, x := range []struct {
		graph             string
		nodes, rows       int
		cuts, least, most int
	}{
		{"path", 2, 100, 10, 500, 8000},
		{"ring", 3, 100, 5, 2000, 20_000},
		{"star", 4, 100, 5, 100, 20_000},
		{"path", 2, 12_000, 5, 100_000, 1_000_000},
	} {
		p := newParty(t, x.graph, x.nodes)
		var cutters []*cutter
		for i := range p.c.Nodes {
			c := cut(t, p.c.Nodes[i].Address, uint64(seed), x.cuts, x.least, x.most)
			p.c.Nodes[i].Address = c.l.Addr().String()
			cutters = append(cutters, c)
		}
		o := quick()
		var heard gossip
		o.Report = heard.report
		sameBits(t, p.c, p.all(t, o), x.rows)
		done := 0
		for _, c := range cutters {
			c.mu.Lock()
			done += c.done
			c.mu.Unlock()
		}
		if done < x.cuts/2 || t.Failed() {
			t.Errorf("%v: %d connections were cut: %s", x, done, &heard)
		}
	}
}

// TestGone: a neighbour that ends without a word is an error after the time to rejoin,
// and one that is back as another process is told so.
func TestGone(t *testing.T) {
	t.Parallel()
	good := frame(t, 0, 80)
	for _, victim := range []int{0, 1} {
		p := newParty(t, "path", 2)
		o := quick()
		o.RejoinTimeout, o.Linger = 500*time.Millisecond, 50*time.Millisecond
		list := p.all(t, o)
		if err := errors.Join(each(list, func(tr *Transport) error {
			in := make([][]byte, 1)
			return errors.Join(tr.Join(t.Context()), tr.Exchange(t.Context(), 0, [][]byte{good}, in, nil))
		})...); err != nil {
			t.Fatal(err)
		}
		// As if it was killed: without a farewell.
		list[victim].kill()
		began := time.Now()
		err := list[1-victim].Exchange(t.Context(), 1, [][]byte{frame(t, 1, 80)}, make([][]byte, 1), nil)
		peerError(t, "gone", err, victim, wire.Closed, "unreachable for 500ms")
		if d := time.Since(began); d < 400*time.Millisecond || d > 5*time.Second {
			t.Errorf("noticed after %v", d)
		}
		l := must[net.Listener](t)(net.Listen("tcp", p.c.Nodes[victim].Address))
		o.JoinTimeout = 700 * time.Millisecond
		again := must[*Transport](t)(New(p.c, p.id(victim), l, o))
		err = again.Join(t.Context())
		var peer *wire.PeerError
		if !errors.As(err, &peer) || peer.Peer != 1-victim {
			t.Errorf("the new process: %v", err)
		}
		again.Leave(err)
	}
}

// TestRestartBeforeStart: who is started again while the others wait is welcome.
func TestRestartBeforeStart(t *testing.T) {
	t.Parallel()
	for _, first := range []int{0, 2} { // one that is dialled, one that dials
		p := newParty(t, "path", 3)
		a := must[*Transport](t)(New(p.c, p.id(first), p.listeners[first], quick()))
		b := p.transport(t, 1, quick())
		if err := a.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.once.Do(func() { a.cancel(); a.server.Stop() })
		a.wg.Wait()
		p.listeners[first] = must[net.Listener](t)(net.Listen("tcp", p.c.Nodes[first].Address))
		list := []*Transport{nil, b, nil}
		for _, i := range []int{0, 2} {
			list[i] = p.transport(t, i, quick())
		}
		sameBits(t, p.c, list, 20)
	}
}

// TestRestartUnheard: the same when its neighbour has begun already, which had not noticed
// that the first process was gone but has heard nothing from it yet either.
func TestRestartUnheard(t *testing.T) {
	for _, first := range []int{0, 1} {
		p := newParty(t, "path", 2)
		gone := must[*Transport](t)(New(p.c, p.id(first), p.listeners[first], quick()))
		stays := p.transport(t, 1-first, quick())
		if err := errors.Join(each([]*Transport{gone, stays}, func(tr *Transport) error { return tr.Join(t.Context()) })...); err != nil {
			t.Fatal(err)
		}
		exchange := func(tr *Transport, seq uint64) error {
			return tr.Exchange(t.Context(), seq, [][]byte{frame(t, seq, 8)}, make([][]byte, 1), nil)
		}
		ended := make(chan error)
		go func() { ended <- exchange(stays, 0) }()
		for stays.Stats().Rounds == 0 {
			time.Sleep(time.Millisecond)
		}
		gone.once.Do(func() { gone.cancel(); gone.server.Stop() })
		gone.wg.Wait()
		p.listeners[first] = must[net.Listener](t)(net.Listen("tcp", p.c.Nodes[first].Address))
		again := p.transport(t, first, quick())
		if err := errors.Join(again.Join(t.Context()), exchange(again, 0), <-ended); err != nil {
			t.Fatalf("node %d: %v", first, err)
		}
		for _, err := range each([]*Transport{again, stays}, func(tr *Transport) error { return exchange(tr, 1) }) {
			if err != nil {
				t.Errorf("node %d: %v", first, err)
			}
		}
	}
}

// TestImpostors: while a run goes on, strangers, members on the wrong edge, second
// processes of a node, and nodes of another list are refused and named, and the run
// comes to the same bits.
func TestImpostors(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 3)
	var heard gossip
	o := quick()
	o.Report = heard.report
	list := p.all(t, o)
	if err := errors.Join(each(list, func(tr *Transport) error { return tr.Join(t.Context()) })...); err != nil {
		t.Fatal(err)
	}
	// Frames have been exchanged.
	good := frame(t, 0, 8)
	if err := errors.Join(each(list, func(tr *Transport) error {
		out := [][]byte{good, good}[:len(tr.edges)]
		return tr.Exchange(t.Context(), 0, out, make([][]byte, len(out)), nil)
	})...); err != nil {
		t.Fatal(err)
	}
	stranger, _ := cluster.NewKey()
	pin := cluster.PinOf(stranger.Public().(ed25519.PublicKey))
	try := func(c *cluster.Cluster, key ed25519.PrivateKey) error {
		o := quick()
		o.JoinTimeout, o.Linger = time.Second, 50*time.Millisecond
		tr := must[*Transport](t)(New(c, must2(cluster.NewIdentity(c, key)), must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), o))
		defer func() { tr.Leave(errors.New("over")) }()
		return tr.Join(t.Context())
	}
	for _, x := range []struct {
		what   string
		change func(c *cluster.Cluster)
		key    ed25519.PrivateKey
		peer   int
		kind   wire.Kind
		text   string // what it hears
		report string // what is said of it
	}{
		{"stranger", func(c *cluster.Cluster) { c.Nodes[2].Pin = pin }, stranger, 1, wire.Refused, "refuses the key", string(pin) + ", which is not in the list"},
		{"wrong edge", func(c *cluster.Cluster) { c.Edges = [][2]int{{0, 2}, {0, 1}} }, p.keys[2], 0, wire.Refused, "no edge on which it dials", `node 2 ("c") at 127.0.0.1`},
		{"second process", func(*cluster.Cluster) {}, p.keys[2], 1, wire.Closed, "another process", `node 2 ("c"): another process`},
		{"wrong server", func(c *cluster.Cluster) { c.Nodes[1].Address = c.Nodes[0].Address }, p.keys[2], 1, wire.Refused, `it has the key of node 0 ("a")`, ""},
	} {
		c := p.changed(x.change)
		if x.what == "wrong server" {
			c.Nodes[0].Address = "127.0.0.1:9"
		}
		peerError(t, x.what, try(c, x.key), x.peer, x.kind, x.text)
		if !heard.hears(x.report) {
			t.Errorf("%s: nobody reports %q in\n%s", x.what, x.report, heard.String())
		}
	}
	errs := each(list, func(tr *Transport) error {
		out := [][]byte{frame(t, 1, 8), frame(t, 1, 8)}[:len(tr.edges)]
		err := tr.Exchange(t.Context(), 1, out, make([][]byte, len(out)), nil)
		tr.Leave(err)
		return err
	})
	if err := errors.Join(errs...); err != nil {
		t.Errorf("the run was disturbed: %v", err)
	}
}

// TestRefuse: before a run begins, what differs ends it at both ends, by its name.
func TestRefuse(t *testing.T) {
	for what, x := range map[string]struct {
		change   func(c *cluster.Cluster)
		settings []wire.Setting
		text     string
	}{
		"run":   {func(c *cluster.Cluster) { c.Run = "ffffffffffffffff" }, nil, "the run is "},
		"graph": {func(c *cluster.Cluster) { c.Edges = append(c.Edges, [2]int{0, 2}) }, nil, "the list of edges is "},
		"names": {func(c *cluster.Cluster) { c.Nodes[2].Name = "z" }, nil, "the list of nodes is "},
		"rank":  {func(*cluster.Cluster) {}, []wire.Setting{{Name: "--rank", Value: "3"}}, "--rank is "},
		"more":  {func(*cluster.Cluster) {}, []wire.Setting{{Name: "--rank", Value: "2"}, {Name: "--method", Value: "dif"}}, " is "},
	} {
		p := newParty(t, "path", 3)
		o := quick()
		o.Settings, o.Linger = []wire.Setting{{Name: "--rank", Value: "2"}}, 50*time.Millisecond
		a := p.transport(t, 0, o)
		p.c = p.changed(x.change)
		if x.settings != nil {
			o.Settings = x.settings
		}
		b := p.transport(t, 1, o)
		errs := each([]*Transport{a, b}, func(tr *Transport) error {
			err := tr.Join(t.Context())
			tr.Leave(err)
			return err
		})
		peerError(t, what+" here", errs[0], 1, wire.Refused, x.text)
		peerError(t, what+" there", errs[1], 0, wire.Refused, x.text)
	}
}

// TestNobodyThere: who cannot be reached is named, with the reason.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for node, text := range []string{"it has not connected", "connection refused"} {
		p := newParty(t, "path", 2)
		p.listeners[1-node].Close()
		o := quick()
		o.JoinTimeout, o.Linger = 300*time.Millisecond, 50*time.Millisecond
		tr := p.transport(t, node, o)
		err := tr.Join(t.Context())
		var peer *wire.PeerError
		if !errors.As(err, &peer) || peer.Peer != 1-node || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), fmt.Sprint(o.JoinTimeout)) {
			t.Errorf("node %d: %v, want %q", node, err, text)
		}
	}
}

// TestCanSend: of the frames that were handed over those can be sent that the other end may not have,
// and the memory of all others can be used again.
func TestCanSend(t *testing.T) {
	for _, x := range []struct {
		rounds string // s: a frame is sent; r: one has come; b: both
		can    []uint64
		lent   int // frames of which the memory can be used
	}{
		{"", nil, 0},
		{"s", []uint64{0}, 0},
		{"bs", []uint64{0, 1}, 0}, // the other end may not have used frame 0 before it sent its own
		{"bb", []uint64{1}, 1},
		{"sr", nil, 1},
		{"srsr", nil, 2},
		{"bsr", nil, 2},
		{"bsrb", []uint64{2}, 2},
		{"bbbbb", []uint64{4}, 4},
	} {
		var o outgoing
		lent := 0
		for k, do := range x.rounds {
			p := []byte{byte(k)}
			if do == 'r' {
				p = nil
			}
			o.hand(p)
			if do != 's' {
				o.acknowledge()
			}
			for range 2 {
				if p = nil; !o.lent {
					if o.lend(&p); p != nil {
						lent++
					}
				}
				o.lent = false
			}
		}
		if lent != x.lent {
			t.Errorf("%q: memory of %d frames, want %d", x.rounds, lent, x.lent)
		}
		for n := range uint64(9) {
			if can := slices.Contains(x.can, n); o.canSend(n) != can {
				t.Errorf("%q: frame %d can be sent: %v", x.rounds, n, !can)
			}
		}
	}
}
