package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"github.com/difalt/difalt/internal/svg"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Size of a chart: its letters stay readable at the width of a phone.
const (
	chartWidth  = 4.6 * vg.Inch
	chartHeight = 3.1 * vg.Inch
	chartDPI    = 220
)

// The colours of Okabe and Ito, which colour-blind readers can tell apart.
var (
	blue   = color.NRGBA{0x00, 0x72, 0xb2, 255}
	orange = color.NRGBA{0xe6, 0x9f, 0x00, 255}
	green  = color.NRGBA{0x00, 0x9e, 0x73, 255}
	red    = color.NRGBA{0xd5, 0x5e, 0x00, 255}
	pink   = color.NRGBA{0xcc, 0x79, 0xa7, 255}
	sky    = color.NRGBA{0x56, 0xb4, 0xe9, 255}
)

// A chart is a plot in the style of the reports.
type chart struct{ *plot.Plot }

func newChart(x, y string) *chart {
	p := plot.New()
	p.TextHandler = text.Plain{Fonts: font.DefaultCache}
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 4
		a.Tick.Marker = round{}
		a.Tick.Length = 4
		a.Tick.LineStyle.Width = 0.6
		a.LineStyle.Width = 0.6
		sans(&a.Tick.Label, 9)
		sans(&a.Label.TextStyle, 10)
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Label.Padding, p.Y.Label.Padding = 3, 3
	sans(&p.Legend.TextStyle, 9)
	p.Legend.Top = true
	p.Legend.Padding = 2
	p.Legend.ThumbnailWidth = 18
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: color.Gray{225}, Width: 0.5}
	p.Add(grid)
	return &chart{p}
}

func sans(s *text.Style, size vg.Length) {
	s.Font = svg.Font(size)
	s.Handler = text.Plain{Fonts: font.DefaultCache}
}

// line adds a line; points whose value is not finite are left out.
func (c *chart) line(name string, xs, ys []float64, look color.Color, dots bool) {
	points := finitePoints(xs, ys)
	if len(points) == 0 {
		return
	}
	l := &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: look, Width: 1.6}}
	c.Add(l)
	thumbs := []plot.Thumbnailer{l}
	if dots || len(points) == 1 {
		s := &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: look, Radius: 2.2, Shape: draw.CircleGlyph{}}}
		c.Add(s)
		thumbs = append(thumbs, s)
	}
	if name != "" {
		c.Legend.Add(name, thumbs...)
	}
}

// dots adds points.
func (c *chart) dots(name string, xs, ys []float64, look color.NRGBA) {
	points := finitePoints(xs, ys)
	if len(points) == 0 {
		return
	}
	look.A = 170
	s := &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: look, Radius: 2.2, Shape: draw.CircleGlyph{}}}
	c.Add(s)
	c.Legend.Add(name, s)
}

func finitePoints(xs, ys []float64) plotter.XYs {
	var points plotter.XYs
	for i, y := range ys {
		if !math.IsNaN(y) && !math.IsInf(y, 0) {
			points = append(points, plotter.XY{X: xs[i], Y: y})
		}
	}
	return points
}

// logarithmic makes an axis logarithmic. All its values must be positive.
func logarithmic(a *plot.Axis) {
	a.Scale = plot.LogScale{}
	a.Tick.Marker = powers{}
	a.Padding = 0
}

// powers marks powers of ten, or 1, 2 and 5 times them where there are few.
type powers struct{}

// Ticks implements plot.Ticker.
func (powers) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	factors, every := []float64{1}, max(1, (last-first+6)/7)
	if last-first <= 2 {
		factors = []float64{1, 2, 5}
	}
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for _, f := range factors {
			v := f * math.Pow(10, float64(e))
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if (e-first)%every == 0 {
				t.Label = strconv.FormatFloat(v, 'g', 4, 64)
				if e < -3 || e > 4 {
					t.Label = fmt.Sprintf("%ge%d", f, e)
				}
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// round marks round numbers on a linear axis.
type round struct{}

// Ticks implements plot.Ticker.
func (round) Ticks(low, high float64) []plot.Tick {
	// The largest of 1, 2, 5 times a power of ten with at least four steps.
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	step := unit
	for _, m := range []float64{2, 5} {
		if (high-low)/(m*unit) >= 4 {
			step = m * unit
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}

// svg returns the chart as an SVG element.
func (c *chart) svg() ([]byte, error) {
	return svg.Draw(chartWidth, chartHeight, func(canvas draw.Canvas) error {
		c.Draw(draw.Crop(canvas, 0, -6, 0, -6))
		return nil
	})
}

// files returns the chart as name.svg and name.png.
func (c *chart) files(name string) (map[string][]byte, error) {
	svg, err := c.svg()
	if err != nil {
		return nil, err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(chartWidth, chartHeight), vgimg.UseDPI(chartDPI), vgimg.UseBackgroundColor(color.White))
	c.Draw(draw.Crop(draw.New(canvas), 0, -6, 0, -6))
	var png bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&png); err != nil {
		return nil, err
	}
	return map[string][]byte{name + ".svg": svg, name + ".png": png.Bytes()}, nil
}
