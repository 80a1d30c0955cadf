package difalt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
)

// TestResultInside: an observer, and the body of a loop over Iterations, may ask for a result and a snapshot,
// which change nothing about the run. With SampleSplit the iteration has coefficients of other samples.
func TestResultInside(t *testing.T) {
	p := draw(t, 3, 6, 20, 80, 2, 1.5, .1, 5)
	for _, method := range difalt.Methods() {
		for _, split := range []bool{false, true} {
			if split && method == difalt.Accelerated {
				continue
			}
			o := difalt.Options{Rank: 2, Method: method, Iterations: 12, SampleSplit: split}
			want := run(t, p, network(t, "path", 3, 1), o)
			s := newSolver(t, p, network(t, "path", 3, 1), o)
			for _, err := range s.Iterations(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Result(); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Result()
			if err != nil {
				t.Fatal(err)
			}
			same := got.Status == want.Status && got.Iterations == want.Iterations
			if !same || !slices.Equal(got.U[1].Data(), want.U[1].Data()) {
				t.Errorf("%v, split: %v: %v after %d iterations, %g from the run without results",
					method, split, got.Status, got.Iterations, difalt.SubspaceDistance(got.U[1], want.U[1]))
			}
		}
	}
}

// TestStepInside: an observer cannot take a step of its own solver, whose state is between two lines of the
// algorithm, and a solver that it closes ends with an error.
func TestStepInside(t *testing.T) {
	p := draw(t, 3, 12, 40, 20, 2, 1.5, .1, 5)
	var s *difalt.Solver
	var inside []error
	o := difalt.Options{Rank: 2, Iterations: 5, Observer: func(r *difalt.Record) error {
		_, stepped := s.Step(t.Context())
		_, ran := s.Run(t.Context())
		inside = append(inside, stepped, ran)
		for _, err := range s.Iterations(t.Context()) {
			inside = append(inside, err)
		}
		return nil
	}}
	s = newSolver(t, p, network(t, "path", 3, 1), o)
	got := finish(t, s)
	o.Observer = nil
	want := run(t, p, network(t, "path", 3, 1), o)
	if got.Status != want.Status || !slices.Equal(got.U[1].Data(), want.U[1].Data()) {
		t.Errorf("%v, and another U than without an observer", got.Status)
	}
	if len(inside) != 3*6 {
		t.Errorf("%d errors", len(inside))
	}
	for _, err := range inside {
		if err == nil || !strings.Contains(err.Error(), "in the middle of a step") {
			t.Fatalf("a call of the observer: %v", err)
		}
	}
	o.Observer = func(r *difalt.Record) error {
		if r.Iteration == 2 {
			s.Close()
		}
		return nil
	}
	s = newSolver(t, p, network(t, "path", 3, 1), o)
	if res, err := s.Run(t.Context()); res != nil || err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("closed by its observer: %v, %v", res, err)
	}
}

// TestPanicInside: a solver goes on after a panic of its observer.
func TestPanicInside(t *testing.T) {
	p := draw(t, 3, 12, 40, 20, 2, 1.5, .1, 5)
	o := difalt.Options{Rank: 2, Iterations: 5}
	want, panicked := run(t, p, network(t, "path", 3, 1), o), false
	o.Observer = func(r *difalt.Record) error {
		if r.Iteration == 2 && !panicked {
			panicked = true
			panic("of the observer")
		}
		return nil
	}
	s := newSolver(t, p, network(t, "path", 3, 1), o)
	func() {
		defer func() {
			if got := recover(); got != "of the observer" {
				t.Errorf("panic %v", got)
			}
		}()
		_, _ = s.Run(t.Context())
	}()
	if got := finish(t, s); got.Status != want.Status || !slices.Equal(got.U[1].Data(), want.U[1].Data()) {
		t.Errorf("%v, and another U than without a panic", got.Status)
	}
}
