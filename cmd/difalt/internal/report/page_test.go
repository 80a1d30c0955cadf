package report

import (
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/fit"
)

// What an expected rank is the page says where there is one, and only there.
func TestExpectedOnPage(t *testing.T) {
	for _, expected := range []bool{false, true} {
		r := &Report{Candidates: []candidate{{Rank: 0}, {Rank: 1, Expected: expected}}}
		rows, chosen := r.candidates()
		var out strings.Builder
		if err := pageTemplate.ExecuteTemplate(&out, "tried", pageTable{rows, chosen, r.candidatesWords()}); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(out.String(), "Expected:"); has != expected || !strings.Contains(out.String(), "Models compared") {
			t.Errorf("a rank was expected: %v; the page says what that is: %v", expected, has)
		}
	}
}

// Ranks that are averaged stand with their weights in the table, which says what these are; one that has all of it does not.
func TestWeightsOfRanks(t *testing.T) {
	for _, averaged := range []bool{false, true} {
		list := []candidate{{Rank: 0, Weight: 1}, {Rank: 1}, {Rank: 2}}
		if averaged {
			list[0].Weight, list[1].Weight = 0.7, 0.3
		}
		var out strings.Builder
		(&Report{Inputs: &Inputs{Config: &fit.Config{}}, Candidates: list}).writeCandidates(&out)
		for _, want := range []string{"0, weight 0.70", "1, weight 0.30", "Weight: the share of a candidate"} {
			if strings.Contains(out.String(), want) != averaged {
				t.Errorf("averaged %v: %q in\n%s", averaged, want, &out)
			}
		}
		if strings.Contains(out.String(), "2, weight") {
			t.Errorf("a rank without weight:\n%s", &out)
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
