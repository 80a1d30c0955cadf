package topology

import (
	"math"
	"math/rand/v2"
)

// What follows bounds the effort of estimateGamma.
const (
	probes        = 4     // random numbers that a node averages
	firstMeasured = 4     // rounds before the first measurement
	lastMeasured  = 1024  // the most rounds
	gapTolerance  = 0.1   // relative, of 1 - gamma, between two measurements
	noiseFloor    = 1e-12 // of changes, of numbers near 1
)

// gammaStream keeps the random numbers of estimateGamma apart from other uses of a
// seed.
const gammaStream = 0x67616d6d61 // "gamma"

// estimateGamma returns an estimate of gamma(W), 0 if that is too small to matter,
// as the nodes themselves can find it, and what they send for it.
//
// Every node draws a few random numbers and averages them with its neighbours. The
// change x_k+1 - x_k = (W - I) W^k x has no part in the direction to which all
// converge, and in the long run it shrinks by gamma a round. After 4, 8, 16, ...
// rounds the nodes flood the largest change that one of them sees, which takes as
// many rounds as the graph has hops across, and compare it with the one before;
// they stop when the estimate settles. Since quickly decaying parts are over-represented
// at first, estimates tend to be too small, which costs some speed and is otherwise
// harmless (see recurrence).
func estimateGamma(w *Weights, seed uint64) (gamma float64, t Traffic) {
	l := w.Len()
	if l == 1 {
		return 0, t
	}
	sparse := nonzeros(w.w)
	x, next := make([][probes]float64, l), make([][probes]float64, l)
	for i := range x {
		rng := rand.New(rand.NewPCG(mix(seed, gammaStream), uint64(i)))
		for k := range x[i] {
			x[i][k] = rng.NormFloat64()
		}
	}
	links, hops := int64(2*w.graph.Edges()), int64(w.graph.Diameter())
	before := 0.0
	for round := 1; round <= lastMeasured; round++ {
		step(next, x, sparse)
		x, next = next, x
		t = t.Plus(Traffic{Rounds: 1, Messages: links, Bytes: links * 8 * probes})
		if round < firstMeasured || round&(round-1) != 0 {
			continue
		}
		change := largestChange(x, next)
		t = t.Plus(Traffic{Rounds: hops, Messages: hops * links, Bytes: hops * links * 8})
		if change <= noiseFloor {
			break
		}
		if round == firstMeasured {
			before = change
			continue
		}
		estimate := math.Pow(change/before, 2/float64(round))
		settled := math.Abs(estimate-gamma) <= gapTolerance*(1-estimate)
		gamma, before = min(estimate, gammaLimit), change
		if settled {
			break
		}
	}
	return gamma, t
}

// step computes next = W x.
func step(next, x [][probes]float64, sparse [][]weight) {
	for i, row := range sparse {
		var sum [probes]float64
		for _, w := range row {
			for k, v := range x[w.node] {
				sum[k] += w.value * v
			}
		}
		next[i] = sum
	}
}

// largestChange returns the largest distance |x_i - y_i| over the nodes.
func largestChange(x, y [][probes]float64) float64 {
	largest := 0.0
	for i := range x {
		squares := 0.0
		for k := range x[i] {
			d := x[i][k] - y[i][k]
			squares += d * d
		}
		largest = max(largest, squares)
	}
	return math.Sqrt(largest)
}

// mix returns a seed derived from two (the finaliser of SplitMix64).
func mix(a, b uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
