package simulation

import (
	"strings"
	"testing"
)

// The figure of a run names all methods, and its axes. A distance of 0 does not spoil it.
func TestFigure(t *testing.T) {
	s := small()
	s.Methods = nil
	for m := range looks {
		s.Methods = append(s.Methods, m)
	}
	trials := runTrials(t, s, 3, 0)
	trials[0].Curves[2].Rows[30].SDFirst = 0 // a logarithm must not see it
	text := string(Summarize(&s, trials, Session{}).Figure().SVG())
	for _, want := range []string{"<svg", "Iteration", "Modelled execution time (s)", "median and range of 3 trials"} {
		if !strings.Contains(text, want) {
			t.Errorf("the SVG does not contain %q", want)
		}
	}
	for m, look := range looks {
		if !strings.Contains(text, look.Name) || strings.Contains(text, "Inf") || strings.Contains(text, "NaN") {
			t.Errorf("%s is not in the figure, or it is broken", m)
		}
	}
}
