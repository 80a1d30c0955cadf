package mixed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/rounded"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
)

// Limits of curves.
const (
	// A column of leastDistinct to mostKnots distinct values has a knot at each of them. Others have knots
	// knots at quantiles, or fewKnots if there are more than manyFeatures numeric features.
	leastDistinct = 5
	mostKnots     = 12
	knots         = 8
	fewKnots      = 5
	manyFeatures  = 8
	// leastKnots is the least number of distinct quantiles.
	leastKnots = 4
	// leastGap is the least distance of knots, as a share of the searched range, for an exact basis.
	leastGap = 1e-4
	// widest is the largest number of columns of a design with curves.
	widest = 300
)

// newDesign returns the columns of the features: standardised with weights, without curves.
func (r *rows) newDesign() (d Design) {
	n := len(r.stats)
	d.Fill, d.Center, d.Scale = make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range r.stats {
		s := &r.stats[j]
		d.Fill[j], d.Center[j], d.Scale[j] = s.mean, s.mean, s.sd
	}
	return d
}

// numeric returns the features that may have curves.
func (r *rows) numeric() (list []int) {
	for j := range r.stats {
		if s := &r.stats[j]; !s.level && s.sd > 0 && s.rows >= leastRows {
			list = append(list, j)
		}
	}
	return list
}

// addCurves returns the design with curves of the numeric features that have enough distinct values. The
// curves are projected off 1 and the feature. With more than 300 columns in all, curves are left out and
// tooWide is true. within marks the linear columns that vary within tasks.
func (r *rows) addCurves(ctx context.Context, d Design, within []bool) (with Design, tooWide bool, err error) {
	if d.Width() > widest {
		return d, true, nil
	}
	numeric := r.numeric()
	few, voted := len(numeric) > manyFeatures, false
	if !few && r.fewKnots {
		few, voted = true, true
	}
	places, err := r.knots(ctx, numeric, few)
	if err != nil {
		return d, false, err
	}
	with = d
	for i, j := range numeric {
		if places[i] != nil {
			with.Curves = append(with.Curves, newSpline(j, places[i], d.Scale[j]))
		}
	}
	if err := checkCurves(&with); err != nil {
		return d, false, err
	}
	if len(with.Curves) > 0 && with.Width() > widest {
		return d, true, nil
	}
	if err := r.guard.voteOnCurves(ctx, &with, within); err != nil || len(with.Curves) == 0 {
		return d, false, err
	}
	if voted {
		r.guard.tellFewKnots()
	}
	if r.coarse {
		r.guard.tellCoarse()
	}
	r.guard.blurCurves(&with)
	if err := r.projectCurves(ctx, &with); err != nil {
		return d, false, err
	}
	err = r.guard.voteOnColumns(ctx, &with)
	return with, false, err
}

// projectCurves takes the lines of the columns out of the curves of a design, with the rows of all owners. It
// takes one sum; all owners take the values of a single one.
func (r *rows) projectCurves(ctx context.Context, d *Design) error {
	sums, err := r.sumRows(ctx, splineMomentsSize(d.Curves), func(part []float64, row int, x []float64, w float64) {
		addSplineMoments(part, d, x, r.guard.moves(nil, row, x), w)
	})
	if err != nil {
		return err
	}
	size := 0
	for _, c := range d.Curves {
		size += len(c.Values)
	}
	t, values, possible := &total{v: sums}, make([]float64, 0, size), true
	err = r.decide(ctx, "products of splines", values[:size], func() {
		possible = projectSplines(d, sums)
		for _, c := range d.Curves {
			values = append(values, c.Values...)
		}
	}, t)
	if err != nil {
		return err
	}
	values = values[:size]
	for i, c := range d.Curves {
		n := len(c.Values)
		if r.guard != nil && (!possible || !nearly(c.Values, values[:n])) {
			return contradiction("the curve of a column")
		}
		d.Curves[i] = newCurve(c.Feature, c.Knots, values[:n:n])
		values = values[n:]
	}
	return checkCurves(d)
}

// checkCurves returns an error about the first curve that cannot be evaluated.
func checkCurves(d *Design) error {
	for i := range d.Curves {
		if err := d.Curves[i].check(); err != nil {
			return fmt.Errorf("the curve of feature %d: %w", d.Curves[i].Feature+1, err)
		}
	}
	return nil
}

// newSpline returns the curve of a feature with the natural basis of its knots; x counts in units of scale.
func newSpline(feature int, knots []float64, scale float64) Curve {
	return newCurve(feature, knots, naturalBasis(knots, scale))
}

