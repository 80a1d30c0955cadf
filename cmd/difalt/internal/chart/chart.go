// Package chart draws all figures of the program in one style, as SVG: panels next to each other with lines
// on bands, and dots.
package chart

import (
	"math"
	"slices"
)

// A Figure is a picture of panels next to each other. A label that is wider than its place is shortened.
type Figure struct {
	// Title and Text describe the figure to readers who cannot see it. They are not drawn.
	Title, Text string
	// Width and Height are in inches. A width of 0 stands for the size of a figure across a page.
	Width, Height float64
	Panels        []Panel // above all of them is the legend of the first
	Y, Caption    string  // the label of the y axis of all panels, and the line below them
}

// A Panel is a pair of axes with series.
type Panel struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// Lengths in points.
const (
	inch       = 72
	pageWidth  = 7.2 * inch
	pageHeight = 3.15 * inch
	fontSize   = 9.5
	smallSize  = 8
	tick       = 4  // length of a mark
	sample     = 24 // a line in the legend
	gap        = 5  // before its name
	between    = 18 // entries of the legend
	apart      = 20 // between panels
)

// SVG returns the figure as an SVG image. Its first elements are the title and the description.
func (f *Figure) SVG() []byte { return f.draw(&canvas{}) }

// Themed returns the SVG image for a page that sets its colours: each is a CSS variable such as --chart-blue,
// with the colour of SVG unless the page defines another one. The names are the names of the colours in lower
// case, and ink, paper and grid.
func (f *Figure) Themed() []byte { return f.draw(&canvas{themed: true}) }

// A rectangle has its origin at the top left.
type rectangle struct{ left, top, right, bottom float64 }

func (r rectangle) width() float64  { return r.right - r.left }
func (r rectangle) center() float64 { return (r.left + r.right) / 2 }

// draw draws from outside to inside: legend, caption, labels, and then the panels.
func (f *Figure) draw(c *canvas) []byte {
	width, height := pageWidth, pageHeight
	if f.Width != 0 {
		width, height = f.Width*inch, f.Height*inch
	}
	c.begin(width, height, f.Title, f.Text)
	r := rectangle{4, 5, width - 12, height - 4}
	r.top = c.legend(r, f.entries())
	if f.Caption != "" {
		c.text(r.center(), r.bottom-2, smallSize, middle, shorten(f.Caption, smallSize, r.width()))
		r.bottom -= 2 * smallSize
	}
	if f.Y != "" {
		c.vertical(r.left+fontSize, (r.top+r.bottom)/2, fontSize, shorten(f.Y, fontSize, r.bottom-r.top))
		r.left += 1.8 * fontSize
	}
	each := (r.width() - apart*float64(len(f.Panels)-1)) / float64(len(f.Panels))
	for i := range f.Panels {
		left := r.left + float64(i)*(each+apart)
		f.Panels[i].draw(c, rectangle{left, r.top, left + each, r.bottom})
	}
	return c.end()
}

// An entry of a legend is a name with the series that share it.
type entry struct {
	name   string
	series []*Series
}

func (e entry) width() float64 { return sample + gap + textWidth(e.name, fontSize) }

// entries returns the legend of the first panel, without series that have no point.
func (f *Figure) entries() (all []entry) {
	for i := range f.Panels[0].Series {
		s := &f.Panels[0].Series[i]
		if s.Name == "" || len(s.points(s.Y)) == 0 {
			continue
		}
		at := slices.IndexFunc(all, func(e entry) bool { return e.name == s.Name })
		if at < 0 {
			at, all = len(all), append(all, entry{name: s.Name})
		}
		all[at].series = append(all[at].series, s)
	}
	return all
}

// legend draws entries in rows at the top of r, and returns the height below them. It takes the fewest rows
// that fit, of about equal lengths.
func (c *canvas) legend(r rectangle, all []entry) float64 {
	width := func(row []entry) float64 {
		w := -float64(between)
		for _, e := range row {
			w += e.width() + between
		}
		return w
	}
	each := max(1, len(all))
	tooWide := func(row []entry) bool { return width(row) > r.width() }
	for rows := 2; each > 1 && slices.ContainsFunc(slices.Collect(slices.Chunk(all, each)), tooWide); rows++ {
		each = (len(all) + rows - 1) / rows
	}
	y := r.top + fontSize/2
	for row := range slices.Chunk(all, each) {
		x := r.center() - width(row)/2
		for _, e := range row {
			for _, s := range e.series {
				s.sample(c, x, y)
			}
			c.text(x+sample+gap, y+0.35*fontSize, fontSize, start, e.name)
			x += e.width() + between
		}
		y += 1.35 * fontSize
	}
	return y + 0.1*fontSize
}

// draw draws a panel into a rectangle, with its labels.
func (p *Panel) draw(c *canvas, r rectangle) {
	x, y := p.scales()
	if p.Title != "" {
		c.text(r.center(), r.top+fontSize, fontSize, middle, shorten(p.Title, fontSize, r.width()))
		r.top += 2 * fontSize
	}
	if p.X.Label != "" {
		c.text(r.center(), r.bottom-0.25*fontSize, fontSize, middle, shorten(p.X.Label, fontSize, r.width()))
		r.bottom -= 1.4 * fontSize
	}
	labels := 0.0
	for _, m := range y.marks {
		labels = max(labels, textWidth(m.Label, smallSize))
	}
	r.left += labels + tick + 2
	r.bottom -= smallSize + tick + 2
	x.from, x.to, y.from, y.to = r.left, r.right, r.bottom, r.top
	for _, m := range y.marks {
		if at := y.at(m.Value); m.Label != "" {
			c.line(r.left, at, r.right, at, grid, 0.5)
			c.text(r.left-tick-2, at+0.35*smallSize, smallSize, end, m.Label)
		}
	}
	for i := range p.Series {
		p.Series[i].draw(c, x, y)
	}
	c.line(r.left, r.bottom, r.right, r.bottom, ink, 0.6)
	c.line(r.left, r.top, r.left, r.bottom, ink, 0.6)
	for _, m := range y.marks {
		c.line(r.left-m.length(), y.at(m.Value), r.left, y.at(m.Value), ink, 0.6)
	}
	free := math.Inf(-1) // labels would overlap before that place
	for _, m := range x.marks {
		at := x.at(m.Value)
		c.line(at, r.bottom, at, r.bottom+m.length(), ink, 0.6)
		if half := textWidth(m.Label, smallSize) / 2; m.Label != "" && at-half >= free {
			c.text(at, r.bottom+tick+smallSize, smallSize, middle, m.Label)
			free = at + half + 2
		}
	}
}
