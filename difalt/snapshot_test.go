package difalt_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
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

// TestOtherResponses: a solver for other responses that starts where another has ended keeps the
// packed samples, comes to the bits of tasks that are packed anew, and counts its own traffic alone.
func TestOtherResponses(t *testing.T) {
	s, net := small(t)
	other := gaussian(1, 5, 20, 40, 2, fixed(15), 0.3) // the same samples
	for _, normalize := range []bool{false, true} {
		o := difalt.Options{Rank: 2, Method: difalt.ScaledDiffusion, NormalizeTasks: normalize}
		before := run(t, s.Problem, net, o)
		kept, anew := &difalt.Problem{U0: before.U}, &difalt.Problem{U0: before.U}
		for g, tasks := range s.Nodes {
			var x []mat.Matrix
			for _, m := range s.x[g] {
				x = append(x, m)
			}
			kept.Nodes = append(kept.Nodes, tasks.WithResponses(slices.Concat(other.y[g]...)))
			anew.Nodes = append(anew.Nodes, kernel.NewTasks(x, other.y[g], kernel.Float64))
		}
		o.Ridge = 0.5
		want, sent := run(t, anew, net, o), net.Traffic()
		got := run(t, kept, net, o)
		if got.Iterations != want.Iterations || got.Status != want.Status || got.Last.Objective != want.Last.Objective || !mat.Equal(got.U[3], want.U[3]) {
			t.Errorf("with the samples kept: %v after %d iterations at %v, packed anew: %v after %d at %v", got.Status, got.Iterations, got.Last.Objective, want.Status, want.Iterations, want.Last.Objective)
		}
		if all := net.Traffic().Minus(sent); got.InitTraffic.Plus(got.Last.Traffic) != all {
			t.Errorf("%+v and %+v, but %+v were sent", got.InitTraffic, got.Last.Traffic, all)
		}
		// From U0 and with a method that needs no step the nodes only compare their data.
		if r := got.InitTraffic.Rounds; r > 8 {
			t.Errorf("%d rounds before the iterations, %d in the run before", r, before.InitTraffic.Rounds)
		}
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
	if err := new(difalt.Snapshot).UnmarshalBinary(old); err == nil || !strings.Contains(err.Error(), "version 7, this is version 8") {
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

// TestRefusedChangesNothing: a run goes on with the same bits after a snapshot was refused at any place,
// whatever its method keeps, and in mixed precision.
func TestRefusedChangesNothing(t *testing.T) {
	for _, method := range append(difalt.Methods(), difalt.Baselines()...) {
		s, net := small(t)
		o := difalt.Options{Rank: 2, Method: method, Iterations: 12, EveryIteration: true, MixedPrecision: method == difalt.Accelerated}
		want := run(t, s.Problem, net, o)
		snap, err := interrupted(t, s.Problem, net, o, 7).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := stored(t, snap)
		solver := interrupted(t, s.Problem, net, o, 4)
		for n := 1; n < len(p)-30; n += 1 + len(p)/40 {
			if err := solver.Restore(loaded(t, p[:len(p)-n])); err == nil {
				t.Fatalf("%v: without its last %d bytes a snapshot is accepted", method, n)
			}
		}
		got, err := solver.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.U {
			if !mat.Equal(got.U[i], want.U[i]) || got.Last.Traffic != want.Last.Traffic {
				t.Errorf("%v, node %d: another result after refused snapshots", method, i)
			}
		}
	}
}
