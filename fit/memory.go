package fit

import "github.com/difalt/difalt/dataset"

// Memory returns how many bytes Fit takes at the least, beside what the table has: the rows of
// every task, or as few as say the same, as the evidence needs them, and once more as the algorithm
// does.
func Memory(t *dataset.Table, c *Config) float64 {
	rows, d := 0.0, float64(len(t.Features()))
	for _, n := range t.Samples(c.Train) {
		if !c.Plain {
			n = min(n, len(t.Features())+1)
		}
		rows += float64(n)
	}
	if c.Plain {
		return 8 * rows * d / 2 // or in float32
	}
	if d > maxFeatures || d > rows { // reduced, to how few depends on the other nodes
		d = min(d, rows, 16)
	}
	return 2 * 8 * rows * (d + 1)
}
