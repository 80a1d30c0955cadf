package chart

import (
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An entry of a legend is a name with what draws the series that share it.
type entry struct {
	name   string
	sample []plot.Plotter
}

func entries(series []Series) []entry {
	var all []entry
	for i := range series {
		s := &series[i]
		shown := s.plotters()
		if s.Name == "" || shown == nil {
			continue
		}
		at := slices.IndexFunc(all, func(e entry) bool { return e.name == s.Name })
		if at < 0 {
			at, all = len(all), append(all, entry{name: s.Name})
		}
		all[at].sample = append(all[at].sample, shown...)
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
	c.Rectangle = vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + sample, Y: y + 4}}
	for _, p := range e.sample {
		p.(plot.Thumbnailer).Thumbnail(&c)
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

// labels draws text in which ^{...} is a superscript and _{...} a subscript.
type labels struct{ text.Plain }

// A span is a piece of a label on one level.
type span struct {
	text  string
	level int // 1: superscript, -1: subscript
}

// levels matches superscripts and subscripts.
var levels = regexp.MustCompile(`[\^_]\{([^}]*)\}`)

// spans splits a label. Where it has several spans, or several spaces in a row, its
// spaces become those that do not break, since readers of SVG drop others.
func spans(label string) []span {
	if strings.ContainsAny(label, "^_") || strings.Contains(label, "  ") {
		label = strings.ReplaceAll(label, " ", "\u00a0")
	}
	var out []span
	at := 0
	for _, m := range levels.FindAllStringSubmatchIndex(label, -1) {
		if m[0] > at {
			out = append(out, span{text: label[at:m[0]]})
		}
		level := 1
		if label[m[0]] == '_' {
			level = -1
		}
		out, at = append(out, span{label[m[2]:m[3]], level}), m[1]
	}
	if at < len(label) {
		out = append(out, span{text: label[at:]})
	}
	return out
}

// fontOf returns the font of a level and how far it is above the base line.
func fontOf(f font.Font, level int) (font.Font, vg.Length) {
	base := f.Size
	if level == 0 {
		return f, 0
	}
	f.Size = 0.72 * base
	if level > 0 {
		return f, 0.40 * base
	}
	return f, -0.16 * base
}

// Box implements text.Handler.
func (l labels) Box(label string, f font.Font) (width, height, depth vg.Length) {
	for _, s := range spans(label) {
		sf, rise := fontOf(f, s.level)
		w, h, d := l.Plain.Box(s.text, sf)
		width += w
		// A superscript is not allowed to move the centre of a tick label.
		if s.level == 0 {
			height = max(height, h)
		}
		depth = max(depth, d-rise)
	}
	return width, height, depth
}

// Draw implements text.Handler. Labels are single lines.
func (l labels) Draw(c vg.Canvas, label string, sty text.Style, pt vg.Point) {
	width, height, depth := l.Box(label, sty.Font)
	// Where text.Plain has the base line, which plots rely on.
	base := sty.Font.Size - l.Extents(sty.Font).Ascent
	c.SetColor(sty.Color)
	if sty.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(sty.Rotation)
		sin, cos := math.Sincos(sty.Rotation)
		pt = vg.Point{
			X: vg.Length(cos)*pt.X + vg.Length(sin)*pt.Y,
			Y: vg.Length(cos)*pt.Y - vg.Length(sin)*pt.X,
		}
	}
	pt.X += vg.Length(sty.XAlign) * width
	pt.Y += base + vg.Length(sty.YAlign)*(height+depth)
	for _, s := range spans(label) {
		f, rise := fontOf(sty.Font, s.level)
		face := l.Fonts.Lookup(f, f.Size)
		c.FillString(face, vg.Point{X: pt.X, Y: pt.Y + rise}, s.text)
		w, _, _ := l.Plain.Box(s.text, f)
		pt.X += w
	}
}
