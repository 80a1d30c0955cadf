package owners

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A frame is what all nodes agree on before the estimation: features, their design, and the scale of the
// target.
type frame struct {
	*group
	c      *Config
	tables []*dataset.Table
	schema *schema.Schema
	level  []bool  // of every agreed feature: it is one of a categorical column
	maps   [][]int // of every table: its feature for an agreed one; -1 for a level that it lacks, which is 0
	design model.Design
	target model.Target
	held   []*holding // of every table
	rows   float64    // for training, of all nodes
	tasks  int        // of all nodes
	bar    bar
}

// eachRow calls f for every training row of table i, with its agreed features, which are valid during the
// call, and its target.
func (s *frame) eachRow(i int, f func(row int, x []float64, y float64)) {
	t := s.tables[i]
	own, x := make([]float64, len(t.Features())), make([]float64, len(s.level))
	for row := range t.Rows() {
		if s.c.trains(i, t, row) {
			s.agreed(x, t.X(own, row), i)
			f(row, x, t.Y(row))
		}
	}
}

// agreed sets x to the agreed features of a row of table i.
func (s *frame) agreed(x, own []float64, i int) {
	for j, k := range s.maps[i] {
		if x[j] = 0; k >= 0 {
			x[j] = own[k]
		}
	}
}

// sumRows returns the sum over all training rows of all nodes of the n numbers that f adds to out.
func (s *frame) sumRows(ctx context.Context, n int, f func(out, x []float64, y float64)) ([]float64, error) {
	s.tick()
	z := s.zeros(n)
	for i := range z {
		s.eachRow(i, func(_ int, x []float64, y float64) { f(z[i], x, y) })
	}
	return s.sum(ctx, z)
}

// sumColumns returns the sums of f over the values of every feature, and of the target last, that are not
// missing.
func (s *frame) sumColumns(ctx context.Context, f func(j int, v float64) float64) ([]float64, error) {
	return s.sumRows(ctx, len(s.level)+1, func(out, x []float64, y float64) {
		for j := range out {
			v := y
			if j < len(x) {
				v = x[j]
			}
			if !math.IsNaN(v) {
				out[j] += f(j, v)
			}
		}
	})
}

// standardise finds the mean and the standard deviation of every feature and of the target; a missing value
// counts as the mean. It adds up values, then sizes of deviations, whose means it returns, and then squares
// of deviations in units of these, so that all numbers fit into sums.
func (s *frame) standardise(ctx context.Context) ([]float64, error) {
	count, err := s.sumColumns(ctx, func(int, float64) float64 { return 1 })
	if err != nil {
		return nil, err
	}
	k := len(count) - 1
	if s.rows = count[k]; !(s.rows >= 1) {
		return nil, errUneven("the number of rows")
	}
	mean, err := s.sumColumns(ctx, func(_ int, v float64) float64 { return v })
	if err != nil {
		return nil, err
	}
	for j := range mean {
		mean[j] /= max(count[j], 1)
	}
	size, err := s.sumColumns(ctx, func(j int, v float64) float64 { return math.Abs(v - mean[j]) })
	if err != nil {
		return nil, err
	}
	for j := range size {
		if size[j] /= max(count[j], 1); size[j] <= 1e-12*math.Abs(mean[j])+1e-30 {
			size[j] = 0
		}
	}
	scale, err := s.sumColumns(ctx, func(j int, v float64) float64 {
		if size[j] == 0 {
			return 0
		}
		return math.Pow((v-mean[j])/size[j], 2)
	})
	if err != nil {
		return nil, err
	}
	for j := range scale {
		scale[j] = size[j] * math.Sqrt(scale[j]/s.rows)
		if !(scale[j] <= largest && math.Abs(mean[j]) <= largest) {
			return nil, errUneven("means and deviations")
		}
	}
	s.design = model.Design{Fill: mean[:k:k], Center: mean[:k:k], Scale: scale[:k:k]}
	s.target = model.Target{Column: s.c.TargetColumn, Center: mean[k], Scale: scale[k]}
	if s.target.Scale == 0 {
		return nil, &Stop{&Error{errors.New("the targets of all nodes are equal"), "the targets of all nodes are equal"}}
	}
	return size[:k], nil
}

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
	// Beyond each outer knot lie at least this number of rows, and between 1 and 10 % of all.
	beyond = 10
)

