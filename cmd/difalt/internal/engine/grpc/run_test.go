package grpc

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
)

// TestSameBits: over TLS, in frames of one chunk and of many, the bits are those of one process, all leave
// without waiting, and no goroutine is left.
func TestSameBits(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, c := range []struct {
		graph          string
		nodes, scalars int
	}{{"ring", 4, 100}, {"star", 4, 100}, {"path", 2, 24_000}} {
		p := newParty(t, c.graph, c.nodes)
		o := quick()
		o.Linger = time.Hour
		sameBits(t, p.c, p.all(t, o), c.scalars)
	}
	check.Goroutines(t, before)
}

// cut returns the address of a proxy of target that cuts connections, as many as cuts, after between least
// and most bytes in one direction, and the number of those that it has cut. If half is set target does not
// notice.
func cut(t testing.TB, target string, seed uint64, cuts, least, most int, half bool) (address string,
	done *atomic.Int64) {
	l, rng := check.Listen(t), rand.New(rand.NewPCG(seed, 1))
	done = new(atomic.Int64)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			t.Cleanup(func() { out.Close() })
			limits := [2]int64{1 << 60, 1 << 60}
			if cuts--; cuts >= 0 {
				limits[rng.IntN(2)] = int64(least + rng.IntN(most-least))
			}
			for k, ends := range [][2]net.Conn{{out, in}, {in, out}} {
				go func() {
					if n, _ := io.CopyN(ends[0], ends[1], limits[k]); n == limits[k] {
						done.Add(1)
					}
					if in.Close(); !half {
						out.Close()
					}
				}()
			}
		}
	}()
	return l.Addr().String(), done
}

// TestCut: connections that are cut, in the middle of frames too, are made again, and the result has the same
// bits.
func TestCut(t *testing.T) {
	t.Parallel()
	for seed, x := range []struct {
		graph             string
		nodes, scalars    int
		cuts, least, most int
		half              bool // the node that listens does not notice
	}{
		{"path", 2, 200, 10, 500, 8000, false},
		{"ring", 3, 200, 5, 2000, 20_000, false},
		{"star", 4, 200, 5, 100, 20_000, false},
		{"path", 2, 24_000, 5, 100_000, 1_000_000, false},
		{"path", 2, 200, 3, 2000, 8000, true},
	} {
		o := quick()
		if x.half { // less than a dead connection takes to be noticed
			o.RejoinTimeout = keepaliveTime + keepaliveTimeout/2
		}
		p, counts := newParty(t, x.graph, x.nodes), []*atomic.Int64{}
		for i := range p.c.Nodes {
			address, done := cut(t, p.c.Nodes[i].Address, uint64(seed), x.cuts, x.least, x.most, x.half)
			p.c.Nodes[i].Address, counts = address, append(counts, done)
		}
		sameBits(t, p.c, p.all(t, o), x.scalars)
		done := int64(0)
		for _, c := range counts {
			done += c.Load()
		}
		if done < int64(x.cuts/2) {
			t.Errorf("%v: %d connections were cut", x, done)
		}
	}
}

// TestGone: a neighbour that ends without a Bye is an error after the time to rejoin, or when a new
// process of its node comes; one that sends nothing is an error after the time of a round.
func TestGone(t *testing.T) {
	t.Parallel()
	const soon = 500 * time.Millisecond
	for victim := range 2 {
		for text, x := range map[string]struct {
			rejoin, round time.Duration
			kind          transport.Kind
		}{
			"unreachable for 500ms": {soon, patienceOfTests, transport.Closed},
			// A short round does not shorten the wait for a connection.
			"unreachable for 1s":            {2 * soon, soon / 10, transport.Closed},
			"the process was started again": {patienceOfTests, patienceOfTests, transport.Closed},
			"it has sent nothing for 500ms": {patienceOfTests, soon, transport.Timeout},
		} {
			p, o := newParty(t, "path", 2), brief()
			list := p.joined(t, o)
			begin(t, list)
			rest := list[1-victim]
			rest.o.RejoinTimeout, rest.o.RoundTimeout = x.rejoin, x.round
			if x.kind == transport.Closed {
				list[victim].kill()
				for rest.Stats().Edges[0].Connected {
					time.Sleep(time.Millisecond)
				}
			}
			if x.rejoin == x.round {
				p.listenAgain(victim)
				p.transport(t, victim, o)
			}
			reported(t, "gone", exchange(t, rest, 1), victim, x.kind, text)
		}
	}
}

