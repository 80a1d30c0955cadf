package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/faults"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// lossy returns transports over links that fail.
func lossy(l faults.Links) transports {
	return func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
		return testnet.Connect(g, groups, testnet.Options{Faults: l, Seed: 5})
	}
}

// TestLateFrames: frames that come late, since they were lost, change no bit.
func TestLateFrames(t *testing.T) {
	t.Parallel()
	for li, links := range []faults.Links{
		{Loss: .1, Delay: .1}, {Loss: .3, Delay: .4},
	} {
		for wi, w := range networks(t) {
			for ai, a := range someAgreements(t) {
				want, errs, _ := run(t, w, splits(w.Len())[0], nil, everything(a))
				noErrors(t, "one process", errs)
				for _, groups := range inTurn(w.Len(), li+wi+ai) {
					what := fmt.Sprintf("%v, %v on %v, nodes %v", links, a, w, groups)
					synctest.Test(t, func(t *testing.T) {
						got, errs, _ := run(t, w, groups, lossy(links), everything(a))
						noErrors(t, what, errs)
						sameBits(t, what, got, want)
					})
				}
			}
		}
	}
}

// leaving is a transport whose process is cancelled, or ends, at an exchange.
type leaving struct {
	wire.Transport
	at    uint64
	leave func()
}

var errLeft = errors.New("left")

func (l leaving) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if seq == l.at {
		l.leave()
		if ctx.Err() == nil {
			return errLeft
		}
	}
	return l.Transport.Exchange(ctx, seq, out, in, due)
}

// A schedule is one of the ways in which a run can go wrong.
type schedule struct {
	event  int // see the constants
	node   int // whose process it happens to
	at     uint64
	direct bool // without faults in between
	links  faults.Links
}

const (
	nothing = iota
	fails   // an exchange, once
	leaves  // a process ends
	cancels // the caller of a process gives up
	breaks  // a number is not finite
	events
)

// TestSchedules: under hundreds of schedules of faults nobody hangs, no goroutine is
// left (the bubble of synctest sees to both), and the result has the same bits, or
// every process has the error that it should have.
func TestSchedules(t *testing.T) {
	t.Parallel()
	schedules := 200
	switch {
	case longtest.Enabled():
		schedules = 2000
	case testing.Short():
		schedules = 30
	}
	w := networks(t)[:2]
	agreement := someAgreements(t)
	short := func(a consensus.Agreement, bad int) program {
		a.RoundByRound = true
		return func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
			p, err := newParty(n, a, nil)
			for i := 0; i < 2 && err == nil; i++ {
				if k := slices.Index(n.Hosted(), bad); k >= 0 && i == 1 {
					p.basis[k].Basis.Col(1)[3] = math.Inf(1)
				}
				err = p.iterate(ctx, i)
			}
			if err != nil {
				return nil, err
			}
			return p.seen, nil
		}
	}
	want := make(map[int][][]float64)
	last := make(map[int]uint64)
	for seed := range schedules {
		rng := rand.New(rand.NewPCG(uint64(seed), 77))
		wi, ai := rng.IntN(len(w)), rng.IntN(len(agreement))
		w, a := w[wi], agreement[ai]
		key := wi*10 + ai
		all := splits(w.Len())
		if want[key] == nil {
			var errs []error
			want[key], errs, _ = run(t, w, all[0], nil, short(a, -1))
			noErrors(t, "one process", errs)
			last[key] = exchanges(t, w, short(a, -1))
		}
		groups := all[1+rng.IntN(3)]
		s := schedule{event: rng.IntN(events), node: rng.IntN(w.Len())}
		// Late enough in a run, some are done before they can know.
		hops, _ := w.Graph().Diameter()
		s.at = rng.Uint64N(last[key] - uint64(3*hops)) // the end is gossip and a broadcast
		s.links = faults.Links{Loss: .2 * rng.Float64(), Delay: .2 * rng.Float64()}
		s.direct = rng.IntN(3) == 0
		what := fmt.Sprintf("seed %d, %v on %v, nodes %v, %+v", seed, a, w, groups, s)
		synctest.Test(t, func(t *testing.T) { follow(t, what, s, w, groups, short, a, want[key]) })
	}
}

// follow runs one schedule.
func follow(t *testing.T, what string, s schedule, w *topology.Weights, groups [][]int, make func(consensus.Agreement, int) program, a consensus.Agreement, want [][]float64) {
	victim := slices.IndexFunc(groups, func(g []int) bool { return slices.Contains(g, s.node) })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	connect := func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
		o := testnet.Options{RoundTimeout: time.Minute, Seed: s.at}
		if !s.direct {
			o.Faults = s.links
		}
		ts, err := testnet.Connect(g, groups, o)
		whole := ts[victim]
		switch s.event {
		case fails:
			ts[victim] = testnet.FailOnce(ts[victim], s.at, s.at%2 == 0)
		case leaves:
			ts[victim] = leaving{ts[victim], s.at, func() { whole.Close() }}
		case cancels:
			ts[victim] = leaving{ts[victim], s.at, cancel}
		}
		return ts, err
	}
	bad := -1
	if s.event == breaks {
		bad = s.node
	}
	p := make(a, bad)
	got, errs, _ := run(t, w, groups, connect, func(_ context.Context, n *consensus.Network) ([][]float64, error) {
		c := t.Context()
		if slices.Contains(n.Hosted(), s.node) {
			c = ctx
		}
		return p(c, n)
	})
	here := errors.New("no error")
	if s.event == breaks {
		_, alone, _ := run(t, w, splits(w.Len())[0], nil, p)
		here = alone[0]
	}
	for k, err := range errs {
		var peer *wire.PeerError
		switch {
		case s.event == nothing || s.event == fails:
			if err != nil {
				t.Fatalf("%s: process %d: %v", what, k, err)
			}
		case s.event == breaks:
			if culprit(t, what, err, groups[k]) != culprit(t, what, here, splits(w.Len())[0][0]) {
				t.Fatalf("%s: process %d: %v, in one process: %v", what, k, err, here)
			}
		case k == victim && s.event == leaves:
			if !errors.Is(err, errLeft) {
				t.Fatalf("%s: the process that left: %v", what, err)
			}
		case k == victim:
			if !errors.Is(err, context.Canceled) || errors.As(err, &peer) {
				t.Fatalf("%s: the process that was cancelled: %v", what, err)
			}
		case !errors.As(err, &peer) || errors.Is(err, context.Canceled):
			t.Fatalf("%s: process %d: %v, want a PeerError", what, k, err)
		case peer.Kind != wire.Closed && peer.Kind != wire.Timeout:
			t.Fatalf("%s: process %d: %v", what, k, err)
		}
	}
	if s.event == nothing || s.event == fails {
		sameBits(t, what, got, want)
	}
}
