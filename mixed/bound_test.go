package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// One wrong target among many hardly changes the predictions of other rows.
func TestWrongTarget(t *testing.T) {
	in := clinics(t)
	_, clean := fitted(t, in.Table, Options{}, in.HeldOut...)
	want := clean.Scores[0].Test.RMSE
	for _, at := range []int{0, 301, 520} {
		check.FailIf(t, in.HeldOut[at], "row %d is held out", at)
		wrong := *in.Table.(*Data)
		wrong.Targets = slices.Clone(wrong.Targets)
		wrong.Targets[at] = 300
		_, r := fitted(t, &wrong, Options{}, in.HeldOut...)
		if got := r.Scores[0].Test.RMSE; got > 1.05*want {
			t.Errorf("row %d: the error is %v with a wrong target, %v without", at, got, want)
		}
		// The order of rows and the units do not matter.
		other := &Data{Names: wrong.Names}
		var held []bool
		for i := range slices.Backward(wrong.Targets) {
			var x []float64
			for j, values := range wrong.Values {
				x = append(x, values[i]*math.Exp2(float64(j-20)))
			}
			check.Done(other.Append(wrong.TaskNames[wrong.TaskOf[i]], wrong.Targets[i]*1024, x...))
			held = append(held, in.HeldOut[i])
		}
		_, again := fitted(t, other, Options{}, held...)
		if got := again.Scores[0].Test.RMSE / 1024; math.Abs(got/r.Scores[0].Test.RMSE-1) > 1e-6 {
			t.Errorf("row %d: the error is %v in another order and unit, %v before", at, got, r.Scores[0].Test.RMSE)
		}
	}
}

// boundsOf returns the bounds after the first optimisation, and its optimum.
func boundsOf(t *testing.T, in Input) (bounds []float64, first *choice) {
	t.Helper()
	f := &fitter{in: &in, Options: Options{NoCurves: true}}
	check.Done(f.read(t.Context()))
	f.plain.some = f.plain.someTasks(f.plain.p)
	plain := f.plain
	check.OK(f.optimiseFirst(t.Context()))
	end, err := plain.optimise(t.Context(), plain.tasks, plain.start(), iterations)
	check.Done(err)
	return f.plain.bounds, &choice{s: plain, optimum: *end}
}

// Wrong targets count less. Rows of rare events are right: bounds of these rows predict them worse, and are
// refused.
func TestBoundsAreForWrongRows(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	rare, wrong := newTable(t, "x", "event"), newTable(t, "x")
	events := make([]float64, 480)
	for k := range 40 {
		level := r.NormFloat64()
		for i := range 12 {
			x, event := r.NormFloat64(), float64(r.IntN(60)/59)
			name := string(rune('A' + k))
			add(t, rare, name, level+x+(30+5*r.NormFloat64())*event+.3*r.NormFloat64(), x, event)
			add(t, wrong, name, level+x+.3*r.NormFloat64(), x)
			events[12*k+i] = 1 - (1-1e-6)*event
		}
	}
	wrong.Targets[100] += 30
	bounds, first := boundsOf(t, Input{Table: rare})
	check.FailIf(t, bounds != nil, "rare events have bounds")
	s := check.OK(newBoundedStats(t.Context(), first.s.rows, first.s.design, 1, events))
	end, err := s.optimise(t.Context(), s.tasks, first.q, iterations)
	check.Done(err)
	if check.OK((&choice{s: s, optimum: *end}).predictsBetter(t.Context(), first)) {
		t.Error("events are predicted better where they count less")
	}
	bounds, _ = boundsOf(t, Input{Table: wrong})
	check.FailIf(t, bounds == nil, "no bounds with a wrong target")
	for i, b := range bounds {
		if (b < .5) != (i == 100) {
			t.Errorf("row %d has the bound %v", i, b)
		}
	}
}

// Where rows have bounds, the form with curves still uses the tasks of the form without: evidences of
// other tasks cannot be compared.
func TestBoundedFormsUseTheSameTasks(t *testing.T) {
	table := drawing{tasks: 20, rows: 12, features: 2, levels: 1, noise: .3, mean: []float64{1, -1}}.table(t, 6)
	table.Targets[100] += 30
	f := &fitter{in: &Input{Table: table}}
	check.Done(f.read(t.Context()))
	f.chooseTasks()
	some := *f.plain.tasks // as many tasks, but not those of all rows
	f.plain.some, f.curved.some = &some, &some
	first := f.newForm(f.plain).end(0)
	c := first.newOptimiser(f.plain.start())
	check.Done(optimiseAll(t.Context(), c))
	first.keepHigher(&c.best)
	check.OK(f.bound(t.Context(), first))
	check.FailIf(t, f.plain.bounds == nil || f.curved.bounds == nil, "rows have no bounds")
	check.FailIf(t, f.plain.some != &some || f.curved.some != &some, "the forms use other tasks")
}
