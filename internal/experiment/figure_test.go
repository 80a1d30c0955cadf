package experiment

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
)

func TestFigure(t *testing.T) {
	s := small()
	s.Name, s.Methods = "small", nil
	for _, m := range difalt.Methods() {
		s.Methods = append(s.Methods, m.String())
	}
	trials := runTrials(t, s, 1, 3, 0)
	trials[0].Curves[0].Rows[60].SDNode1 = 0 // a logarithm must not see it
	f, err := NewFigure(&s, Bands(trials))
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := f.WritePNG(&buf); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&buf)
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
		c := l.line.Color.(color.NRGBA)
		if !seen[color.RGBA(c)] {
			t.Errorf("no pixel has the colour of %s", name)
		}
	}
	buf.Reset()
	if err := f.WriteSVG(&buf); err != nil {
		t.Fatal(err)
	}
	text := buf.String()
	for _, want := range []string{"<svg", "Dif-AltGDmin", "AltGDmin (centralised)", "Dec-AltGDmin", "DGD variant", "Scaled diffusion", "Gradient tracking", "Iteration", "Execution time (s)", "small", "3 trials"} {
		if !strings.Contains(text, strings.ReplaceAll(want, " ", "\u00a0")) {
			t.Errorf("the SVG does not contain %q", want)
		}
	}
	for d := xml.NewDecoder(&buf); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := NewFigure(&s, nil); err == nil {
		t.Error("a figure of nothing")
	}
}

func TestTimeLimit(t *testing.T) {
	// A curve of 101 rows, a second each, that falls by a factor of ten in every
	// iteration until it has the given distance, and stays there.
	band := func(end, seconds float64) Band {
		b := Band{Method: "dif"}
		for k := range 101 {
			b.Rows = append(b.Rows, BandRow{Mean: max(end, math.Pow(10, -float64(k))), Seconds: seconds * float64(k)})
		}
		return b
	}
	fast, slow, falling := band(1e-10, 1), band(1e-20, 2), band(0, 1)
	for _, c := range []struct {
		name  string
		bands []Band
		want  float64
	}{
		{"the last arrival and 15 %", []Band{fast, slow}, 1.15 * 40},
		{"one method", []Band{fast}, 1.15 * 10},
		{"the best is falling", []Band{fast, falling}, 100},
		{"only the worst is falling", []Band{slow, {Rows: []BandRow{{Mean: 1}, {Mean: 0.1, Seconds: 1e6}}}}, 1.15 * 40},
	} {
		if got := timeLimit(c.bands); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: the axis ends at %g, want %g", c.name, got, c.want)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(low, high float64) (all []string) {
		for _, k := range (decades{}).Ticks(low, high) {
			if k.Label != "" {
				all = append(all, k.Label)
			}
		}
		return all
	}
	if got := labels(1e-3, 1); !slices.Equal(got, []string{"10^{−3}", "10^{−2}", "10^{−1}", "1"}) {
		t.Errorf("three decades have the labels %q", got)
	}
	for e := 1; e <= 17; e++ {
		if n := len(labels(math.Pow(10, float64(-e)), 1)); n < 2 || n > 9 {
			t.Errorf("%d decades have %d labels", e, n)
		}
	}
	for high, want := range map[float64][]string{
		500: {"0", "100", "200", "300", "400", "500"},
		1:   {"0", "0.2", "0.4", "0.6", "0.8", "1"},
		252: {"0", "50", "100", "150", "200", "250"},
		45:  {"0", "10", "20", "30", "40"},
	} {
		var got []string
		for _, k := range (decimals{}).Ticks(0, high) {
			got = append(got, k.Label)
		}
		if !slices.Equal(got, want) {
			t.Errorf("0 to %g has the labels %q, want %q", high, got, want)
		}
	}
}

func TestLabelSpans(t *testing.T) {
	got := spans("SD_{2}(U^{x}, 5_a) ^")
	want := []span{{"SD", 0}, {"2", -1}, {"(U", 0}, {"x", 1}, {",\u00a05_a)\u00a0^", 0}}
	if !slices.Equal(got, want) {
		t.Errorf("spans are %v, want %v", got, want)
	}
}
