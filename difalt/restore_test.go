package difalt_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestRestoreEnds: a run ends in one iteration with one status and the same bits, wherever it was restored on
// the way, its last state included. Steps that are too long make it diverge, and steps a little shorter let
// the objective rise and fall again.
func TestRestoreEnds(t *testing.T) {
	p := draw(t, 3, 12, 24, 10, 2, 3, .1, 5)
	short := difalt.Options{Rank: 2, Iterations: 1}
	first := run(t, p, network(t, "path", 3, 1), short).Initial.Step
	seen := map[difalt.Status]int{}
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin, difalt.DGD} {
		for _, factor := range []float64{.5, 4, 5, 6, 8, 12, 30} {
			o := difalt.Options{Rank: 2, Method: method, Iterations: 37, Step: factor * first}
			seen[restoreEverywhere(t, p, o, []int{1, 4, 10, 13, 20, 29})]++
		}
	}
	if seen[difalt.Diverged] < 3 || seen[difalt.IterationLimit] < 3 {
		t.Errorf("the runs ended as %v: too few of a kind", seen)
	}
}

// TestRestoreConverges: so does a run that ends by Tolerance or at the noise, whose last check needs the move
// and the residual of the check before.
func TestRestoreConverges(t *testing.T) {
	p := draw(t, 3, 12, 40, 20, 2, 1.5, .1, 5)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin} {
		for _, o := range []difalt.Options{{Tolerance: 1e-2}, {StopAtNoise: true}} {
			o.Rank, o.Method, o.Iterations, o.Rounds = 2, method, 80, 20
			if got := restoreEverywhere(t, p, o, []int{3, 10, 20, 26, 30, 31}); got != difalt.Converged {
				t.Errorf("%v, %+v: %v", method, o, got)
			}
		}
	}
}

// TestRestoreSplit: so does a run with sets of samples for every iteration.
func TestRestoreSplit(t *testing.T) {
	p := draw(t, 3, 6, 20, 80, 2, 1.5, .1, 5)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin} {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 12, SampleSplit: true}
		if got := restoreEverywhere(t, p, o, []int{1, 5, 10}); got != difalt.IterationLimit {
			t.Errorf("%v: %v", method, got)
		}
	}
}

