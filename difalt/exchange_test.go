package difalt_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

var errBroken = errors.New("the network is broken")

// A breaking exchange counts its calls, and fails in one of them.
type breaking struct {
	consensus.Exchange
	calls *int
	fails int
}

func (b breaking) call(f func() error) error {
	if *b.calls++; *b.calls == b.fails {
		return errBroken
	}
	return f()
}

func (b breaking) Average(ctx context.Context, z []consensus.Message) error {
	return b.call(func() error { return b.Exchange.Average(ctx, z) })
}

func (b breaking) Sum(ctx context.Context, rows [][]float64) error {
	return b.call(func() error { return b.Exchange.Sum(ctx, rows) })
}

func (b breaking) Broadcast(ctx context.Context, root int, rows [][]float64) error {
	return b.call(func() error { return b.Exchange.Broadcast(ctx, root, rows) })
}

// TestEveryFailure: an error of the network ends a run wherever it happens, the look at a minimum included.
func TestEveryFailure(t *testing.T) {
	p, calls := draw(t, 3, 12, 12, 10, 2, 2, .05, 1), 0
	o := difalt.Options{Rank: 2, Rounds: 8, PowerIterations: 3, Tolerance: 2e-2}
	run := func(fails int) (*difalt.Result, error) {
		calls = 0
		o.Average = func(net *consensus.Network, rounds int, pool *kernel.Pool) (consensus.Exchange, error) {
			x, err := net.Agree(rounds, pool)
			return breaking{x, &calls, fails}, err
		}
		return difalt.Run(t.Context(), p, network(t, "complete", 3, 1), o)
	}
	if res, err := run(0); err != nil || res.Status != difalt.Converged {
		t.Fatalf("without a failure: %+v, %v", res, err)
	}
	for k, last := 1, calls; k <= last; k++ {
		if res, err := run(k); !errors.Is(err, errBroken) || res != nil {
			t.Errorf("call %d of %d fails: %v, %v", k, last, res, err)
		}
	}
}

// TestInitialTraffic: the initialisation exchanges only what its arguments leave open.
func TestInitialTraffic(t *testing.T) {
	const rounds, power = 7, 5
	p := draw(t, 4, 20, 40, 15, 2, 2, .1, 1)
	given, loud := *p, draw(t, 4, 20, 40, 15, 2, 2, 30, 1)
	for range 4 {
		given.U0 = append(given.U0, orthonormal(20, 2, 5))
	}
	initial := func(p *difalt.Problem, o difalt.Options) *difalt.Initial {
		o.Rank, o.StartRounds = 2, rounds
		in, err := difalt.Initialize(t.Context(), p, network(t, "ring", 4, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	least := initial(&given, difalt.Options{Step: .25})
	if least.Step != .25 || least.SigmaSquared != 0 {
		t.Errorf("U0 and the step are given: %+v", least)
	}
	none := initial(&given, difalt.Options{Method: difalt.Accelerated})
	const broadcast = 2 // along the tree of a ring of four
	for _, c := range []struct {
		name   string
		got    *difalt.Initial
		rounds int64 // more than with U0 and the step
		sigma  bool
	}{
		// Thresholds, then an average and the spreading of node 0's U in every power iteration, then its
		// sigma.
		{"nothing is given", initial(p, difalt.Options{PowerIterations: power}), rounds * (1 + 2*power), true},
		// Accelerated has a count of codes, and 2 or 4 power iterations, of 4 rounds along the tree, and no
		// broadcast.
		{"the singular values exceed the noise", initial(p, difalt.Options{Method: difalt.Accelerated}), 4*(1+2) - broadcast, true},
		{"they do not", initial(loud, difalt.Options{Method: difalt.Accelerated}), 4*(1+4) - broadcast, true},
		{"U0 is given", initial(&given, difalt.Options{PowerIterations: power}), rounds * (1 + 2), true},
		{"the step is given", initial(p, difalt.Options{PowerIterations: power, Step: .25}), rounds * (1 + 2*power), true},
	} {
		if got := c.got.Traffic.Rounds - least.Traffic.Rounds - c.rounds; got != broadcast || (c.got.SigmaSquared > 0) != c.sigma || !(c.got.Step > 0) {
			t.Errorf("%s: %d rounds more than expected, want %d for the broadcast: %+v", c.name, got, broadcast, c.got)
		}
	}
	if none.Traffic.Rounds != least.Traffic.Rounds+broadcast || none.SigmaSquared != 0 {
		t.Errorf("Accelerated with U0: %+v, without an estimate %+v", none, least)
	}
	u, v := initial(p, difalt.Options{PowerIterations: 40}), initial(p, difalt.Options{PowerIterations: 60})
	if sd := difalt.SubspaceDistance(u.U[0], v.U[3]); !(sd < 1e-6) || math.Abs(u.Step/v.Step-1) > 1e-6 {
		t.Errorf("after 40 and 60 power iterations U differs by %v, and the steps are %v and %v", sd, u.Step, v.Step)
	}
	_, err := difalt.Initialize(t.Context(), p, network(t, "path", 4, 1), difalt.Options{Rank: 2, StartRounds: 2})
	if err == nil || !strings.Contains(err.Error(), "StartRounds is 2: too few for node 0 to reach node 3") {
		t.Errorf("two rounds on a path of four nodes: %v", err)
	}
}
