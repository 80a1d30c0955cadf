package dataset

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Distinct values are counted up to a bound, and hashes of numbers are all different.
func TestDistinct(t *testing.T) {
	c := newColumnStats("x")
	for _, more := range []int{0, 0, 1} {
		for i := range maxDistinct + more {
			c.addNumber(float64(i)/8, -1)
		}
		if d := c.description(); d.Distinct != maxDistinct || d.AtLeast != (more > 0) {
			t.Errorf("%d values: %d, at least: %v", maxDistinct+more, d.Distinct, d.AtLeast)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	of := map[uint64]float64{}
	for i := range 100_000 {
		v := float64(i) / 8
		if i%3 == 0 {
			v = r.NormFloat64()
		}
		if other, there := of[hashOf(v)]; there && other != v {
			t.Fatalf("%v and %v have the same hash", v, other)
		}
		of[hashOf(v)] = v
	}
	if hashOf(0) != hashOf(math.Copysign(0, -1)) {
		t.Error("0 and -0 are different")
	}
}
