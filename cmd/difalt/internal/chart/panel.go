package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Series is a row of points. Points that are not finite, or beyond the ends of an axis, are left out.
type Series struct {
	// Name is the name in the legend, which several series may share; "" for none.
	Name string
	X, Y []float64
	// Low and High are the lower and upper ends of a band at every X; nil for none.
	Low, High []float64
	Style
}

// A Style describes how a series is drawn: as a line, as dots, or as both.
type Style struct {
	Color  Color
	Width  float64   // of the line in points; 0 for none
	Dashes []float64 // of the line in points; nil for none
	Dot    float64   // radius of dots in points; 0 for none
	Shape  Shape     // of hollow marks along the line
}

// Line returns the style of a line.
func Line(c Color, width float64, dashes ...float64) Style {
	return Style{Color: c, Width: width, Dashes: dashes}
}

// With returns the style with marks of a shape along its line.
func (s Style) With(shape Shape) Style {
	s.Shape = shape
	return s
}

// An Axis describes an axis of a panel.
type Axis struct {
	Label string // of an x axis; see Figure.Y
	// Log makes the axis logarithmic, unless the data are not positive or all alike.
	Log bool
	// Min and Max are the ends. If they are equal, the axis fits the data with a margin. It begins at 0 if
	// Zero is set.
	Min, Max float64
	Zero     bool
	// Marks replace the round numbers of the axis.
	Marks []Mark
	// Dates marks dates in place of numbers, which are days since 1970-01-01.
	Dates bool
}

// A Mark labels a value on an axis. A mark without a label is shorter.
type Mark struct {
	Value float64
	Label string
}

func (m Mark) length() float64 {
	if m.Label == "" {
		return tick / 2
	}
	return tick
}

// A scale maps values from low to high to places.
type scale struct {
	low, high, from, to float64
	log                 bool
	marks               []Mark
}

