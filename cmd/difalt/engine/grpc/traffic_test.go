package grpc

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// A weighing codec counts what gRPC is given to send, but for notes and greetings.
type weighing struct{ rawCodec }

var weighed atomic.Int64

func init() { encoding.RegisterCodecV2(weighing{}) }

func (c weighing) Marshal(v any) (mem.BufferSlice, error) {
	if p := v.(*bytesMessage).p; len(p) > 0 && p[0] != '{' {
		weighed.Add(int64(len(p)))
	}
	return c.rawCodec.Marshal(v)
}

// A meter counts what crosses the connections that it accepts, in both directions, with TLS
// and HTTP/2.
type meter struct {
	net.Listener
	bytes *atomic.Int64
}

type metered struct {
	net.Conn
	bytes *atomic.Int64
}

func (m meter) Accept() (net.Conn, error) {
	c, err := m.Listener.Accept()
	return metered{c, m.bytes}, err
}

func (m metered) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.bytes.Add(int64(n))
	return n, err
}

func (m metered) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.bytes.Add(int64(n))
	return n, err
}

// A weighedParty counts everything that crosses the network.
type weighedParty struct {
	list      []*Transport
	networks  []*consensus.Network
	exchanges []consensus.Exchange
	crossed   atomic.Int64 // bytes
}

func newWeighedParty(t *testing.T, nodes int, open func(n *consensus.Network) (consensus.Exchange, error)) *weighedParty {
	p, w := newParty(t, "exponential", nodes), &weighedParty{networks: make([]*consensus.Network, nodes), exchanges: make([]consensus.Exchange, nodes)}
	for i, l := range p.listeners {
		p.listeners[i] = meter{l, &w.crossed}
	}
	w.list = p.all(t, quick())
	for i, err := range each(w.list, func(tr *Transport) error { return tr.Join(t.Context()) }) {
		if err == nil {
			w.networks[i], err = consensus.New(must2(weights(p.c)), w.list[i])
		}
		if err == nil {
			w.exchanges[i], err = open(w.networks[i])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// average averages messages of d numbers, times times.
func (w *weighedParty) average(t *testing.T, d, times int) {
	t.Helper()
	for _, err := range each(w.list, func(tr *Transport) (err error) {
		z := consensus.Message{Basis: kernel.NewBasis(d, 1)}
		for k := 0; k < times && err == nil; k++ {
			for k := range z.Basis.Col(0) {
				z.Basis.Col(0)[k] = float64(tr.node + k%7)
			}
			err = w.exchanges[tr.node].Average(t.Context(), []consensus.Message{z})
		}
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w *weighedParty) traffic() (all wire.Traffic) {
	for _, n := range w.networks {
		all = all.Plus(n.Traffic())
	}
	return all
}

// TestTraffic: the traffic that a network counts is what gRPC is given to send, to the byte. With messages of
// some kB, all that crosses the network is at most 1.3 times the payload.
func TestTraffic(t *testing.T) {
	for name, x := range map[string]struct {
		open func(n *consensus.Network) (consensus.Exchange, error)
		d    int
	}{
		"tree":      {func(n *consensus.Network) (consensus.Exchange, error) { return n.TreeMean(consensus.Float64) }, 170}, // up, in three words a number
		"tree int8": {func(n *consensus.Network) (consensus.Exchange, error) { return n.TreeMean(consensus.Int8) }, 3000},
		"gossip":    {func(n *consensus.Network) (consensus.Exchange, error) { return n.Agree(2, nil) }, 512},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeighedParty(t, 8, x.open)
			w.average(t, x.d, 1) // and keys, which are not counted
			before, given, crossed := w.traffic(), weighed.Load(), w.crossed.Load()
			w.average(t, x.d, 40)
			counted := w.traffic().Minus(before)
			given, crossed = weighed.Load()-given, w.crossed.Load()-crossed
			if counted.Bytes != given {
				t.Errorf("%d bytes are counted, gRPC has %d", counted.Bytes, given)
			}
			payload := float64(counted.Bytes - wire.FrameOverhead*counted.Messages)
			t.Logf("%d messages, %.0f bytes, %d with headers, %d on the wire: %.3f times", counted.Messages, payload, given, crossed, float64(crossed)/payload)
			if 1.3*payload < float64(crossed) {
				t.Errorf("%d bytes cross the network for %.0f of payload", crossed, payload)
			}
		})
	}
}
