package mixed

import (
	"errors"
	"slices"
	"testing"
)

// All items are counted once, in one order, and the first error is returned.
func TestSumParts(t *testing.T) {
	for _, n := range []int{0, 1, 15, 100} {
		var first []float64
		for _, workers := range []int{0, 1, 5} {
			odd := errors.New("odd")
			if _, err := sumParts(workers, n, 0, func([]float64, int, int) error { return odd }); err != odd && n > 0 {
				t.Errorf("%d items, %d workers: the error is %v", n, workers, err)
			}
			sum, err := sumParts(workers, n, 2, func(part []float64, from, to int) error {
				for k := from; k < to; k++ {
					part[0]++
					part[1] += 1 / float64(k+1)
				}
				return nil
			})
			if first == nil {
				first = sum
			}
			if sum[0] != float64(n) || !slices.Equal(sum, first) || err != nil {
				t.Errorf("%d items, %d workers: %v, %v, want %d and %v", n, workers, sum, err, n, first)
			}
		}
	}
}
