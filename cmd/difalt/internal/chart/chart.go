// Package chart draws every figure of this module, in one style: panels beside each
// other with lines on bands, dots and bars, as SVG and as PNG.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is a picture of panels side by side. In its texts ^{...} is a superscript
// and _{...} a subscript.
type Figure struct {
	// Title and Text say in words what it shows, to readers who do not see it; they are not
	// drawn.
	Title, Text string
	// Width and Height in inches; 0 stands for the width of a page with two columns of
	// text, and the height that suits it.
	Width, Height float64
	Panels        []Panel // the series of the first are named above all of them
	// Y is the label of the y axis of all panels, and Caption a line below them.
	Y, Caption string
}

// A Panel is a pair of axes with what they show.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// An Axis of a panel.
type Axis struct {
	Label string // shown of x axes only; see Figure.Y
	// Log asks for a logarithmic axis; it stays linear where the data are not positive
	// or all alike.
	Log bool
	// Min and Max are the ends. Where they are equal, the axis fits the data, and begins
	// at 0 if Zero is set.
	Min, Max float64
	Zero     bool
	// Marks replace the round numbers that the axis has by itself.
	Marks []Mark
}

// A Mark labels a value on an axis.
type Mark = plot.Tick

// Size and type of figures.
const (
	pageWidth  = 7.2 // inches
	pageHeight = 3.15
	dpi        = 220 // of PNG images
	fontSize   = 9.5
	smallSize  = 8
	typeface   = "Liberation Sans"
)

// PNG returns the figure as a PNG image.
func (f *Figure) PNG() []byte {
	c := vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(dpi))
	f.draw(draw.New(c))
	var buf bytes.Buffer
	_, _ = vgimg.PngCanvas{Canvas: c}.WriteTo(&buf) // to memory
	return buf.Bytes()
}

func (f *Figure) size() (width, height vg.Length) {
	if f.Width == 0 {
		return pageWidth * vg.Inch, pageHeight * vg.Inch
	}
	return vg.Length(f.Width) * vg.Inch, vg.Length(f.Height) * vg.Inch
}

// draw draws what surrounds the panels from outside to inside, and then the panels.
func (f *Figure) draw(c draw.Canvas) {
	row := make([]*plot.Plot, len(f.Panels))
	for i := range f.Panels {
		row[i] = f.Panels[i].plot()
	}
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, 4, -12, 4, -5)
	c = legendRows(c, entries(f.Panels[0].Series))
	if f.Caption != "" {
		c.FillText(style(smallSize, color.Gray{90}, draw.XCenter, draw.YBottom), vg.Point{X: c.Center().X, Y: c.Min.Y}, f.Caption)
		c.Min.Y += 2 * smallSize
	}
	if f.Y != "" {
		label := style(fontSize, color.Black, draw.XCenter, draw.YTop)
		label.Rotation = math.Pi / 2
		c.FillText(label, vg.Point{X: c.Min.X, Y: c.Center().Y + fontSize}, f.Y)
		c.Min.X += 1.5 * fontSize
	}
	top := c.Max.Y
	if f.Panels[0].Title != "" {
		c.Max.Y -= 2 * fontSize
	}
	// Labels of axes are drawn by hand: a plot takes the middle of a logarithmic axis to
	// be where the mean of its ends is, and shrinks the axis until a label there fits.
	bottom := c.Min.Y
	c.Min.Y += 1.2 * fontSize
	canvases := plot.Align([][]*plot.Plot{row}, draw.Tiles{Rows: 1, Cols: len(row), PadX: 14}, c)[0]
	for i, p := range row {
		p.Draw(canvases[i])
		data := p.DataCanvas(canvases[i])
		middle := data.Center().X
		c.FillText(style(fontSize, color.Black, draw.XCenter, draw.YBottom), vg.Point{X: middle, Y: bottom}, f.Panels[i].X.Label)
		if title := f.Panels[i].Title; title != "" {
			c.FillText(style(fontSize, color.Black, draw.XCenter, draw.YTop), vg.Point{X: middle, Y: top}, title)
		}
	}
}

func handler() text.Handler { return labels{text.Plain{Fonts: font.DefaultCache}} }

// style returns the style of a text in the typeface of all figures.
func style(size vg.Length, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: c, XAlign: x, YAlign: y, Handler: handler(),
		Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
	}
}

// SVG returns the figure as an SVG image. Readers of screens find its title and
// description in it, and every text is as wide as it was planned in whatever typeface a
// viewer has, so that names in legends keep clear of one another.
func (f *Figure) SVG() []byte {
	c := vgsvg.New(f.size())
	f.draw(draw.New(c))
	var buf bytes.Buffer
	_, _ = c.WriteTo(&buf) // to memory
	return f.describe(fixWidths(buf.Bytes()))
}

// texts matches the text elements that vgsvg writes: attributes, size of the font, text.
var texts = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// fixWidths says of every text how wide it is in the typeface that the figure was laid
// out for, and names others for viewers without it.
func fixWidths(svg []byte) []byte {
	svg = texts.ReplaceAllFunc(svg, func(m []byte) []byte {
		part := texts.FindSubmatch(m)
		size, err := strconv.ParseFloat(string(part[2]), 64)
		if err != nil || len(part[3]) == 0 {
			return m
		}
		face := font.DefaultCache.Lookup(style(vg.Length(size), nil, 0, 0).Font, vg.Length(size))
		width := face.Width(html.UnescapeString(string(part[3])))
		return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, float64(width), part[1], part[3])
	})
	return bytes.ReplaceAll(svg, []byte("font-family:"+typeface+";"), []byte("font-family:'"+typeface+"',Arial,Helvetica,sans-serif;"))
}

// describe puts title and description where the specification wants them: first in the
// root element.
func (f *Figure) describe(svg []byte) []byte {
	if f.Title == "" {
		return svg
	}
	words := ` role="img">` + "\n<title>" + html.EscapeString(f.Title) + "</title>"
	if f.Text != "" {
		words += "\n<desc>" + html.EscapeString(f.Text) + "</desc>"
	}
	root := bytes.Index(svg, []byte("<svg"))
	end := root + bytes.IndexByte(svg[root:], '>')
	return slices.Concat(svg[:end], []byte(words), svg[end+1:])
}
