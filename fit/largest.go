package fit

import (
	"github.com/difalt/difalt/fit/internal/evidence"
)

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
