package report

import (
	"math"
	"strings"
	"testing"
)

// What an expected rank is the page says where there is one, and only there.
func TestExpectedOnPage(t *testing.T) {
	for _, expected := range []bool{false, true} {
		r := &Report{Candidates: []candidate{{Rank: 0}, {Rank: 1, Expected: expected}}}
		rows, chosen := r.candidates()
		p := &page{Tried: pageTable{rows, chosen, r.expectedEvidence()}}
		var out strings.Builder
		if err := pageTemplate.Execute(&out, p); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(out.String(), "Expected:"); has != expected || !strings.Contains(out.String(), "Models that were compared") {
			t.Errorf("a rank was expected: %v; the page says what that is: %v", expected, has)
		}
	}
}

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
