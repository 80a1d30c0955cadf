package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Series is a row of points. Points that are not finite are left out.
type Series struct {
	// Name in the legend, which series of the same name share; "" for none.
	Name string
	X, Y []float64
	// Low and High are the ends of a band around the points, at the same X; nil for none.
	Low, High []float64
	Style
}

// A Style says how a series is drawn: as a line, as dots, as bars, or as several of
// them.
type Style struct {
	Color  Color
	Width  float64   // of the line in points; 0 for none
	Dashes []float64 // of the line in points; nil for none
	Dot    float64   // radius of dots in points; 0 for none
	// Bar is the width of bars in units of the x axis, from which they rise; 0 for none.
	Bar float64
}

// The colours of Okabe and Ito, which colour-blind readers can tell apart, and three more.
var (
	Black  = Color{0x00, 0x00, 0x00, 255}
	Blue   = Color{0x00, 0x72, 0xb2, 255}
	Orange = Color{0xe6, 0x9f, 0x00, 255}
	Green  = Color{0x00, 0x9e, 0x73, 255}
	Red    = Color{0xd5, 0x5e, 0x00, 255}
	Pink   = Color{0xcc, 0x79, 0xa7, 255}
	Sky    = Color{0x56, 0xb4, 0xe9, 255}
	Gray   = Color{120, 120, 120, 255}
	Purple = Color{0x5e, 0x3c, 0x99, 255}
	Brown  = Color{0x8c, 0x51, 0x0a, 255}
)

// A Color of what is drawn.
type Color color.NRGBA

// RGBA implements color.Color.
func (c Color) RGBA() (r, g, b, a uint32) { return color.NRGBA(c).RGBA() }

// Faint returns the colour with an opacity below 255, so that others shine through.
func (c Color) Faint(opacity uint8) Color {
	c.A = opacity
	return c
}

// Line returns the style of a line.
func Line(c Color, width float64, dashes ...float64) Style {
	return Style{Color: c, Width: width, Dashes: dashes}
}

func (s *Style) line() draw.LineStyle {
	l := draw.LineStyle{Color: s.Color, Width: vg.Points(s.Width)}
	for _, d := range s.Dashes {
		l.Dashes = append(l.Dashes, vg.Points(d))
	}
	return l
}

func (s *Style) dot() draw.GlyphStyle {
	return draw.GlyphStyle{Color: s.Color, Radius: vg.Points(s.Dot), Shape: draw.CircleGlyph{}}
}

// band is the colour of the band around a line.
func (s *Style) band() color.Color { return s.Color.Faint(50) }

func (s *Series) addTo(p *plot.Plot) {
	points := finite(s.X, s.Y)
	if len(points) == 0 {
		return
	}
	if s.Low != nil {
		area, back := finite(s.X, s.High), finite(s.X, s.Low)
		slices.Reverse(back)
		addArea(p, append(area, back...), s.band())
	}
	if s.Bar > 0 {
		for _, at := range points {
			addArea(p, s.bar(at), s.Color)
		}
	}
	if s.Width > 0 {
		p.Add(&plotter.Line{XYs: points, LineStyle: s.line()})
	}
	if s.Dot > 0 {
		p.Add(&plotter.Scatter{XYs: points, GlyphStyle: s.dot()})
	}
}

func (s *Series) bar(at plotter.XY) plotter.XYs {
	left, right := at.X-s.Bar/2, at.X+s.Bar/2
	return plotter.XYs{{X: left, Y: 0}, {X: right, Y: 0}, {X: right, Y: at.Y}, {X: left, Y: at.Y}}
}

func addArea(p *plot.Plot, corners plotter.XYs, c color.Color) {
	p.Add(&plotter.Polygon{XYs: []plotter.XYs{corners}, LineStyle: draw.LineStyle{Color: color.Black}, Color: c})
}

func finite(xs, ys []float64) plotter.XYs {
	var points plotter.XYs
	for i, y := range ys {
		if !math.IsNaN(xs[i]+y) && !math.IsInf(xs[i]+y, 0) {
			points = append(points, plotter.XY{X: xs[i], Y: y})
		}
	}
	return points
}

func (p *Panel) plot() *plot.Plot {
	out := plot.New()
	out.TextHandler = handler()
	out.BackgroundColor = nil
	line := draw.LineStyle{Color: color.Gray{225}, Width: 0.5}
	out.Add(&plotter.Grid{Horizontal: line})
	for i := range p.Series {
		p.Series[i].addTo(out)
	}
	p.X.apply(&out.X)
	p.Y.apply(&out.Y)
	out.X.Tick.Label = style(smallSize, color.Black, draw.XCenter, draw.YTop)
	out.Y.Tick.Label = style(smallSize, color.Black, draw.XRight, draw.YCenter)
	return out
}

// apply sets an axis of a plot, which fits the data so far.
func (a *Axis) apply(to *plot.Axis) {
	to.Tick.Length = 4
	to.Tick.LineStyle.Width, to.LineStyle.Width = 0.6, 0.6
	to.Padding = 4
	if a.Min != a.Max {
		to.Min, to.Max, to.Padding = a.Min, a.Max, 0
	} else if a.Zero {
		to.Min, to.Padding = 0, 0
	}
	to.Tick.Marker = roundNumbers{}
	if a.Log && to.Min > 0 && to.Max > to.Min {
		to.Scale, to.Tick.Marker = plot.LogScale{}, powers{}
	}
	if a.Marks != nil {
		to.Tick.Marker = plot.ConstantTicks(a.Marks)
	}
}

// MarkAll marks values with themselves.
func MarkAll(values []float64) []Mark {
	var marks []Mark
	for _, v := range values {
		marks = append(marks, Mark{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)})
	}
	return marks
}

// powers marks powers of ten on a logarithmic axis, with labels on so many of them
// that they stay readable; also multiples of them where there are few.
type powers struct{}

// Ticks implements plot.Ticker.
func (powers) Ticks(low, high float64) []plot.Tick {
	const near = 1e-9
	first, last := int(math.Floor(math.Log10(low)+near)), int(math.Floor(math.Log10(high)+near))
	every := max(1, (last-first+7)/8)
	plain := low > 0.002 && high < 1e6
	factors := []float64{1}
	switch ratio := high / low; {
	case ratio < 10:
		factors, plain = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, true
	case ratio <= 300 && plain:
		factors = []float64{1, 2, 5}
	}
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for _, m := range factors {
			t := plot.Tick{Value: m * math.Pow(10, float64(e))}
			switch {
			case t.Value < low*(1-near) || t.Value > high*(1+near):
				continue
			case e%every != 0:
			case plain || e == 0:
				t.Label = strconv.FormatFloat(t.Value, 'g', 6, 64)
			case e > 0:
				t.Label = fmt.Sprintf("10^{%d}", e)
			default:
				t.Label = fmt.Sprintf("10^{−%d}", -e)
			}
			ticks = append(ticks, t)
		}
	}
	if len(ticks) < 2 {
		return roundNumbers{}.Ticks(low, high)
	}
	return ticks
}

// roundNumbers marks round numbers on a linear axis.
type roundNumbers struct{}

// Ticks implements plot.Ticker.
func (roundNumbers) Ticks(low, high float64) []plot.Tick {
	// The largest of 1, 2, 5 times a power of ten with at least three steps.
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	step := unit
	for _, m := range []float64{2, 5} {
		if (high-low)/(m*unit) >= 3 {
			step = m * unit
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step) + 0; i*step <= high*(1+1e-9); i++ { // + 0 makes 0 of -0
		// Rounding away the error of i*step.
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}
