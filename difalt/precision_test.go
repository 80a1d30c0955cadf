package difalt_test

import (
	"testing"

	"github.com/difalt/difalt/difalt"
)

// TestMixedPrecision: runs on samples in float32 end where runs in float64 end, within two iterations, with
// the same accuracy.
func TestMixedPrecision(t *testing.T) {
	p := draw(t, 4, 128, 400, 24, 3, 3, .02, 1) // 9.8 MB
	o := difalt.Options{Rank: 3, Method: difalt.Accelerated}
	want := run(t, p, network(t, "ring", 4, 1), o)
	o.MixedPrecision = true
	p.Truth = want.U[0]
	distance := 0.0
	o.Observer = func(r *difalt.Record) error {
		if r.Iteration == 5 {
			distance = r.SDMax
		}
		return nil
	}
	res := run(t, p, network(t, "ring", 4, 1), o)
	if res.Status != difalt.Converged || res.Last.SDMax > 1e-10 || res.Iterations > want.Iterations+2 || distance < 1e-6 {
		t.Errorf("%v after %d iterations, %g from the minimum of float64, which takes %d; %g after five", res.Status, res.Iterations, res.Last.SDMax, want.Iterations, distance)
	}
}

// TestMixedPrecisionReadsCopies: in the first iterations steps differ from those in float64, by less than
// 1e-3.
func TestMixedPrecisionReadsCopies(t *testing.T) {
	p := draw(t, 4, 128, 400, 24, 3, 3, .02, 1)
	o := difalt.Options{Rank: 3, Iterations: 3, EveryIteration: true}
	want := run(t, p, network(t, "ring", 4, 1), o)
	o.MixedPrecision = true
	got := run(t, p, network(t, "ring", 4, 1), o)
	if sd := difalt.SubspaceDistance(got.U[0], want.U[0]); sd < 1e-12 || sd > 1e-3 {
		t.Errorf("three iterations differ by %g", sd)
	}
}
