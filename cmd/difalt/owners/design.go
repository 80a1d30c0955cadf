package owners

import (
	"errors"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
)

// sumRows returns the sum over all training rows of all nodes of the n numbers that f adds to out.
func (s *frame) sumRows(n int, f func(out, x []float64, y float64)) []float64 {
	return s.sum(n, func(i int, out []float64) {
		read := s.nodes[i].reader()
		for row, train := range s.nodes[i].train {
			if train {
				x, y := read(row)
				f(out, x, y)
			}
		}
	})
}

// sumColumns returns the sum of f over the values v of every feature j, and of the target last; missing ones
// are left out.
func (s *frame) sumColumns(f func(j int, v float64) float64) []float64 {
	return s.sumRows(len(s.level)+1, func(out, x []float64, y float64) {
		for j, v := range append(x, y) {
			if !math.IsNaN(v) {
				out[j] += f(j, v)
			}
		}
	})
}

// standardise finds the mean and the standard deviation of every feature and of the target; a missing value
// counts as the mean. It adds up numbers of values, values, then sizes of deviations, and then squares of
// deviations in units of the mean size, so that all numbers fit into sums. It returns the numbers of values
// and the mean sizes.
func (s *frame) standardise() (count, size []float64) {
	count = s.sumColumns(func(int, float64) float64 { return 1 })
	if s.rows = count[len(s.level)]; !(s.rows >= 1) {
		panic(uneven("the number of rows"))
	}
	mean := s.sumColumns(func(_ int, v float64) float64 { return v })
	for j := range mean {
		mean[j] /= max(count[j], 1)
	}
	size = s.sumColumns(func(j int, v float64) float64 { return math.Abs(v - mean[j]) })
	for j := range size {
		if size[j] /= max(count[j], 1); size[j] <= 1e-12*math.Abs(mean[j])+1e-30 {
			size[j] = 0
		}
	}
	scale := s.sumColumns(func(j int, v float64) float64 {
		if size[j] == 0 {
			return 0
		}
		return math.Pow((v-mean[j])/size[j], 2)
	})
	for j := range scale {
		if scale[j] = size[j] * math.Sqrt(scale[j]/s.rows); !(scale[j] <= largest && math.Abs(mean[j]) <= largest) {
			panic(uneven("means and deviations"))
		}
	}
	if s.standard(mean, scale); s.target.Scale == 0 {
		must(&Error{errors.New("the targets of all nodes are equal"), "the targets of all nodes are equal"})
	}
	return count, size
}

// standard sets the design without curves, and the target, from the centers and scales of the features and,
// last, the target.
func (s *frame) standard(center, scale []float64) {
	k := len(s.level)
	s.design = mixed.Design{Fill: center[:k:k], Center: center[:k:k], Scale: scale[:k:k]}
	s.target = mixed.Target{Column: s.c.TargetColumn, Center: center[k], Scale: scale[k]}
}

const (
	// A curve has moreKnots knots, or fewerKnots where more than fewColumns columns are numbers; a column
	// with fewer than leastKnots different knots has no curve. The distance of two knots is at least leastGap
	// of the range of the search: the basis is exact to rounding.
	moreKnots, fewerKnots, fewColumns, leastKnots, leastGap = 8, 5, 8, 4, 1e-4
	// Curves are left out of designs with more columns.
	mostColumns = 300
	// The search for knots begins with reach mean deviations on both sides of the mean. It ends after
	// halvings sums, or when the interval of every knot has at most leastCrowd rows or one part in crowded of
	// all. So the interval of a count is at least half as wide as one with many rows.
	reach, halvings, leastCrowd, crowded = 4, 12, 20, 50
	// Outside of each outer knot lie at least beyond rows, and 1 to 10 % of all rows.
	beyond = 10
)

// A knot is a quantile of a column. It lies between two edges; below counts the rows below each.
type knot struct {
	feature     int
	target      float64 // rows below the knot
	edge, below [2]float64
}

// middle returns the middle between the edges.
func (k *knot) middle() float64 { return k.edge[0]/2 + k.edge[1]/2 }

// addCurves gives every column of numbers with enough values a natural cubic spline; count and size are the
// numbers of values and the mean sizes of their deviations.
func (s *frame) addCurves(count, size []float64) {
	numbers, n := 0, moreKnots
	for _, level := range s.level {
		if !level {
			numbers++
		}
	}
	if numbers > fewColumns {
		n = fewerKnots
	}
	var list []*knot
	for j, level := range s.level {
		outer := min(max(beyond/count[j], .01), .1)
		for i := 0; i < n && !level && s.design.Scale[j] > 0; i++ {
			at, c, d := count[j]*(outer+(1-2*outer)*float64(i)/float64(n-1)), s.design.Center[j], reach*size[j]
			list = append(list, &knot{j, at, [2]float64{c - d, c + d}, [2]float64{0, count[j]}})
		}
	}
	if 1+len(s.level)+len(list)/n*(n-2) > mostColumns {
		return
	}
	crowd := s.narrow(list)
	for ; len(list) > 0; list = list[n:] {
		var knots []float64
		for _, k := range list[:n] {
			q, rows := k.middle(), k.below[1]-k.below[0]
			if rows > 0 && rows <= crowd {
				q = k.edge[0] + (k.target-k.below[0])/rows*(k.edge[1]-k.edge[0])
			}
			if j := len(knots); j == 0 || q > knots[j-1]+leastGap*2*reach*size[k.feature] {
				knots = append(knots, q)
			}
		}
		if j := list[0].feature; len(knots) >= leastKnots {
			s.design.Curves = append(s.design.Curves, fit.Spline(j, knots, s.design.Scale[j]))
		}
	}
	row := make([]float64, s.design.Width())
	fit.Project(&s.design, s.sumRows(fit.MomentsSize(s.design.Curves), func(out, x []float64, _ float64) {
		s.design.Apply(row, x)
		fit.AddMoments(out, &s.design, row, 1)
	}))
	for _, c := range s.design.Curves {
		if !(floats.Norm(c.Values, 1) < largest) {
			panic(uneven("moments of a column"))
		}
	}
}

// narrow moves the edges of knots together by counts of rows, and returns the number of rows between edges
// that are close enough.
func (s *frame) narrow(list []*knot) (crowd float64) {
	crowd = max(leastCrowd, s.rows/crowded)
	for range halvings {
		var open []*knot
		for _, k := range list {
			if k.below[1]-k.below[0] > crowd {
				open = append(open, k)
			}
		}
		if len(open) == 0 {
			break
		}
		for i, n := range s.sumRows(len(open), func(out, x []float64, _ float64) {
			for i, k := range open {
				if x[k.feature] <= k.middle() {
					out[i]++
				}
			}
		}) {
			k, side := open[i], 0
			if n >= k.target {
				side = 1
			}
			k.edge[side], k.below[side] = k.middle(), n
		}
	}
	return crowd
}
