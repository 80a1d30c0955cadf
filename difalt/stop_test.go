package difalt

import (
	"math"
	"testing"

	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/sums"
)

// TestStopRule runs the stop rule through sequences of totals, without a network. The data have 100 tasks of
// 50 samples, 10 features of mean square 1, rank 1; y'y is 1e6, and P is 100.
func TestStopRule(t *testing.T) {
	data := sums.Data{Features: 10, Rank: 1, Tasks: 100, Samples: 5000, XX: 50000, YY: 1e6}
	contraction := math.Pow(1-math.Sqrt(10./5000), 2)
	total := func(objective, moved float64) tally {
		return tally{objective: objective, moved: moved, moments: []float64{100}}
	}
	sketched := func(length float64) tally {
		x := total(90, 0)
		x.sketch = []float64{.6 * length, -.8 * length}
		return x
	}
	at := func(share, objective float64) tally { // that part of the statistical error
		x := sketched(share * contraction * math.Sqrt(90./4890*10/50/100))
		x.objective = objective
		return x
	}
	leaving, broken, both := total(90, 1), total(90, 1), total(90, 1)
	leaving.leaving, broken.broken, both.leaving, both.broken = true, true, true, true
	type check struct {
		iteration int
		totals    tally
		want      Status
		needs     need
	}
	start := check{0, total(100, 0), Running, nothing}
	for _, c := range []struct {
		name      string
		o         Options
		knowsStep bool
		checks    []check
	}{
		{"far from the end", Options{}, false, []check{start, {10, total(90, 1), Running, nothing}}},
		{"a node leaves", Options{}, false, []check{start, {10, leaving, Canceled, nothing}}},
		{"a node leaves at the start", Options{}, false, []check{{0, leaving, Canceled, nothing}}},
		{"a node is broken", Options{EveryIteration: true}, false, []check{start, {10, broken, Diverged, nothing}}},
		{"broken before leaving", Options{}, false, []check{start, {10, both, Diverged, nothing}}},
		{"twice above the start", Options{},
			false, []check{start, {10, total(106, 1), Running, nothing}, {20, total(106, 1), Diverged, nothing}}},
		{"above the start in turns", Options{}, false, []check{
			start, {10, total(106, 1), Running, nothing}, {20, total(104, 1), Running, nothing},
			{30, total(106, 1), Running, nothing}}},
		{"above the start at last", Options{Iterations: 10},
			false, []check{start, {10, total(106, 1), Diverged, nothing}}},
		{"above a negligible start", Options{}, false, []check{
			{0, total(.1, 0), Running, nothing}, {10, total(.9, 1), Running, nothing},
			{20, total(.9, 1), Running, nothing},
			{30, total(1.1, 1), Running, nothing}, {40, total(1.1, 1), Diverged, nothing}}},
		{"every iteration goes on", Options{EveryIteration: true, Iterations: 30}, false, []check{
			start, {10, total(200, 0), Running, nothing}, {20, total(200, 0), Running, nothing},
			{30, total(200, 0), IterationLimit, nothing}}},
		{"short moves", Options{Tolerance: 1e-3}, false, []check{
			start, {10, total(90, 4.1e-6), Running, nothing}, {20, total(90, 3.9e-6), Running, theGradients}}},
		{"short moves at the start", Options{Tolerance: 1e-3}, false, []check{{0, total(100, 0), Running, nothing}}},
		{"at the noise", Options{StopAtNoise: true}, false, []check{start, {10, total(90, 4), Running, theGradients}}},
		{"the last", Options{Iterations: 10}, false, []check{start, {10, total(90, 4), Running, theGradients}}},
		{"a short step", Options{Tolerance: 1e-3},
			true, []check{start, {7, sketched(.9e-3 * contraction), Converged, nothing}}},
		{"a long step", Options{Tolerance: 1e-3},
			true, []check{start, {7, sketched(1.1e-3 * contraction), Running, nothing}}},
		{"a long step at last", Options{Tolerance: 1e-3, Iterations: 7},
			true, []check{start, {7, sketched(.1), IterationLimit, nothing}}},
		{"no step", Options{}, true, []check{start, {10, total(90, 0), Running, nothing}}},
		// The statistical error is sqrt(v d/(n m 100)) with v = 90/(5000-110), and a tenth of it is enough,
		// if the objective falls by at most v d r/100.
		{"a step at the noise", Options{StopAtNoise: true}, true, []check{
			start, {7, at(.095, 90), Running, nothing}, {10, at(.095, 90), Running, nothing},
			{12, at(.095, 90), Converged, nothing}}},
		{"a fall at the noise", Options{StopAtNoise: true}, true, []check{
			start, {7, at(.095, 90.0019), Running, nothing}, {12, at(.095, 90), Running, nothing},
			{16, at(.095, 90), Running, nothing},
			{17, at(.095, 89.9983), Converged, nothing}}},
		{"a step above the noise", Options{StopAtNoise: true},
			true, []check{start, {7, at(.105, 90), Running, nothing}, {12, at(.105, 90), Running, nothing}}},
		{"above the noise in between", Options{StopAtNoise: true}, true, []check{
			start, {7, at(.095, 90), Running, nothing}, {10, at(.105, 90), Running, nothing},
			{12, at(.095, 90), Running, nothing}}},
		{"precise at the noise", Options{StopAtNoise: true, Tolerance: 1e-3},
			true, []check{start, {7, sketched(.9e-3 * contraction), Converged, nothing}}},
	} {
		c.o.Rank = 1
		o := c.o.withDefaults()
		r := newStopRule(&o, &totals{data, 1, 1, 1}, gram.New(1), c.knowsStep)
		for _, k := range c.checks {
			status, needs := r.judge(k.iteration, 4, &k.totals)
			if status != k.want || needs != k.needs {
				t.Errorf("%s, iteration %d: %v, needs %v; want %v, %v", c.name, k.iteration, status, needs, k.want,
					k.needs)
			}
		}
	}
}

