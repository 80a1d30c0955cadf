package simulation

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
)

func TestFigure(t *testing.T) {
	s := small()
	s.Name, s.Methods = "small", []string{Auto, Pooled}
	for _, m := range Methods() {
		s.Methods = append(s.Methods, m.String())
	}
	trials := runTrials(t, s, 1, 3, 0)
	trials[0].Curves[2].Rows[60].SDFirst = 0 // a logarithm must not see it
	f := Summarize(&s, trials, nil).Figure()
	img, err := png.Decode(bytes.NewReader(f.PNG()))
	if err != nil {
		t.Fatal(err)
	}
	// Each method's colour is on the page, and nothing touches its border.
	seen := map[color.RGBA]bool{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			c := color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8), 255}
			seen[c] = true
			if border := x == 0 || y == 0 || x == b.Max.X-1 || y == b.Max.Y-1; border && c != (color.RGBA{255, 255, 255, 255}) {
				t.Fatalf("something is cut off at %d, %d", x, y)
			}
		}
	}
	for name, l := range looks {
		if !seen[color.RGBA(l.Style.Color)] {
			t.Errorf("no pixel has the colour of %s", name)
		}
	}
	text := string(f.SVG())
	for _, want := range []string{"<svg", "Dif-AltGDmin", "AltGDmin (centralised)", "Dec-AltGDmin", "DGD variant", "Scaled diffusion", "Gradient tracking", "Iteration", "Execution time (s)", "small", "3 trials"} {
		if !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
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
