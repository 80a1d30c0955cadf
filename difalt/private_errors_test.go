package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/noise"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A run that fails at an exchange goes on there when it is called again on the same network: with the noise that has been made before, whatever the
// second call would draw.
func TestPrivateRetried(t *testing.T) {
	s := dealt(3, 2, 4, 3)
	w := network(t, "path", 4, topology.Metropolis, 1).Weights()
	run := func(seq uint64, again byte) []float64 {
		transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}, {3}}, testnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		results, errs, failures := make([]*difalt.PrivateResult, 4), make([]error, 4), 0
		var wg sync.WaitGroup
		for i, tr := range transports {
			if i == 1 {
				tr = testnet.FailOnce(tr, seq, seq%2 == 0)
			}
			wg.Go(func() {
				defer tr.Close()
				net, err := consensus.New(w, tr)
				for seed := byte(i); err == nil && results[i] == nil; seed = again {
					results[i], err = difalt.RunPrivate(noise.Fixed(t.Context(), [32]byte{seed}), part(s.bare(), []int{i}), net, difalt.Privacy{Rank: 2, Epsilon: 4, Workers: 1})
					if errors.Is(err, testnet.ErrInjected) {
						failures++
						err = nil
					}
				}
				errs[i] = err
			})
		}
		wg.Wait()
		for i, res := range results {
			if errs[i] != nil {
				t.Fatalf("exchange %d: %v", seq, errs[i])
			}
			if !slices.Equal(res.U.Data(), results[0].U.Data()) {
				t.Errorf("exchange %d: node %d has another U", seq, i)
			}
		}
		if failures == 0 && seq < math.MaxUint64 {
			return nil
		}
		return results[0].U.Data()
	}
	want, same := run(math.MaxUint64, 0), 0
	for seq := uint64(0); ; seq++ {
		got := run(seq, 77)
		if got == nil {
			break
		}
		if slices.Equal(got, want) {
			same++
		}
	}
	if rounds := 2 * 2; same < rounds { // of the sum, along a path of four
		t.Errorf("after %d failures the noise is that of before, want at least %d", same, rounds)
	}
}

