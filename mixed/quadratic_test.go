package mixed

import (
	"math/rand/v2"
	"testing"
)

// z' C z has the same bits whether rows of C are taken one by one or four together, for all sizes.
func TestQuadraticByRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 20 {
		packed, z := make([]float64, n*(n+1)/2), make([]float64, n)
		for i := range packed {
			packed[i] = r.Float64()
		}
		for i := range z {
			z[i] = r.NormFloat64()
		}
		sum, row := 0.0, packed
		for i := range n {
			inner := float64(row[0] * z[i] / 2)
			for j := 1; i+j < n; j++ {
				inner += float64(row[j] * z[i+j])
			}
			sum += float64(2 * z[i] * inner)
			row = row[n-i:]
		}
		if got := quadratic(packed, z); got != max(sum, 0) {
			t.Errorf("order %d: %v, want %v", n, got, sum)
		}
	}
}
