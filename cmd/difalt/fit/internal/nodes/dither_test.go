package nodes

import (
	"math"
	"slices"
	"testing"
)

// The dither of a node is the same for the same sums of the same rows, and another for any others; all nodes together make
// one of the given part of what tasks differ by.
func TestDither(t *testing.T) {
	const n = 20000
	a := &Group{Net: path(t, 3), Secrets: []Secret{{1}, {2}, {3}}}
	sum, squares := slices.Repeat([]float64{50}, n), slices.Repeat([]float64{260}, n) // of ten tasks: 5, and a variance of 10 / 9
	dithered := func(node int, change float64) []float64 {
		v := slices.Clone(sum)
		v[7] += change
		a.Dither(node, v, squares, 10, func(int) float64 { return 0.1 })
		return v
	}
	first := dithered(0, 0)
	if !slices.Equal(first, dithered(0, 0)) {
		t.Error("the same sums have another dither")
	}
	for name, other := range map[string][]float64{"another node": dithered(1, 0), "another sum": dithered(0, 1e-9)} {
		alike, square := 0, 0.0
		for k := range n {
			if k != 7 && other[k] == first[k] {
				alike++
			}
			square += (other[k] - sum[k]) * (other[k] - sum[k]) / n
		}
		if want := 0.1 * math.Sqrt((10.0/9+0.25)/3); alike > 0 || math.Abs(math.Sqrt(square)-want) > 0.03*want {
			t.Errorf("%s: %d of %d are the same, a deviation of %v, want %v", name, alike, n, math.Sqrt(square), want)
		}
	}
	if (&Group{Net: path(t, 1), Secrets: []Secret{{}}}).Dithers() {
		t.Error("a single node dithers its sums")
	}
}
