package simulation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFigure(t *testing.T) {
	s := small()
	s.Methods = nil
	for m := range looks {
		s.Methods = append(s.Methods, m)
	}
	trials := runTrials(t, s, 3, 0)
	trials[0].Curves[2].Rows[30].SDFirst = 0 // a logarithm must not see it
	f := Summarize(&s, trials, Session{}).Figure()
	text := string(f.SVG())
	for _, want := range []string{"<svg", "Dif-AltGDmin", "AltGDmin (centralised)", "Dec-AltGDmin", "DGD variant", "Accelerated, int8", "Iteration", "Modelled execution time (s)", "median and range of 3 trials"} {
		if !strings.Contains(text, want) {
			t.Errorf("the SVG does not contain %q", want)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader([]byte(text))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
