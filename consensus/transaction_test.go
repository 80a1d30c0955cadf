package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// someAgreements are few that touch all of the state.
func someAgreements(t testing.TB) []consensus.Agreement {
	return []consensus.Agreement{
		{}, {Polynomial: consensus.Chebyshev}, {Codec: consensus.Int4, Trigger: .4}, {Codec: consensus.Int4, Polynomial: consensus.Chebyshev},
		{Codec: consensus.Int8, Polynomial: consensus.Tree},
	}
}

// counting counts the exchanges of a transport.
type counting struct {
	wire.Transport
	n *atomic.Uint64
}

func (c counting) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	c.n.Store(seq + 1)
	return c.Transport.Exchange(ctx, seq, out, in, due)
}

// exchanges returns how many exchanges a program takes.
func exchanges(t testing.TB, w *topology.Weights, p program) uint64 {
	t.Helper()
	var n atomic.Uint64
	all := splits(w.Len())
	_, errs, _ := run(t, w, all[1], func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
		ts, err := direct(g, groups)
		for k := range ts {
			ts[k] = counting{ts[k], &n}
		}
		return ts, err
	}, p)
	noErrors(t, "counting", errs)
	return n.Load()
}

// TestEveryExchangeFailsOnce: whichever exchange fails, at one process or at all,
// before or after frames are carried, the repeated calls end with the same bits.
func TestEveryExchangeFailsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("the default build retries: exchanges know nothing of tags, tiers and other goroutines")
	}
	t.Parallel()
	for wi, w := range networks(t) {
		for ai, a := range someAgreements(t) {
			if ai%3 != wi && !longtest.Enabled() {
				continue
			}
			all := splits(w.Len())
			want, errs, _ := run(t, w, all[0], nil, everything(a))
			noErrors(t, "one process", errs)
			last := exchanges(t, w, everything(a))
			if last < 60 {
				t.Fatalf("only %d exchanges", last)
			}
			for seq := range last {
				groups := all[1+(int(seq)+wi)%3]
				at := int(seq) % (len(groups) + 1) // the last is all of them
				what := fmt.Sprintf("%v on %v, nodes %v, exchange %d fails at %d", a, w, groups, seq, at)
				got, errs, _ := run(t, w, groups, func(g *topology.Graph, groups [][]int) ([]wire.Transport, error) {
					ts, err := direct(g, groups)
					for k := range ts {
						if k == at || at == len(groups) {
							ts[k] = testnet.FailOnce(ts[k], seq, (int(seq)+k)%2 == 0)
						}
					}
					return ts, err
				}, everything(a))
				noErrors(t, what, errs)
				sameBits(t, what, got, want)
			}
		}
	}
}

// TestOtherCalls: after Rewind, calls other than those before are refused.
func TestOtherCalls(t *testing.T) {
	w := networks(t)[0]
	none := testnet.Options{Pads: func(int) pads.Source { return testnet.NoPads{} }} // no exchange of keys
	ts := must[[]wire.Transport](t)(testnet.Connect(w.Graph(), splits(6)[1], none))
	defer ts[1].Close()
	defer ts[0].Close()
	n := must[*consensus.Network](t)(consensus.New(w, testnet.FailOnce(ts[0], 0, false)))
	z := [][]float64{{1, 2}, {3, 4}, {5, 6}}
	if err := n.Sum(t.Context(), z); !errors.Is(err, testnet.ErrInjected) {
		t.Fatal(err)
	}
	n.Rewind()
	if err := n.Largest(t.Context(), z); err == nil {
		t.Error("a Max goes on with a Sum")
	}
	if err := n.Sum(t.Context(), [][]float64{{1}, {3}, {5}}); err == nil {
		t.Error("a Sum of one number goes on with one of two")
	}
}

// TestResume: state that is marshalled between two iterations, in every process, goes
// on with the same bits in new processes.
func TestResume(t *testing.T) {
	t.Parallel()
	for wi, w := range append(networks(t), longPath(t)) {
		for ai, a := range someAgreements(t) {
			a.RoundByRound = true
			for _, groups := range splits(w.Len())[(wi+ai)%4:][:1] {
				what := fmt.Sprintf("%v on %v, nodes %v", a, w, groups)
				want, errs, _ := run(t, w, groups, direct, everything(a))
				noErrors(t, what, errs)
				saved := make([]savedParty, w.Len()) // by first hosted node
				_, errs, _ = run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
					p, err := newParty(n, a, nil)
					for i := 0; i < 2 && err == nil; i++ {
						err = p.iterate(ctx, i)
					}
					if err != nil {
						return nil, err
					}
					// What is done after Commit is not part of the state.
					s, err := p.save()
					saved[n.Hosted()[0]] = s
					return p.seen, errors.Join(err, p.try(ctx, 2))
				})
				noErrors(t, what, errs)
				got, errs, _ := run(t, w, groups, direct, func(ctx context.Context, n *consensus.Network) ([][]float64, error) {
					p, err := newParty(n, a, nil)
					if err != nil {
						return nil, err
					}
					if err := p.restore(saved[n.Hosted()[0]]); err != nil {
						return nil, err
					}
					return p.seen, p.iterate(ctx, 2)
				})
				noErrors(t, what, errs)
				sameBits(t, what, got, want)
			}
		}
	}
}

// longPath takes more rounds for a reduction than an iteration of party has.
func longPath(t testing.TB) *topology.Weights {
	g := must[*topology.Graph](t)(topology.Path(9))
	return must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
}

type savedParty struct {
	mixers          [3][]byte
	basis, gradient []consensus.Message
	seen            [][]float64
}

func (p *party) mixers() [3]*consensus.Mixer {
	return [3]*consensus.Mixer{p.gossip, p.server, p.mean}
}

func (p *party) save() (s savedParty, err error) {
	s.basis, s.gradient, s.seen = clone(p.basis), clone(p.gradient), append([][]float64(nil), p.seen...)
	for k, m := range p.mixers() {
		if s.mixers[k], err = m.MarshalBinary(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (p *party) restore(s savedParty) error {
	p.basis, p.gradient, p.seen = s.basis, s.gradient, s.seen
	for k, m := range p.mixers() {
		if err := m.UnmarshalBinary(s.mixers[k]); err != nil {
			return err
		}
	}
	return nil
}
