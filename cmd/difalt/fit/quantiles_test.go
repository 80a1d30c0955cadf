package fit

import (
	"math"
	"slices"
	"testing"
)

// Quantiles are those of the sorted values, but for a thousandth of their distance from the mean; of few values they are these values, equal ones with equal bits.
func TestQuantiles(t *testing.T) {
	d := bentDesign(t, 200, func(_, _, _, _, level float64) float64 { return level })
	p := []float64{0, 0.02, 0.3, 0.5, 0.77, 0.98, 1}
	got, err := d.quantiles(t.Context(), []int{0, 1, 2, 4}, p)
	if err != nil {
		t.Fatal(err)
	}
	for f, j := range []int{0, 1, 2, 4} {
		x, values := make([]float64, 5), []float64(nil)
		for i := range d.t.Rows() {
			values = append(values, d.t.X(x, i)[j])
		}
		slices.Sort(values)
		for k, p := range p {
			at := p * float64(len(values))
			lo, hi := values[max(int(at)-2, 0)], values[min(int(at)+2, len(values)-1)]
			slack := 1e-3*math.Abs(got[f][k]-d.Center[j]) + 1e-3*d.Scale[j]
			if !(got[f][k] >= lo-slack && got[f][k] <= hi+slack) {
				t.Errorf("feature %d, quantile %v is %v, want %v to %v", j, p, got[f][k], lo, hi)
			}
		}
	}
	if n := len(slices.Compact(got[3])); n != 2 {
		t.Errorf("a feature of two values has %d quantiles: %v", n, got[3])
	}
}
