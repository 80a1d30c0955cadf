package consensus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
)

// A transcript has the results of the calls of a plan, by call and node, and the messages of all processes.
type transcript struct {
	mu   sync.Mutex
	rows map[[2]int]string
	sent transport.Traffic
}

// follow makes the calls of a plan in a process. It returns an error if one of them differs from plain
// arithmetic.
func follow(ctx context.Context, p *process, calls []call, out *transcript) error {
	var end error // that has ended the network
	for k, c := range calls {
		rows, err := c.do(ctx, p)
		switch {
		case end != nil && c.text == "": // every call that may send returns the error
			if !errors.Is(err, end) && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("call %d, %s: %v after %v", k, c.name, err, end)
			}
			continue
		case c.text != "":
			if err == nil || !strings.Contains(err.Error(), c.text) || strings.Count(err.Error(), "consensus:") != 1 {
				return fmt.Errorf("call %d, %s: %v", k, c.name, err)
			}
			continue
		case !errors.Is(err, c.err):
			return fmt.Errorf("call %d, %s: %v, want %v", k, c.name, err, c.err)
		case err != nil:
			if c.ends && !p.AllHosted() {
				end = err
			}
			continue
		}
		for i, row := range rows {
			node := p.Hosted()[i]
			if c.want != nil {
				want := c.want(node)
				differs := func(a, b float64) bool { return !(math.Abs(a-b) <= c.off) }
				if len(row) != len(want) || slices.CompareFunc(row, want, func(a, b float64) int {
					if differs(a, b) {
						return 1
					}
					return 0
				}) != 0 {
					return fmt.Errorf("call %d, %s, node %d: %v, want %v", k, c.name, node, row, want)
				}
			}
			out.mu.Lock()
			out.rows[[2]int{k, node}] = fmt.Sprintf("%s: %x", c.name, row)
			out.mu.Unlock()
		}
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	out.sent = out.sent.Plus(p.Traffic())
	return nil
}

// drawGroups distributes nodes over processes at random.
func drawGroups(rng *rand.Rand, nodes int) (groups [][]int) {
	of := make(map[int][]int)
	for node := range nodes {
		k := rng.IntN(nodes)
		of[k] = append(of[k], node)
	}
	for k := range nodes {
		if of[k] != nil {
			groups = append(groups, of[k])
		}
	}
	return groups
}

// TestCallSequencesApart: random sequences of calls give the results of plain arithmetic, wherever nodes
// live. Calls with invalid arguments, or in a context that has ended, leave the network as it was; a number
// that is not finite ends it with one error at all nodes.
func TestCallSequencesApart(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 80
	}
	specs := []string{"path", "ring", "star", "complete", "exponential", "er:0.6"}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 77))
		w := weightsOf(t, specs[rng.IntN(len(specs))], 1+rng.IntN(6))
		p := &planner{rng, w}
		calls := p.plan()
		var first *transcript
		for _, groups := range [][][]int{splits(w.Len())[0], drawGroups(rng, w.Len())} {
			out := &transcript{rows: map[[2]int]string{}}
			errs := testnet.Run(w.Graph(), groups, func(k int, tr transport.Transport) error {
				if len(groups) == 1 {
					tr = nil
				}
				n, err := consensus.New(w, tr)
				if err != nil {
					return err
				}
				pool := kernel.NewPool(1 + k%2)
				defer pool.Close()
				return follow(t.Context(), &process{n, pool, map[string]consensus.Exchange{}}, calls, out)
			})
			for k, err := range errs {
				if err != nil {
					t.Errorf("seed %d, %v, nodes %v of %v: %v", seed, w, groups[k], groups, err)
				}
			}
			if first == nil {
				first = out
			}
			for at, row := range out.rows {
				if row != first.rows[at] {
					t.Errorf("seed %d, %v, nodes %v, call %d, node %d: other bits than in one process: %s, %s",
						seed, w, groups, at[0], at[1], row, first.rows[at])
				}
			}
		}
		if t.Failed() {
			return
		}
	}
}

// TestEndsAnywhereApart: wherever the context of one process ends, all processes end: a call that succeeds
// has the result of plain arithmetic, and no call waits for ever.
func TestEndsAnywhereApart(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 78))
		w := weightsOf(t, "er:0.6", 2+rng.IntN(4))
		p := &planner{rng, w}
		var calls []call
		for range 6 {
			draw := []func() call{p.sum, p.broadcast, p.gather, p.bound, p.average, p.average}
			calls = append(calls, draw[rng.IntN(len(draw))]())
		}
		groups := splits(w.Len())[1]
		leaver, left := rng.IntN(w.Len()), rng.IntN(25)
		out := &transcript{rows: map[[2]int]string{}}
		errs := testnet.Run(w.Graph(), groups, func(k int, tr transport.Transport) error {
			ctx := t.Context()
			if k == leaver {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				defer cancel()
				tr = leaving{tr, &left, cancel}
			}
			n, err := consensus.New(w, tr)
			if err != nil {
				return err
			}
			return follow(ctx, &process{n, nil, map[string]consensus.Exchange{}}, calls, out)
		})
		for k, err := range errs {
			var peer *transport.PeerError
			closed := err != nil && strings.Contains(err.Error(), transport.Closed.String())
			switch {
			case err == nil && left > 0: // the plan was shorter
			case k == leaver && err != nil && strings.Contains(err.Error(), context.Canceled.Error()):
			case k == leaver && err == nil || k != leaver && (err == nil || closed || errors.As(err, &peer)):
			default:
				t.Errorf("seed %d, %v, node %d of leaver %d: %v", seed, w, k, leaver, err)
			}
		}
	}
}

// A leaving transport ends the context of its process in an exchange.
type leaving struct {
	transport.Transport
	left   *int
	cancel func()
}

func (l leaving) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if *l.left--; *l.left == 0 {
		l.cancel()
	}
	return l.Transport.Exchange(ctx, seq, out, in, due)
}
