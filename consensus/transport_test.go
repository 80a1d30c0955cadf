package consensus_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/faults"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// wantError fails unless err contains all the parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q lacks %q", err, p)
		}
	}
}

// tampering changes the first frame that comes along a link from a round on.
type tampering struct {
	wire.Transport
	at     uint64
	link   int
	origin wire.Origin // of the frames along that link
	change tamperer
	come   *uint64 // frames along it so far
}

// tamper returns t with a link on which a frame is changed, of the processes of nodes of w.
func tamper(w *topology.Weights, t wire.Transport, at uint64, link int, change tamperer) wire.Transport {
	peer := wire.Links(w.Graph(), t.Hosted())[link].Peer
	return tampering{t, at, link, wire.Origin{Run: w.Fingerprint(), Node: peer}, change, new(uint64)}
}

func (x tampering) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	err := x.Transport.Exchange(ctx, seq, out, in, due)
	if err == nil && due[x.link] {
		if n := *x.come; seq >= x.at && x.change != nil {
			in[x.link] = x.change(slices.Clone(in[x.link]), x.origin, n)
		}
		*x.come++
	}
	return err
}

// TestTampering: what is not due is refused with the name of the peer and the round, and
// the other processes end too.
func TestTampering(t *testing.T) {
	w := networks(t)[0]
	groups := splits(6)[3]
	damaged := func(change func(p []byte) []byte) tamperer {
		return func(p []byte, _ wire.Origin, _ uint64) []byte { return change(p) }
	}
	for name, x := range map[string]struct {
		change tamperer
		kind   wire.Kind
	}{
		"a bit":        {damaged(func(p []byte) []byte { p[len(p)-1] ^= 4; return p }), wire.Corrupt},
		"cut off":      {damaged(func(p []byte) []byte { return p[:len(p)-1] }), wire.Corrupt},
		"nothing":      {damaged(func([]byte) []byte { return nil }), wire.Corrupt},
		"sender":       {func(p []byte, o wire.Origin, n uint64) []byte { o.Node++; return testnet.Seal(p, o, n) }, wire.Corrupt},
		"run":          {func(p []byte, o wire.Origin, n uint64) []byte { o.Run++; return testnet.Seal(p, o, n) }, wire.Corrupt},
		"epoch":        {func(p []byte, o wire.Origin, n uint64) []byte { o.Epoch++; return testnet.Seal(p, o, n) }, wire.Corrupt},
		"number":       {func(p []byte, o wire.Origin, n uint64) []byte { p[1]++; return testnet.Seal(p, o, n+1) }, wire.Corrupt},
		"old":          {func(p []byte, o wire.Origin, n uint64) []byte { return testnet.Seal(p, o, n+256) }, wire.Corrupt},
		"channel":      {resealed(func(p []byte) []byte { p[0]++; return p }), wire.Protocol},
		"failure":      {forged(0, 1<<40, 0), wire.Protocol}, // of a later round
		"flags":        {resealed(func(p []byte) []byte { p[0] |= 0x80; return insert(p, 2, 4) }), wire.Corrupt},
		"no flags":     {resealed(func(p []byte) []byte { p[0] |= 0x80; return insert(p, 2, 0) }), wire.Corrupt},
		"a part":       {resealed(func(p []byte) []byte { p[0] |= 0x80; return insert(p, 2, 2, 1, 0) }), wire.Protocol},
		"half a part":  {resealed(func(p []byte) []byte { p[0] |= 0x80; return insert(p[:len(p)-4], 2, 2, 255, 255, 255, 15) }), wire.Corrupt},
		"not a number": {resealed(appendNaN), wire.Protocol},
		"too long":     {resealed(func(p []byte) []byte { return insert(p, len(p)-4, make([]byte, 8)...) }), wire.Protocol},
		"too short":    {resealed(func(p []byte) []byte { return append(p[:len(p)-12], 0, 0, 0, 0) }), wire.Protocol},
	} {
		const process, at = 3, 7 // after the exchange of keys
		_, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
			ts, err := direct(g, groups)
			ts[process] = tamper(w, ts[process], at, 0, x.change)
			return ts, err
		}, everything(consensus.Agreement{}))
		var peer *wire.PeerError
		if !errors.As(errs[process], &peer) || peer.Kind != x.kind || peer.Round < at {
			t.Errorf("%s: %v, want %v in round %d", name, errs[process], x.kind, at)
		} else if first := w.Graph().Neighbors(groups[process][0])[0]; peer.Peer != first {
			t.Errorf("%s: %v, want node %d", name, peer, first)
		}
		for k, err := range errs {
			if k != process && (!errors.As(err, &peer) || peer.Kind != wire.Closed) {
				t.Errorf("%s: process %d: %v", name, k, err)
			}
		}
	}
}

