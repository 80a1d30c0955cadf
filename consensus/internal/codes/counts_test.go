package codes

import (
	"math"
	"testing"
)

// TestGroups: the group of every exponent of a float64 contains it, groups ascend with exponents, and a group
// near 0 has one exponent.
func TestGroups(t *testing.T) {
	_, least := math.Frexp(math.SmallestNonzeroFloat64)
	_, greatest := math.Frexp(math.MaxFloat64)
	before := 0
	for e := least; e <= greatest; e++ {
		g := groupOf(e)
		switch {
		case g < before || g >= groups:
			t.Errorf("exponent %d has group %d, after %d of %d", e, g, before, groups)
		case largestOf(g) < e || g > 0 && largestOf(g-1) >= e:
			t.Errorf("exponent %d has group %d, from %d to %d", e, g, largestOf(g-1)+1, largestOf(g))
		case e >= -64 && e < 64 && largestOf(g) != e:
			t.Errorf("exponent %d shares group %d", e, g)
		}
		before = g
	}
	for _, c := range []struct {
		counts []uint64
		want   int
	}{{nil, -1}, {[]uint64{0, 0}, -1}, {[]uint64{1, 0}, 0}, {[]uint64{3, 1}, 1}} {
		if got := lastNonzero(c.counts); got != c.want {
			t.Errorf("%v: %d, want %d", c.counts, got, c.want)
		}
	}
}