// sketches counts the rows of all nodes in the cells of the features, and returns the edges of the cells and
// the counts.
func (s *frame) sketches(ctx context.Context, features []int, size []float64) (edges, counts [][]float64, err error) {
	for _, j := range features {
		e := make([]float64, cells+1)
		floats.Span(e, s.design.Center[j]-reach*size[j], s.design.Center[j]+reach*size[j])
		edges = append(edges, e)
	}
	for pass := 1; ; pass++ {
		n, from := 0, make([]int, len(edges))
		for f, e := range edges {
			from[f] = n
			n += len(e) - 1
		}
		total, err := s.sumRows(ctx, n, func(out, x []float64, _ float64) {
			for f, j := range features {
				if !math.IsNaN(x[j]) {
					at, _ := slices.BinarySearch(edges[f][1:len(edges[f])-1], x[j])
					out[from[f]+at]++
				}
			}
		})
		if err != nil {
			return nil, nil, err
		}
		counts = counts[:0]
		next, divided := make([][]float64, len(edges)), false
		for f, e := range edges {
			own := total[from[f]:][:len(e)-1]
			counts, next[f] = append(counts, own), e[:1:1]
			for k, n := range own {
				if width := e[k+1] - e[k]; n > max(s.rows/crowded, leastCrowd) {
					divided = true
					for part := 1; part < finer; part++ {
						next[f] = append(next[f], e[k]+width*float64(part)/finer)
					}
				}
				next[f] = append(next[f], e[k+1])
			}
		}
		if !divided || pass == passes {
			return edges, counts, nil
		}
		edges = next
	}
}

// quantiles returns those of n probabilities by the counts in cells: within a cell rows count as spread
// evenly, but in the middle of one that is still crowded, which has few values. Beyond the first and the last
// lie rows of several tasks.
func quantiles(n int, edges, counts []float64) (list []float64) {
	total := floats.Sum(counts)
	outer := min(max(beyond/total, .01), .1)
	below, k := 0.0, 0
	for i := range n {
		at := total * (outer + (1-2*outer)*float64(i)/float64(n-1))
		for k < len(counts)-1 && below+counts[k] < at {
			below += counts[k]
			k++
		}
		within := .5
		if counts[k] > 0 && counts[k] <= max(total/crowded, leastCrowd) {
			within = (at - below) / counts[k]
		}
		q := edges[k] + within*(edges[k+1]-edges[k])
		if len(list) == 0 || q > list[len(list)-1]+1e-3*(edges[len(edges)-1]-edges[0])/cells {
			list = append(list, q)
		}
	}
	return list
}

// addCurves gives every column of numbers with enough values a natural cubic spline; size are mean sizes of
// deviations.
func (s *frame) addCurves(ctx context.Context, size []float64) error {
	var features []int
	numbers := 0
	for j, level := range s.level {
		if !level {
			if numbers++; s.design.Scale[j] > 0 {
				features = append(features, j)
			}
		}
	}
	n := moreKnots
	if numbers > fewColumns {
		n = fewerKnots
	}
	if len(features) == 0 || 1+len(s.design.Scale)+len(features)*(n-2) > mostColumns {
		return nil
	}
	edges, counts, err := s.sketches(ctx, features, size)
	if err != nil {
		return err
	}
	var raw []model.Curve
	for f, j := range features {
		occupied := 0
		for _, n := range counts[f] {
			if n > 0 {
				occupied++
			}
		}
		if knots := quantiles(n, edges[f], counts[f]); occupied >= leastDistinct && len(knots) >= 4 {
			raw = append(raw, model.NewCurve(j, knots, fit.NaturalBasis(knots, s.design.Scale[j])))
		}
	}
	return s.project(ctx, raw)
}

// project makes the columns of the curves orthogonal to 1 and to the clipped feature over all training rows,
// and scales those of a curve so that their mean squares sum to 1, by the moments of 1, the clipped feature
// and the columns.
func (s *frame) project(ctx context.Context, raw []model.Curve) error {
	bare := s.design
	bare.Curves = raw
	from, n := 1+len(bare.Scale), 0
	for i := range raw {
		n += model.Triangle(2 + raw[i].Width())
	}
	columns := make([]float64, bare.Width())
	total, err := s.sumRows(ctx, n, func(out, x []float64, _ float64) {
		bare.Apply(columns, x)
		z := columns[from:]
		for i := range raw {
			c := &raw[i]
			m := c.Width()
			knots := c.Knots
			v := columns[1+c.Feature]*bare.Scale[c.Feature] + bare.Center[c.Feature]
			v = (min(max(v, knots[0]), knots[len(knots)-1]) - bare.Center[c.Feature]) / bare.Scale[c.Feature]
			own := append([]float64{1, v}, z[:m]...)
			for a, p := range own {
				floats.AddScaled(out[:len(own)-a], p, own[a:])
				out = out[len(own)-a:]
			}
			z = z[m:]
		}
	})
	if err != nil {
		return err
	}
	for i := range raw {
		moments := mat.NewSymDense(2+raw[i].Width(), nil)
		total = setPacked(moments, total)
		c := fit.Projected(&raw[i], moments, &s.design)
		if !(floats.Norm(c.Values, 1) < largest) {
			return errUneven("moments of a column")
		}
		s.design.Curves = append(s.design.Curves, c)
	}
	return nil
}
