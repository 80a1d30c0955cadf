package owners

import (
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// A column of numbers has a curve if its rows lie in this number of cells of the sketch, or more.
	leastDistinct = 6
	// Numbers of knots, and up to how many columns of numbers the larger one applies.
	moreKnots, fewerKnots, fewColumns = 8, 5, 8
	// Curves are left out of designs with more columns.
	mostColumns = 300
	// The sketch has `cells` cells of equal width within `reach` mean deviations on both sides of the mean;
	// the outer ones are open. A cell with more rows than leastCrowd and than one part in crowded of all is
	// divided into finer cells, up to passes - 1 times. So no count is of a cell narrower than an eighth of
	// one with many rows.
	cells, reach, leastCrowd, crowded, finer, passes = 32, 4, 20, 16, 8, 4
	// Beyond each outer knot lie beyond rows or more, and between 1 and 10 % of all.
	beyond = 10
)

// A sketch has the numbers of rows of all nodes in the cells of a feature; cell k lies between edges k and
// k + 1.
type sketch struct {
	feature       int
	edges, counts []float64
}

// fill counts the rows in the cells of sketches, and divides crowded cells.
func (s *frame) fill(list []*sketch) {
	for pass := 1; ; pass++ {
		n := 0
		for _, k := range list {
			n += len(k.edges) - 1
		}
		total := s.sumRows(n, func(out, x []float64, _ float64) {
			for _, k := range list {
				n := len(k.edges) - 1
				if v := x[k.feature]; !math.IsNaN(v) {
					at, _ := slices.BinarySearch(k.edges[1:n], v)
					out[at]++
				}
				out = out[n:]
			}
		})
		divided := false
		for _, k := range list {
			n := len(k.edges) - 1
			k.counts, total = total[:n], total[n:]
			divided = pass < passes && k.divide(s.rows) || divided
		}
		if !divided {
			return
		}
	}
}

// divide makes finer cells of those that are crowded, and reports whether there were any.
func (k *sketch) divide(rows float64) bool {
	edges := k.edges[:1:1]
	for i, n := range k.counts {
		if width := k.edges[i+1] - k.edges[i]; n > max(rows/crowded, leastCrowd) {
			for part := 1; part < finer; part++ {
				edges = append(edges, k.edges[i]+width*float64(part)/finer)
			}
		}
		edges = append(edges, k.edges[i+1])
	}
	divided := len(edges) > len(k.edges)
	k.edges = edges
	return divided
}

// knots returns n quantiles: within a cell rows count as spread evenly, but in the middle of one that is
// still crowded, which has few values. Beyond the first and the last lie rows of several tasks. It returns
// nil where too few cells have rows.
func (k *sketch) knots(n int) (list []float64) {
	total, occupied := floats.Sum(k.counts), 0
	for _, n := range k.counts {
		if n > 0 {
			occupied++
		}
	}
	outer, below, cell := min(max(beyond/total, .01), .1), 0.0, 0
	for i := range n {
		at := total * (outer + (1-2*outer)*float64(i)/float64(n-1))
		for cell < len(k.counts)-1 && below+k.counts[cell] < at {
			below += k.counts[cell]
			cell++
		}
		within := .5
		if c := k.counts[cell]; c > 0 && c <= max(total/crowded, leastCrowd) {
			within = (at - below) / c
		}
		q := k.edges[cell] + within*(k.edges[cell+1]-k.edges[cell])
		if len(list) == 0 || q > list[len(list)-1]+1e-3*(k.edges[len(k.edges)-1]-k.edges[0])/cells {
			list = append(list, q)
		}
	}
	if occupied < leastDistinct || len(list) < 4 {
		return nil
	}
	return list
}

// addCurves gives every column of numbers with enough values a natural cubic spline; size are mean sizes of
// deviations.
func (s *frame) addCurves(size []float64) {
	var list []*sketch
	numbers := 0
	for j, level := range s.level {
		if level {
			continue
		}
		if numbers++; s.design.Scale[j] > 0 {
			center, edges := s.design.Center[j], make([]float64, cells+1)
			floats.Span(edges, center-reach*size[j], center+reach*size[j])
			list = append(list, &sketch{feature: j, edges: edges})
		}
	}
	n := moreKnots
	if numbers > fewColumns {
		n = fewerKnots
	}
	if len(list) == 0 || 1+len(s.design.Scale)+len(list)*(n-2) > mostColumns {
		return
	}
	s.fill(list)
	var raw []model.Curve
	for _, k := range list {
		if knots := k.knots(n); knots != nil {
			raw = append(raw, model.NewCurve(k.feature, knots, fit.NaturalBasis(knots, s.design.Scale[k.feature])))
		}
	}
	s.project(raw)
}

// project makes the columns of the curves orthogonal to 1 and to the clipped feature over all training rows,
// and scales those of a curve so that their mean squares sum to 1, by the moments of 1, the clipped feature
// and the columns.
func (s *frame) project(raw []model.Curve) {
	bare := s.design
	bare.Curves = raw
	n := 0
	for i := range raw {
		n += model.Triangle(2 + raw[i].Width())
	}
	columns := make([]float64, bare.Width())
	total := s.sumRows(n, func(out, x []float64, _ float64) {
		bare.Apply(columns, x)
		z := columns[1+len(bare.Scale):]
		for i := range raw {
			c, j, m := &raw[i], raw[i].Feature, raw[i].Width()
			v := columns[1+j]*bare.Scale[j] + bare.Center[j]
			v = (min(max(v, c.Knots[0]), c.Knots[len(c.Knots)-1]) - bare.Center[j]) / bare.Scale[j]
			own := append([]float64{1, v}, z[:m]...)
			for a, p := range own {
				floats.AddScaled(out[:len(own)-a], p, own[a:])
				out = out[len(own)-a:]
			}
			z = z[m:]
		}
	})
	for i := range raw {
		moments := mat.NewSymDense(2+raw[i].Width(), nil)
		total = unpack(moments, total)
		c := fit.Projected(&raw[i], moments, &s.design)
		if !(floats.Norm(c.Values, 1) < largest) {
			panic(uneven("moments of a column"))
		}
		s.design.Curves = append(s.design.Curves, c)
	}
}
