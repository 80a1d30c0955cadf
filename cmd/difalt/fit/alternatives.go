package fit

import (
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/model"
	"gonum.org/v1/gonum/mat"
)

// knotAt are the probabilities of the knots of a curve; a feature is clipped at the first and the last.
var knotAt = []float64{0.02, 0.18, 0.34, 0.5, 0.66, 0.82, 0.98}

// skewed is how many times as far the upper end is from the median as the lower one where a logarithm is tried.
const skewed = 2

// Of features in units that are larger or smaller third powers, as roughness has, are no numbers.
const mostUnit = 1e60

// An alternative is what may take the place of a feature.
type alternative struct {
	model.Transform
	center, scale []float64 // of its inputs
	least, most   float64   // what the feature counts as, whatever takes its place
}

// inputs sets dst to the scaled inputs for a feature x.
func (a *alternative) inputs(dst []float64, x float64) {
	a.Apply(dst, x)
	for i, c := range a.center {
		dst[i] = (dst[i] - c) / a.scale[i]
	}
}

// stronger returns the alternative with splines of which the coefficients may be so many times as large.
func (a *alternative) stronger(s float64) *alternative {
	b := *a
	b.scale = slices.Clone(a.scale)
	for i := range b.scale[1:] {
		b.scale[i+1] /= s
	}
	return &b
}

// own returns the inputs of a row of a table that are not the feature itself.
func (a *alternative) own(dst []float64, x float64) []float64 {
	dst = dst[:a.Width()]
	a.Apply(dst, x)
	if a.Width() > 1 {
		return dst[1:]
	}
	return dst
}

// alternatives returns those of the given kinds of some features, in their order; a curve of the logarithm comes after the logarithm and the curve.
func (d *design) alternatives(ctx context.Context, features []int, kinds ...string) (out []*alternative, err error) {
	probabilities := append([]float64{0}, knotAt...)
	if !d.owners { // who need not tell where their columns end
		probabilities = append(probabilities, 1)
	}
	quantiles, err := d.quantiles(ctx, features, probabilities)
	if err != nil {
		return nil, err
	}
	for f, j := range features {
		all := quantiles[f]
		least, most, q := all[0], all[len(all)-1], slices.Compact(slices.Clone(all[1:1+len(knotAt)]))
		n := len(q)
		if n < 3 {
			continue
		}
		middle, width := q[n/2], q[n-1]-q[0]
		logarithmic := least > 0 && q[n-1]-middle > skewed*(middle-q[0])
		for _, kind := range kinds {
			a := &alternative{Transform: model.Transform{Feature: j, Kind: kind}, least: least - width, most: most + width}
			switch kind {
			case model.Clipped:
				a.Knots = []float64{q[0], q[n-1]}
			case model.Logarithmic:
				if a.Knots = []float64{least}; !logarithmic {
					continue
				}
			default:
				if s := d.Scale[j]; s > mostUnit || s < 1/mostUnit {
					continue
				}
				knots, values := slices.Clone(q), make([]float64, n*n)
				if kind == model.LogCurved {
					if knots[0] = least; !logarithmic {
						continue
					}
				}
				for i := range n {
					values[i*n+i] = 1
				}
				a.Transform = model.NewCurve(kind, j, knots, values)
			}
			out = append(out, a)
		}
	}
	err = d.scaleAlternatives(ctx, out)
	return slices.DeleteFunc(out, func(a *alternative) bool { return a.scale == nil }), err
}

