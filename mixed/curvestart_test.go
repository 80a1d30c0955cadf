package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// The likeliest strength is that of the likelihood of scores over a fine grid of strengths, up to the steps
// between the strengths that are tried.
func TestLikeliestStrength(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, truth := range []float64{0, .02, .1, .4, 5} {
		var scores columnScores
		logLikelihood := func(float64) float64 { return 0 }
		for _, information := range []float64{40, 900} { // of a task
			const count = 50
			square := 0.0
			deviation := math.Sqrt(information + information*information*truth*truth)
			for range count {
				u := deviation * r.NormFloat64()
				square += u * u
			}
			scores.add(square, count*information, count)
			before := logLikelihood
			logLikelihood = func(strength float64) float64 {
				variance := information + information*information*strength*strength
				return before(strength) - (count*math.Log(variance)+square/variance)/2
			}
		}
		best := 0.0
		for s := 1e-3; s < mostCurve; s *= 1.01 {
			got, want := scores.gain(s), logLikelihood(s)-logLikelihood(0)
			if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("truth %v: strength %v gains %v, not %v", truth, s, got, want)
			}
			if logLikelihood(s) > logLikelihood(best) {
				best = s
			}
		}
		const least = 1e-3
		got := scores.likeliest(least)
		low, high := max(best/2, least), max(2*best, least)
		check.FailIf(t, got < low || got > high, "truth %v: strength %v, best %v", truth, got, best)
		check.FailIf(t, scores.likeliest(.6) != .6, "a strength below the least one")
	}
	check.FailIf(t, columnScores(nil).likeliest(.01) != .01, "a strength without a score")
}

// bends returns a table where all tasks bend with the first feature, by the same curve or each by its own,
// and no task bends with the second one.
func bends(t *testing.T, own bool) *Data {
	r := rand.New(rand.NewPCG(7, 9))
	table := newTable(t, "bent", "straight")
	for k := range 30 {
		by := 1.0
		if own {
			by = r.NormFloat64()
		}
		for range 25 {
			x, y := r.NormFloat64(), r.NormFloat64()
			add(t, table, fmt.Sprintf("t%02d", k), by*math.Sin(2*x)+.5*y+.3*r.NormFloat64(), x, y)
		}
	}
	return table
}

// Curves start with strengths where rows bend, and almost without where they do not. Such a start has more
// evidence than weak curves and than the strengths of a first start. It takes two sums.
func TestCurvesStartLikely(t *testing.T) {
	for _, own := range []bool{false, true} {
		asked := 0
		sums := &probe{look: func() { asked++ }}
		f := &fitter{in: &Input{Table: bends(t, own)}, Options: Options{Sums: sums}}
		check.Done(f.read(t.Context()))
		f.chooseTasks()
		plain := check.OK(f.plain.optimise(t.Context(), f.plain.some, f.plain.start(), iterations)).q
		weak := f.curved.convert(plain)
		e := &evaluation{s: f.curved, tasks: f.curved.some, q: weak}
		asked = 0
		check.Done(startCurves(t.Context(), []*evaluation{e}))
		check.FailIf(t, asked != 2, "own curves %v: %d sums", own, asked)
		bent, straight := e.q.tau[1]/weak.tau[1], e.q.tau[2]/weak.tau[2]
		deviations := e.q.sigma[curveGroup] / weak.sigma[curveGroup]
		check.FailIf(t, !own && bent < 8 || straight > 2 || own != (deviations > 8),
			"own curves %v: strengths times %v, %v and %v", own, bent, straight, deviations)
		evidence := func(q *varianceComponents) float64 {
			return check.OK(f.curved.meanPosterior(t.Context(), f.curved.some, q)).evidence
		}
		first := weak.clone()
		first.sigma[curveGroup] = f.curved.start().sigma[curveGroup]
		first.tau[1], first.tau[2] = tauStart, tauStart
		got, ofWeak, ofFirst := evidence(e.q), evidence(weak), evidence(first)
		check.FailIf(t, !(got > ofWeak+10 && got > ofFirst+1), "own curves %v: evidence %v, weak %v, first %v",
			own, got, ofWeak, ofFirst)
	}
}
