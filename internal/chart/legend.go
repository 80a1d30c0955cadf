package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An entry of a legend is a name with the series that share it.
type entry struct {
	name   string
	series []*Series
}

// entries returns what a legend lists.
func entries(series []Series) []entry {
	var all []entry
	for i := range series {
		s := &series[i]
		if s.Name == "" || len(finite(s.X, s.Y)) == 0 {
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

// Lengths in a legend.
const (
	sample  = 24 // of a line
	gap     = 5  // before its name
	between = 18 // entries
)

// draw draws the entry from x on, around the height y.
func (e *entry) draw(c draw.Canvas, label draw.TextStyle, x, y vg.Length) {
	box := func(fill color.Color) {
		c.FillPolygon(fill, []vg.Point{{X: x, Y: y - 4}, {X: x + sample, Y: y - 4}, {X: x + sample, Y: y + 4}, {X: x, Y: y + 4}})
	}
	for _, s := range e.series {
		if s.Low != nil {
			box(s.band())
		}
		if s.Bar > 0 {
			box(s.Color)
		}
		if s.Width > 0 {
			c.StrokeLine2(s.line(), x, y, x+sample, y)
		}
		if s.Dot > 0 {
			c.DrawGlyph(s.dot(), vg.Point{X: x + sample/2, Y: y})
		}
	}
	c.FillText(label, vg.Point{X: x + sample + gap, Y: y}, e.name)
}

// legendRows draws entries in rows at the top of c, and returns what is left below.
func legendRows(c draw.Canvas, all []entry) draw.Canvas {
	label := style(fontSize, color.Black, draw.XLeft, draw.YCenter)
	width := func(row []entry) vg.Length {
		w := vg.Length(-between)
		for _, e := range row {
			w += sample + gap + label.Width(e.name) + between
		}
		return w
	}
	// The fewest rows that fit, all of about the same length.
	each := max(1, len(all))
	for rows := 2; each > 1 && slices.ContainsFunc(slices.Collect(slices.Chunk(all, each)), func(row []entry) bool {
		return width(row) > c.Size().X
	}); rows++ {
		each = (len(all) + rows - 1) / rows
	}
	y := c.Max.Y - fontSize/2
	for row := range slices.Chunk(all, each) {
		x := c.Center().X - width(row)/2
		for _, e := range row {
			e.draw(c, label, x, y)
			x += sample + gap + label.Width(e.name) + between
		}
		y -= 1.35 * fontSize
	}
	c.Max.Y = y - 0.1*fontSize
	return c
}
