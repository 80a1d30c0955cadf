package difalt_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/pads"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// A ledger is the pads of a node, and of all words what they became: whoever sees words that are
// not in it sees some that have not been masked, or have changed after that.
type ledger struct {
	pads.Source
	used   int // words of the stream
	masked map[uint64]bool
}

func (l *ledger) Add(words []uint64, limbs int) {
	l.Source.Add(words, limbs)
	l.used += len(words)
	for _, w := range words {
		l.masked[w] = true
	}
}

// A guard is a transport of a leaf of the tree that checks all that the leaf sends up.
type guard struct {
	wire.Transport
	pads.Provider
	t       *testing.T
	ledgers []*ledger // of this network, and of those before
	sent    map[uint64][]byte
	checked int // words
	result  *difalt.Result
}

func (g *guard) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if before, ok := g.sent[seq]; ok && !slices.Equal(before, out[0]) {
		g.t.Errorf("exchange %d has another content when it is tried again", seq)
	}
	g.sent[seq] = slices.Clone(out[0])
	f := parseWire(out[:1])[0]
	if len(f.riding) > countLen {
		g.check("a header", f.riding[countLen:])
	}
	if _, up := f.collective(); up {
		g.check(f.channel.String(), f.code[:len(f.code)-voteLen])
	}
	return g.Transport.Exchange(ctx, seq, out, in, due)
}

func (g *guard) check(what string, words []byte) {
	for ; len(words) >= 8; words = words[8:] {
		g.checked++
		w := binary.LittleEndian.Uint64(words)
		if !slices.ContainsFunc(g.ledgers, func(l *ledger) bool { return l.masked[w] }) {
			g.t.Errorf("%s sends %x, which is not what has been masked", what, w)
			return
		}
	}
}

// TestNoPadTwice: of every stream of pads each word masks one content. An exchange that is tried
// again carries the same bytes; after failures anywhere and after snapshots as many words have been
// used as without, and no word is sent that has not been masked, or that has changed since. The
// results are those of one process, which masks nothing.
func TestNoPadTwice(t *testing.T) {
	s := problemFor(4, 20, 12)
	for _, method := range []difalt.Method{difalt.AltGDmin, difalt.DifAltGDmin, difalt.Accelerated} {
		o := spyOptions(method, "none", 8)
		o.Agreement.Polynomial, o.EveryIteration = consensus.Tree, false
		want, alone := 0, run(t, s.Problem, network(t, "path", 4, topology.Metropolis, 1), o)
		for seq := uint64(0); seq < 75; seq += 1 + seq%5 {
			// To the middle, and then by another network from the snapshots.
			first := &guard{t: t, ledgers: []*ledger{newLedger()}, sent: map[uint64][]byte{}}
			snaps := guarded(t, s, o, first, seq, make([]*difalt.Snapshot, 4))
			second := &guard{t: t, ledgers: []*ledger{newLedger(), first.ledgers[0]}, sent: map[uint64][]byte{}}
			guarded(t, s, o, second, seq, snaps)
			if first.checked == 0 || second.checked == 0 {
				t.Fatal("nothing has been checked")
			}
			if !mat.Equal(second.result.U[0], alone.U[victim]) || second.result.Residual != alone.Residual {
				t.Errorf("%v, failing at %d: other bits than without masks", method, seq)
			}
			used := first.ledgers[0].used + second.ledgers[0].used
			if seq == 0 {
				want = used
			}
			if used != want {
				t.Errorf("%v, failing at %d: %d words of pads are used, otherwise %d", method, seq, used, want)
			}
		}
	}
}

func newLedger() *ledger {
	return &ledger{Source: testnet.Shared(0, victim)(victim), masked: map[uint64]bool{}}
}

// guarded runs a problem for a few iterations, or from snapshots to its end, with a failure at the
// victim or the node beside it in exchange seq. It returns snapshots.
func guarded(t *testing.T, s *synthetic, o difalt.Options, g *guard, seq uint64, from []*difalt.Snapshot) []*difalt.Snapshot {
	t.Helper()
	w, groups, after := network(t, "path", 4, topology.Metropolis, 1).Weights(), together(4, 4), make([]*difalt.Snapshot, 4)
	pipes, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second, Pads: func(node int) pads.Source {
		if node == victim {
			return g.ledgers[0]
		}
		return testnet.Shared(0, victim)(node)
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k, p := range pipes {
		wg.Go(func() {
			defer p.Close()
			if k == victim {
				g.Transport, g.Provider = p, p.(pads.Provider)
				p = g
			}
			if k == victim-int(seq%2) {
				p = testnet.FailOnce(p, seq, seq%3 == 0)
			}
			result, err := steps(t.Context(), part(s.Problem, groups[k]), w, p, o, from[k])
			if err != nil {
				t.Error(err)
				return
			}
			if after[k] = result.snapshot; k == victim {
				g.result = result.Result
			}
		})
	}
	wg.Wait()
	return after
}

type stepped struct {
	*difalt.Result
	snapshot *difalt.Snapshot
}

// steps runs a solver for some steps, or from a snapshot to the end, and repeats those that fail.
func steps(ctx context.Context, p *difalt.Problem, w *topology.Weights, tr wire.Transport, o difalt.Options, from *difalt.Snapshot) (s stepped, err error) {
	net, err := consensus.New(w, tr)
	if err != nil {
		return s, err
	}
	solver, err := difalt.NewSolver(p, net, o)
	if err != nil {
		return s, err
	}
	defer solver.Close()
	if from != nil {
		if err := solver.Restore(from); err != nil {
			return s, err
		}
	}
	for done, status := 0, difalt.Running; status == difalt.Running && (done < 4 || from != nil); {
		if status, err = solver.Step(ctx); err == nil {
			done++
		} else if !errors.Is(err, testnet.ErrInjected) {
			return s, err
		}
	}
	if s.snapshot, err = solver.Snapshot(ctx); err == nil {
		s.Result, err = solver.Result()
	}
	return s, err
}
