package difalt_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// TestUpdates changes responses and ridge of a solver and compares with
// solvers made for that.
func TestUpdates(t *testing.T) {
	s, net := small(t)
	other := gaussian(1, 5, 20, 40, 2, fixed(15), 0.3) // the same samples
	for _, normalize := range []bool{false, true} {
		o := difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, NormalizeTasks: normalize}
		solver, err := difalt.NewSolver(s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		defer solver.Close()
		before, err := solver.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := solver.SetResponses(other.y); err != nil {
			t.Fatal(err)
		}
		if err := solver.SetRidge(0.5); err != nil {
			t.Fatal(err)
		}
		got, err := solver.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := &difalt.Problem{U0: before.U, Truth: s.Truth}
		for g := range s.x {
			var x []mat.Matrix
			for _, m := range s.x[g] {
				x = append(x, m)
			}
			p.Nodes = append(p.Nodes, kernel.NewTasks(x, other.y[g], kernel.Float64))
		}
		o.Ridge = 0.5
		want := run(t, p, net, o)
		if got.Iterations != want.Iterations || got.Status != want.Status || got.Last.Objective != want.Last.Objective {
			t.Errorf("updated: %v after %d iterations at %v, made anew: %v after %d at %v", got.Status, got.Iterations, got.Last.Objective, want.Status, want.Iterations, want.Last.Objective)
		}
	}
	solver, err := difalt.NewSolver(s.Problem, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer solver.Close()
	bad := [][][]float64{{{1}}}
	unknown, _ := small(t)
	unknown.y[3][1][2] = math.NaN()
	if err := solver.SetResponses(unknown.y); err == nil || !strings.Contains(err.Error(), "node 3, task 1, row 2: y is NaN") {
		t.Errorf("a response that is NaN: %v", err)
	}
	for name, err := range map[string]error{
		"ridge": solver.SetRidge(math.Inf(1)), "responses": solver.SetResponses(bad),
	} {
		if err == nil {
			t.Errorf("a bad %s is accepted", name)
		}
	}
}

// TestIterations steps through a run by the iterator.
func TestIterations(t *testing.T) {
	s, net := small(t)
	solver, err := difalt.NewSolver(s.Problem, net, difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer solver.Close()
	var last *difalt.Record
	states := 0
	for rec, err := range solver.Iterations(t.Context()) {
		if err != nil || rec.Iteration < states-1 || rec.Iteration > states {
			t.Fatalf("state %d: %+v, %v", states, rec, err)
		}
		last = rec
		states++
	}
	res, err := solver.Result()
	if err != nil || res.Status != difalt.Converged || last == nil || last.Iteration != res.Iterations || last.SDMax > 1e-9 {
		t.Errorf("%v, %+v, last record %+v", err, res, last)
	}
	if status, err := solver.Step(t.Context()); status != difalt.Converged || err != nil {
		t.Errorf("a step after the end: %v, %v", status, err)
	}
}

// TestSnapshotBytes: what is not a snapshot of this version is refused, wherever it ends,
// and nothing panics.
func TestSnapshotBytes(t *testing.T) {
	s, net := small(t)
	o := difalt.Options{Rank: 2, Method: difalt.AcceleratedTracking, Iterations: 20}
	solver := interrupted(t, s.Problem, net, o, 7)
	snap, err := solver.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Iteration() != 7 {
		t.Errorf("iteration %d, want 7", snap.Iteration())
	}
	p := stored(t, snap)
	if !bytes.Equal(p, stored(t, loaded(t, p))) {
		t.Error("read and written again, the bytes differ")
	}
	old := slices.Clone(p)
	old[len("difalt snapshot")]--
	if err := new(difalt.Snapshot).UnmarshalBinary(old); err == nil || !strings.Contains(err.Error(), "version 5, this is version 6") {
		t.Errorf("another version: %v", err)
	}
	for n := 0; n < len(p); n += 1 + n/300*37 { // all of the header, and some of the state
		if q := new(difalt.Snapshot); q.UnmarshalBinary(p[:n]) == nil && solver.Restore(q) == nil {
			t.Fatalf("%d of %d bytes are taken for a snapshot", n, len(p))
		}
		spoilt := slices.Clone(p)
		spoilt[n] ^= 0xff
		if q := new(difalt.Snapshot); q.UnmarshalBinary(spoilt) == nil {
			_ = solver.Restore(q) // may fit as well
		}
	}
}