// TestSilence: a node that says nothing in gossip is believed only where nodes may be silent.
func TestSilence(t *testing.T) {
	w := networks(t)[0]
	silent := resealed(func(p []byte) []byte { return append(p[:2], 0, 0, 0, 0) })
	for _, a := range []consensus.Agreement{
		{}, {Codec: consensus.Int8}, {Polynomial: consensus.Chebyshev}, {Trigger: .4}, {Codec: consensus.Int8, Trigger: .4},
	} {
		const process, at = 3, 7 // after the exchange of keys
		_, errs, _ := run(t, w, splits(6)[3], func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
			ts, err := direct(g, groups)
			ts[process] = tamper(w, ts[process], at, 0, silent)
			return ts, err
		}, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
			m, err := n.NewMixer(a, nil)
			if err != nil {
				return nil, err
			}
			z := make([]consensus.Message, len(n.Hosted()))
			for i, g := range n.Hosted() {
				z[i] = consensus.Message{Stream: wire.StreamBasis, Scalars: []float64{float64(g), 1, 2}}
			}
			return make([][]float64, len(z)), m.Mix(ctx, z, 20)
		})
		var peer *wire.PeerError
		refused := errors.As(errs[process], &peer) && peer.Kind == wire.Protocol
		if want := a.Trigger == 0; refused != want {
			t.Errorf("%v: %v, want an error: %v", a, errs[process], want)
		}
	}
}

// identified is a transport of a certain run.
type identified struct {
	wire.Transport
	run   uint64
	epoch uint32
}

func (x identified) Run() (uint64, uint32) { return x.run, x.epoch }

// TestOthers: processes that are not of one run, or do not do the same, or do not have
// the same weights, notice.
func TestOthers(t *testing.T) {
	w := networks(t)[0]
	lazy := must[*topology.Weights](t)(topology.NewWeights(w.Graph(), topology.LazyMetropolis))
	sum := func(n *consensus.Network, z [][]float64) error { return n.Sum(t.Context(), z) }
	for want, x := range map[string]struct {
		runs  [2]uint64
		epoch uint32
		other *topology.Weights
		do    func(n *consensus.Network, z [][]float64) error
	}{
		"of another run":     {[2]uint64{5, 6}, 0, w, sum},
		"another checksum":   {[2]uint64{5, 5}, 1, w, sum},
		"another run or not": {[2]uint64{}, 0, lazy, sum},
		"a frame of a": {[2]uint64{5, 5}, 0, w, func(n *consensus.Network, z [][]float64) error {
			return n.Largest(t.Context(), z)
		}},
		"are due": {[2]uint64{5, 5}, 0, w, func(n *consensus.Network, _ [][]float64) error {
			return n.Sum(t.Context(), [][]float64{{1}, {2}, {3}})
		}},
	} {
		ts := must[[]wire.Transport](t)(direct(w.Graph(), splits(6)[1]))
		if x.runs != [2]uint64{} {
			ts[0], ts[1] = identified{ts[0], x.runs[0], 0}, identified{ts[1], x.runs[1], x.epoch}
		}
		n := must[*consensus.Network](t)(consensus.New(w, ts[0]))
		other := must[*consensus.Network](t)(consensus.New(x.other, ts[1]))
		done := make(chan error)
		go func() {
			err := x.do(other, [][]float64{{1, 2}, {3, 4}, {5, 6}})
			ts[1].Close()
			done <- err
		}()
		err := sum(n, [][]float64{{1, 2}, {3, 4}, {5, 6}})
		ts[0].Close()
		both := []error{err, <-done}
		for _, err := range both {
			var peer *wire.PeerError
			if !errors.As(err, &peer) || peer.Kind != wire.Protocol && peer.Kind != wire.Corrupt && peer.Kind != wire.Closed {
				t.Errorf("%s: %v", want, err)
			}
		}
		wantError(t, errors.Join(both...), want)
	}
}

// TestHosted: transports that host what they cannot are refused.
func TestHosted(t *testing.T) {
	w := networks(t)[0]
	for want, hosted := range map[string][]int{
		"hosts no node": {}, "[6]": {6}, "[1 1]": {1, 1}, "[2 1]": {2, 1}, "[-1]": {-1},
	} {
		_, err := consensus.New(w, claims{hosted: hosted})
		wantError(t, err, want)
	}
	_, err := consensus.New(nil, nil)
	wantError(t, err, "needs weights")
}

type claims struct {
	wire.Transport
	hosted []int
}

func (c claims) Hosted() []int { return c.hosted }

// TestMeter: what faults cost is counted, and nothing else changes.
func TestMeter(t *testing.T) {
	for _, w := range networks(t) {
		for _, a := range someAgreements(t) {
			p := everything(a)
			want, _, traffic := run(t, w, splits(w.Len())[0], nil, p)
			meter := must[wire.Transport](t)(faults.NewMeter(w.Len(), faults.Links{Loss: .15, Delay: .05}, 3))
			n := must[*consensus.Network](t)(consensus.New(w, meter))
			got, err := p(t.Context(), n)
			if err != nil || !n.AllHosted() {
				t.Fatal(err)
			}
			sameBits(t, "with a meter", got, want)
			all := n.Traffic()
			lost, total := float64(all.Lost), float64(all.Messages)
			if math.Abs(lost-.2*total) > 5*math.Sqrt(.2*.8*total) || all.Messages-all.Lost != traffic[0].Messages {
				t.Errorf("%+v, without faults %+v: not a fifth is lost", all, traffic[0])
			}
			if all.Bytes <= traffic[0].Bytes || all.Rounds != traffic[0].Rounds || all.Silent != traffic[0].Silent {
				t.Errorf("%+v, without faults %+v", all, traffic[0])
			}
		}
	}
	_, err := faults.NewMeter(3, faults.Links{Loss: .5, Delay: .5}, 1)
	wantError(t, err, "must be less than 1")
}
