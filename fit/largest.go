package fit

// LargestMessage bounds the numbers that a node sends at once in a Fit, over rounds of any
// kind, by the features of the table and Config.Rank. A node refuses what is longer, so that nobody
// can make it set memory aside.
func LargestMessage(features, rank int) int {
	k := features + 1
	w, r := k, max(rank, 0)
	if rank == 0 {
		r = mostRank
	}
	if features > mostFeatures {
		w = mostDirections + 1
	}
	return max(
		wordsMax,                // a piece of what nodes gather
		8*k*(r+1),               // bases, and what is known about the columns
		features*mostDirections, // see reduce
		packed(w),               // a Gram matrix
		informationLen(w, r),    // of the loadings
	) + 1 // see sum
}
