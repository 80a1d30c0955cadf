package simulation

import (
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/chart"
)

// The figure of a run names all methods, and its axes. A distance of 0 does not spoil it.
func TestFigure(t *testing.T) {
	s := small()
	s.Methods = nil
	for m := range appearances {
		s.Methods = append(s.Methods, m)
	}
	trials := runTrials(t, s, 3, 0)
	trials[0].Curves[2].Rows[30].SDFirst = 0 // a logarithm must not see it
	text := string(Summarize(&s, trials, Origin{}).Figure().SVG())
	for _, want := range []string{"<svg", "Iteration", "Modelled execution time (s)", "median and range of 3 trials"} {
		if !strings.Contains(text, want) {
			t.Errorf("the SVG does not contain %q", want)
		}
	}
	for m, look := range appearances {
		if !strings.Contains(text, look.Name) || strings.Contains(text, "Inf") || strings.Contains(text, "NaN") {
			t.Errorf("%s is not in the figure, or it is broken", m)
		}
	}
}

// A panel whose distances stay far above those of the others has an axis of its own.
func TestOwnAxis(t *testing.T) {
	panel := func(end float64) chart.Panel {
		return chart.Panel{Series: []chart.Series{{X: []float64{0, 1}, Y: []float64{0.5, end}}}}
	}
	f := DistanceFigure("", "", panel(2e-15), panel(2e-12), panel(0.02))
	for i, want := range []float64{1e-15, 1e-15, 1e-2} {
		if got := f.Panels[i].Y.Min; math.Abs(got-want) > 1e-9*want {
			t.Errorf("the axis of panel %d begins at %g, want %g", i, got, want)
		}
	}
}
