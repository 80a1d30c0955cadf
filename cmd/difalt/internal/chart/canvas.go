package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"strings"
)

// A Color is the colour of a series.
type Color = color.NRGBA

// Colours that colour-blind readers can distinguish, after Okabe and Ito. All but grid have a contrast of at
// least 3 on white.
var (
	Black  = rgb(0x000000)
	Blue   = rgb(0x0072b2)
	Orange = rgb(0xc47f00)
	Green  = rgb(0x009e73)
	Red    = rgb(0xd55e00)
	Pink   = rgb(0xc06a98)
	Sky    = rgb(0x2b93cf)
	Gray   = rgb(0x787878)
	Purple = rgb(0x5e3c99)
	Brown  = rgb(0x8c510a)

	ink   = rgb(0x222222) // of texts and axes
	grid  = rgb(0xe1e1e1)
	paper = rgb(0xffffff)
)

// names are the names of colours in Themed.
var names = map[Color]string{
	Black: "black", Blue: "blue", Orange: "orange", Green: "green", Red: "red", Pink: "pink", Sky: "sky",
	Gray: "gray", Purple: "purple", Brown: "brown", ink: "ink", grid: "grid", paper: "paper",
}

func rgb(hex uint32) Color {
	return Color{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 255}
}

// A canvas collects the elements of an SVG image, in points from the top left.
type canvas struct {
	bytes.Buffer
	themed bool
}

// begin writes the root element, with title and description first as the specification demands.
func (c *canvas) begin(width, height float64, title, text string) {
	fmt.Fprintf(c, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.5gpt\" height=\"%.5gpt\" viewBox=\"0 0 "+
		"%.5g %.5g\" role=\"img\""+
		" style=\"font-family:'Liberation Sans',Arial,Helvetica,sans-serif\">\n", width, height, width, height)
	if title != "" {
		fmt.Fprintf(c, "<title>%s</title>\n", html.EscapeString(title))
	}
	if text != "" {
		fmt.Fprintf(c, "<desc>%s</desc>\n", html.EscapeString(text))
	}
	c.fill([]point{{0, 0}, {width, 0}, {width, height}, {0, height}}, paper)
}

func (c *canvas) end() []byte {
	c.WriteString("</svg>\n")
	return c.Bytes()
}

// color returns the text of an opaque colour.
func (c *canvas) color(v Color) string {
	hex := fmt.Sprintf("#%02x%02x%02x", v.R, v.G, v.B)
	v.A = 255
	if name := names[v]; c.themed && name != "" {
		return fmt.Sprintf("var(--chart-%s,%s)", name, hex)
	}
	return hex
}

type point struct{ x, y float64 }

func (c *canvas) path(points []point) {
	c.WriteString(`<path d="`)
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(c, "%s%.5g,%.5g", command, p.x, p.y)
	}
}

// fill fills a polygon.
func (c *canvas) fill(points []point, v Color) {
	c.path(points)
	fmt.Fprintf(c, "Z\" style=\"fill:%s", c.color(v))
	if v.A < 255 {
		fmt.Fprintf(c, ";fill-opacity:%.3g", float64(v.A)/255)
	}
	c.WriteString("\"/>\n")
}

// outlined draws a polygon that is white inside.
func (c *canvas) outlined(points []point, v Color, width float64) {
	c.path(points)
	fmt.Fprintf(c, "Z\" style=\"fill:%s;stroke:%s;stroke-width:%g\"/>\n", c.color(paper), c.color(v), width)
}

// stroke draws a line through points.
func (c *canvas) stroke(points []point, v Color, width float64, dashes []float64) {
	c.path(points)
	fmt.Fprintf(c, "\" style=\"fill:none;stroke:%s;stroke-width:%g", c.color(v), width)
	if dashes != nil {
		fmt.Fprintf(c, ";stroke-dasharray:%s", strings.Trim(strings.ReplaceAll(fmt.Sprint(dashes), " ", ","), "[]"))
	}
	c.WriteString("\"/>\n")
}

func (c *canvas) line(x1, y1, x2, y2 float64, v Color, width float64) {
	c.stroke([]point{{x1, y1}, {x2, y2}}, v, width, nil)
}

func (c *canvas) dot(at point, radius float64, v Color) {
	fmt.Fprintf(c, "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"%g\" style=\"fill:%s;fill-opacity:%.3g\"/>\n", at.x, at.y,
		radius, c.color(v),
		float64(v.A)/255)
}

// An anchor is the part of a text that stands at its x: the start, the middle or the end.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// text draws a text with its base line at y.
func (c *canvas) text(x, y, size float64, a anchor, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(c, "<text x=\"%.5g\" y=\"%.5g\" text-anchor=\"%s\" style=\"font-size:%gpx;fill:%s\"", x, y, a, size,
		c.color(ink))
	if strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
		// A viewer without these typefaces makes the text as wide as it was planned.
		fmt.Fprintf(c, " textLength=\"%.5g\" lengthAdjust=\"spacingAndGlyphs\"", textWidth(text, size))
	}
	fmt.Fprintf(c, ">%s</text>\n", html.EscapeString(text))
}

// vertical draws a text that reads upwards, with the middle of its base line at x and y.
func (c *canvas) vertical(x, y, size float64, text string) {
	fmt.Fprintf(c, "<g transform=\"translate(%.5g,%.5g) rotate(-90)\">", x, y)
	c.text(0, 0, size, middle, text)
	c.WriteString("</g>\n")
}

// widths are the widths of the characters from space to ~ in Liberation Sans, in thousandths of the size.
// Arial and Helvetica have equal widths.
var widths = [...]uint16{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
	556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
	722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
	278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// otherWidth is the assumed width of any other character, an upper estimate.
const otherWidth = 1000

func textWidth(text string, size float64) (w float64) {
	for _, r := range text {
		if r >= ' ' && r <= '~' {
			w += float64(widths[r-' '])
		} else if r == '–' || r == 'κ' || r == '×' {
			w += 556
		} else {
			w += otherWidth
		}
	}
	return math.Ceil(w*size/100) / 10
}

// shorten returns a label with its middle left out until it fits a width.
func shorten(label string, size, width float64) string {
	letters := []rune(label)
	for n := len(letters) - 1; n > 1 && textWidth(label, size) > width; n-- {
		label = string(letters[:(n+1)/2]) + "…" + string(letters[len(letters)-n/2:])
	}
	return label
}
