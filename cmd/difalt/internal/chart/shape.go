package chart

import "math"

// A Shape is the outline of hollow marks along a line. Shapes distinguish lines that coincide, also without
// colours: marks of two shapes never lie on each other.
type Shape int

const (
	NoShape Shape = iota
	Circle
	Square
	Triangle
	Diamond
	shapes // number of shapes, NoShape included
)

// Lengths in points.
const (
	shapeRadius   = 2.6 // from the middle of a mark to its corners
	shapeDistance = 36  // between the marks of a line
	outline       = 1.1 // width
)

// shape draws a mark of a shape around a point, white inside.
func (c *canvas) shape(s Shape, at point, v Color) {
	if s == NoShape {
		return
	}
	var corners []point
	for _, p := range s.corners() {
		corners = append(corners, point{at.x + shapeRadius*p.x, at.y + shapeRadius*p.y})
	}
	c.outlined(corners, v, outline)
}

// corners returns the corners of a shape around 0, at a distance of about 1. A circle has 16 of them.
func (s Shape) corners() []point {
	switch s {
	case Square:
		return []point{{-0.85, -0.85}, {0.85, -0.85}, {0.85, 0.85}, {-0.85, 0.85}}
	case Triangle:
		return []point{{0, -1.2}, {1.1, 0.8}, {-1.1, 0.8}}
	case Diamond:
		return []point{{0, -1.3}, {1.1, 0}, {0, 1.3}, {-1.1, 0}}
	}
	const n = 16
	all := make([]point, n)
	for i := range all {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		all[i] = point{cos, sin}
	}
	return all
}

// places returns the places of marks on a line through points, at equal distances along it. The first place
// depends on the shape, so that marks of coinciding lines alternate.
func (s Shape) places(line []point) (all []point) {
	if s == NoShape {
		return nil
	}
	next := shapeDistance * float64(s) / float64(shapes) // length of the line up to the next mark
	for i := 1; i < len(line); i++ {
		from, to := line[i-1], line[i]
		length := math.Hypot(to.x-from.x, to.y-from.y)
		for ; next <= length; next += shapeDistance {
			share := next / length
			all = append(all, point{from.x + share*(to.x-from.x), from.y + share*(to.y-from.y)})
		}
		next -= length
	}
	return all
}