func (s *scale) at(v float64) float64 {
	share := (v - s.low) / (s.high - s.low)
	if s.log {
		share = math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return s.from + share*(s.to-s.from)
}

func (s *scale) shows(v float64) bool { return v >= s.low && v <= s.high }

// margin is the share of an axis that is left free beyond the data.
const margin = 0.04

// scale returns the scale of an axis for values, without its places.
func (a *Axis) scale(values []float64) *scale {
	s := &scale{low: a.Min, high: a.Max}
	fits := a.Min == a.Max
	if fits && len(values) > 0 {
		s.low, s.high = slices.Min(values), slices.Max(values)
	}
	s.log = a.Log && s.low > 0 && s.high > s.low
	switch room := margin * (s.high - s.low); {
	case !fits:
	case s.log:
		factor := math.Pow(s.high/s.low, margin)
		s.low, s.high = s.low/factor, s.high*factor
	case a.Zero && s.high > 0:
		s.low, s.high = 0, s.high*(1+margin)
	case room > 0:
		s.low, s.high = s.low-room, s.high+room
	default: // one value, or none
		s.low, s.high = s.low-max(1, math.Abs(s.low))/2, s.high+max(1, math.Abs(s.high))/2
	}
	switch {
	case a.Marks != nil:
		s.marks = a.Marks
	case a.Dates && isCalendar(s.low, s.high):
		s.marks = dates(s.low, s.high)
	case s.log:
		s.marks = powers(s.low, s.high)
	default:
		s.marks = roundNumbers(s.low, s.high)
	}
	s.marks = slices.DeleteFunc(slices.Clone(s.marks), func(m Mark) bool { return !s.shows(m.Value) })
	return s
}

// scales returns the scales of a panel for its series.
func (p *Panel) scales() (x, y *scale) {
	var xs, ys []float64
	for i := range p.Series {
		s := &p.Series[i]
		for _, v := range append(append(s.points(s.Y), s.points(s.Low)...), s.points(s.High)...) {
			xs, ys = append(xs, v.x), append(ys, v.y)
		}
	}
	return p.X.scale(xs), p.Y.scale(ys)
}

// points returns the finite points of a series at values, which are Y, Low or High.
func (s *Series) points(values []float64) (all []point) {
	for i, y := range values {
		if !math.IsNaN(s.X[i]+y) && !math.IsInf(s.X[i]+y, 0) {
			all = append(all, point{s.X[i], y})
		}
	}
	return all
}

// placed returns the places of points on scales that show them.
func placed(points []point, x, y *scale) (all []point) {
	for _, p := range points {
		if x.shows(p.x) && y.shows(p.y) {
			all = append(all, point{x.at(p.x), y.at(p.y)})
		}
	}
	return all
}

// faint is the opacity of bands.
const faint = 50

// draw draws a series from below to above: its band, line and dots.
func (s *Series) draw(c *canvas, x, y *scale) {
	band := s.Color
	band.A = faint
	if high, low := placed(s.points(s.High), x, y), placed(s.points(s.Low), x, y); high != nil && low != nil {
		slices.Reverse(low)
		c.fill(append(high, low...), band)
	}
	points := placed(s.points(s.Y), x, y)
	if s.Width > 0 && points != nil {
		c.stroke(points, s.Color, s.Width, s.Dashes)
	}
	if s.Dot > 0 {
		for _, p := range points {
			c.dot(p, s.Dot, s.Color)
		}
	}
	for _, p := range s.Shape.places(points) {
		c.shape(s.Shape, p, s.Color)
	}
}

// sample draws the series in a legend, from x on around the height y.
func (s *Series) sample(c *canvas, x, y float64) {
	if s.Low != nil {
		band := s.Color
		band.A = faint
		c.fill([]point{{x, y - tick}, {x + sample, y - tick}, {x + sample, y + tick}, {x, y + tick}}, band)
	}
	if s.Width > 0 {
		c.stroke([]point{{x, y}, {x + sample, y}}, s.Color, s.Width, s.Dashes)
	}
	if s.Dot > 0 {
		c.dot(point{x + sample/2, y}, s.Dot, s.Color)
	}
	c.shape(s.Shape, point{x + sample/2, y}, s.Color)
}

// powers marks powers of ten on a logarithmic axis, and multiples of them where there are few. Marks whose
// labels would overlap have none.
func powers(low, high float64) (marks []Mark) {
	const near = 1e-9
	first, last := int(math.Floor(math.Log10(low)+near)), int(math.Floor(math.Log10(high)+near))
	every := max(1, (last-first+7)/8)
	factors := []float64{1}
	switch ratio := high / low; {
	case ratio < 10:
		factors = []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	case ratio <= 300:
		factors = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, f := range factors {
			m := Mark{Value: f * math.Pow(10, float64(e))}
			if m.Value < low*(1-near) || m.Value > high*(1+near) {
				continue
			}
			m.Value = min(max(m.Value, low), high)
			if e%every == 0 {
				m.Label = number(m.Value)
			}
			marks = append(marks, m)
		}
	}
	if len(marks) < 2 {
		return roundNumbers(low, high)
	}
	if slices.ContainsFunc(marks, func(m Mark) bool { return strings.Contains(m.Label, "e") }) {
		writePowers(marks)
	}
	return marks
}

// writePowers writes all labels but 1 as powers of ten, so that an axis has one notation.
func writePowers(marks []Mark) {
	for i, m := range marks {
		if m.Label != "" && m.Value != 1 {
			marks[i].Label = strconv.FormatFloat(m.Value, 'e', -1, 64)
		}
	}
}

// number writes a mark such as 0.01, 500 or 1e-06.
func number(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 0.002 || a >= 1e5) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// roundNumbers marks round numbers on a linear axis: the largest of 1, 2, 5 times a power of ten with at
// least three steps.
func roundNumbers(low, high float64) (marks []Mark) {
	unit := math.Pow(10, math.Floor(math.Log10((high-low)/3)))
	step := unit
	for _, m := range []float64{2, 5} {
		if (high-low)/(m*unit) >= 3 {
			step = m * unit
		}
	}
	for i := math.Ceil(low/step) + 0; i*step <= high*(1+1e-9); i++ { // + 0 makes 0 of -0
		marks = append(marks, Mark{min(i*step, high), strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return marks
}
