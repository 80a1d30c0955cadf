// Package svg draws charts as SVG images in a font that their readers have.
package svg

import (
	"bytes"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Font returns the font of all charts in a size.
func Font(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// Draw returns what paint draws as an SVG image.
func Draw(width, height vg.Length, paint func(draw.Canvas) error) ([]byte, error) {
	c := vgsvg.New(width, height)
	if err := paint(draw.New(c)); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if _, err := c.WriteTo(&buf); err != nil {
		return nil, err
	}
	// Arial and Helvetica have the same widths, for readers without Liberation.
	return bytes.ReplaceAll(buf.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}
