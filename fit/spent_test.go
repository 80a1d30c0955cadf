package fit

import "testing"

// The noise is that of the rows, also where few tasks leave few rows to an entry of the loadings: here 250 rows, to which
// 63 entries and a mean are fitted. Its standard error over the tables is 2 percent.
func TestNoiseOfFewTasks(t *testing.T) {
	inFull(t)
	mean := 0.0
	const tables = 10
	for seed := range uint64(tables) {
		w := newWorld(seed, 20)
		m, _ := fit(t, assigned(t, w.table(t, "old", 10, 25), 2), testConfig(t, 2, 2))
		mean += m.Noise() * m.Noise() / tables
	}
	t.Logf("variance %.3f", mean)
	if mean < 0.9 || mean > 1.1 {
		t.Errorf("the variance of the noise is %.3f in the mean, want 1", mean)
	}
}
