package fit

import (
	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
)

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

// LargestMessage bounds the numbers that a node sends at once in a Fit, over rounds of any
// kind, by the features of the table and Config.Rank. A node refuses what is longer, so that nobody
// can make it set memory aside.
func LargestMessage(features, rank int) int {
	return max(leastLargest, longestSum(features, rank)) + 1 // see nodes.Group.Sum
}

// leastLargest is enough for names, settings and tables of counts.
const leastLargest = 1 << 16

// longestSum bounds what a fit adds up at once but for names.
func longestSum(features, rank int) int {
	k := features + 1
	w, r := k, max(rank, 0)
	if rank == 0 {
		r = maxRank
	}
	if features > maxFeatures {
		w = maxDirections + 1
	}
	return max(
		8*k*(r+1),              // bases, and moments of the columns
		features*maxDirections, // see reduce
		packed(w),              // a Gram matrix
		evidence.MaxSum(w),
	)
}