// TestResidual: the status after the gradients are summed follows from the length of the step, and from the
// distances of nodes from their mean.
func TestResidual(t *testing.T) {
	o := (&Options{Rank: 1, Tolerance: 1e-3, Iterations: 20}).withDefaults()
	r := newStopRule(&o, &totals{sums.Data{Features: 10, Rank: 1, Tasks: 100, Samples: 5000, XX: 50000, YY: 1e6},
		1, 1, 1}, gram.New(1), false)
	first := tally{objective: 100, moments: []float64{100}}
	r.judge(0, 4, &first)
	for _, c := range []struct {
		name                    string
		iteration               int
		length, spread          float64
		want, wantAfter         Status
		residual, residualAfter float64
	}{
		{"short", 10, 1e-4, 1e-5, Converged, Converged, r.distance(1e-4), r.distance(1e-4)},
		{"nodes disagree", 10, 1e-4, 2e-3, Converged, Running, r.distance(1e-4), 2e-3},
		{"nodes disagree at last", 20, 1e-4, 2e-3, Converged, IterationLimit, r.distance(1e-4), 2e-3},
		{"long", 10, 1e-2, 1e-5, Running, Running, r.distance(1e-2), r.distance(1e-2)},
		{"long at last", 20, 1e-2, 1e-5, IterationLimit, IterationLimit, r.distance(1e-2), r.distance(1e-2)},
	} {
		status := r.judgeStep(c.iteration, c.length)
		residual := r.Residual
		after := r.judgeSpread(c.iteration, c.spread)
		if status != c.want || after != c.wantAfter || residual != c.residual || r.Residual != c.residualAfter ||
			r.Measured != c.iteration {
			t.Errorf("%s: %v at residual %g, then %v at %g", c.name, status, residual, after, r.Residual)
		}
	}
}

// TestMustCheck: the nodes make a check at the first and the last iteration, in every tenth, and where the
// last step is short and no measurement is near.
func TestMustCheck(t *testing.T) {
	o := (&Options{Rank: 1, Tolerance: 1e-3, Iterations: 47}).withDefaults()
	data := sums.Data{Features: 10, Rank: 1, Tasks: 100, Samples: 5000, XX: 50000, YY: 1e6}
	for _, knowsStep := range []bool{false, true} {
		r := newStopRule(&o, &totals{data, 1, 1, 1}, gram.New(1), knowsStep)
		first := tally{objective: 100, moments: []float64{100}}
		if !r.mustCheck(3, math.NaN()) || !math.IsNaN(r.course.Start) || r.sketches(3, 0) {
			t.Error("no check at the start, or a sketch there")
		}
		r.judge(3, 4, &first)
		short, long := 1e-4, 1e-2
		for _, c := range []struct {
			iteration      int
			step           float64
			check, sketchy bool
		}{
			{4, long, false, false}, {4, short, true, true}, {10, long, true, false}, {10, short, true, true},
			{47, long, true, true},
		} {
			check, sketchy := c.check, c.sketchy && knowsStep
			if !knowsStep {
				check = c.iteration != 4
			}
			if r.mustCheck(c.iteration, c.step) != check || r.sketches(c.iteration, c.step) != sketchy {
				t.Errorf("iteration %d, step %g, the rule knows it: %v: check %v", c.iteration, c.step, knowsStep,
					!check)
			}
		}
		r.judgeStep(4, long)
		if r.mustCheck(5, short) {
			t.Error("a measurement an iteration after another")
		}
		if r.mustCheck(6, short) != knowsStep {
			t.Error("no measurement two iterations after another")
		}
		every := o
		every.EveryIteration = true
		r.o = &every
		if r.mustCheck(9, short) || r.sketches(47, short) {
			t.Error("a measurement although all iterations run")
		}
	}
}
