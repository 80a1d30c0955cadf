package simulation

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
)

// small is a setting whose trials take milliseconds.
func small() Setting {
	return Setting{
		Nodes: 6, Features: 20, Tasks: 30, Samples: 15, Rank: 2,
		Graph: "er:0.6", Weights: "metropolis", Methods: []string{"dif", "altgdmin", "dec", "dgd"},
		Rounds: 4, InitRounds: 6, PowerIterations: 20, Iterations: 60,
		Seed: 7, Time: TimeModel{Latency: 1e-3, Bandwidth: 1e9},
	}
}

func runTrials(t *testing.T, s Setting, first, last, workers int) []Trial {
	t.Helper()
	var trials []Trial
	r := Run{Setting: s, First: first, Last: last, Workers: workers, Deliver: func(t *Trial) error {
		trials = append(trials, *t)
		return nil
	}}
	if err := r.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	return trials
}

func TestRun(t *testing.T) {
	s := small()
	w, err := s.Mixing(3)
	if err != nil {
		t.Fatal(err)
	}
	var iterations atomic.Int64
	var trials []Trial
	r := Run{Setting: s, First: 3, Last: 5, Workers: 2,
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
		if tr.Number != 3+i {
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
	net, err := s.Network(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	z := make([][]float64, s.Nodes)
	for i := range z {
		z[i] = []float64{0}
	}
	if err := net.Sum(t.Context(), z); err != nil {
		t.Fatal(err)
	}
	sum := net.Traffic()
	if err := net.Broadcast(t.Context(), 0, z); err != nil {
		t.Fatal(err)
	}
	broadcast := net.Traffic().Minus(sum)
	// Per iteration: T_con rounds of 2|E| messages with the 8 d r bytes of a basis;
	// a gather and a broadcast for the centralised method; one round for DGD.
	edges := int64(w.Graph().Edges())
	for k, want := range []struct{ rounds, messages int64 }{{4, 4 * 2 * edges}, {2, 2 * 6}, {4, 4 * 2 * edges}, {1, 2 * edges}} {
		c := trials[0].Curves[k]
		start, last := c.Rows[0], c.Rows[60]
		// Beside a header of 6 bytes and a basis, header reductions of two numbers along 5 edges.
		others := last.Bytes - start.Bytes - 60*want.messages*(8*20*2+6)
		if last.Rounds-start.Rounds != 60*want.rounds || last.Messages-start.Messages != 60*want.messages || others < 0 || others > 60*540 || others%540 != 0 {
			t.Errorf("%s: from %+v to %+v after 60 iterations", c.Method, start, last)
		}
		// Before them, a sum of 17 numbers, of 3 words each on the way up, with votes, and 20 power iterations with 6 rounds
		// and a broadcast of a basis and 2 singular values.
		if start.Rounds != sum.Rounds+20*(6+broadcast.Rounds) || start.Messages != 2*5+20*(6*2*edges+2*5) ||
			start.Bytes != 5*(17*24+2+17*8+1)+8*20*(6*2*edges*40+5*42)+6*start.Messages {
			t.Errorf("%s: the initialisation took %+v", c.Method, start)
		}
		// 1 ms and 2,560 bits at 1 Gbit/s a round; computation comes on top.
		if least := 60 * float64(want.rounds) * 0.00100256; last.Seconds-start.Seconds < least || last.Seconds-start.Seconds > least+60 {
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
			text += string(tr.AppendCSV(nil))
		}
		return text
	}
	all := csv(runTrials(t, s, 1, 4, 1))
	if all != csv(runTrials(t, s, 1, 4, 3)) {
		t.Error("results depend on the number of workers")
	}
	if all != csv(runTrials(t, s, 1, 2, 2))+csv(runTrials(t, s, 3, 4, 2)) {
		t.Error("results depend on where a run starts")
	}
	alone, other := s, s
	alone.Methods, other.Seed = s.Methods[:1], s.Seed+1
	if first := csv(runTrials(t, alone, 1, 1, 1)); !strings.HasPrefix(all, first) {
		t.Error("a method's curve depends on the other methods")
	}
	if all == csv(runTrials(t, other, 1, 4, 1)) {
		t.Error("results do not depend on the seed")
	}
}

func TestRunStops(t *testing.T) {
	s := small()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := Run{Setting: s, First: 1, Last: 3, Workers: 1,
		Deliver:  func(*Trial) error { t.Error("a trial was delivered"); return nil },
		Progress: func(int) { cancel() }}
	err := r.Do(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	full := errors.New("disk full")
	r = Run{Setting: s, First: 1, Last: 9, Workers: 2, Deliver: func(*Trial) error { return full }}
	if err := r.Do(t.Context()); !errors.Is(err, full) {
		t.Errorf("error is %v, want that of Deliver", err)
	}
}

// With few rounds diffusion ends between the minimisers of the nodes, tracking at that of
// the pooled data, which one node with all data finds too.
func TestRunPooled(t *testing.T) {
	s := small()
	s.Noise, s.Iterations, s.Rounds = 0.1, 60, 3
	s.Methods = []string{Pooled, "accelerated", "accelerated-tracking"}
	truth := runTrials(t, s, 1, 1, 1)[0].Curves
	s.Reference = Pooled
	pooled := runTrials(t, s, 1, 1, 1)[0].Curves
	end := func(c Curve) Row { return c.Rows[len(c.Rows)-1] }
	if d := end(pooled[0]).SDFirst; d > 1e-9 || end(pooled[2]).SDFirst > 1e-9 || end(pooled[1]).SDFirst < 1e-4 {
		t.Errorf("to the minimiser: one node %g, tracking %g, diffusion %g", d, end(pooled[2]).SDFirst, end(pooled[1]).SDFirst)
	}
	if d, e := end(truth[0]).SDFirst, end(truth[2]).SDFirst; d < 1e-3 || math.Abs(d-e) > 1e-9 {
		t.Errorf("to the truth: one node %g, tracking %g", d, e)
	}
	if b := end(truth[0]).Bytes; b != 0 {
		t.Errorf("one node sends %d bytes", b)
	}
}

// A method that diverges keeps its rows and does not end the run; links that fail
// cost messages and change nothing else.
func TestRunUnusual(t *testing.T) {
	s := small()
	s.Methods, s.ScaledStep, s.Iterations = []string{"scaled", "dif"}, 1e300, 5
	c := runTrials(t, s, 1, 1, 1)[0].Curves
	if !c[0].Diverged || len(c[0].Rows) == 0 || len(c[0].Rows) > 5 || c[1].Diverged || len(c[1].Rows) != 6 {
		t.Errorf("with a far too long step: diverged %v after %d rows, the other %v after %d", c[0].Diverged, len(c[0].Rows), c[1].Diverged, len(c[1].Rows))
	}
	s = small()
	good := runTrials(t, s, 1, 1, 1)[0]
	s.Loss, s.Delay, s.Duplicate = 0.2, 0.1, 0.1
	bad := runTrials(t, s, 1, 1, 1)[0]
	last, other := good.Curves[0].Rows[60], bad.Curves[0].Rows[60]
	if last.SDFirst != other.SDFirst || last.Rounds != other.Rounds {
		t.Errorf("links that fail change the result from %g to %g", last.SDFirst, other.SDFirst)
	}
	// A message that arrives with probability .7 is sent 1/.7 times on average.
	if ratio := float64(other.Messages) / float64(last.Messages); math.Abs(ratio-1/0.7) > 0.05 {
		t.Errorf("%g times as many messages, want 1/0.7", ratio)
	}
}

func TestRunErrors(t *testing.T) {
	s := small()
	s.Rank = 31
	if err := (&Run{Setting: s, First: 1, Last: 1}).Do(t.Context()); err == nil || !strings.Contains(err.Error(), "rank is 31") {
		t.Errorf("error is %v", err)
	}
}

func TestSummarize(t *testing.T) {
	curve := func(method string, distances ...float64) Curve {
		c := Curve{Method: method}
		for i, v := range distances {
			c.Rows = append(c.Rows, Row{Iteration: i, SDFirst: v, Rounds: int64(3 + 2*i), Bytes: int64(7 + 100*i), Seconds: float64(i) / 2})
		}
		return c
	}
	trials := []Trial{
		{Number: 1, Curves: []Curve{curve("dif", .5, 1e-3, 1e-7), curve("dec", .5, .1, .2)}},
		{Number: 2, Curves: []Curve{curve("dif", .5, 1e-2, 1e-5), curve("dec", .5, .1, 1e-4)}},
		{Number: 3, Curves: []Curve{curve("dif", .5, 1e-3, 1e-6), curve("dec", .5, .1, .3)}},
	}
	trials[2].Curves[1].Diverged = true
	sum := Summarize(&Setting{}, trials, nil)
	dif, dec := sum.Methods[0], sum.Methods[1]
	if f := dif.Final; f.Median != 1e-6 || f.Min != 1e-7 || f.Max != 1e-5 {
		t.Errorf("final distances of dif are %+v", f)
	}
	if r := dif.Reached[0]; r.Trials != 3 || *r.Iterations != 1 || *r.Bytes != 107 || *r.Seconds != 0.5 {
		t.Errorf("dif to 1e-3: %+v", r)
	}
	if dif.InitBytes != 7 || dif.InitRounds != 3 || *dif.Reached[0].Rounds != 5 {
		t.Errorf("the initialisation of dif took %g bytes and %g rounds; to 1e-3: %g rounds", dif.InitBytes, dif.InitRounds, *dif.Reached[0].Rounds)
	}
	if r := dif.Reached[1]; r.Trials != 2 || *r.Iterations != 2 {
		t.Errorf("dif to 1e-6: %+v", r)
	}
	if r := dec.Reached[0]; r.Trials != 1 || r.Iterations != nil || r.Seconds != nil {
		t.Errorf("dec to 1e-3, which one of three trials reaches: %+v", r)
	}
	if dec.Diverged != 1 || dif.Diverged != 0 || dif.Bytes != 207 || dif.Seconds != 1 {
		t.Errorf("totals are %+v, %+v", dif, dec)
	}
}
