package evidence

import (
	"math"
	"testing"
)

// Along eigenvectors noise, value and slope are those of a point that is solved for another variance of the mean.
func TestMeanSpectrum(t *testing.T) {
	rows, _, p := testRows(t)
	start, err := rows.At(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	pt, err := rows.At(t.Context(), p, start.Mean) // about something
	if err != nil {
		t.Fatal(err)
	}
	s := pt.spectrum()
	_, from, _ := s.at(p.MeanVariance)
	for _, v := range []float64{MinStrength, 1e-3, 0.5, p.MeanVariance, 20, 1e6, MaxStrength} {
		q := p.Clone()
		q.MeanVariance = v
		want, err := rows.At(t.Context(), q, start.Mean)
		if err != nil {
			t.Fatal(err)
		}
		noise, value, slope := s.at(v)
		checkNear(t, "noise", v, noise, want.Noise)
		checkNear(t, "value", v, value-from, want.Value-pt.Value)
		checkNear(t, "slope", v, slope, want.partials()[len(p.Loadings)+2]*math.Sqrt(v)/2)
	}
}

func checkNear(t *testing.T, what string, v, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
		t.Errorf("variance %g: %s is %v, want %v", v, what, got, want)
	}
}
