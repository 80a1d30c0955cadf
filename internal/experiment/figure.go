package experiment

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/svg"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Size of a figure: the width of a page with two columns of text.
const (
	figureWidth  = 7.2 * vg.Inch
	figureHeight = 3.15 * vg.Inch
	figureDPI    = 220
	fontSize     = 9.5
	smallSize    = 8
)

// A Figure shows subspace distance in two panels that share the vertical axis.
type Figure struct {
	panels  [2]panel
	looks   []look // of the legend
	shaded  bool   // lines lie on bands
	caption string
}

// NewFigure returns the figure of a setting as the paper draws it: the mean
// distance of node 1 against iterations and against execution time, on a band from
// the 10th to the 90th percentile. It returns an error when there is nothing to
// show.
//
// The time axis ends a little after the last method has arrived, see
// Band.arrival. Of methods that are still falling at the end, the rest is cut off
// there, unless one of them is the best of all.
func NewFigure(s *Setting, bands []Band) (*Figure, error) {
	if len(bands) == 0 {
		return nil, errors.New("no curves for a figure")
	}
	f := &Figure{}
	f.panels[0].label = "Iteration"
	f.panels[1].label = "Execution time (s)"
	f.panels[1].end = timeLimit(bands)
	trials := 0
	for _, b := range bands {
		l := lookOf(b.Method)
		f.looks = append(f.looks, l)
		trials = max(trials, b.Rows[0].Trials)
		f.panels[0].add(&b, l, func(k int) float64 { return float64(k) })
		f.panels[1].add(&b, l, func(k int) float64 { return b.Rows[k].Seconds })
	}
	f.shaded = trials > 1
	f.caption = s.caption(trials)
	return f, nil
}

// arrived is the factor of its final distance within which a curve counts as
// arrived, and early the share of its iterations in which it has to get there.
const (
	arrived = 3.0
	early   = 0.97
)

// arrival returns the first iteration from which the mean distance is within a
// factor of three of the final one, and whether that is so before the last 3 % of
// the iterations: if not, the method is still falling.
func (b *Band) arrival() (k int, ok bool) {
	last := len(b.Rows) - 1
	for k = last; k > 0 && b.Rows[k-1].Mean <= arrived*b.Rows[last].Mean; k-- {
	}
	return k, float64(k) <= early*float64(last)
}

// timeLimit returns where the time axis ends.
func timeLimit(bands []Band) float64 {
	limit, longest := 0.0, 0.0
	best, bestArrived := math.Inf(1), false
	for i := range bands {
		b := &bands[i]
		k, ok := b.arrival()
		if ok {
			limit = max(limit, b.Rows[k].Seconds)
		}
		last := &b.Rows[len(b.Rows)-1]
		longest = max(longest, last.Seconds)
		if last.Mean < best {
			best, bestArrived = last.Mean, ok
		}
	}
	if !bestArrived {
		return longest
	}
	return min(1.15*limit, longest)
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
	image, err := svg.Draw(figureWidth, figureHeight, paint)
	if err != nil {
		return err
	}
	_, err = w.Write(image)
	return err
}

func (f *Figure) draw(c draw.Canvas) error {
	low := min(f.panels[0].lowest(), f.panels[1].lowest())
	var row pair
	for i := range f.panels {
		p, err := f.panels[i].plot(low, f.shaded)
		if err != nil {
			return err
		}
		row.plots[i], row.labels[i] = p, f.panels[i].label
	}
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, 4, -12, 4, -5)
	legend(&c, f.looks, f.shaded)
	caption := style(smallSize, color.Gray{90}, draw.XCenter, draw.YBottom)
	c.FillText(caption, vg.Point{X: c.Center().X, Y: c.Min.Y}, f.caption)
	c.Min.Y += 2 * smallSize
	// By hand: a plot would shrink its axis to the length of such a label.
	label := style(fontSize, color.Black, draw.XCenter, draw.YTop)
	label.Rotation = math.Pi / 2
	c.FillText(label, vg.Point{X: c.Min.X, Y: c.Center().Y + fontSize}, "Subspace distance SD_{2}(U_{1}, U*)")
	c.Min.X += 1.5 * fontSize
	row.draw(c)
	return nil
}

// A pair is two plots beside each other and the labels of their x axes. These are
// drawn by hand: a plot takes the middle of a logarithmic axis to be where the mean of
// its ends is, and shrinks the axis until a label there would fit.
type pair struct {
	plots  [2]*plot.Plot
	labels [2]string
}

// draw draws the pair and returns where the data of each is.
func (p *pair) draw(c draw.Canvas) (data [2]draw.Canvas) {
	label := style(fontSize, color.Black, draw.XCenter, draw.YBottom)
	bottom := c.Min.Y
	c.Min.Y += 1.2 * fontSize
	canvases := plot.Align([][]*plot.Plot{p.plots[:]}, draw.Tiles{Rows: 1, Cols: 2, PadX: 14}, c)[0]
	for i, q := range p.plots {
		q.Draw(canvases[i])
		data[i] = q.DataCanvas(canvases[i])
		c.FillText(label, vg.Point{X: data[i].Center().X, Y: bottom}, p.labels[i])
	}
	return data
}

// legend draws names in rows at the top and crops c.
func legend(c *draw.Canvas, looks []look, shaded bool) {
	const sample, gap, between, line = 24, 5, 18, 1.35 * fontSize
	text := style(fontSize, color.Black, draw.XLeft, draw.YCenter)
	width := func(looks []look) vg.Length {
		w := vg.Length(-between)
		for _, l := range looks {
			w += sample + gap + text.Width(l.name) + between
		}
		return w
	}
	// The fewest rows that fit, all of about the same length.
	each := len(looks)
	for rows := 2; each > 1 && slices.ContainsFunc(slices.Collect(slices.Chunk(looks, each)), func(row []look) bool {
		return width(row) > c.Size().X
	}); rows++ {
		each = (len(looks) + rows - 1) / rows
	}
	y := c.Max.Y - fontSize/2
	for row := range slices.Chunk(looks, each) {
		x := c.Center().X - width(row)/2
		for _, l := range row {
			if shaded {
				c.FillPolygon(l.shade(), []vg.Point{{X: x, Y: y - 4}, {X: x + sample, Y: y - 4}, {X: x + sample, Y: y + 4}, {X: x, Y: y + 4}})
			}
			c.StrokeLine2(l.line, x, y, x+sample, y)
			c.FillText(text, vg.Point{X: x + sample + gap, Y: y}, l.name)
			x += sample + gap + text.Width(l.name) + between
		}
		y -= line
	}
	c.Max.Y = y - 0.1*fontSize
}

// caption describes the setting and what lines and bands are.
func (s *Setting) caption(trials int) string {
	text := ""
	if s.Name != "" {
		text = s.Name + ":  "
	}
	text += fmt.Sprintf("L = %d,  d = %d,  T = %d,  n = %d,  r = %d,  graph %s,  %s weights,  T_{con} = %d",
		s.Nodes, s.Features, s.Tasks, s.Samples, s.Rank, s.Graph, s.Weights, s.Rounds)
	if a := s.AgreementText(); a != "float64" {
		text += " " + a
	}
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
		Font: svg.Font(size),
	}
}