// TestRestart: a node that is started again before its neighbour has received a frame from it can join, also
// if its neighbour has begun the first round.
func TestRestart(t *testing.T) {
	t.Parallel()
	for first := range 2 { // a node that listens, one that dials
		for _, begun := range []bool{false, true} {
			p, ended := newParty(t, "path", 2), make(chan error, 1)
			list := p.joined(t, quick())
			stays := list[1-first]
			if begun {
				go func() { ended <- exchange(t, stays, 0) }()
				for stays.Stats().Rounds == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			list[first].kill()
			p.listenAgain(first)
			list[first] = p.transport(t, first, quick())
			if begun {
				noErrors(t, []error{list[first].Join(t.Context()), exchange(t, list[first], 0), <-ended})
				noErrors(t, each(list, func(tr *Transport) error { return exchange(t, tr, 1) }))
			} else {
				sameBits(t, p.c, list, 40)
			}
		}
	}
}

// TestWaiting: a node knows for which neighbours it waits, from Join on, and for which nodes these report
// that they wait. An exchange ends when its transport is closed.
func TestWaiting(t *testing.T) {
	t.Parallel()
	waits := func(tr *Transport) (peers []int) { peers, _ = tr.Waiting(); return peers }
	p, ended := newParty(t, "path", 3), make(chan error, 2)
	list := []*Transport{p.transport(t, 0, brief())}
	go func() { ended <- list[0].Join(t.Context()) }()
	for !slices.Equal(waits(list[0]), []int{1}) {
		time.Sleep(time.Millisecond)
	}
	list = append(list, p.transport(t, 1, brief()), p.transport(t, 2, brief()))
	noErrors(t, append(each(list[1:], func(tr *Transport) error { return tr.Join(t.Context()) }), <-ended))
	if peers := waits(list[0]); peers != nil {
		t.Errorf("waits for %d after Join", peers)
	}
	rounds := func(tr *Transport) error { return errors.Join(exchange(t, tr, 0), exchange(t, tr, 1)) }
	for _, tr := range list[:2] {
		go func() { ended <- rounds(tr) }()
	}
	for !slices.Equal(waits(list[0]), []int{1}) || !slices.Equal(waits(list[1]), []int{2}) ||
		!slices.Equal(list[0].Beyond(1), []int{2}) {
		time.Sleep(time.Millisecond)
	}
	if _, since := list[0].Waiting(); since.IsZero() || since.After(time.Now()) {
		t.Errorf("waits since %v", since)
	}
	noErrors(t, []error{rounds(list[2]), <-ended, <-ended})
	if peers := waits(list[0]); peers != nil {
		t.Errorf("waits for %d after the round", peers)
	}
	go func() { ended <- exchange(t, list[0], 2) }()
	for list[0].Stats().Rounds < 3 {
		time.Sleep(time.Millisecond)
	}
	list[0].Close()
	if waiting, later := <-ended, exchange(t, list[0], 3); waiting != engine.ErrClosed || later != engine.ErrClosed {
		t.Errorf("after Close: %v, %v", waiting, later)
	}
}

// TestCanSend: a frame can be sent while the other end may lack it; the memory of all others is used again.
func TestCanSend(t *testing.T) {
	for _, x := range []struct {
		rounds string // s: a frame is sent; r: one has come; b: both
		can    []uint64
		spare  bool
	}{
		{"", nil, false},
		{"s", []uint64{0}, false},
		{"bs", []uint64{0, 1}, false}, // the other end may not have used frame 0 before it sent its own
		{"bb", []uint64{1}, true},
		{"sr", nil, true},
		{"bsr", nil, true},
		{"bsrb", []uint64{2}, true},
		{"bbbbb", []uint64{4}, true},
	} {
		var o outgoing
		for k, do := range x.rounds {
			p := []byte{byte(k)}
			if do == 'r' {
				p = nil
			}
			o.hand(p)
			if do != 's' {
				o.acknowledge()
			}
		}
		if (o.spare != nil) != x.spare {
			t.Errorf("%q: spare memory %v", x.rounds, o.spare)
		}
		for n := range uint64(9) {
			if can := slices.Contains(x.can, n); o.canSend(n) != can {
				t.Errorf("%q: frame %d can be sent: %v", x.rounds, n, !can)
			}
		}
	}
}
