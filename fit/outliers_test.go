package fit

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/dataset"
)

// spoilt returns a table of which some targets are off by 50 deviations of the noise, of any sign.
func spoilt(t *testing.T, tab *dataset.Table, rows int, seed uint64) *dataset.Table {
	rng := rand.New(rand.NewPCG(seed, 9))
	off := map[int]float64{}
	for _, i := range rng.Perm(tab.Rows())[:rows] {
		off[i] = 50 * float64(1-2*rng.IntN(2))
	}
	return changed(t, tab, func(i int, _ []float64, y float64) float64 { return y + off[i] })
}

// One target in a hundred far off, in tasks that differ by their level alone, is no reason for a
// representation; and where there is one, such rows do not take it away. The report counts them.
func TestOutliersMakeNoRank(t *testing.T) {
	inFull(t)
	for seed := range uint64(4) {
		k := newTruth(seed, 8, 1)
		for j := range k.v {
			k.v[j] = [2]float64{}
		}
		_, r := fit(t, spoilt(t, k.table(t, 40, 25, 25, 4), 10, seed), testConfig(t, 4, 0))
		if r.Chosen.Rank != 0 || !math.IsInf(r.Chosen.Ridge, 1) {
			t.Errorf("seed %d: %+v", seed, r.Chosen)
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "expected of them: 10.") {
			t.Errorf("seed %d: notes %q", seed, notes)
		}
	}
	k := newTruth(1, 8, 1)
	_, r := fit(t, spoilt(t, k.table(t, 60, 24, 40, 4), 3, 1), testConfig(t, 4, 0))
	if notes := strings.Join(r.Notes, "\n"); r.Chosen.Rank != 2 || !strings.Contains(notes, "expected of them: 3.") {
		t.Errorf("%+v, notes %q", r.Chosen, notes)
	}
	_, r = fit(t, k.table(t, 60, 24, 40, 4), testConfig(t, 4, 0))
	if notes := strings.Join(r.Notes, "\n"); r.Chosen.Rank != 2 || strings.Contains(notes, "expected of them") {
		t.Errorf("%+v, notes %q", r.Chosen, notes)
	}
}
