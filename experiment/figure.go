package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of a figure: the width of a page with two columns of text.
const (
	figureWidth  = 7.2 * vg.Inch
	figureHeight = 3.15 * vg.Inch
	figureDPI    = 220
	fontSize     = 9.5
	smallSize    = 8
)

// lowest is what the logarithmic axis shows in place of smaller distances, zero
// included.
const lowest = 1e-17

// A Figure shows subspace distance against iterations and against execution time,
// as the figures of the paper do. Lines are means over the trials, on a band from
// the 10th to the 90th percentile.
type Figure struct {
	bands   []band
	caption string
}

// NewFigure returns the figure of trials of a setting. It returns an error when
// there is nothing to show.
func NewFigure(s *Setting, trials []Trial) (*Figure, error) {
	f := &Figure{bands: bands(trials), caption: s.caption(len(trials))}
	if len(f.bands) == 0 {
		return nil, errors.New("no curves for a figure")
	}
	return f, nil
}

// WritePNG writes the figure as a PNG image.
func (f *Figure) WritePNG(w io.Writer) error { return writePNG(w, f.draw) }

// WriteSVG writes the figure as an SVG image.
func (f *Figure) WriteSVG(w io.Writer) error { return writeSVG(w, f.draw) }

// writePNG writes what a function draws as a PNG image.
func writePNG(w io.Writer, paint func(draw.Canvas) error) error {
	c := vgimg.NewWith(vgimg.UseWH(figureWidth, figureHeight), vgimg.UseDPI(figureDPI))
	if err := paint(draw.New(c)); err != nil {
		return err
	}
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// writeSVG does the same as an SVG image.
func writeSVG(w io.Writer, paint func(draw.Canvas) error) error {
	c := vgsvg.New(figureWidth, figureHeight)
	if err := paint(draw.New(c)); err != nil {
		return err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return err
	}
	// Arial and Helvetica have the same widths, for readers without Liberation.
	_, err := w.Write(bytes.ReplaceAll(buf.Bytes(),
		[]byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")))
	return err
}

func (f *Figure) draw(c draw.Canvas) error {
	iterations, err := f.panel("Iteration", func(b *band, k int) float64 { return float64(k) })
	if err != nil {
		return err
	}
	seconds, err := f.panel("Execution time (s)", func(b *band, k int) float64 { return b.seconds[k] })
	if err != nil {
		return err
	}
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, 4, -12, 4, -5)
	f.legend(&c)
	caption := style(smallSize, color.Gray{90}, draw.XCenter, draw.YBottom)
	c.FillText(caption, vg.Point{X: c.Center().X, Y: c.Min.Y}, f.caption)
	c.Min.Y += 2 * smallSize
	// By hand: a plot would shrink its axis to the length of such a label.
	label := style(fontSize, color.Black, draw.XCenter, draw.YTop)
	label.Rotation = math.Pi / 2
	distance := vg.Point{X: c.Min.X, Y: c.Center().Y + fontSize}
	c.FillText(label, distance, "Subspace distance SD_{2}(U_{1}, U*)")
	c.Min.X += 1.5 * fontSize
	panels := [][]*plot.Plot{{iterations, seconds}}
	canvases := plot.Align(panels, draw.Tiles{Rows: 1, Cols: 2, PadX: 14}, c)
	iterations.Draw(canvases[0][0])
	seconds.Draw(canvases[0][1])
	return nil
}

// panel returns the plot of distances against x, a function of the iteration.
func (f *Figure) panel(label string, x func(b *band, k int) float64) (*plot.Plot, error) {
	p := plot.New()
	p.TextHandler = handler()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Tick.Length = 4
		a.Tick.LineStyle.Width = 0.6
		a.LineStyle.Width = 0.6
	}
	p.X.Label.Text = label
	p.X.Label.TextStyle = style(fontSize, color.Black, draw.XCenter, draw.YBottom)
	p.X.Tick.Marker = decimals{}
	p.X.Tick.Label = style(smallSize, color.Black, draw.XCenter, draw.YTop)
	p.Y.Tick.Label = style(smallSize, color.Black, draw.XRight, draw.YCenter)
	p.Y.Tick.Marker = decades{}
	p.Y.Scale = plot.LogScale{}

	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal = draw.LineStyle{Color: color.Gray{225}, Width: 0.5}
	p.Add(grid)
	lowestShown, last := 1.0, 0.0
	for i := range f.bands {
		b := &f.bands[i]
		st := lookOf(b.method)
		var line plotter.XYs
		var area plotter.XYs // the upper edge, and the lower one backwards
		var under plotter.XYs
		for _, k := range thinned(len(b.mean)) {
			at := x(b, k)
			line = append(line, plotter.XY{X: at, Y: max(b.mean[k], lowest)})
			area = append(area, plotter.XY{X: at, Y: max(b.high[k], lowest)})
			under = append(under, plotter.XY{X: at, Y: max(b.low[k], lowest)})
			lowestShown = min(lowestShown, line[len(line)-1].Y, under[len(under)-1].Y)
			last = max(last, at)
		}
		for j := range under {
			area = append(area, under[len(under)-1-j])
		}
		if b.trials > 1 {
			poly, err := plotter.NewPolygon(area)
			if err != nil {
				return nil, err
			}
			poly.Color = st.shade()
			poly.LineStyle.Width = 0
			p.Add(poly)
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			return nil, err
		}
		l.LineStyle = st.line
		p.Add(l)
	}
	p.X.Min, p.X.Max = 0, last
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(lowestShown)-0.1)), 1
	return p, nil
}

// legend draws the names of the methods in a row at the top and crops c.
func (f *Figure) legend(c *draw.Canvas) {
	const sample, gap, between = 24, 5, 18
	sty := style(fontSize, color.Black, draw.XLeft, draw.YCenter)
	width := vg.Length(-between)
	for _, b := range f.bands {
		width += sample + gap + between + sty.Width(lookOf(b.method).name)
	}
	y := c.Max.Y - fontSize/2
	x := c.Center().X - width/2
	for _, b := range f.bands {
		st := lookOf(b.method)
		if b.trials > 1 {
			c.FillPolygon(st.shade(), []vg.Point{{X: x, Y: y - 4}, {X: x + sample, Y: y - 4}, {X: x + sample, Y: y + 4}, {X: x, Y: y + 4}})
		}
		c.StrokeLine2(st.line, x, y, x+sample, y)
		c.FillText(sty, vg.Point{X: x + sample + gap, Y: y}, st.name)
		x += sample + gap + between + sty.Width(st.name)
	}
	c.Max.Y -= 1.8 * fontSize
}

// caption describes the setting and what lines and bands are.
func (s *Setting) caption(trials int) string {
	text := ""
	if s.Name != "" {
		text = s.Name + ":  "
	}
	text += fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  graph %s,  %s weights,  T_{con} = %d",
		s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Weights, s.Rounds)
	if trials > 1 {
		text += fmt.Sprintf(";  mean and 10–90 %% band of %d trials", trials)
	}
	return text
}

func handler() text.Handler { return labels{text.Plain{Fonts: font.DefaultCache}} }

// style returns a text style in the figure's typeface.
func style(size vg.Length, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: c, XAlign: x, YAlign: y, Handler: handler(),
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
	}
}
