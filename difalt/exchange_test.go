package difalt_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

var errBroken = errors.New("the network is broken")

// A breaking transport counts its exchanges, and fails in one of them.
type breaking struct {
	transport.Transport
	calls *int
	fails int
}

func (b breaking) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if *b.calls++; *b.calls == b.fails {
		return errBroken
	}
	return b.Transport.Exchange(ctx, seq, out, in, due)
}

// runBroken runs a problem of three nodes in two processes, where an exchange of the first process fails;
// none if fails is 0. It returns the result and the error of the first process, and the number of its
// exchanges.
func runBroken(t *testing.T, p *difalt.Problem, o difalt.Options,
	fails int) (first *difalt.Result, calls int, err error) {
	w, groups := weights(t, "complete", 3, 1, topology.Metropolis), [][]int{{0}, {1, 2}}
	o.Workers = 1
	errs := testnet.Run(w.Graph(), groups, func(k int, tr transport.Transport) error {
		if k == 0 {
			tr = breaking{tr, &calls, fails}
		}
		net, err := consensus.New(w, tr)
		if err != nil {
			return err
		}
		res, err := difalt.Run(t.Context(), part(p, groups[k]), net, o)
		if k == 0 {
			first = res
		}
		return err
	})
	return first, calls, errs[0]
}

// TestEveryFailure: an error of the network ends a run wherever it happens, the check of a minimum included.
func TestEveryFailure(t *testing.T) {
	p := draw(t, 3, 12, 12, 10, 2, 2, .05, 1)
	o := difalt.Options{Rank: 2, Rounds: 2, PowerIterations: 3, Tolerance: 2e-2}
	res, last, err := runBroken(t, p, o, 0)
	if err != nil || res.Status != difalt.Converged {
		t.Fatalf("without a failure: %+v, %v", res, err)
	}
	for k := 1; k <= last; k++ {
		if res, _, err := runBroken(t, p, o, k); !errors.Is(err, errBroken) || res != nil {
			t.Errorf("exchange %d of %d fails: %v, %v", k, last, res, err)
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
		{"the singular values exceed the noise", initial(p, difalt.Options{Method: difalt.Accelerated}),
			4*(1+2) - broadcast, true},
		{"they do not", initial(loud, difalt.Options{Method: difalt.Accelerated}), 4*(1+4) - broadcast, true},
		{"U0 is given", initial(&given, difalt.Options{PowerIterations: power}), rounds * (1 + 2), true},
		{"the step is given", initial(p, difalt.Options{PowerIterations: power, Step: .25}), rounds * (1 + 2*power),
			true},
	} {
		if got := c.got.Traffic.Rounds - least.Traffic.Rounds - c.rounds; got != broadcast ||
			(c.got.SigmaSquared > 0) != c.sigma || !(c.got.Step > 0) {
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
