package chart

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"
	"testing"
)

// pixels returns the colours of a figure, and how many pixels have them.
func pixels(t *testing.T, f *Figure) map[color.NRGBA]int {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(f.PNG()))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.NRGBA]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			seen[color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)]++
		}
	}
	return seen
}

// The area of bars is in proportion to their values.
func TestBars(t *testing.T) {
	area := func(value float64) float64 {
		s := Series{X: []float64{1}, Y: []float64{value}, Style: Style{Color: Red, Bar: 0.5}}
		p := Panel{X: Axis{Min: 0, Max: 2}, Y: Axis{Min: 0, Max: 10}, Series: []Series{s}}
		return float64(pixels(t, &Figure{Width: 3, Height: 3, Panels: []Panel{p}})[color.NRGBA(Red)])
	}
	if ratio := area(8) / area(2); math.Abs(ratio-4) > 0.1 {
		t.Errorf("a bar four times as long has %.2f times the area", ratio)
	}
}

// What an axis cannot show is left out, and no axis is asked for what it cannot do.
func TestUnusualData(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, s := range map[string]Series{
		"nothing":    {},
		"not finite": {X: []float64{1, 2}, Y: []float64{nan, inf}},
		"one point":  {X: []float64{1e-3}, Y: []float64{5}},
		"alike":      {X: []float64{0.1, 0.1}, Y: []float64{2, 2}},
		"negative":   {X: []float64{-1, 1}, Y: []float64{-5, 5}},
		"zero":       {X: []float64{0, 1}, Y: []float64{0, 5}},
		"with gaps":  {X: []float64{1, 2, 3}, Y: []float64{1, nan, 100}},
		"no place":   {X: []float64{nan, 1, inf}, Y: []float64{1, 2, 3}},
		"band":       {X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Low: []float64{nan, -inf, 1}, High: []float64{2, inf, 4}},
	} {
		s.Name, s.Style = "a name", Style{Color: Blue, Width: 2, Dot: 2}
		f := Figure{Width: 2.5, Height: 2, Y: "y", Panels: []Panel{{Title: "title", X: Axis{Label: "x", Log: true}, Y: Axis{Log: true}, Series: []Series{s}}}}
		shown := pixels(t, &f)[color.NRGBA(Blue)] > 0
		if want := name != "nothing" && name != "not finite"; shown != want {
			t.Errorf("%s: shown is %v", name, shown)
		}
		if image := string(f.SVG()); !strings.Contains(image, "title") || strings.Contains(image, "NaN") || strings.Contains(image, "Inf") {
			t.Errorf("%s: a broken SVG", name)
		}
	}
}

// Series of one name share an entry of the legend.
func TestEntries(t *testing.T) {
	x, dot := []float64{1}, Style{Dot: 1}
	got := entries([]Series{{Name: "a", X: x, Y: x, Style: dot}, {Name: "b", X: x, Y: x, Style: dot}, {X: x, Y: x, Style: dot}, {Name: "a", X: x, Y: x, Style: dot}, {Name: "c", Style: dot}})
	if len(got) != 2 || got[0].name != "a" || len(got[0].sample) != 2 || got[1].name != "b" {
		t.Errorf("the entries are %+v", got)
	}
}

func TestTicks(t *testing.T) {
	labels := func(low, high float64) (all []string) {
		for _, k := range (powers{}).Ticks(low, high) {
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
		for _, k := range (roundNumbers{}).Ticks(0, high) {
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

// An SVG image is well-formed, says what it shows in its first elements whatever the
// words, and fixes the width of every text.
func TestDescribedSVG(t *testing.T) {
	f := Figure{Title: "a <b> & c", Text: `"quoted" < all`, Panels: []Panel{{
		X:      Axis{Label: "x_{2} & more"},
		Series: []Series{{Name: "one", X: []float64{1, 2}, Y: []float64{1, 3}, Style: Line(Blue, 1)}},
	}}}
	image := f.SVG()
	var svg struct {
		Role  string `xml:"role,attr"`
		Title string `xml:"title"`
		Desc  string `xml:"desc"`
		Inner string `xml:",innerxml"`
	}
	if err := xml.Unmarshal(image, &svg); err != nil {
		t.Fatal(err)
	}
	if svg.Role != "img" || svg.Title != f.Title || svg.Desc != f.Text || !strings.HasPrefix(strings.TrimSpace(svg.Inner), "<title>") {
		t.Errorf("role %q, title %q, description %q", svg.Role, svg.Title, svg.Desc)
	}
	if n := strings.Count(svg.Inner, "<text "); n == 0 || n != strings.Count(svg.Inner, "<text textLength=") {
		t.Errorf("not all of %d texts have a width", n)
	}
}
