package chart

import (
	"encoding/xml"
	"flag"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An element is a part of an SVG image.
type element struct {
	XMLName xml.Name
	D       string    `xml:"d,attr"`
	Style   string    `xml:"style,attr"`
	X       float64   `xml:"x,attr"`
	Y       float64   `xml:"y,attr"`
	Anchor  string    `xml:"text-anchor,attr"`
	Length  float64   `xml:"textLength,attr"`
	Text    string    `xml:",chardata"`
	Parts   []element `xml:",any"`
}

// parse returns the root of the image of a figure, which must be well-formed.
func parse(t *testing.T, image []byte) (root element) {
	t.Helper()
	if err := xml.Unmarshal(image, &root); err != nil {
		t.Fatalf("%v: %s", err, image)
	}
	return root
}

var update = flag.Bool("update", false, "write the golden file of this package")

// TestFigure compares a figure that uses every part of the package with an image that a person has looked at:
// a legend of two rows with shared and empty entries, lines, dashes, dots and bands, linear and logarithmic
// axes, own marks, and letters outside of ASCII.
func TestFigure(t *testing.T) {
	up := []float64{1, 2, 3, 4, 5}
	down := []float64{1e-1, 1e-3, 1e-5, 1e-8, 1e-12}
	wide := func(v []float64, by float64) (low, high []float64) {
		for _, x := range v {
			low, high = append(low, x/by), append(high, x*by)
		}
		return low, high
	}
	low, high := wide(down, 3)
	band := Series{Name: "with a band", X: up, Y: down, Low: low, High: high, Style: Line(Blue, 2.2)}
	dashed := Series{Name: "dashed – κ × 10", X: up, Y: []float64{1, 1e-1, 1e-2, 1e-3, 1e-4},
		Style: Line(Orange, 1.3, 5, 4)}
	marked := Series{Name: "marked", X: up, Y: dashed.Y, Style: Line(Purple, 1).With(Triangle)}
	dots := Series{Name: "with a band", X: up, Y: down, Style: Style{Color: Red, Dot: 2}}
	empty := Series{Name: "not in the legend", X: up[:1], Y: []float64{math.NaN()}, Style: Line(Black, 1)}
	long := Series{Name: "a name that takes a row of the legend almost alone, up to here", X: up, Y: up,
		Style: Style{Color: Green, Width: 1, Dot: 3}}
	below := Series{X: up, Y: []float64{-3, -1, 0, 2, 40}, Style: Line(Gray, 1)}
	marks := []Mark{{1, "one"}, {2, ""}, {1.2, "too near"}, {4, "four"}, {9, "outside"}}
	f := Figure{
		Title: "A title", Text: "A text", Y: "Distance of y", Caption: "A caption & more",
		Panels: []Panel{
			{Title: "logarithmic", X: Axis{Label: "Iteration", Zero: true}, Y: Axis{Log: true, Min: 1e-12, Max: 1},
				Series: []Series{band, dashed, marked, dots, empty, long}},
			{Title: "linear", X: Axis{Label: "x", Marks: marks}, Series: []Series{below, long}},
			{X: Axis{Log: true}, Y: Axis{Log: true},
				Series: []Series{{X: up, Y: []float64{20, 30, 50, 90, 95}, Style: Line(Purple, 1)}}},
		},
	}
	const golden = "testdata/figure.svg"
	if *update {
		if err := os.WriteFile(golden, f.SVG(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(f.SVG()), "\n")); diff != "" {
		t.Errorf("the image differs from %s (written by -update):\n%s", golden, diff)
	}
}

// Points that an axis cannot show are left out, whatever the data.
func TestUnusualData(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, s := range map[string]Series{
		"nothing":    {},
		"not finite": {X: []float64{1, 2}, Y: []float64{nan, inf}},
		"one point":  {X: []float64{1e-3}, Y: []float64{5}},
		"alike":      {X: []float64{0.1, 0.1}, Y: []float64{2, 2}},
		"negative":   {X: []float64{-1, 1}, Y: []float64{-5, 5}},
		"zero":       {X: []float64{0, 1}, Y: []float64{0, 5}},
		"all zero":   {X: []float64{0, 0}, Y: []float64{0, 0}},
		"with gaps":  {X: []float64{1, 2, 3}, Y: []float64{1, nan, 100}},
		"no place":   {X: []float64{nan, 1, inf}, Y: []float64{1, 2, 3}},
		"huge":       {X: []float64{1e300, 1e301}, Y: []float64{-1e300, 1e301}},
		"band": {X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Low: []float64{nan, -inf, 1},
			High: []float64{2, inf, 4}},
	} {
		s.Name, s.Style = "a name", Style{Color: Blue, Width: 2, Dot: 2}
		for _, a := range []Axis{{Log: true}, {Zero: true}, {}} {
			f := Figure{Width: 2.5, Height: 2, Y: "y",
				Panels: []Panel{{Title: "title", X: a, Y: a, Series: []Series{s}}}}
			image := string(f.SVG())
			if shown := strings.Contains(image, "#0072b2"); shown != (name != "nothing" && name != "not finite") {
				t.Errorf("%s, %+v: shown is %v", name, a, shown)
			}
			if parse(t, f.SVG()); strings.Contains(image, "NaN") || strings.Contains(image, "Inf") {
				t.Errorf("%s, %+v: a broken image", name, a)
			}
		}
	}
}

func TestMarks(t *testing.T) {
	labels := func(marks []Mark) (all string) {
		for _, m := range marks {
			all = strings.TrimSpace(all + " " + m.Label)
		}
		return all
	}
	for e := 1; e <= 17; e++ {
		if n := len(strings.Fields(labels(powers(math.Pow(10, float64(-e)), 1)))); n < 2 || n > 9 {
			t.Errorf("%d decades have %d labels", e, n)
		}
	}
	for want, marks := range map[string][]Mark{
		"1e-03 1e-02 1e-01 1":           powers(1e-3, 1),
		"1e+05 2e+05 5e+05 1e+06 2e+06": powers(7e4, 2e6),
		"0.1 0.2 0.5 1 2 5":             powers(.1, 5),
		"2 3 4 5 6 7 8 9":               powers(2, 9),
		"0 100 200 300 400 500":         roundNumbers(0, 500),
		"0 0.2 0.4 0.6 0.8 1":           roundNumbers(0, 1),
		"0 50 100 150 200 250":          roundNumbers(0, 252),
		"0 10 20 30 40":                 roundNumbers(0, 45),
		"-1 -0.5 0 0.5 1":               roundNumbers(-1, 1),
	} {
		if got := labels(marks); got != want {
			t.Errorf("the labels are %q, want %q", got, want)
		}
	}
}

// An axis that fits the data leaves room beyond them, and one with ends keeps these.
func TestMargins(t *testing.T) {
	for name, c := range map[string]struct {
		axis      Axis
		low, high float64
	}{
		"linear": {Axis{}, 96, 204}, "from 0": {Axis{Zero: true}, 0, 208}, "given": {Axis{Min: 50, Max: 300}, 50, 300},
		"logarithmic": {Axis{Log: true}, 100 / math.Pow(2, 0.04), 200 * math.Pow(2, 0.04)},
	} {
		s := c.axis.scale([]float64{150, 100, 200})
		if math.Abs(s.low-c.low) > 1e-9 || math.Abs(s.high-c.high) > 1e-9 {
			t.Errorf("%s: from %v to %v, want %v to %v", name, s.low, s.high, c.low, c.high)
		}
	}
}

// A label that is too wide loses its middle, and no text leaves the picture.
func TestLongLabels(t *testing.T) {
	long := strings.Repeat("a long label ", 20)
	x := []float64{0, 1}
	marks := []Mark{{0, "the first category"}, {0.02, "overlaps"}, {1, "the last"}}
	panel := Panel{Title: long, X: Axis{Label: long, Marks: marks},
		Series: []Series{{Name: "a", X: x, Y: x, Style: Line(Blue, 2)}}}
	f := Figure{Width: 3, Height: 2, Y: long, Caption: long, Panels: []Panel{panel}}
	image := string(f.SVG())
	if n := strings.Count(image, "…"); n != 4 {
		t.Errorf("%d of 4 labels are shortened", n)
	}
	if strings.Contains(image, "overlaps") {
		t.Error("a label overlaps another one")
	}
	for _, e := range parse(t, f.SVG()).Parts {
		if e.XMLName.Local != "text" {
			continue
		}
		width := textWidth(e.Text, 8)
		left := map[string]float64{"start": e.X, "middle": e.X - width/2, "end": e.X - width}[e.Anchor]
		if left < 0 || left+width > 3*inch || e.Y > 2*inch {
			t.Errorf("%q is at %v to %v, %v", e.Text, left, left+width, e.Y)
		}
	}
}

// The widths are those of the typeface: W, i, ~ and a full stop have 944 + 222 + 584 + 278 thousandths.
func TestTextWidth(t *testing.T) {
	if got := textWidth("Wi~.", 10); math.Abs(got-20.3) > 0.11 {
		t.Errorf("the width is %v", got)
	}
}

// Marks lie on their line at equal distances, and those of coinciding lines apart from each other.
func TestShapes(t *testing.T) {
	line := []point{{0, 0}, {90, 0}, {90, 0}, {90, 120}}
	var before []point
	for s := Circle; s < shapes; s++ {
		places := s.places(line)
		if n := len(places); n != 5 && n != 6 {
			t.Errorf("shape %d has %d marks on a line of 210 points", s, n)
		}
		along := func(p point) float64 { return p.x + p.y }
		for i, p := range places {
			if p.y != 0 && p.x != 90 {
				t.Errorf("shape %d has a mark at %v, not on the line", s, p)
			}
			if i > 0 && math.Abs(along(p)-along(places[i-1])-shapeDistance) > 1e-9 {
				t.Errorf("shape %d has marks %v apart", s, along(p)-along(places[i-1]))
			}
			for _, q := range before {
				if math.Abs(along(p)-along(q)) < 2*shapeRadius {
					t.Errorf("marks at %v and %v overlap", p, q)
				}
			}
		}
		before = append(before, places...)
	}
	if NoShape.places(line) != nil || Circle.places(nil) != nil {
		t.Error("a line without marks, or marks without a line")
	}
}

// Every colour of a themed figure is a variable, with the colour of the plain one by default.
func TestThemed(t *testing.T) {
	x := []float64{1, 2}
	f := Figure{Width: 3, Height: 2, Caption: "c",
		Panels: []Panel{{Series: []Series{{X: x, Y: x, Low: x, High: x, Style: Line(Orange, 2)}}}}}
	themed := string(f.Themed())
	if strings.Contains(themed, ":#") || !strings.Contains(themed, "var(--chart-orange,#c47f00);fill-opacity") {
		t.Error("a colour is not a variable")
	}
	plain := regexp.MustCompile(`var\(--chart-[a-z]+,(#[0-9a-f]{6})\)`).ReplaceAllString(themed, "$1")
	if plain != string(f.SVG()) {
		t.Error("without the variables it is another figure")
	}
}
