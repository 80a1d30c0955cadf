package difalt_test

import (
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
)

// TestMixedPrecision compares runs on compensated float32 samples with runs on
// float64 throughout: the same curve, and the same distance at the end, with and
// without noise.
func TestMixedPrecision(t *testing.T) {
	net := network(t, "er:0.7", 5, topology.Metropolis, 1)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.ScaledDiffusion, difalt.Accelerated} {
		for _, noise := range []float64{0, 1e-6, 0.1} {
			if method == difalt.Accelerated && noise > 0 {
				continue // it goes on moving between the nodes' minimisers
			}
			s := gaussian(1, 5, 20, 40, 2, fixed(15), noise)
			o := difalt.Options{Rank: 2, Method: method, Iterations: 400}
			want := curve(t, s.Problem, net, o)
			o.MixedPrecision = true
			got := curve(t, s.Problem, net, o)
			for i := range want {
				slack := 1.05
				if method == difalt.Accelerated {
					slack = 10 // an iteration: what is extrapolated is sensitive, not where it leads
				}
				if g, w := got[i].SDMax, want[i].SDMax; g > slack*w+2e-15 || w > slack*g+2e-15 {
					t.Fatalf("%v, noise %g: SD after %d iterations is %g, with float64 %g", method, noise, i, g, w)
				}
			}
			g, w := got[400].Objective, want[400].Objective
			if g > w*(1+1e-6)+1e-25 {
				t.Errorf("%v, noise %g: objective %g, with float64 %g", method, noise, g, w)
			}
		}
	}
	if _, err := difalt.NewSolver(gaussian(1, 5, 20, 40, 2, fixed(15), 0).Problem, net,
		difalt.Options{Rank: 2, MixedPrecision: true, SampleSplit: true}); err == nil {
		t.Error("MixedPrecision with SampleSplit is accepted")
	}
}

// TestMixedPrecisionResumes restores a run that is nearly at rounding: its distance
// must not rise again.
func TestMixedPrecisionResumes(t *testing.T) {
	s, net := small(t)
	o := difalt.Options{Rank: 2, MixedPrecision: true, Iterations: 400, Tolerance: -1}
	first, err := difalt.NewSolver(s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	for range 300 {
		if _, err := first.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := first.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	started := false
	before := 0.0
	o.Observer = func(r *difalt.Record) error {
		if !started {
			started, before = true, r.SDMax
		}
		if r.SDMax > before+1e-13 {
			t.Fatalf("iteration %d: SD %g after %g", r.Iteration, r.SDMax, before)
		}
		return nil
	}
	second, err := difalt.NewSolver(s.Problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := second.Restore(snap); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
