package mixed

import (
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
)

// Without deviations the sums over tasks follow from the products of all rows: they are the sums that tasks
// give, for tasks of products and tasks of rows, and for the target and its logarithm.
func TestPooledSums(t *testing.T) {
	table := drawing{tasks: 20, rows: 6, features: 3, mean: []float64{9, 1, 1}, levels: 1, noise: .5}.table(t, 1)
	for i := range 40 {
		add(t, table, "t00", 50+float64(i%7), float64(i%3), float64(i%5), float64(i))
	}
	for i := range table.Targets {
		table.Targets[i] += 100
	}
	f := &fitter{in: &Input{Table: table}}
	check.Done(f.read(t.Context()))
	for name, s := range map[string]*stats{
		"plain":       f.plain,
		"curves":      f.curved,
		"logarithm":   f.plain.withLogarithm(),
		"with curves": f.curved.withLogarithm(),
	} {
		q := s.start()
		q.sigma, q.noise = make([]float64, groups), .3
		pooled := &evaluation{s: s, tasks: s.tasks, q: q}
		some := *s.tasks // other tasks, though the same
		direct := &evaluation{s: s, tasks: &some, q: q}
		list := []*evaluation{pooled, direct}
		check.Done(evaluateEvidence(t.Context(), list, nil, nil))
		check.Done(evaluateScores(t.Context(), list, nil, func() {}))
		check.FailIf(t, !pooled.pools() || direct.pools(),
			"%s: pooled %v, direct %v", name, pooled.pools(), direct.pools())
		a, b := pooled.m, direct.m
		if !floats.EqualApprox(a.m, b.m, 1e-9) || !floats.EqualApprox(a.h, b.h, 1e-9) {
			t.Errorf("%s: other information about the mean", name)
		}
		nearAll(t, name, []float64{a.evidence, pooled.z.residual}, b.evidence, direct.z.residual)
	}
}
