package simulation

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// small is a setting whose trials take milliseconds.
func small() Setting {
	return Setting{
		Nodes: 6, Problem: Problem{Features: 20, Tasks: 30, Samples: 15, Rank: 2},
		Graph: "er:0.6", Weights: "metropolis", Methods: []string{"dif", "altgdmin", "dec", "dgd"}, Reference: Truth,
		Rounds: 4, InitRounds: 6, PowerIterations: 20, Iterations: 60,
		Seed: 7, Time: TimeModel{Latency: 1e-3, Bandwidth: 1e9},
	}
}

func runTrials(t *testing.T, s Setting, trials, workers int) []Trial {
	t.Helper()
	all, err := (&Run{Setting: s, Trials: trials, Workers: workers}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRun(t *testing.T) {
	s := small()
	w, err := s.mixing(1)
	if err != nil {
		t.Fatal(err)
	}
	var calls, ends atomic.Int64
	r := Run{Setting: s, Trials: 3, Workers: 2, Progress: func(share float64) {
		if calls.Add(1); share == 1 {
			ends.Add(1)
		}
	}}
	trials, err := r.Do(t.Context())
	if err != nil || len(trials) != 3 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	// The last iteration reports the end, and after it each of the two workers may report the end of its
	// method.
	if calls.Load() < 3*4*60 || ends.Load() < 1 || ends.Load() > 3 {
		t.Errorf("progress was reported %d times, the end %d times", calls.Load(), ends.Load())
	}
	for i, tr := range trials {
		for k, c := range tr.Curves {
			if tr.Number != 1+i || c.Method != s.Methods[k] || len(c.Rows) != 61 || c.Diverged ||
				c.Rows[0].SDFirst != tr.Curves[0].Rows[0].SDFirst {
				t.Fatalf("trial %d of %d: %s has %d rows, the first %+v", tr.Number, i+1, c.Method, len(c.Rows),
					c.Rows[0])
			}
		}
	}
	// Per iteration: T_con rounds of 2|E| messages with the 8 d r bytes of a basis; a gather and a
	// broadcast for the centralised method; one round for DGD. Next to them are appearances: a sum each.
	// 1 ms and 2,560 bits at 1 Gbit/s a round; computation comes on top.
	edges := int64(w.Graph().Edges())
	for k, want := range []struct {
		rounds, messages int64
	}{{4, 4 * 2 * edges}, {2, 2 * 6}, {4, 4 * 2 * edges}, {1, 2 * edges}} {
		c := trials[0].Curves[k]
		start, last := c.Rows[0], c.Rows[60]
		sent, seconds := last.Rounds-start.Rounds, last.Seconds-start.Seconds
		least := 60 * float64(want.rounds) * 0.001
		if sent < 60*want.rounds || sent > 60*want.rounds+60 || last.Messages-start.Messages < 60*want.messages ||
			seconds < least || seconds > least+60 {
			t.Errorf("%s: from %+v to %+v after 60 iterations", c.Method, start, last)
		}
		least = 0.001*float64(start.Rounds) + float64(start.Rounds*8*start.Bytes)/float64(start.Messages)/1e9
		if start.Rounds < 20*6 || start.Bytes < 20*6*2*edges*8*20*2 || start.Seconds <= least ||
			start.Seconds > least+60 {
			t.Errorf("%s: the initialisation took %+v", c.Method, start)
		}
	}
	if end := trials[0].Curves[0].Rows[60].SDFirst; !(end < 0.1*trials[0].Curves[0].Rows[0].SDFirst) {
		t.Errorf("Dif-AltGDmin ends at %g", end)
	}
}

func TestRunIsDeterministic(t *testing.T) {
	s := small()
	s.Iterations = 10
	csv := func(trials []Trial) (text string) {
		for _, tr := range trials {
			for _, c := range tr.Curves {
				for i := range c.Rows {
					c.Rows[i].Seconds = 0
				}
			}
			text += string(tr.appendCSV(nil))
		}
		return text
	}
	all := csv(runTrials(t, s, 4, 1))
	if all != csv(runTrials(t, s, 4, 3)) {
		t.Error("results depend on the number of workers")
	}
	if !strings.HasPrefix(all, csv(runTrials(t, s, 2, 2))) {
		t.Error("results depend on the number of trials")
	}
	alone, other := s, s
	alone.Methods, other.Seed = s.Methods[:1], s.Seed+1
	if first := csv(runTrials(t, alone, 1, 1)); !strings.HasPrefix(all, first) {
		t.Error("a method's curve depends on the other methods")
	}
	if all == csv(runTrials(t, other, 4, 1)) {
		t.Error("results do not depend on the seed")
	}
}

// A run whose context ends returns the trials before the first one that is not finished.
func TestRunStops(t *testing.T) {
	for workers := 1; workers <= 2; workers++ {
		ctx, cancel := context.WithCancel(t.Context())
		r := Run{Setting: small(), Trials: 9, Workers: workers, Progress: func(share float64) {
			if share > .5 {
				cancel()
			}
		}}
		all, err := r.Do(ctx)
		if !errors.Is(err, context.Canceled) || len(all) > 5 || workers == 1 && len(all) != 4 {
			t.Errorf("%d workers: %d trials, %v", workers, len(all), err)
		}
		for i, trial := range all {
			if trial.Number != i+1 {
				t.Errorf("%d workers: trial %d has number %d", workers, i+1, trial.Number)
			}
		}
		cancel()
	}
}

// Noise keeps the minimiser for the data of all nodes away from the truth: the accelerated method ends at the
// minimiser.
func TestRunPooled(t *testing.T) {
	s := small()
	s.Noise, s.Methods, s.Reference = 0.1, []string{"accelerated:float64"}, Pooled
	if d := runTrials(t, s, 1, 1)[0].Curves[0].last().SDFirst; d > 1e-9 {
		t.Errorf("the accelerated method ends at %g from the minimiser", d)
	}
	s.Reference = Truth
	if d := runTrials(t, s, 1, 1)[0].Curves[0].last().SDFirst; d < 1e-3 {
		t.Errorf("the accelerated method ends at %g from the truth", d)
	}
}

// Powers of the mixing matrix give the distances and the traffic of AGREE, for symmetric weights and others.
func TestPowers(t *testing.T) {
	for _, weights := range []string{"metropolis", "equal"} {
		s := small()
		s.Weights, s.Rounds, s.Iterations = weights, 7, 20
		p, w, err := s.draw(t.Context(), 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		run := func(average func(*consensus.Network, int, *kernel.Pool) (consensus.Exchange, error)) *difalt.Result {
			net, err := consensus.New(w, nil)
			if err != nil {
				t.Fatal(err)
			}
			o := s.options(Variant{}, 2)
			o.Average = average
			res, err := difalt.Run(t.Context(), p, net, o)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		powers := newPowers()
		at, one := run(powers.average), run(nil)
		if powers.used == 0 {
			t.Errorf("%s weights: no power was used", weights)
		}
		if a, b := at.Last.SDMax, one.Last.SDMax; math.Abs(a-b) > 1e-9*b {
			t.Errorf("%s weights: the distance is %v at once, %v round by round", weights, a, b)
		}
		if at.Last.Traffic != one.Last.Traffic || at.Initial.Traffic != one.Initial.Traffic {
			t.Errorf("%s weights: the traffic is %v at once, %v round by round", weights, at.Last.Traffic,
				one.Last.Traffic)
		}
	}
}
