package difalt_test

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestAuto runs without any tuning on a well and on a poorly connected network,
// and compares with what the paper's method needs there.
func TestAuto(t *testing.T) {
	for _, c := range []struct {
		graph        string
		nodes, tasks int
	}{{"er:0.5", 10, 200}, {"ring", 10, 200}, {"complete", 4, 200}} {
		s := conditioned(1, c.nodes, 60, c.tasks, 3, 30, 5)
		net := network(t, c.graph, c.nodes, topology.Metropolis, 1)
		o, err := difalt.Auto(t.Context(), s.Problem, net, difalt.Options{Rank: 3, Iterations: 150})
		if err != nil {
			t.Fatal(err)
		}
		recs := curve(t, s.Problem, net, o)
		arrived := -1
		for _, r := range recs {
			if r.SDMax < 1e-10 {
				arrived = r.Iteration
				break
			}
		}
		if arrived < 0 || arrived > 80 {
			t.Errorf("%s, %d rounds: %d iterations to 1e-10, ends at %g", c.graph, o.Rounds, arrived, recs[len(recs)-1].SDMax)
		}
		if last := recs[len(recs)-1]; last.SDMax > 1e-13 {
			t.Errorf("%s: four bits leave an error of %g", c.graph, last.SDMax)
		}
	}
}

// TestCompressedSnapshot continues a run whose mixer remembers what was sent.
func TestCompressedSnapshot(t *testing.T) {
	s, net := small(t)
	codec, err := consensus.ParseCodec("int8")
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.GradientTracking} {
		o := difalt.Options{Rank: 2, Method: method, Iterations: 40, Agreement: consensus.Agreement{Codec: codec}}
		want, err := difalt.Run(t.Context(), s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		first, err := difalt.NewSolver(s.Problem, net, o)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		for range 17 {
			if _, err := first.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
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
		if err != nil {
			t.Fatal(err)
		}
		want.Last.Compute, got.Last.Compute = 0, 0
		if got.Last != want.Last {
			t.Errorf("%v: resumed run ends at %+v, want %+v", method, got.Last, want.Last)
		}
	}
}

// TestCompressedDivergence lets a run overflow what a compressor can code: it must
// end as diverged, not as an error.
func TestCompressedDivergence(t *testing.T) {
	s, net := small(t)
	codec, err := consensus.ParseCodec("int4")
	if err != nil {
		t.Fatal(err)
	}
	res, err := difalt.Run(t.Context(), s.Problem, net, difalt.Options{Rank: 2, Step: 1e200, Agreement: consensus.Agreement{Codec: codec}})
	if !errors.Is(err, difalt.ErrDiverged) {
		t.Fatal(err)
	}
	if res.Status != difalt.Diverged {
		t.Errorf("status %v, want diverged", res.Status)
	}
}
