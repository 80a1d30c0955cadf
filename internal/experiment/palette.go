package experiment

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A look is how a method appears in a figure. Colours are those of Okabe and Ito,
// which colour-blind readers can tell apart; dashes do the same without colour.
type look struct {
	name string
	line draw.LineStyle
}

var looks = map[string]look{
	// AltGDmin's dashes lie on Dif's wider line, since the two nearly coincide, as
	// those of tracking lie on the scaled method's.
	"dif":      {"Dif-AltGDmin", stroke(0x00, 0x72, 0xb2, 2.2)},
	"altgdmin": {"AltGDmin (centralised)", stroke(0xe6, 0x9f, 0x00, 1.3, 5, 4)},
	"dec":      {"Dec-AltGDmin", stroke(0x00, 0x9e, 0x73, 1.5, 7, 2.5, 1.5, 2.5)},
	"dgd":      {"DGD variant", stroke(0xcc, 0x79, 0xa7, 1.7, 1.7, 2)},
	"scaled":   {"Scaled diffusion", stroke(0xd5, 0x5e, 0x00, 2.2)},
	Auto:       {"Auto", stroke(0x00, 0x00, 0x00, 1.5, 2, 2)},
	"tracking": {"Gradient tracking", stroke(0x56, 0xb4, 0xe9, 1.3, 5, 4)},
}

// lookOf returns the look of a method.
func lookOf(method string) look {
	if l, ok := looks[method]; ok {
		return l
	}
	return look{method, stroke(0, 0, 0, 1.2)}
}

// shade returns the colour of the band.
func (l look) shade() color.Color {
	c := l.line.Color.(color.NRGBA)
	c.A = 50
	return c
}

func stroke(r, g, b uint8, width float64, dashes ...float64) draw.LineStyle {
	s := draw.LineStyle{Color: color.NRGBA{r, g, b, 255}, Width: vg.Points(width)}
	for _, d := range dashes {
		s.Dashes = append(s.Dashes, vg.Points(d))
	}
	return s
}
