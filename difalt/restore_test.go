package difalt_test

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/difalt"
)

// TestRestoreEnds: a run ends in one iteration with one status, wherever it was restored on the way. Steps
// that are too long make it diverge, and steps a little shorter let the objective rise and fall again.
func TestRestoreEnds(t *testing.T) {
	p := draw(t, 3, 12, 24, 10, 2, 3, .1, 5)
	first := run(t, p, network(t, "path", 3, 1), difalt.Options{Rank: 2, Method: difalt.DifAltGDmin, Iterations: 1}).Initial.Step
	seen := map[difalt.Status]int{}
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.AltGDmin, difalt.DecAltGDmin, difalt.DGD} {
		for _, factor := range []float64{.5, 4, 5, 6, 8, 12, 30} {
			o := difalt.Options{Rank: 2, Method: method, Iterations: 37, Step: factor * first}
			want := run(t, p, network(t, "path", 3, 1), o)
			seen[want.Status]++
			for _, at := range []int{1, 4, 10, 13, 20, 29} {
				if at >= want.Iterations {
					break
				}
				s := newSolver(t, p, network(t, "path", 3, 1), o)
				for range at {
					step(t, s, t.Context())
				}
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
					t.Errorf("%v, step times %g: %v after %d iterations, but %v after %d if restored at %d",
						method, factor, want.Status, want.Iterations, got.Status, got.Iterations, at)
				}
			}
		}
	}
	if seen[difalt.Diverged] < 3 || seen[difalt.IterationLimit] < 3 {
		t.Errorf("the runs ended as %v: too few of a kind", seen)
	}
}
