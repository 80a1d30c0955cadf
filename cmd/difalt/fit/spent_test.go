package fit

import (
	"math"
	"testing"
)

// The noise is that of the rows, also where few tasks leave few rows to an entry of the loadings: here 250 rows, to which
// 42 entries, 31 effects of tasks and a mean are fitted. Its standard error over the tables is 2 percent.
func TestNoiseOfFewTasks(t *testing.T) {
	inFull(t)
	mean := 0.0
	const tables = 20
	for seed := range uint64(tables) {
		w := newWorld(seed, 20)
		m, r := fit(t, assigned(t, w.table(t, "old", 10, 25), 2), testConfig(t, 2, 2))
		_, axes := m.Loadings()
		for a, v := range axes {
			if math.Abs(v/r.Chosen.Axes[a]-1) > 1e-9 {
				t.Errorf("axis %d has the length %v in the model, %v in the report", a, v, r.Chosen.Axes[a])
			}
		}
		mean += m.Noise() * m.Noise() / tables
	}
	t.Logf("variance %.3f", mean)
	if mean < 0.92 || mean > 1.08 {
		t.Errorf("the variance of the noise is %.3f in the mean, want 1", mean)
	}
}