// Faults of the caller are named.
func TestPrivateErrors(t *testing.T) {
	s := dealt(3, 3)
	net := func() *consensus.Network { return network(t, "path", 2, topology.Metropolis, 1) }
	good := difalt.Privacy{Rank: 2, Epsilon: 1}
	for name, c := range map[string]struct {
		change func(p *difalt.Problem, o *difalt.Privacy)
		want   string
	}{
		"no epsilon":       {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = 0 }, "epsilon is 0"},
		"negative epsilon": {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = -1 }, "epsilon is -1"},
		"NaN":              {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = math.NaN() }, "epsilon is NaN"},
		"infinite":         {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = math.Inf(1) }, "epsilon is +Inf"},
		"delta":            {func(_ *difalt.Problem, o *difalt.Privacy) { o.Delta = 1 }, "delta is 1"},
		"NaN delta":        {func(_ *difalt.Problem, o *difalt.Privacy) { o.Delta = math.NaN() }, "delta is NaN"},
		"negative delta":   {func(_ *difalt.Problem, o *difalt.Privacy) { o.Delta = -.1 }, "delta is -0.1"},
		"no rank":          {func(_ *difalt.Problem, o *difalt.Privacy) { o.Rank = 0 }, "Rank is 0"},
		"rank":             {func(_ *difalt.Problem, o *difalt.Privacy) { o.Rank = 11 }, "Rank is 11"},
		"colluding":        {func(_ *difalt.Problem, o *difalt.Privacy) { o.Colluding = 2 }, "2 of 2 nodes"},
		"negative":         {func(_ *difalt.Problem, o *difalt.Privacy) { o.Colluding = -1 }, "colluding nodes is -1"},
		"bound":            {func(_ *difalt.Problem, o *difalt.Privacy) { o.MeanBound = math.NaN() }, "MeanBound is NaN"},
		"a start":          {func(p *difalt.Problem, _ *difalt.Privacy) { p.Start = s.Truth }, "U0, Start"},
		"no tasks":         {func(p *difalt.Problem, _ *difalt.Privacy) { p.Nodes = []*kernel.Tasks{nil, nil} }, "no tasks"},
	} {
		p, o := s.bare(), good
		c.change(p, &o)
		if _, err := difalt.RunPrivate(t.Context(), p, net(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := difalt.RunPrivate(t.Context(), nil, net(), good); err == nil {
		t.Error("no problem, and no error")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := net().Weights()
	transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}}, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	there, err := consensus.New(w, transports[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := difalt.RunPrivate(ended, part(s.bare(), []int{0}), there, good); err == nil {
		t.Error("the context has ended, and there is no error")
	}
}

// Nodes that want other things, one more epsilon than the other or an account against other numbers of colluding nodes, end
// with an error that says so.
func TestPrivateNodesDiffer(t *testing.T) {
	s := dealt(3, 3, 2)
	w := network(t, "path", 3, topology.Metropolis, 1).Weights()
	account := func(colluding int) *private.Account {
		a, err := private.NewAccount(1, .01, colluding)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for what, of := range map[string]func(i int) difalt.Privacy{
		"Epsilon": func(i int) difalt.Privacy { return difalt.Privacy{Rank: 2, Epsilon: float64(1 + i)} },
		"collude": func(i int) difalt.Privacy { return difalt.Privacy{Rank: 2, Account: account(i / 2)} },
	} {
		transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}}, testnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for i, tr := range transports {
			wg.Go(func() {
				defer tr.Close()
				net, err := consensus.New(w, tr)
				if err == nil {
					_, err = difalt.RunPrivate(t.Context(), part(s.bare(), []int{i}), net, of(i))
				}
				errs[i] = err
			})
		}
		wg.Wait()
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: node %d: %v", what, i, err)
			}
		}
	}
}

// The table of docs/privacy.md.
func TestPrivateTable(t *testing.T) {
	longtest.Only(t)
	for _, c := range []struct{ tasks, d, r, least, most int }{
		{100, 8, 2, 15, 15}, {100, 20, 2, 15, 15}, {100, 20, 3, 30, 30}, {100, 8, 2, 5, 100},
		{1000, 8, 2, 15, 15}, {1000, 20, 2, 15, 15}, {1000, 20, 3, 30, 30}, {1000, 8, 2, 5, 100}, {10_000, 8, 2, 15, 15}, {10_000, 20, 3, 30, 30},
	} {
		draws := 5
		if c.tasks > 1000 {
			draws = 3
		}
		kept := map[float64]*[2][]float64{}
		for seed := range draws {
			s := gaussian(uint64(100+seed), 10, c.d, c.tasks, c.r, func(t int) int { return c.least + t*37%(c.most-c.least+1) }, .5)
			net := network(t, "path", 10, topology.Metropolis, 1)
			none, single, shared := s.baselines(t, net, c.r)
			for _, epsilon := range []float64{1, 4, 8} {
				if kept[epsilon] == nil {
					kept[epsilon] = &[2][]float64{}
				}
				_, got := runPrivate(t, s, net, difalt.Privacy{Rank: c.r, Epsilon: epsilon})
				kept[epsilon][0] = append(kept[epsilon][0], 100*(none-got)/(none-shared))
				kept[epsilon][1] = append(kept[epsilon][1], 100*(single-got)/(single-shared))
			}
		}
		line := fmt.Sprintf("%d x %d to %d, %d, %d", c.tasks, c.least, c.most, c.d, c.r)
		for _, epsilon := range []float64{1, 4, 8} {
			line += fmt.Sprintf(" | %.0f / %.0f", median(kept[epsilon][0]), median(kept[epsilon][1]))
		}
		t.Log(line)
	}
}
