package fit

import (
	"context"
	"math"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
)

// Where tasks have noise of their own by one model that is averaged and the same by another, that of a task is the mean of both.
func TestNoiseOfAveragedModels(t *testing.T) {
	all := estimates{
		{weight: 0.75, noise: &evidence.TaskNoise{Variance: [][]float64{{2}}, Freedoms: [][]float64{{10}}}},
		{weight: 0.25, Posterior: &mixedmodel.Posterior{Noise: 4, Freedom: 30}},
	}
	if v, f := all.noise(0, 0); v != 2.5 || f != 15 {
		t.Errorf("the variance is %v with %v degrees of freedom, want 2.5 and 15", v, f)
	}
}

// ending is a context that ends after its error was asked for some times.
type ending struct {
	context.Context
	end  context.CancelFunc
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		e.end()
	}
	return e.Context.Err()
}

// An interrupt while candidates are stacked takes nothing from what is there: they are averaged as without, or not at all.
func TestInterruptedStack(t *testing.T) {
	tab, _ := farms(t, 5, 0)
	stacked := func(ctx context.Context) (weights []float64) {
		d, chosen := chosenAlone(t, tab)
		top := *chosen.best
		top.weight = 1
		averaged, err := chosen.stack(ctx, d, []*candidate{&top})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range averaged {
			weights = append(weights, k.weight)
		}
		return weights
	}
	whole := stacked(t.Context())
	if len(whole) < 2 {
		t.Fatalf("weights %v: the test says nothing", whole)
	}
	for left := range 6 {
		ctx, end := context.WithCancel(t.Context())
		got := stacked(&ending{ctx, end, left})
		end()
		sum := 0.0
		for _, w := range got {
			sum += w
		}
		if len(got) > 1 && got[0] != whole[0] || math.Abs(sum-1) > 1e-9 {
			t.Errorf("ended at question %d: weights %v, without that %v", left, got, whole)
		}
	}
}

// TestAverageIsNarrowed holds that intervals of an average with a candidate of rank 0 are narrower by what narrowing says, but never
// narrower than noise.
func TestAverageIsNarrowed(t *testing.T) {
	tab, _ := farms(t, 5, 0)
	d, chosen := chosenAlone(t, tab)
	pair := func(stacked bool) estimates {
		var list []*candidate
		for _, spread := range []float64{0, 20} { // so far from likely that the two expect different targets
			list = append(list, &candidate{Point: &evidence.Point{Prior: &mixedmodel.Prior{W: d.width(), Intercept: 0.1, Spread: spread, MeanVariance: 1}}, weight: 0.5})
		}
		all, err := d.estimates(t.Context(), chosen.rows, list, stacked)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	as, narrowed := pair(false), pair(true)
	by, err := d.narrowing(t.Context(), chosen.rows, pair(false))
	if err != nil || by >= 1 {
		t.Fatalf("intervals become %v of what they were, %v: the test says nothing", by, err)
	}
	narrower := 0
	for i, e := range as {
		before, _ := e.noiseOf(0, 0)
		got, _ := narrowed[i].noiseOf(0, 0)
		if want := max(before*by*by, e.Noise); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("candidate %d: the variance of targets is %v, of %v; want %v", i, got, before, want)
		}
		if got < before {
			narrower++
		}
	}
	if narrower == 0 {
		t.Error("no interval is narrower")
	}
}

// chosenAlone returns the design of a table with what its only owner chooses by the evidence, where noise is the same for all tasks.
func chosenAlone(t *testing.T, tab *dataset.Table) (*design, *choice) {
	t.Helper()
	c := testConfig(t, 2, 0)
	c.Owners, c.Curves = false, []string{}
	d, err := newDesign(t.Context(), assigned(t, tab, 2), &c)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.sufficientRows(t.Context(), parallel.Workers(1))
	if err != nil {
		t.Fatal(err)
	}
	q := &question{given: c.strengths(), progress: func(string, int, int) {}, commonNoise: true}
	chosen, err := q.chooseNone(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := chosen.chooseRank(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, chosen
}

// Two models that err in opposite directions have a mean that errs by less than their mixture says: its intervals become narrower; those of one model that is right do not.
func TestNarrowing(t *testing.T) {
	w := newWorld(6, 3)
	tab := assigned(t, w.table(t, "t", 60, 8), 2)
	c := testConfig(t, 2, -1)
	d, rows := trainingRows(t, tab, &c)
	top, _, err := rows.Maximize(t.Context(), &evidence.Point{Prior: &mixedmodel.Prior{W: d.width(), Intercept: 1, Spread: 0.5, MeanVariance: 1}}, nil, evidence.Unknown(), 0.1, 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, apart := range []float64{0, 40} {
		var all estimates
		for _, sign := range []float64{1, -1} {
			p := top.Posterior()
			p.Mean = append([]float64(nil), p.Mean...)
			p.Mean[0] += sign * apart * math.Sqrt(p.Noise)
			p.Freedom = 1000
			all = append(all, &estimate{Posterior: p, weight: 0.5})
		}
		if got, err := d.narrowing(t.Context(), rows, all); err != nil || (got < 1) != (apart > 0) {
			t.Errorf("apart by %v: intervals become %v of what they were: %v", apart, got, err)
		}
	}
}
