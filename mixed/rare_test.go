package mixed

import (
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/blas/blas64"
)

// brokenSum returns rows of a constant and drawn numbers, the last of which is the sum of the first parts
// ones, to some rounding, but in broken rows, where it is 1 more.
func brokenSum(seed uint64, rows, columns, parts, broken int, rounding float64) blas64.General {
	r := rand.New(rand.NewPCG(seed, 5))
	x := dense.General(rows, columns, make([]float64, rows*columns))
	for i := range rows {
		row, sum := x.Data[i*columns:][:columns], 0.0
		row[0] = 1
		for j := 1; j < columns; j++ {
			row[j] = r.NormFloat64()
			if j <= parts {
				sum += row[j]
			}
		}
		if parts > 0 {
			row[columns-1] = sum + rounding*(r.Float64()-.5)
			if every := rows / broken; i%every == 0 && i/every < broken {
				row[columns-1]++
			}
		}
	}
	return x
}

// A sum of columns that is broken in fewer rows than columns is found, exact or rounded, in a table of any
// size, and one of its columns is the one with the largest part. Nothing is found where no sum is, or where
// it is broken in as many rows as columns.
func TestCombined(t *testing.T) {
	for _, c := range []struct {
		rows, columns, parts, broken int
		rounding                     float64
		found                        bool
	}{
		{800, 16, 2, 12, 0, true}, {800, 16, 10, 15, 0, true}, {48, 16, 2, 10, 0, true}, {120, 40, 20, 20, 0, true},
		{2000, 30, 3, 25, 0, true}, {20000, 12, 2, 5, 0, true},
		{800, 16, 2, 12, .03, true}, {120, 40, 2, 20, .01, true},
		{800, 16, 2, 1, 0, true}, {800, 16, 2, 16, 0, false}, {800, 16, 2, 60, 0, false}, {800, 16, 2, 12, 3, false},
		{800, 16, 0, 0, 0, false}, {48, 16, 0, 0, 0, false}, {800, mostCombined + 1, 2, 12, 0, false},
	} {
		for seed := range uint64(3) {
			x := brokenSum(seed, c.rows, c.columns, c.parts, c.broken, c.rounding)
			at := check.OK(combined(t.Context(), x, c.columns))
			right := at == 0
			if c.found {
				right = at > 0 && at <= c.parts || at == c.columns-1
			}
			check.FailIf(t, !right, "%+v: column %d", c, at)
		}
	}
}
