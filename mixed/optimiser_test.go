package mixed

import (
	"context"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A probe is the Sums of a single owner that calls look in every sum.
type probe struct {
	Local
	look func()
}

func (p *probe) Add(ctx context.Context, name string, v []float64, d *Decision) error {
	p.look()
	return p.Local.Add(ctx, name, v, d)
}

// Optimisers of one table have the optima of each alone, and at most one of them holds the matrices of a
// point that is not its best one.
func TestOptimisersOfOneTable(t *testing.T) {
	table := drawing{tasks: 9, rows: 6, features: 4, levels: 1, slopes: .4, noise: .5}.table(t, 2)
	sums := &probe{look: func() {}}
	f := &fitter{in: &Input{Table: table}, Options: Options{Sums: sums}}
	check.Done(f.read(t.Context()))
	f.chooseTasks()
	list, most := append(f.baselineOptimisers(), f.plain.newOptimiser(f.plain.some, f.plain.start(), iterations)), 0
	sums.look = func() {
		holding := 0
		for _, c := range list {
			if c.m != nil && c.m != c.best.m {
				holding++
			}
		}
		most = max(most, holding)
	}
	check.Done(optimiseAll(t.Context(), list...))
	check.FailIf(t, most != 1 || len(list) < 4, "%d of %d optimisers hold matrices of a point", most, len(list))
	again := append(f.baselineOptimisers(), f.plain.newOptimiser(f.plain.some, f.plain.start(), iterations))
	check.Done(optimiseInStep(t.Context(), again))
	for i, c := range again {
		got, want := list[i].best.evidence, c.best.evidence
		check.FailIf(t, got != want, "optimiser %d ends at %v, in step with others at %v", i, got, want)
	}
}
