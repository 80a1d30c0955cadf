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

func runTrials(t *testing.T, s Setting, trials, workers int) (all []Trial) {
	t.Helper()
	r := Run{Setting: s, Trials: trials, Workers: workers, Deliver: func(t *Trial) error {
		all = append(all, *t)
		return nil
	}}
	if err := r.Do(t.Context()); err != nil {
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
	var iterations atomic.Int64
	var trials []Trial
	r := Run{Setting: s, Trials: 3, Workers: 2,
		Deliver:  func(t *Trial) error { trials = append(trials, *t); return nil },
		Progress: func(n int) { iterations.Add(int64(n)) }}
	if err := r.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := iterations.Load(); n != 3*4*60 {
		t.Errorf("progress counts %d iterations, want %d", n, 3*4*60)
	}
	if len(trials) != 3 {
		t.Fatalf("%d trials", len(trials))
	}
	for i, tr := range trials {
		if tr.Number != 1+i {
			t.Errorf("trial %d came as number %d", tr.Number, i)
		}
		start := tr.Curves[0].Rows[0].SDFirst
		for k, c := range tr.Curves {
			if c.Method != s.Methods[k] || len(c.Rows) != 61 || c.Diverged {
				t.Fatalf("trial %d: %s has %d rows", tr.Number, c.Method, len(c.Rows))
			}
			if c.Rows[0].SDFirst != start {
				t.Errorf("trial %d: %s starts at %g, %s at %g", tr.Number, c.Method, c.Rows[0].SDFirst, s.Methods[0], start)
			}
		}
	}
	// Per iteration: T_con rounds of 2|E| messages with the 8 d r bytes of a basis;
	// a gather and a broadcast for the centralised method; one round for DGD.
	edges := int64(w.Graph().Edges())
	for k, want := range []struct{ rounds, messages int64 }{{4, 4 * 2 * edges}, {2, 2 * 6}, {4, 4 * 2 * edges}, {1, 2 * edges}} {
		c := trials[0].Curves[k]
		start, last := c.Rows[0], c.Rows[60]
		sent := last.Rounds - start.Rounds
		// Beside them are looks: a sum each.
		if sent < 60*want.rounds || sent > 60*want.rounds+60 || last.Messages-start.Messages < 60*want.messages {
			t.Errorf("%s: from %+v to %+v after 60 iterations", c.Method, start, last)
		}
		if start.Rounds < 20*6 || start.Bytes < 20*6*2*edges*8*20*2 {
			t.Errorf("%s: the initialisation took %+v", c.Method, start)
		}
		// 1 ms and 2,560 bits at 1 Gbit/s a round; computation comes on top.
		if least := 60 * float64(want.rounds) * 0.001; last.Seconds-start.Seconds < least || last.Seconds-start.Seconds > least+60 {
			t.Errorf("%s: %g s, want at least %g", c.Method, last.Seconds-start.Seconds, least)
		}
		least := 0.001*float64(start.Rounds) + float64(start.Rounds*8*start.Bytes)/float64(start.Messages)/1e9
		if start.Seconds <= least || start.Seconds > least+60 {
			t.Errorf("%s: the initialisation took %g s, want more than %g", c.Method, start.Seconds, least)
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

func TestRunStops(t *testing.T) {
	s := small()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := Run{Setting: s, Trials: 3, Workers: 1,
		Deliver:  func(*Trial) error { t.Error("a trial was delivered"); return nil },
		Progress: func(int) { cancel() }}
	err := r.Do(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	full := errors.New("disk full")
	r = Run{Setting: s, Trials: 9, Workers: 2, Deliver: func(*Trial) error { return full }}
	if err := r.Do(t.Context()); !errors.Is(err, full) {
		t.Errorf("error is %v, want that of Deliver", err)
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
		if len(powers.of) == 0 || powers.sent.Rounds == 0 {
			t.Errorf("%s weights: no power was used", weights)
		}
		if a, b := at.Last.SDMax, one.Last.SDMax; math.Abs(a-b) > 1e-9*b {
			t.Errorf("%s weights: the distance is %v at once, %v round by round", weights, a, b)
		}
		if at.Last.Traffic != one.Last.Traffic || at.Initial.Traffic != one.Initial.Traffic {
			t.Errorf("%s weights: the traffic is %v at once, %v round by round", weights, at.Last.Traffic, one.Last.Traffic)
		}
	}
}

func TestParseVariant(t *testing.T) {
	for text, want := range map[string]string{
		"accelerated:int8": "", "accelerated": "", "dif": "", "dif:int8": "only accelerated has a codec", "fast": "unknown method", "accelerated:zip": "zip",
	} {
		if _, err := ParseVariant(text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one about %q", text, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *Setting)
		want   string
	}{
		"rank":      {func(s *Setting) { s.Rank = 31 }, "rank is 31"},
		"method":    {func(s *Setting) { s.Methods = []string{"dif", "dif"} }, "method: dif is listed twice"},
		"none":      {func(s *Setting) { s.Methods = nil }, "method is empty"},
		"reference": {func(s *Setting) { s.Reference = "x" }, "reference is"},
		"graph":     {func(s *Setting) { s.Graph = "x" }, "graph: "},
		"weights":   {func(s *Setting) { s.Weights = "x" }, "weights: "},
		"markup":    {func(s *Setting) { s.Name = "<b>" }, "name is"},
		"size":      {func(s *Setting) { s.Tasks, s.Samples = 1e9, 1e9 }, "tasks x samples x features is"},
	} {
		s := small()
		c.change(&s)
		if err := (&Run{Setting: s, Trials: 1}).Do(t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}
