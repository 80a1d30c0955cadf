package dataset

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A set of hashes is a map that is full at its bound, and hashes of numbers are all different.
func TestHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, values := range []uint64{1, 3, 50, 5000} {
		const most = 300
		var s hashes
		want := map[uint64]bool{}
		for range 3000 {
			h := r.Uint64N(values) * 0x100000000 // whose low bits are alike
			_, there := want[h]
			if there || len(want) < most {
				want[h] = true
				there = true
			}
			if s.add(h, most) != there {
				t.Fatalf("%d values: hash %x: want %v", values, h, there)
			}
		}
		if s.count != len(want) {
			t.Errorf("%d values: %d, want %d", values, s.count, len(want))
		}
	}
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
