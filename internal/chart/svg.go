package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"regexp"
	"strconv"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG returns the figure as an SVG image. Readers of screens find its title and
// description in it, and every text is as wide as it was planned in whatever typeface a
// viewer has, so that names in legends keep clear of one another.
func (f *Figure) SVG() ([]byte, error) {
	c := vgsvg.New(f.size())
	if err := f.draw(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return nil, err
	}
	return f.describe(fixWidths(buf.Bytes())), nil
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
	root := bytes.Index(svg, []byte("<svg"))
	end := root + bytes.IndexByte(svg[root:], '>')
	var buf bytes.Buffer
	buf.Write(svg[:end])
	buf.WriteString(` role="img">` + "\n<title>")
	_ = xml.EscapeText(&buf, []byte(f.Title)) // a bytes.Buffer has no errors
	buf.WriteString("</title>")
	if f.Text != "" {
		buf.WriteString("\n<desc>")
		_ = xml.EscapeText(&buf, []byte(f.Text))
		buf.WriteString("</desc>")
	}
	buf.Write(svg[end+1:])
	return buf.Bytes()
}
