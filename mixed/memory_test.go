package mixed

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A reader that reads ahead returns what it returns row by row, whatever the number of rows and the place of
// the features.
func TestReaderReadsAhead(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 5))
	for _, features := range []int{1, 3, 200, 5000} {
		table := drawing{tasks: 1, rows: 3*rowsAhead + 1, features: features, noise: 1}.table(t, 2)
		for _, places := range [][]place{nil, {{features - 1, -1}, {-1, -1}, {0, -1}}} {
			r := &rows{in: &Input{Table: table}, features: features, places: places}
			ahead, one := r.newReader(), r.newReader()
			for _, n := range []int{0, 1, rowsAhead - 1, rowsAhead, rowsAhead + 1, 2*rowsAhead + 5} {
				var list []int32
				for range n {
					list = append(list, int32(random.IntN(table.Rows())))
				}
				next := 0
				ahead.each(list, func(at int, x []float64) {
					same := slices.Equal(x, one.one(int(list[at])))
					check.FailIf(t, at != next || !same, "%d features, row %d of %d: place %d, %v", features, next, n, at, same)
					next++
				})
				check.FailIf(t, next != n, "%d of %d rows", next, n)
			}
		}
	}
}