// scaleAlternatives sets their scales, and takes splines in place of those that are 1 at a knot each and 0 at the others: uncorrelated with one another
// and with the feature over the training rows, the smoothest first (Demmler and Reinsch 1975). The nodes add up the sums and products of inputs.
func (d *design) scaleAlternatives(ctx context.Context, list []*alternative) error {
	var l nodes.Layout
	rows := l.Span(1)
	spans, about, unit := make([]nodes.Span, len(list)), make([]float64, len(list)), make([]float64, len(list))
	for k, a := range list {
		n := len(a.Knots)
		unit[k] = 1
		if a.Width() == 1 { // about a value near the mean
			n = 1
			a.Apply(about[k:k+1], d.Center[a.Feature])
		}
		if a.Kind == model.Clipped { // squares are in range
			unit[k] = d.Scale[a.Feature]
		}
		spans[k] = l.Span(n * (n + 3) / 2)
	}
	x, stack := make([]float64, len(d.t.Features())), make([]float64, len(knotAt)+1)
	sums, err := d.sumTraining(ctx, l.Len, func(i int, out []float64) {
		weight := d.weightOf(i)
		rows.Add(out, weight)
		d.filled(x, i)
		for k, a := range list {
			u, s := a.own(stack, x[a.Feature]), spans[k].Of(out)
			for p := range u {
				v := weight * (u[p] - about[k]) / unit[k]
				s[0] += v
				for q, w := range u[p:] {
					s[q+1] += v * (w - about[k]) / unit[k]
				}
				s = s[len(u)-p+1:]
			}
		}
	})
	if err != nil {
		return err
	}
	n := rows.First(sums)
	for k, a := range list {
		s := spans[k].Of(sums)
		switch a.Kind {
		case model.Curved:
			a.makeCurve(s, n, d.Center[a.Feature], d.Scale[a.Feature])
			continue
		case model.LogCurved: // of the logarithm, which is the alternative two before
			a.makeCurve(s, n, list[k-2].center[0], list[k-2].scale[0])
			continue
		}
		mean := s[0] / n
		a.center, a.scale = []float64{mean*unit[k] + about[k]}, []float64{math.Sqrt(max(s[1]/n-mean*mean, 0)) * unit[k]}
		if a.scale[0] == 0 {
			a.scale[0] = 1
		}
	}
	return nil
}

// makeCurve makes a curve by the sums of its splines over so many rows, given mean and deviation of what it is a curve of. Numbers out of range
// leave no curve.
func (a *alternative) makeCurve(sums []float64, rows, center, deviation float64) {
	values, scale := smoothFirst(&a.Transform, sums, rows)
	numbers := slices.Concat(values, scale, []float64{center, 1 / deviation})
	if values == nil || slices.ContainsFunc(numbers, func(v float64) bool { return !(math.Abs(v) <= math.MaxFloat64) }) {
		return
	}
	a.Transform = model.NewCurve(a.Kind, a.Feature, a.Knots, values)
	a.center, a.scale = make([]float64, a.Width()), append([]float64{deviation}, scale...)
	a.center[0] = center
}

// smoothFirst returns the values at knots of the splines of Demmler and Reinsch, by the sums of a spline for each knot and of their products over rows: with the
// mean products G and the roughness O, O v = rho G v. Their deviations are 1, and what they are divided by
// is the root of their rho over the smallest, as in a smoothing spline; the two of rho 0 are the feature itself and the constant.
func smoothFirst(c *model.Transform, sums []float64, rows float64) (values, scale []float64) {
	n := len(c.Knots)
	g := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			g.SetSym(i, j, sums[j-i+1]/rows)
		}
		sums = sums[n-i+1:]
	}
	least := 1e-9 * mat.Trace(g) // of a knot with few rows near it
	for i := range n {
		g.SetSym(i, i, g.At(i, i)+least)
	}
	var chol mat.Cholesky
	var l mat.TriDense
	var inner, both, vectors, v mat.Dense
	var eigen mat.EigenSym
	if !chol.Factorize(g) {
		return nil, nil
	}
	chol.LTo(&l)
	inner.Solve(&l, c.Roughness())
	both.Solve(&l, inner.T())
	symmetric := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			symmetric.SetSym(i, j, both.At(i, j))
		}
	}
	eigen.Factorize(symmetric, true)
	eigen.VectorsTo(&vectors)
	v.Solve(l.T(), &vectors)
	rho := eigen.Values(nil)
	for j := 2; j < n; j++ {
		values = append(values, mat.Col(nil, j, &v)...)
		scale = append(scale, math.Sqrt(rho[j]/rho[2]))
	}
	return values, scale
}
