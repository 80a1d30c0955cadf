package experiment

import "slices"

// A band is what a figure shows of a method: over the trials, the mean distance of
// node 1 after every iteration, the 10th and 90th percentile, and the mean
// execution time.
type band struct {
	method          string
	trials          int
	mean, low, high []float64
	seconds         []float64
}

// bands aggregates the trials by method. A curve that ended early keeps its last
// distance.
func bands(trials []Trial) []band {
	var out []band
	for _, curves := range byMethod(trials) {
		length := 0
		for _, c := range curves {
			length = max(length, len(c.Rows))
		}
		b := band{method: curves[0].Method, trials: len(curves)}
		at := make([]float64, len(curves))
		for k := range length {
			mean, seconds := 0.0, 0.0
			for i, c := range curves {
				row := &c.Rows[min(k, len(c.Rows)-1)]
				at[i] = row.SDNode1
				mean += row.SDNode1
				seconds += row.Seconds
			}
			slices.Sort(at)
			n := float64(len(curves))
			b.mean = append(b.mean, mean/n)
			b.seconds = append(b.seconds, seconds/n)
			b.low = append(b.low, quantile(at, 0.1))
			b.high = append(b.high, quantile(at, 0.9))
		}
		out = append(out, b)
	}
	return out
}

// thinned returns at most about 500 indices of n points, the last included: more
// would only make the files larger.
func thinned(n int) []int {
	step := (n + 499) / 500
	var at []int
	for i := 0; i < n-1; i += step {
		at = append(at, i)
	}
	return append(at, n-1)
}