// naturalBasis returns the values at the knots of the natural cubic splines whose penalty, the integral of
// f”^2, is the identity: eigenvectors of the penalty over square roots of their eigenvalues, those of
// straight lines left out. x counts in units of scale.
func naturalBasis(knots []float64, scale float64) []float64 {
	n := len(knots)
	h := make([]float64, n-1)
	for i := range h {
		h[i] = (knots[i+1] - knots[i]) / scale
	}
	// Penalty = Q R^-1 Q' (Green and Silverman 1994): second derivatives R^-1 Q'f of the spline with
	// values f.
	m := n - 2
	q, r := make([]float64, m*n), make([]float64, m*m) // Q' and the upper triangle of R, by rows
	for j := range m {
		row := q[j*n:][:n]
		row[j], row[j+1], row[j+2] = 1/h[j], -1/h[j]-1/h[j+1], 1/h[j+1]
		r[j*(m+1)] = (h[j] + h[j+1]) / 3
		if j > 0 {
			r[(j-1)*m+j] = h[j] / 6
		}
	}
	// R = C'C, which is diagonally dominant: the penalty is W'W for W = C'^-1 Q'.
	factor, _ := dense.Potrf(dense.Symmetric(m, r))
	w, vectors := dense.General(m, n, q), make([]float64, n*n)
	dense.Trsm(blas.Left, blas.Trans, 1, factor, w)
	dense.Syrk(blas.Trans, 1, w, 0, dense.Symmetric(n, vectors))
	values, _ := dense.Eigen(n, vectors)
	out := make([]float64, 0, n*m)
	for k := 2; k < n; k++ {
		for i := range n {
			out = append(out, vectors[i*n+k]/math.Sqrt(values[k]))
		}
	}
	return out
}

// splineMomentsSize returns the number of sums that addSplineMoments adds to.
func splineMomentsSize(curves []Curve) (n int) {
	for i := range curves {
		n += dense.Triangle(2 + curves[i].Width())
	}
	return n
}

// addSplineMoments adds weighted products at a row x of features to sums, an upper triangle by rows for
// every curve of d. The factors are 1, the standardised feature limited to the knots, and the curve's
// columns, at numbers that are moved.
func addSplineMoments(sums []float64, d *Design, x, moves []float64, weight float64) {
	for i := range d.Curves {
		c := &d.Curves[i]
		v := d.filled(x, c.Feature)
		if len(moves) > 0 {
			v += moves[i]
		}
		own := append(make([]float64, 0, 2+mostKnots), 1, 0)[:2+c.Width()]
		own[1] = (min(max(v, c.Knots[0]), c.Knots[len(c.Knots)-1]) - d.Center[c.Feature]) / d.Scale[c.Feature]
		c.apply(own[2:], v)
		for a, v := range own { // plain loops, so that own stays on the stack
			for b, u := range own[a:] {
				sums[b] += float64(weight * v * u)
			}
			sums = sums[len(own)-a:]
		}
	}
}

// nearly reports whether the numbers of another processor are own ones but for rounding.
func nearly(own, told []float64) bool {
	const rounding = 1e-6
	most := rounding * rounded.MaxNorm(own)
	for i, v := range told {
		if !(math.Abs(v-own[i]) <= most) {
			return false
		}
	}
	return true
}

// projectSplines makes the columns of every curve of d orthogonal to 1 and to the feature limited to the
// knots. It divides them so that the mean of their sum of squares is 1. addSplineMoments has added the
// training rows to sums; without rows the values are not finite.
//
// It reports whether the sums are possible: the slope that is taken from a column is a mean of its slopes. A
// column of another slope would be nearly the feature limited to the knots. Less the feature itself it would
// be 0 in all rows but the rows beyond the knots.
func projectSplines(d *Design, sums []float64) (possible bool) {
	possible = true
	d.Curves = slices.Clone(d.Curves)
	for i, c := range d.Curves {
		m, k := c.Width(), len(c.Knots)
		moments := make([]float64, (2+m)*(2+m))
		dense.Unpack(moments, 2+m, sums)
		sums = sums[dense.Triangle(2+m):]
		values, ones, feature := slices.Clone(c.Values), moments[:2+m], moments[2+m:][:2+m]
		n, sx, sxx := ones[0], ones[1], feature[1]
		squares := 0.0
		for j := range m {
			z, zx := ones[2+j], feature[2+j]
			slope := (float64(n*zx) - float64(sx*z)) / (float64(n*sxx) - float64(sx*sx))
			level := (z - float64(slope*sx)) / n
			least, most := c.slopes(j, d.Scale[c.Feature])
			possible = possible && slope >= least-float64(slack*(most-least)) &&
				slope <= most+float64(slack*(most-least))
			squares += moments[(2+j)*(3+m)] - float64(level*z) - float64(slope*zx)
			for i, knot := range c.Knots {
				values[j*k+i] -= level + slope*(knot-d.Center[c.Feature])/d.Scale[c.Feature]
			}
		}
		floats.Scale(1/math.Sqrt(squares/n), values)
		d.Curves[i] = newCurve(c.Feature, c.Knots, values)
	}
	return possible
}

// slopes returns the least and the largest slope of a column between the knots, where the feature counts in
// units of scale.
func (c *Curve) slopes(column int, scale float64) (least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	unit := scale / (c.Knots[len(c.Knots)-1] - c.Knots[0])
	for i, piece := range c.pieces {
		f := &c.cubics[i*c.width+column]
		note := func(t float64) {
			slope := unit * piece * (f[1] + float64(t*(float64(2*f[2])+float64(t*3*f[3]))))
			least, most = min(least, slope), max(most, slope)
		}
		note(0)
		note(1)
		if top := -f[2] / (3 * f[3]); top > 0 && top < 1 { // false for NaN
			note(top)
		}
	}
	return least, most
}
