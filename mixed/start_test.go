package mixed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// kindsOfRows returns a table of tasks with levels, whose rows have one of twelve kinds. The columns of kinds
// add up to a constant, so that slopes of kinds can stand for the levels of tasks.
func kindsOfRows(t *testing.T, seed uint64) *Data {
	const kinds = 12
	r := rand.New(rand.NewPCG(seed, 21))
	table := newTable(t, "kind", "x")
	table.Levels = [][]string{nil, nil}
	for k := range kinds {
		table.Levels[0] = append(table.Levels[0], fmt.Sprintf("k%02d", k))
	}
	for k := range 100 {
		level := .4 * r.NormFloat64()
		for range 10 {
			kind, x := float64(r.IntN(kinds)), r.NormFloat64()
			add(t, table, fmt.Sprintf("t%02d", k), level+.1*kind+.5*x+r.NormFloat64(), kind, x)
		}
	}
	return table
}

// Ridge with intercepts is the model of rank 0 with slopes of strength 0: rank 0 has no lower evidence, but
// for the nat that an optimum may lie below the top.
func TestExceedsIntercepts(t *testing.T) {
	for seed := range uint64(8) {
		f := &fitter{in: &Input{Table: kindsOfRows(t, seed)}, Options: Options{Sums: Local{}}}
		check.Done(f.read(t.Context()))
		f.chooseTasks()
		got := check.OK(f.optimiseFirst(t.Context())).end(0)
		at := slices.IndexFunc(f.baselines, func(m method) bool { return m.name == Intercepts })
		simpler := check.OK(f.plain.meanPosterior(t.Context(), f.plain.some, f.baselines[at].q))
		if !(got.evidence >= simpler.evidence-nearlyFlat) {
			t.Errorf("seed %d: evidence %v with strengths %v, that of ridge with intercepts is %v", seed, got.evidence,
				got.q.sigma, simpler.evidence)
		}
	}
}
