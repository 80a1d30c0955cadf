package fit

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
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
		if r.Chosen.Rank != 0 || r.Chosen.Ridge < 100 { // slopes that differ by a tenth of the noise: the dither may leave that
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

// What nodes tell of a row that lies far from all others is that there is one: with it, or without it, a fit of three owners has the same
// bits, but for that number. Of a row that is not so far off they tell.
func TestNothingIsToldOfOutliers(t *testing.T) {
	for off, same := range map[float64]bool{60: true, 2: false} {
		k := newTruth(3, 5, 1)
		tab := k.table(t, 36, 24, 30, 3)
		const row = 40
		with := changed(t, tab, func(i int, _ []float64, y float64) float64 {
			if i == row {
				y += off
			}
			return y
		})
		without := testConfig(t, 3, 0)
		without.Train = slices.Repeat([]bool{true}, tab.Rows())
		without.Train[row] = false
		a, ra := fit(t, with, testConfig(t, 3, 0))
		b, rb := fit(t, with, without)
		p, q := a.Parameters(), b.Parameters()
		if got := slices.Equal(p.Theta, q.Theta) && slices.Equal(p.Prior.Loadings, q.Prior.Loadings) && ra.Scores[0].Train == rb.Scores[0].Train; got != same {
			t.Errorf("%v deviations off: same %v, want %v", off, got, same)
		}
		if notes := strings.Join(ra.Notes, "\n"); strings.Contains(notes, "expected of them: 1.") != same {
			t.Errorf("%v deviations off: notes %q", off, notes)
		}
	}
}

// A row of a task of few rows, or far out in its columns, is no outlier where it lies as far off as what the others of its task leave open, however little noise there is.
func TestUncertainRowsAreNoOutliers(t *testing.T) {
	for seed := range uint64(8) {
		rng, tab := rand.New(rand.NewPCG(seed, 10)), emptyTable(t, 2)
		for task := range 12 {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			for range []int{3, 12, 16}[task%3] {
				x := []float64{rng.NormFloat64() / (0.1 + rng.Float64()), rng.NormFloat64()}
				if err := tab.Append(taskName(task), "", x, 1+(1+a)*x[0]+(1+b)*x[1]+rng.NormFloat64()/1000); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := testConfig(t, 1, -1)
		c.Owners = false
		if _, r := fit(t, assigned(t, tab, 1), c); strings.Contains(strings.Join(r.Notes, "\n"), "expected of them") {
			t.Errorf("seed %d: notes %q", seed, r.Notes)
		}
	}
}
