package fit

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Limits of curves.
const (
	leastDistinct = 5      // distinct training values of the feature
	leastKnots    = 4      // distinct quantiles
	leastGap      = 1e-4   // between knots, as a share of their range: the basis is exact to rounding
	manyFeatures  = 8      // numeric features above which curves have few knots
	knots         = 8      // knots otherwise, but
	mostKnots     = 12     // one at every distinct value if these are no more
	fewKnots      = 5      // knots with many features
	widest        = 300    // columns of a design with curves
	sampleRows    = 20_000 // training rows for quantiles and distinct values
	sampleEntries = 2e6    // numbers in these rows
)

// constantSD is the standard deviation, relative to the largest value, below which a feature counts as
// constant.
const constantSD = 1e-12

// A columnStat holds the moments of a feature over training rows with a value.
type columnStat struct {
	level        bool // a level of a categorical column
	mean, sd     float64
	least, most  float64
	weight       float64
	whole, rises bool // all values are whole numbers; values increase along the table
	last         float64
}

// newDesign returns the columns of the table's features over the training rows: standardised with weights,
// and curves where curves is true and there are at most 300 columns in all; crowded reports that curves
// were left out for that.
func (r *rows) newDesign(curves bool) (d mixed.Design, crowded bool) {
	d.Fill, d.Center, d.Scale = make([]float64, len(r.stats)), make([]float64, len(r.stats)), make([]float64, len(r.stats))
	for j := range r.stats {
		s := &r.stats[j]
		d.Fill[j], d.Center[j] = s.mean, s.mean
		if s.weight > 0 && s.sd > constantSD*max(math.Abs(s.mean), math.Abs(s.most), math.Abs(s.least)) {
			d.Scale[j] = s.sd
		}
	}
	if !curves {
		return d, false
	}
	candidates := r.curves(&d)
	p := d.Width()
	for _, c := range candidates {
		p += c.Width()
	}
	if p > widest {
		return d, len(candidates) > 0
	}
	d.Curves = candidates
	return d, false
}

// describe computes the moments of all features, in one pass over training rows and a second one for
// deviations.
func (r *rows) describe() {
	n := len(r.t.Features())
	r.stats = make([]columnStat, n)
	at := 0
	for _, column := range r.t.Schema().Columns {
		levels, ok := r.t.Schema().Levels(column)
		for range max(len(levels), 1) {
			r.stats[at] = columnStat{level: ok, least: math.Inf(1), most: math.Inf(-1), whole: true, rises: true, last: math.Inf(-1)}
			at++
		}
	}
	for _, second := range []bool{false, true} {
		r.each(func(x []float64, w float64) {
			for j, v := range x {
				if !math.IsNaN(v) {
					r.stats[j].add(v, w, second)
				}
			}
		})
	}
	for j := range r.stats {
		s := &r.stats[j]
		s.sd = math.Sqrt(s.sd / max(s.weight, 1e-300))
	}
}

func (s *columnStat) add(v, w float64, second bool) {
	if second {
		s.sd += w * (v - s.mean) * (v - s.mean)
		return
	}
	s.weight += w
	s.mean += w / s.weight * (v - s.mean)
	s.least, s.most = min(s.least, v), max(s.most, v)
	s.whole = s.whole && v == math.Trunc(v)
	s.rises = s.rises && v > s.last
	s.last = v
}

// curves returns the curves of all numeric features with enough distinct values, projected off 1 and the
// feature.
func (r *rows) curves(d *mixed.Design) (list []mixed.Curve) {
	var numeric []int
	for j := range r.stats {
		if !r.stats[j].level && d.Scale[j] > 0 {
			numeric = append(numeric, j)
		}
	}
	few := len(numeric) > manyFeatures
	for i, x := range r.sample(numeric) {
		if k := knotsOf(x, few); k != nil {
			list = append(list, Spline(numeric[i], k, d.Scale[numeric[i]]))
		}
	}
	with := *d
	with.Curves = list
	sums, row := make([]float64, MomentsSize(list)), make([]float64, with.Width())
	r.each(func(x []float64, w float64) {
		with.Apply(row, x)
		AddMoments(sums, &with, row, w)
	})
	Project(&with, sums)
	return with.Curves
}

// sample returns the values of the given features in training rows, evenly spaced ones where there are many.
func (r *rows) sample(features []int) [][]float64 {
	out := make([][]float64, len(features))
	n := min(len(r.order), sampleRows, max(int(sampleEntries)/max(len(features), 1), 100))
	x := make([]float64, len(r.stats))
	for i := range n {
		r.t.X(x, int(r.order[int(float64(i)*float64(len(r.order))/float64(n))]))
		for k, j := range features {
			if !math.IsNaN(x[j]) {
				out[k] = append(out[k], x[j])
			}
		}
	}
	return out
}

