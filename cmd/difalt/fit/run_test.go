package fit

import (
	"slices"
	"testing"

	"github.com/difalt/difalt/difalt"
)

// TestRunChangesNoPrediction holds that the algorithm's run checks the directions of the climb and gives the model nothing, with any method and
// number of iterations, in one process and between owners.
func TestRunChangesNoPrediction(t *testing.T) {
	sample := newWorld(6, 3).table(t, "t", 30, 20)
	for _, owners := range []bool{false, true} {
		var want []float64
		for _, change := range []func(o *difalt.Options){
			func(*difalt.Options) {},
			func(o *difalt.Options) { o.Iterations = 1 },
			func(o *difalt.Options) { o.Method, o.Iterations = difalt.DifAltGDmin, 5 },
		} {
			tab := assigned(t, sample, 2)
			c := testConfig(t, 2, 0)
			c.Owners, c.Curves = owners, []string{}
			change(&c.Options)
			m, r, err := Fit(t.Context(), tab, c)
			if err != nil {
				t.Fatal(err)
			}
			if r.Result == nil || r.Chosen.Rank == 0 {
				t.Fatalf("rank %d: nothing ran", r.Chosen.Rank)
			}
			var got []float64
			for _, task := range tab.Tasks() {
				y, err := m.Predict(task, []float64{1, -1, 0.5})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, y)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("owners %v, %v with %d iterations: predictions %v, want %v", owners, c.Options.Method, r.Result.Iterations, got[:3], want[:3])
			}
		}
	}
}
