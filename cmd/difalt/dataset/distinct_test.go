package dataset

import (
	"math"
	"testing"
)

// Distinct values are counted up to a bound. 0 and -0 are the same.
func TestDistinct(t *testing.T) {
	c := &columnStats{levels: map[string]*int{}, values: values{distinct: map[uint64]struct{}{}}}
	for _, more := range []int{0, 0, 1} {
		for i := range maxDistinct + more {
			c.addNumber(float64(i)/8, -1)
		}
		if d := c.description(); d.Distinct != maxDistinct || d.AtLeast != (more > 0) {
			t.Errorf("%d values: %d, at least: %v", maxDistinct+more, d.Distinct, d.AtLeast)
		}
	}
	c = &columnStats{levels: map[string]*int{}, values: values{distinct: map[uint64]struct{}{}}}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 1 + 0x1p-52} {
		c.addNumber(v, -1)
	}
	if d := c.description(); d.Distinct != 3 {
		t.Errorf("0, -0, 1 and the next: %d", d.Distinct)
	}
}
