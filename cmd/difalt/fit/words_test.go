package fit

import (
	"math"
	"strings"
	"testing"
)

// The verdict says "as good" only where the interval leaves no room for more, and names who
// is below whom.
func TestWords(t *testing.T) {
	for _, test := range []struct {
		gain, low, high float64
		want            string
	}{
		{0.2, 0.1, 0.3, "of rank 1 has an RMSE 20.0 % below that of the best simpler method, one ridge per task (95 % interval 10.0 % to 30.0 %)."},
		{-1, -3, -0.25, "one ridge per task, has an RMSE 50.0 % below that of the shared representation of rank 1 (95 % interval 20.0 % to 75.0 %): use it."},
		{0.01, -0.02, 0.04, "is as good as the shared representation of rank 1: their RMSE differs by 1.0 % (95 % interval -2.0 % to 4.0 %)."},
		{0.385, -0.012, 1, "do not tell whether the shared representation of rank 1 or one ridge per task is better: the RMSE of the former is 38.5 % below the latter's (95 % interval 1.2 % above to 100.0 % below)."},
		{0.0001, -0.0002, 0.0003, "differs by 0.0 % (95 % interval 0.0 % to 0.0 %)."},
		{-0.3, -0.9, 0.01, "is 30.0 % above the latter's (95 % interval 90.0 % above to 1.0 % below)."},
		{-111.217, -211.042, 1, "the RMSE of the former is 112 times the latter's (95 % interval 212 times to 100.0 % below)."},
		{-2.34, -9.87, 0.01, "is 3.3 times the latter's (95 % interval 10.9 times to 1.0 % below)."},
		{-2, -2, 0.01, "is 200.0 % above the latter's (95 % interval 200.0 % above to 1.0 % below)."},
		{0.3, math.NaN(), math.NaN(), "the RMSE of the former is 30.0 % below the latter's."},
	} {
		v := Verdict{Other: Single, Gain: test.gain, Low: test.low, High: test.high}
		if got := v.words(&Candidate{Rank: 1}, nil); !strings.Contains(got, test.want) {
			t.Errorf("%v (%v, %v): %q, want %q", test.gain, test.low, test.high, got, test.want)
		}
	}
}
