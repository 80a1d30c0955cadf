package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A brokenTable is a table where a combination of columns is 0 in all rows but some.
type brokenTable struct {
	rows, columns int // independent ones, beside those of the combination
	kind          string
}

// table returns the rows of the table, and those that break the combination.
func (b *brokenTable) table(broken int, seed uint64) (x [][]float64, at []int) {
	const few = 20 // rows with a rare value
	r := rand.New(rand.NewPCG(seed, 5))
	order := r.Perm(b.rows)
	at = order[:broken]
	for i := range b.rows {
		var row []float64
		for range b.columns {
			row = append(row, r.NormFloat64())
		}
		off, rare := 0.0, 0.0
		if slices.Contains(at, i) {
			off = float64(1 + r.IntN(3))
		}
		if slices.Contains(order[:few], i) {
			rare = float64(1 + i%7)
		}
		switch b.kind {
		case "sum":
			row = append(row, row[0]+row[1]-float64(2*row[2])+off)
		case "copy":
			row = append(row, row[0]+off)
		case "rare numbers":
			row = append(row, rare, float64(2*rare)+off)
		case "rare flags":
			flag := min(rare, 1)
			row = append(row, flag, max(flag-off, 0))
		case "functions":
			for _, v := range []float64{row[0], row[1], row[0] + row[1]} {
				row = append(row, math.Abs(v), float64(v*v))
			}
			row = append(row, row[0]+row[1]+off)
		}
		x = append(x, row)
	}
	slices.Sort(at)
	return x, at
}

// All rows that break a combination are found, in tables with three rows for each column and more, in tables
// with columns that are 0 in nearly all rows, and beside functions of the columns. No rows are found where
// one more breaks it.
func TestDeparting(t *testing.T) {
	const least = 9
	for _, b := range []brokenTable{
		{120, 37, "sum"}, {150, 37, "sum"}, {300, 37, "sum"}, {150, 37, "copy"}, {120, 25, "functions"},
		{300, 10, "rare numbers"}, {4000, 10, "rare numbers"}, {300, 10, "rare flags"}, {4000, 10, "rare flags"},
	} {
		for _, broken := range []int{1, 2, 5, least - 1, least} {
			for seed := range uint64(8) {
				x, want := b.table(broken, seed)
				m := &matrix{b.rows, len(x[0]), func(dst []float64, i int) { copy(dst, x[i]) }, nil}
				if broken == least {
					want = nil
				}
				got := check.OK(m.exposed(t.Context(), least))
				check.FailIf(t, !slices.Equal(got, want), "%v, %d rows, seed %d: %v, want %v", b, broken, seed,
					got, want)
			}
		}
	}
}

// A sample is one of as many as it takes, whatever the numbers of rows and columns.
func TestSamplesOf(t *testing.T) {
	for _, c := range []struct{ rank, rows, least, want int }{
		{40, 120, 9, 32}, {40, 120, 12, 89}, {40, 4000, 12, leastSamples}, {40, 120, 43, mostSamples},
		{40, 120, 1, 0}, {0, 120, 12, 0}, {120, 120, 12, 0}, {1, 2, 2, leastSamples},
	} {
		got := samplesOf(c.rank, c.rows, c.least)
		check.FailIf(t, got != c.want, "rank %d, %d rows, fewer than %d: %d samples, want %d", c.rank, c.rows, c.least,
			got, c.want)
	}
}
