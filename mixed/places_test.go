package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// The number of places below a number is that of a binary search, for places near each other, equal ones,
// and those of any size.
func TestPlacesBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	lists := [][]float64{{2}, {1, 1, 1}, {-1e150, 0, 1e150}, {5e-324, 1e-323}, {0, 1e-300, 1},
		{1e15, 1e15 + 1, 1e15 + 2}}
	for range 40 {
		var at []float64
		for range 1 + r.IntN(100) {
			at = append(at, math.Round(r.NormFloat64()*1e3)*math.Pow(10, float64(r.IntN(8)-4)))
		}
		slices.Sort(at)
		lists = append(lists, at)
	}
	for _, at := range lists {
		p := newPlaces(at)
		numbers := []float64{-1e150, -1, 0, math.Copysign(0, -1), 1, 1e150}
		for _, v := range at {
			down, up := math.Nextafter(v, -math.MaxFloat64), math.Nextafter(v, math.MaxFloat64)
			numbers = append(numbers, v, down, up, -v, v/3)
		}
		for _, v := range numbers {
			got, want := p.below(v), sort.SearchFloat64s(at, v)
			check.FailIf(t, got != want, "%d of %v are below %v, want %d", got, at, v, want)
		}
	}
}