// TestRestoreApart: nodes in processes of their own, which a context interrupts, end after Restore as the run
// itself.
func TestRestoreApart(t *testing.T) {
	p, w := draw(t, 3, 12, 40, 20, 2, 1.5, .1, 5), weights(t, "path", 3, 1, topology.Metropolis)
	p.Truth = nil
	groups := together(3, 3)
	for name, o := range map[string]difalt.Options{
		"tolerance": {Tolerance: 1e-2}, "noise": {StopAtNoise: true, Rounds: 20}, "limit": {Iterations: 20},
		"diverges": {Step: 1}, "centralised": {Method: difalt.AltGDmin, StopAtNoise: true},
	} {
		o.Rank = 2
		want := run(t, p, network(t, "path", 3, 1), o)
		for _, at := range []int{1, 7, 10, 14, 30} {
			kept := interrupted(t, p, w, groups, o, at)
			if kept[0].Iteration() == want.Iterations && want.Status == difalt.Diverged {
				continue // the snapshot has the best U
			}
			got, errs := apart(t, w, groups, func(k int, net *consensus.Network) (*difalt.Result, error) {
				s, err := difalt.NewSolver(part(p, groups[k]), net, o)
				if err != nil {
					return nil, err
				}
				defer s.Close()
				if err := s.Restore(kept[k]); err != nil {
					return nil, err
				}
				res, err := s.Run(t.Context())
				if errors.Is(err, difalt.ErrDiverged) {
					err = nil
				}
				return res, err
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for k, res := range got {
				same := res.Status == want.Status && res.Iterations == want.Iterations
				if !same || !slices.Equal(res.U[0].Data(), want.U[k].Data()) {
					t.Errorf("%s, interrupted at %d: node %d: %v after %d iterations, want %v after %d", name, at, k,
						res.Status, res.Iterations, want.Status, want.Iterations)
				}
			}
		}
	}
}

// interrupted runs all processes until the context of the second ends in the given iteration, and returns the
// snapshots of that end.
func interrupted(t *testing.T, p *difalt.Problem, w *topology.Weights, groups [][]int, o difalt.Options,
	at int) []*difalt.Snapshot {
	t.Helper()
	kept, errs := apart(t, w, groups, func(k int, net *consensus.Network) (*difalt.Snapshot, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := o
		o.Observer = func(r *difalt.Record) error {
			if k == 1 && r.Iteration == at {
				cancel()
			}
			return nil
		}
		s, err := difalt.NewSolver(part(p, groups[k]), net, o)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		_, err = s.Run(ctx)
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, difalt.ErrDiverged) {
			return nil, err
		}
		return s.Snapshot()
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return kept
}

// restoreEverywhere restores a run in the given iterations and in its last one, and fails unless all ends are
// alike. It returns the status.
func restoreEverywhere(t *testing.T, p *difalt.Problem, o difalt.Options, iterations []int) difalt.Status {
	t.Helper()
	want := run(t, p, network(t, "path", 3, 1), o)
	for _, at := range append(iterations, want.Iterations) {
		if at > want.Iterations {
			continue
		}
		s := newSolver(t, p, network(t, "path", 3, 1), o)
		for range at {
			step(t, s, t.Context())
		}
		checkContinued(t, p, o, s, want, at)
		if at < want.Iterations || want.Status == difalt.Diverged { // whose snapshot has the best U
			continue
		}
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkContinued(t, p, o, s, want, at)
	}
	return want.Status
}

// checkContinued fails unless the snapshot of a solver leads to the given end.
func checkContinued(t *testing.T, p *difalt.Problem, o difalt.Options, s *difalt.Solver, want *difalt.Result, at int) {
	t.Helper()
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again := newSolver(t, p, network(t, "path", 3, 1), o)
	if err := again.Restore(snapshot); err != nil {
		t.Fatal(err)
	}
	got, err := again.Run(t.Context())
	if err != nil && !errors.Is(err, difalt.ErrDiverged) {
		t.Fatal(err)
	}
	if got.Status != want.Status || got.Iterations != want.Iterations {
		t.Errorf("%v, step %g: %v after %d iterations, but %v after %d if restored at %d",
			o.Method, o.Step, want.Status, want.Iterations, got.Status, got.Iterations, at)
	}
	for i := range want.U {
		if !slices.Equal(got.U[i].Data(), want.U[i].Data()) {
			t.Errorf("%v, restored at %d: another U at node %d", o.Method, at, i)
		}
	}
	bits := func(r *difalt.Result) [2]uint64 {
		return [2]uint64{math.Float64bits(r.Residual), math.Float64bits(r.StatisticalError)}
	}
	if bits(got) != bits(want) {
		t.Errorf("%v, restored at %d: residual %g and error %g, want %g and %g",
			o.Method, at, got.Residual, got.StatisticalError, want.Residual, want.StatisticalError)
	}
}

// TestDamagedSnapshot: what a run cannot have written is refused.
func TestDamagedSnapshot(t *testing.T) {
	p, o := draw(t, 2, 6, 8, 9, 2, 2, 0, 1), difalt.Options{Rank: 2}
	s := newSolver(t, p, network(t, "path", 2, 1), o)
	step(t, s, t.Context())
	for want, damage := range map[string]func(c *content){
		"version 0": func(c *content) { c.Version = 0 }, "iteration -1": func(c *content) { c.Iteration = -1 },
		"iteration 1000000":                   func(c *content) { c.Iteration = 1e6 },
		"step size NaN":                       func(c *content) { c.Step = math.NaN() },
		"other data":                          func(c *content) { c.Finite = c.Finite[:1] },
		"the course":                          func(c *content) { c.Course.Worse = -1 },
		"has the course":                      func(c *content) { c.Course.Lowest = math.NaN() },
		"no basis of node 0":                  func(c *content) { c.U[0][3] = math.Inf(1) },
		"no basis of node 1":                  func(c *content) { c.U[1] = c.U[1][:5] },
		"basis of node 1":                     func(c *content) { c.U = c.U[:1] },
		"the snapshot has no basis of node 0": func(c *content) { c.Previous = nil },
		"the snapshot has no basis of node 1": func(c *content) { c.Best[1][0] = math.NaN() },
	} {
		kept, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		read, err := reread(t, kept, damage)
		if err == nil {
			err = newSolver(t, p, network(t, "path", 2, 1), o).Restore(read)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
