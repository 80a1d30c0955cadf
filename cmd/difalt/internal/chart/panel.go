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
	Black  = rgb(0x000000)
	Blue   = rgb(0x0072b2)
	Orange = rgb(0xe69f00)
	Green  = rgb(0x009e73)
	Red    = rgb(0xd55e00)
	Pink   = rgb(0xcc79a7)
	Sky    = rgb(0x56b4e9)
	Gray   = rgb(0x787878)
	Purple = rgb(0x5e3c99)
	Brown  = rgb(0x8c510a)
)

// A Color of what is drawn.
type Color = color.NRGBA

func rgb(hex uint32) Color {
	return Color{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

// Faint returns a colour with an opacity below 255, so that others shine through.
func Faint(c Color, opacity uint8) Color {
	c.A = opacity
	return c
}

// Line returns the style of a line.
func Line(c Color, width float64, dashes ...float64) Style {
	return Style{Color: c, Width: width, Dashes: dashes}
}

// plotters returns what draws a series, from below to above; nothing if it has no point.
func (s *Series) plotters() (all []plot.Plotter) {
	points := finite(s.X, s.Y)
	if len(points) == 0 {
		return nil
	}
	area := func(c color.Color, corners ...plotter.XYs) {
		all = append(all, &plotter.Polygon{XYs: corners, LineStyle: draw.LineStyle{Color: color.Black}, Color: c})
	}
	if s.Low != nil {
		back := finite(s.X, s.Low)
		slices.Reverse(back)
		area(Faint(s.Color, 50), append(finite(s.X, s.High), back...))
	}
	if s.Bar > 0 {
		var bars []plotter.XYs
		for _, at := range points {
			left, right := at.X-s.Bar/2, at.X+s.Bar/2
			bars = append(bars, plotter.XYs{{X: left}, {X: right}, {X: right, Y: at.Y}, {X: left, Y: at.Y}})
		}
		area(s.Color, bars...)
	}
	if s.Width > 0 {
		line := draw.LineStyle{Color: s.Color, Width: vg.Points(s.Width)}
		for _, d := range s.Dashes {
			line.Dashes = append(line.Dashes, vg.Points(d))
		}
		all = append(all, &plotter.Line{XYs: points, LineStyle: line})
	}
	if s.Dot > 0 {
		all = append(all, &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: s.Color, Radius: vg.Points(s.Dot), Shape: draw.CircleGlyph{}}})
	}
	return all
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
		out.Add(p.Series[i].plotters()...)
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
