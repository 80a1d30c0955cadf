package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/longtest"
)

// coverTable draws 40 tasks of 12 rows: two slopes that differ between tasks, with the means .3 and 0, and a
// column that is constant within tasks, with the slope .4. A fifth of the rows is held out.
func coverTable(seed uint64) Input {
	r := rand.New(rand.NewPCG(seed, 77))
	d := &Data{Names: []string{"x0", "x1", "z"}}
	var held []bool
	for k := range 40 {
		level, z := r.NormFloat64(), r.NormFloat64()
		a, b := .3+.2*r.NormFloat64(), .2*r.NormFloat64()
		for i := range 12 {
			x0, x1 := r.NormFloat64(), r.NormFloat64()
			check.Done(d.Append(fmt.Sprintf("t%02d", k), level+a*x0+b*x1+.4*z+r.NormFloat64(), x0, x1, z))
			held = append(held, i%5 == 4)
		}
	}
	return Input{Table: d, HeldOut: held}
}

// Intervals of effects cover the means of slopes that differ between tasks, and the slope of a column of
// tasks, in .92 to .98 of drawn tables. Three owners have the effects of one table, and so its coverage.
func TestEffectsCover(t *testing.T) {
	draws, owned := 24, 3
	if longtest.Enabled() {
		draws, owned = 200, 60
	}
	truth := map[string]float64{"x0": .3, "x1": 0, "z": .4}
	inside, insideOfThree, all, allOfThree := 0.0, 0.0, 0.0, 0.0
	for seed := range draws {
		in := coverTable(uint64(seed))
		one, _, err := Fit(t.Context(), in, Options{})
		check.Done(err)
		covers := func(e Effect) float64 {
			if e.Low <= truth[e.Term] && truth[e.Term] <= e.High {
				return 1
			}
			return 0
		}
		effects := map[string]Effect{}
		for _, e := range one.Effects() {
			if _, known := truth[e.Term]; known && e.Kind == Slope {
				effects[e.Term] = e
				inside, all = inside+covers(e), all+1
			}
		}
		if seed >= owned {
			continue
		}
		three, _, err := Together(t.Context(), cut(in, 3), network("complete", 3), open)
		check.Done(err)
		for _, e := range three.Effects() {
			if same, known := effects[e.Term]; known && e.Kind == Slope {
				insideOfThree, allOfThree = insideOfThree+covers(e), allOfThree+1
				off := math.Abs(e.Estimate-same.Estimate) + math.Abs(e.StandardError-same.StandardError)
				check.FailIf(t, off > 1e-6*same.StandardError,
					"draw %d: three owners have %+v, one table %+v", seed, e, same)
			}
		}
	}
	check.FailIf(t, all != float64(3*draws) || allOfThree != float64(3*owned), "%v and %v effects", all, allOfThree)
	error := math.Sqrt(.95 * .05 / all) // two of them beyond the promise are chance
	if share := inside / all; share < .92-2*error || share > .98+2*error {
		t.Errorf("%v of %v intervals cover", inside, all)
	}
	t.Logf("%.3f of the intervals of one owner cover, %.3f of those of three", inside/all, insideOfThree/allOfThree)
}