// knotsOf sorts values and returns knots: the distinct values where these are few, otherwise quantiles, equal
// ones once; nil where there are too few for a curve.
func knotsOf(x []float64, few bool) (k []float64) {
	slices.Sort(x)
	count, distinct := knots, slices.Compact(slices.Clone(x))
	switch {
	case len(distinct) < leastDistinct:
		return nil
	case few:
		count = fewKnots
	case len(distinct) <= mostKnots:
		x, count = distinct, len(distinct)
	}
	for _, p := range floats.Span(make([]float64, count), 0, 1) {
		at := p * float64(len(x)-1)
		i := min(int(at), len(x)-2)
		v := x[i] + (at-float64(i))*(x[i+1]-x[i])
		if len(k) == 0 || v > k[len(k)-1]+leastGap*(x[len(x)-1]-x[0]) {
			k = append(k, v)
		}
	}
	if len(k) < leastKnots {
		return nil
	}
	return k
}

// Spline returns the curve of a feature with the natural basis of its knots; x counts in units of scale.
func Spline(feature int, knots []float64, scale float64) mixed.Curve {
	return mixed.NewCurve(feature, knots, naturalBasis(knots, scale))
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
	// Penalty = Q R^-1 Q' (Green and Silverman 1994): second derivatives R^-1 Q'f of the spline with values
	// f.
	q, r := mat.NewDense(n, n-2, nil), mat.NewSymDense(n-2, nil)
	for j := range n - 2 {
		q.Set(j, j, 1/h[j])
		q.Set(j+1, j, -1/h[j]-1/h[j+1])
		q.Set(j+2, j, 1/h[j+1])
		r.SetSym(j, j, (h[j]+h[j+1])/3)
		if j > 0 {
			r.SetSym(j-1, j, h[j]/6)
		}
	}
	var chol mat.Cholesky
	var right, penalty mat.Dense
	chol.Factorize(r) // diagonally dominant
	_ = chol.SolveTo(&right, q.T())
	penalty.Mul(q, &right)
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, penalty.At(i, j))
		}
	}
	var eigen mat.EigenSym
	eigen.Factorize(sym, true)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil)
	out := make([]float64, 0, n*(n-2))
	for k := 2; k < n; k++ {
		for i := range n {
			out = append(out, vectors.At(i, k)/math.Sqrt(values[k]))
		}
	}
	return out
}

// MomentsSize returns the number of sums that AddMoments adds to.
func MomentsSize(curves []mixed.Curve) (n int) {
	for i := range curves {
		n += dense.Triangle(2 + curves[i].Width())
	}
	return n
}

// AddMoments adds to sums, for every curve of d, the weighted products of 1, the standardised feature limited
// to the knots, and the curve's columns in one row of the design: an upper triangle by rows for each.
func AddMoments(sums []float64, d *mixed.Design, row []float64, weight float64) {
	at := 1 + len(d.Scale)
	for i := range d.Curves {
		c := &d.Curves[i]
		own := append(make([]float64, 0, 2+mostKnots), 1, 0)
		own = append(own, row[at:at+c.Width()]...)
		center, scale := d.Center[c.Feature], d.Scale[c.Feature]
		own[1] = min(max(row[1+c.Feature], (c.Knots[0]-center)/scale), (c.Knots[len(c.Knots)-1]-center)/scale)
		for a, v := range own { // plain loops, so that own stays on the stack
			for b, u := range own[a:] {
				sums[b] += weight * v * u
			}
			sums = sums[len(own)-a:]
		}
		at += c.Width()
	}
}

// Project makes the columns of every curve of d orthogonal to 1 and to the feature limited to the knots, and
// divides them so that the mean of their sum of squares is 1. AddMoments has added the training rows to sums;
// without rows the values are not finite.
func Project(d *mixed.Design, sums []float64) {
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
			slope := (n*zx - sx*z) / (n*sxx - sx*sx)
			level := (z - slope*sx) / n
			squares += moments[(2+j)*(3+m)] - level*z - slope*zx
			for i, knot := range c.Knots {
				values[j*k+i] -= level + slope*(knot-d.Center[c.Feature])/d.Scale[c.Feature]
			}
		}
		floats.Scale(1/math.Sqrt(squares/n), values)
		d.Curves[i] = mixed.NewCurve(c.Feature, c.Knots, values)
	}
}

// newTarget returns the standardisation of the target over the training rows.
func (r *rows) newTarget(column string, log bool) mixed.Target {
	y, w := make([]float64, len(r.order)), make([]float64, len(r.order))
	for k, i := range r.order {
		y[k], w[k] = r.value(int(i), log), r.weight(int(i))
	}
	mean, variance := stat.PopMeanVariance(y, w)
	scale := math.Sqrt(variance)
	if !(scale > constantSD*math.Abs(mean)) {
		scale = max(math.Abs(mean), 1) // equal targets
	}
	return mixed.Target{Column: column, Center: mean, Scale: scale, Log: log}
}
