package difalt_test

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/mat"
)

// TestRestoredAtTheEnd: a run that has ended stays ended when its last snapshot is restored,
// with the same result, whatever ended it.
func TestRestoredAtTheEnd(t *testing.T) {
	for _, method := range difalt.Methods() {
		for want, o := range map[difalt.Status]difalt.Options{
			difalt.Converged:      {Tolerance: 1e-6, Iterations: 2000},
			difalt.IterationLimit: {Iterations: 3},
			difalt.Diverged:       {Iterations: 400, Step: 1e3, Scaled: difalt.ScaledOptions{Step: 1e3}},
		} {
			s, net := small(t)
			o.Rank, o.Method = 2, method
			first, err := difalt.NewSolver(s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			defer first.Close()
			ended, err := first.Run(t.Context())
			if err != nil && !errors.Is(err, difalt.ErrDiverged) {
				t.Fatal(err)
			}
			if ended.Status != want {
				continue // the guard of the accelerated methods keeps them from diverging; DGD stalls
			}
			snap, err := first.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			second, err := difalt.NewSolver(s.Problem, net, o)
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			if err := second.Restore(snap); err != nil {
				t.Fatal(err)
			}
			got, err := second.Run(t.Context())
			if got == nil || got.Status != want || got.Iterations != ended.Iterations || got.Status.Err() != err {
				t.Errorf("%v: %v after %d iterations; restored it ends otherwise: %v", method, want, ended.Iterations, err)
				continue
			}
			if got.Last.Objective != ended.Last.Objective || got.Last.Traffic != ended.Last.Traffic || !mat.Equal(got.U[3], ended.U[3]) {
				t.Errorf("%v, %v: restored it has another result", method, want)
			}
		}
	}
}

// TestUpdatesCountAnew: after an update that starts the iterations again, traffic and time
// are those since then, also in a run that was restored.
func TestUpdatesCountAnew(t *testing.T) {
	s, net := small(t)
	var atStart difalt.Record
	o := difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, Observer: func(r *difalt.Record) error {
		if r.Iteration == 0 {
			atStart = *r
		}
		return nil
	}}
	first, err := difalt.NewSolver(s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	before, err := first.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snap, err := interrupted(t, s.Problem, net, o, 9).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := difalt.NewSolver(s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Restore(snap); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, solver := range map[string]*difalt.Solver{"": first, "restored": second} {
		for update, err := range map[string]error{"SetRidge": solver.SetRidge(0.5), "SetResponses": solver.SetResponses(s.y)} {
			if err != nil {
				t.Fatal(update, err)
			}
		}
		sent := net.Traffic()
		got, err := solver.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if atStart.Compute != 0 || atStart.Traffic != (wire.Traffic{}) {
			t.Errorf("%s: the iterations begin after %v and with %+v", name, atStart.Compute, atStart.Traffic)
		}
		all := net.Traffic().Minus(sent)
		if got.InitTraffic.Plus(got.Last.Traffic) != all {
			t.Errorf("%s: %+v and %+v, but %+v were sent", name, got.InitTraffic, got.Last.Traffic, all)
		}
		// From U0 and with a method that needs no step the nodes only compare their data.
		if r := got.InitTraffic.Rounds; r > 8 {
			t.Errorf("%s: %d rounds before the iterations, %d in the run before", name, r, before.InitTraffic.Rounds)
		}
	}
}
