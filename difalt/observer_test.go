package difalt_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// TestObserverStops ends a run by an error of the observer.
func TestObserverStops(t *testing.T) {
	s, net := small(t)
	enough := errors.New("enough")
	seen := 0
	_, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Observer: func(r *difalt.Record) error {
		if seen++; r.Iteration == 3 {
			return enough
		}
		return nil
	}})
	if !errors.Is(err, enough) || seen != 4 {
		t.Errorf("error %v after %d records", err, seen)
	}
}

// TestObserverEnds lets observers say that it is enough, in one process and in each of several: all
// nodes end in the same state without an error, one that can be gone on from.
func TestObserverEnds(t *testing.T) {
	s, net := small(t)
	seen := 0
	enough := func(r *difalt.Record) error {
		if seen++; r.Iteration == 3 {
			return fmt.Errorf("the caller: %w", difalt.ErrStop)
		}
		return nil
	}
	o := difalt.Options{Rank: 2, Iterations: 40, Tolerance: 1e-300, Observer: enough}
	solver, err := difalt.NewSolver(s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer solver.Close()
	res, err := solver.Run(t.Context())
	if err != nil || res.Status != difalt.Canceled || res.Iterations != 3 || seen != 4 {
		t.Fatalf("%v, %v after %d iterations and %d records", err, res.Status, res.Iterations, seen)
	}
	snap, err := solver.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Observer = nil
	again, err := difalt.NewSolver(s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Restore(snap); err != nil {
		t.Fatal(err)
	}
	if res, err = again.Run(t.Context()); err != nil || res.Iterations != 40 {
		t.Fatalf("%v; a run that an observer has ended goes on to %d iterations", err, res.Iterations)
	}

	w := network(t, "path", 5, topology.Metropolis, 1).Weights()
	for ends := range 5 {
		groups := together(5, 5)
		transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{RoundTimeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		got, errs := apart(t, s.Problem, w, groups, transports, func(k int) difalt.Options {
			o := difalt.Options{Rank: 2, Iterations: 400, Tolerance: 1e-300, Workers: 1}
			if k == ends {
				calls := 0
				o.Observer = func(r *difalt.Record) error {
					if calls++; calls > 4 {
						t.Error("an observer that has said that it is enough is called again")
					}
					if r.Iteration == 3 {
						return difalt.ErrStop
					}
					return nil
				}
			}
			return o
		})
		for k, res := range got {
			if errs[k] != nil || res.Status != difalt.Canceled || res.Iterations != got[0].Iterations || res.Iterations < 3 || res.Iterations > 13 {
				t.Fatalf("the observer of node %d: node %d ends with %v, %+v", ends, k, errs[k], res)
			}
		}
	}
}

// TestNotUsable asks for what there is not yet, and no more.
func TestNotUsable(t *testing.T) {
	s, net := small(t)
	solver, err := difalt.NewSolver(s.Problem, net, difalt.Options{Rank: 2, Iterations: 5})
	if err != nil {
		t.Fatal(err)
	}
	asked := func(want error) {
		t.Helper()
		_, a := solver.Record()
		_, b := solver.Result()
		if !errors.Is(a, want) || !errors.Is(b, want) {
			t.Errorf("Record: %v, Result: %v; want %v", a, b, want)
		}
	}
	asked(difalt.ErrNotStarted)
	if _, err := solver.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec, err := solver.Record(); err != nil || rec.Iteration != 1 {
		t.Errorf("%v, %+v", err, rec)
	}
	solver.Close()
	solver.Close()
	asked(difalt.ErrClosed)
	_, a := solver.Step(t.Context())
	_, b := solver.Run(t.Context())
	_, c := solver.Snapshot(t.Context())
	var d error
	for _, err := range solver.Iterations(t.Context()) {
		d = err
	}
	for _, err := range []error{a, b, c, d} {
		if !errors.Is(err, difalt.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}
