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

// A weighed party is one of which all that crosses the network is counted.
type weighedParty struct {
	list     []*Transport
	networks []*consensus.Network
	mixers   []*consensus.Mixer
	crossed  atomic.Int64 // bytes
}

func newWeighedParty(t *testing.T, nodes int, a consensus.Agreement) *weighedParty {
	p, w := newParty(t, "exponential", nodes), &weighedParty{networks: make([]*consensus.Network, nodes), mixers: make([]*consensus.Mixer, nodes)}
	for i, l := range p.listeners {
		p.listeners[i] = meter{l, &w.crossed}
	}
	w.list = p.all(t, quick())
	for i, err := range each(w.list, func(tr *Transport) error { return tr.Join(t.Context()) }) {
		if err == nil {
			w.networks[i], err = consensus.New(must2(p.c.Weights()), w.list[i])
		}
		if err == nil {
			w.mixers[i], err = w.networks[i].NewMixer(a, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// mix averages messages of so many numbers, with a header reduction, so many times.
func (w *weighedParty) mix(t *testing.T, d, times int) {
	t.Helper()
	for _, err := range each(w.list, func(tr *Transport) (err error) {
		m, z := w.mixers[tr.node], consensus.Message{Basis: kernel.NewBasis(d, 1), Stream: consensus.StreamBasis}
		for k := range z.Basis.Col(0) {
			z.Basis.Col(0)[k] = float64(tr.node + k%7)
		}
		for k := 0; k < times && err == nil; k++ {
			m.Reduce([]uint8{1}, [][]float64{{1, 2}})
			err = m.Mix(t.Context(), []consensus.Message{z}, 2)
			m.Reduced()
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

// TestTraffic: what is counted is what gRPC is given to send, to the byte. Along the tree, with
// messages of 4 kB, all that crosses the network is at most 1.3 times what the nodes have to say.
func TestTraffic(t *testing.T) {
	codec, err := consensus.ParseCodec("int8")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		what  string
		a     consensus.Agreement
		d     int
		least float64 // payload, of all that crosses the network
	}{
		{"tree", consensus.Agreement{Polynomial: consensus.Tree}, 170, 1 / 1.3}, // up, in three words a number
		{"tree int8", consensus.Agreement{Polynomial: consensus.Tree, Codec: codec}, 3000, 1 / 1.3},
		{"plain", consensus.Agreement{RoundByRound: true}, 512, 1 / 1.3},
		{"events", consensus.Agreement{RoundByRound: true, Codec: codec, Trigger: .7}, 50, 0},
	} {
		w := newWeighedParty(t, 8, x.a)
		w.mix(t, x.d, 1) // and keys, which are not counted
		before, given, crossed := w.traffic(), weighed.Load(), w.crossed.Load()
		w.mix(t, x.d, 40)
		counted := w.traffic().Minus(before)
		given, crossed = weighed.Load()-given, w.crossed.Load()-crossed
		if counted.Bytes != given {
			t.Errorf("%s: %d bytes are counted, gRPC has %d", x.what, counted.Bytes, given)
		}
		payload := float64(counted.Bytes - 6*(counted.Messages+counted.Silent))
		t.Logf("%s: %d messages, %d silent, %.0f bytes, %d with headers, %d on the wire: %.3f times", x.what, counted.Messages, counted.Silent, payload, given, crossed, float64(crossed)/payload)
		if payload < x.least*float64(crossed) {
			t.Errorf("%s: %d bytes cross the network for %.0f of payload", x.what, crossed, payload)
		}
	}
}
