package fit

import (
	"math"
	"testing"
)

// A column that is the same in all rows says nothing, so that a model predicts with it what it predicts without it: climbs of a single owner end that near to the top,
// wherever they begin.
func TestConstantColumnChangesNothing(t *testing.T) {
	for seed := range uint64(4) {
		tab := newTruth(seed, 4, 1).table(t, 15, 8, 12, 2)
		with := emptyTable(t, 5)
		x := make([]float64, 5)
		for i := range tab.Rows() {
			tab.X(x[:4], i)
			x[4] = 7
			if err := with.Append(tab.Tasks()[tab.Task(i)], "", x, tab.Y(i)); err != nil {
				t.Fatal(err)
			}
		}
		c := testConfig(t, 2, -1)
		c.Owners = false
		m, _ := fit(t, tab, c)
		other, r := fit(t, assigned(t, with, 2), c)
		most := 0.0
		for i := range tab.Rows() {
			task := tab.Tasks()[tab.Task(i)]
			a, err := m.Predict(task, tab.X(x[:4], i))
			b, err2 := other.Predict(task, with.X(x, i))
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			most = max(most, math.Abs(a-b))
		}
		t.Logf("seed %d: predictions are %.2g apart, noise %.3g", seed, most, m.Noise())
		if most > 2e-3*m.Noise() {
			t.Errorf("seed %d: predictions are %v apart (%v)", seed, most, r.Notes)
		}
	}
}
