package report

import (
	"math"
	"testing"
)

// What stands out in the table of errors is the method that won, ours or another.
func TestBestScore(t *testing.T) {
	row := func(rows int, rmse float64) method { return method{Test: errors{Rows: rows, RMSE: number(rmse)}} }
	none := math.NaN()
	for want, scores := range map[int][]method{
		0: {row(0, none), row(0, none)}, 1: {row(9, 1), row(9, 1), row(9, 2)}, 3: {row(9, 3), row(9, 2), row(9, 1), row(9, 1.5)},
	} {
		if got := bestScore(scores); got != want {
			t.Errorf("%v: row %d, want %d", scores, got, want)
		}
	}
}
