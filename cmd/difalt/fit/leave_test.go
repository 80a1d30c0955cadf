package fit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// A mortal transport ends, and closes its connections, after a number of exchanges.
type mortal struct {
	wire.Transport
	left *atomic.Int64
}

var errDead = errors.New("dead")

func (m mortal) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if m.left.Add(-1) < 0 {
		m.Close()
		return errDead
	}
	return m.Transport.Exchange(ctx, seq, out, in, due)
}

// leaving fits with one process a node, in a configuration that takes all steps.
func leaving(t *testing.T, s sites, over func(wire.Transport) wire.Transport, change func(node int, c *Config) context.Context) ([]*outcome, []error) {
	w := weights(t, "path", 4, topology.Metropolis)
	return apartOver(t, w, groupings(4)[1], over, func(net *consensus.Network) (*outcome, error) {
		tab, err := s.table(net.Hosted(), siteSchema, nil)
		if err != nil {
			return nil, err
		}
		c := testConfig(t, 4, 2)
		c.Network, c.Folds, c.Options.Iterations, c.Options.Rounds = net, 2, 6, 2
		if c.Train, err = split(tab); err != nil {
			return nil, err
		}
		m, r, err := Fit(change(net.Hosted()[0], &c), tab, c)
		return &outcome{m, r}, err
	})
}

// Whenever a process dies, all others end with an error about a peer: nobody hangs,
// nobody has a model, and nobody takes it for a cancellation of its own.
func TestPeerDies(t *testing.T) {
	s := newSites(5)
	plain := func(int, *Config) context.Context { return t.Context() }
	var total atomic.Int64
	total.Store(1 << 40)
	count := func(end wire.Transport) wire.Transport {
		if end.Hosted()[0] != 2 {
			return end
		}
		return mortal{end, &total}
	}
	if _, failed := leaving(t, s, count, plain); errors.Join(failed...) != nil {
		t.Fatal(failed)
	}
	exchanges := 1<<40 - total.Load()
	for at := int64(1); at < exchanges; at += 1 + exchanges/12 {
		var left atomic.Int64
		left.Store(at)
		out, failed := leaving(t, s, func(end wire.Transport) wire.Transport {
			if end.Hosted()[0] != 2 {
				return end
			}
			return mortal{end, &left}
		}, plain)
		for g, err := range failed {
			var peer *wire.PeerError
			if out[g].m != nil || errors.Is(err, context.Canceled) || g == 2 && !errors.Is(err, errDead) || g != 2 && !errors.As(err, &peer) {
				t.Errorf("node 2 died after %d of %d exchanges: node %d has the error %v", at, exchanges, g, err)
			}
		}
	}
}

// Whoever wants to leave tells the others: all leave, before the final run with an
// error, in it with the model as far as it got.
func TestLeaveTogether(t *testing.T) {
	s := newSites(5)
	for _, stage := range []string{"baselines", "rank", "iterations"} {
		out, failed := leaving(t, s, func(end wire.Transport) wire.Transport { return end }, func(node int, c *Config) context.Context {
			if node != 1 {
				return t.Context()
			}
			ctx, cancel := context.WithCancel(t.Context())
			c.Progress = func(at string, done, _ int) {
				if at == stage && done > 0 {
					cancel()
				}
			}
			return ctx
		})
		for g, err := range failed {
			if stage == "iterations" {
				if err != nil || out[g].r.Result.Status != difalt.Canceled || out[g].r.Result.Iterations != out[0].r.Result.Iterations || out[g].m == nil {
					t.Errorf("%s: node %d: %v, %+v", stage, g, err, out[g].r)
				}
				continue
			}
			if err == nil || errors.Is(err, context.Canceled) != (g == 1) || out[g].m != nil {
				t.Errorf("%s: node %d has the error %v", stage, g, err)
			}
		}
	}
}
