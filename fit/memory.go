package fit

import "github.com/difalt/difalt/dataset"

// Memory returns how many bytes Fit takes at the least, beside what the table has: the rows of
// every task, or as few as say the same, as the algorithm needs them, and once more those of tasks
// with more rows than coefficients.
func Memory(t *dataset.Table, c *Config) float64 {
	rows, kept, d := 0.0, 0.0, float64(len(t.Features()))
	for _, n := range t.Samples(c.Train) {
		if most := len(t.Features()) + 1; !c.Plain && n > most {
			n = most
			kept += float64(n)
		}
		rows += float64(n)
	}
	if c.Plain {
		return 8 * rows * d / 2 // or in float32
	}
	if d > maxFeatures || d > rows { // reduced, to how few depends on the other nodes
		d = min(d, rows, 16)
	}
	return 8 * (rows + kept) * (d + 1)
}
