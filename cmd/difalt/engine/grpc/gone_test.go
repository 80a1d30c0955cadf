package grpc

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/consensus/wire"
)

// again returns the transport of a node that comes back.
func (p *party) again(t testing.TB, i int, o engine.Options) *Transport {
	l := must[net.Listener](t)(net.Listen("tcp", p.c.Nodes[i].Address))
	tr := must[*Transport](t)(New(p.c, p.id(i), l, o))
	t.Cleanup(func() { tr.Leave(errors.New("test is over")) })
	return tr
}

// kill ends a transport as the end of its process would: without a farewell.
func (t *Transport) kill() {
	t.once.Do(func() { t.cancel(); t.server.Stop() })
	t.wg.Wait()
}

// begin joins and makes a first exchange.
func begin(t *testing.T, list []*Transport) {
	t.Helper()
	good := frame(t, 0, 8)
	if err := errors.Join(each(list, func(tr *Transport) error {
		out := [][]byte{good, good, good}[:len(tr.edges)]
		return errors.Join(tr.Join(t.Context()), tr.Exchange(t.Context(), 0, out, make([][]byte, len(out)), nil))
	})...); err != nil {
		t.Fatal(err)
	}
}

// exchange exchanges from frame seq on until there is an error.
func exchange(t *testing.T, tr *Transport, seq uint64) error {
	for ; ; seq++ {
		f := frame(t, seq, 8)
		out := [][]byte{f, f, f}[:len(tr.edges)]
		if err := tr.Exchange(t.Context(), seq, out, make([][]byte, len(out)), nil); err != nil {
			return err
		}
	}
}

// TestComeBack: whichever node is killed and started again during a run, all others find
// out at once that it may come back, also those that are far from it; when they have
// joined anew all come to the same bits. The same when a node says that it goes for a
// while. While it is connected, another process of it changes nothing.
func TestComeBack(t *testing.T) {
	t.Parallel()
	for _, graph := range []string{"path", "ring"} {
		for victim := range 4 {
			for _, politely := range []bool{false, true} {
				p := newParty(t, graph, 4)
				o := quick()
				o.RejoinTimeout = time.Minute // nobody waits for that
				list := p.all(t, o)
				begin(t, list)
				errs := each(list, func(tr *Transport) error {
					if tr.node == victim {
						if time.Sleep(50 * time.Millisecond); politely {
							tr.Leave(gone("it was told to stop"))
						} else {
							tr.kill()
						}
						list[victim] = p.again(t, victim, o)
						return nil
					}
					err := exchange(t, tr, 1)
					tr.Leave(err)
					list[tr.node] = p.again(t, tr.node, o)
					return err
				})
				for i, err := range errs {
					if i != victim && !errors.Is(err, engine.ErrGone) {
						t.Errorf("%s, node %d gone: node %d: %v", graph, victim, i, err)
					}
				}
				sameBits(t, p.c, list, 20)
			}
		}
	}
}

// TestFailedBefore: who cannot take part says so to those that wait, and they end.
func TestFailedBefore(t *testing.T) {
	for _, victim := range []int{0, 1, 2} {
		p := newParty(t, "path", 3)
		list := make([]*Transport, 3)
		for i := range list {
			o := quick()
			if i == victim {
				o.Probe, o.Failed = true, errors.New("mine.csv: no such file")
			}
			list[i] = p.transport(t, i, o)
		}
		began := time.Now()
		errs := each(list, func(tr *Transport) error {
			if tr.node == victim {
				tr.Leave(tr.o.Failed)
				return nil
			}
			err := tr.Join(t.Context())
			if err == nil { // its neighbours are there, but not theirs
				err = exchange(t, tr, 0)
			}
			tr.Leave(err)
			return err
		})
		for i, err := range errs {
			if i != victim {
				peerError(t, "failed before", err, victim, wire.Closed, "mine.csv")
			}
			if errors.Is(err, engine.ErrGone) {
				t.Errorf("node %d thinks that it may come back: %v", i, err)
			}
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("after %v", d)
		}
	}
	// A second process that fails does not disturb a run.
	p := newParty(t, "path", 2)
	list := p.all(t, quick())
	begin(t, list)
	o := quick()
	o.Probe, o.Failed, o.Linger = true, errors.New("mine.csv: no such file"), 300*time.Millisecond
	second := must[*Transport](t)(New(p.c, p.id(1), must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), o))
	second.Leave(o.Failed)
	good := frame(t, 1, 8)
	for _, err := range each(list, func(tr *Transport) error {
		return tr.Exchange(t.Context(), 1, [][]byte{good}, make([][]byte, 1), nil)
	}) {
		if err != nil {
			t.Errorf("disturbed: %v", err)
		}
	}
}

// TestWaitsToJoin: a node whose neighbours are all there does not blame one that still
// waits for another; the latter says who is missing.
func TestWaitsToJoin(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 3)
	o := quick()
	o.RoundTimeout, o.JoinTimeout = 300*time.Millisecond, 1500*time.Millisecond
	errs := each([]*Transport{p.transport(t, 0, o), p.transport(t, 1, o)}, func(tr *Transport) error {
		err := tr.Join(t.Context())
		if err == nil {
			err = exchange(t, tr, 0)
		}
		tr.Leave(err)
		return err
	})
	for i, err := range errs {
		peerError(t, p.c.Label(i), err, 2, wire.Timeout, "not there after 1.5s")
	}
}

// TestFailedElsewhere: the same where it cannot listen, since its port is taken: it calls all
// its neighbours, also those that should call it. What else calls in that direction is refused.
func TestFailedElsewhere(t *testing.T) {
	t.Parallel()
	for _, victim := range []int{0, 1, 2} {
		p := newParty(t, "path", 3)
		p.listeners[victim].Close()
		p.listeners[victim] = must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
		list := make([]*Transport, 3)
		for i := range list {
			o := quick()
			if i == victim {
				o.Probe, o.Failed = true, errors.New("the port is taken")
			}
			list[i] = p.transport(t, i, o)
		}
		began := time.Now()
		for i, err := range each(list, func(tr *Transport) error {
			if tr.node == victim {
				tr.Leave(tr.o.Failed)
				return nil
			}
			err := tr.Join(t.Context())
			if err == nil {
				err = exchange(t, tr, 0)
			}
			tr.Leave(err)
			return err
		}) {
			if i != victim {
				peerError(t, "failed elsewhere", err, victim, wire.Closed, "the port is taken")
			}
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("after %v", d)
		}
	}
}
