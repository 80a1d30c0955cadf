package mixed

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/interp"
)

// A Design maps a row of table features to the columns that a model multiplies by coefficients:
// the constant 1, one standardised column per table feature, and the columns of the curves.
// It is read-only once it is in use, and then safe for concurrent use.
type Design struct {
	// Fill replaces NaN in a row; it has one entry per table feature, in the feature's unit.
	Fill []float64
	// Center and Scale standardise the table features, (x - Center) / Scale.
	// A feature whose Scale is 0 was constant; its column is always 0.
	Center, Scale []float64
	// Curves are listed in the order of their columns.
	Curves []Curve
}

// A Curve holds the columns of a natural cubic spline in one table feature.
// The feature is limited to [Knots[0], Knots[last]] first.
type Curve struct {
	Feature int       // index of the table feature
	Knots   []float64 // at least 3, strictly increasing, in the feature's unit
	// Values holds the columns at the knots, one row of len(Knots) numbers per column.
	Values []float64

	at     []float64 // the knots on a scale from 0 to 1
	slopes []float64 // of every column at every knot, in the order of Values
}

// A ColumnKind distinguishes the columns of a Design.
type ColumnKind int

// The kinds of columns.
const (
	Constant ColumnKind = iota // 1 in every row
	Linear                     // a standardised feature
	Bend                       // a column of a curve
)

// A Column describes one column of a Design.
type Column struct {
	Kind    ColumnKind
	Feature int // index of the table feature; -1 for the constant
	Curve   int // index in Curves; -1 unless Kind is Bend
	Index   int // number of the column within its curve, from 0 on
}

// NewCurve returns the curve with the given knots and column values, and prepares its evaluation.
// The curve keeps both slices, which must not change afterwards. [New] reports slices that do not fit.
func NewCurve(feature int, knots, values []float64) Curve {
	c := Curve{Feature: feature, Knots: knots, Values: values}
	if c.check() != nil {
		return c
	}
	c.at, c.slopes = make([]float64, len(knots)), make([]float64, len(values))
	for i, x := range knots {
		c.at[i] = c.place(x)
	}
	for j := range c.Width() {
		var spline interp.NaturalCubic
		// The equations of increasing knots are diagonally dominant: they always have a solution.
		if err := spline.Fit(c.at, values[j*len(knots):][:len(knots)]); err != nil {
			panic(err)
		}
		for i, x := range c.at {
			c.slopes[j*len(knots)+i] = spline.PredictDerivative(x)
		}
	}
	return c
}

// Width returns the number m of columns of the curve.
func (c *Curve) Width() int { return len(c.Values) / max(len(c.Knots), 1) }

// check reports knots and values that do not define a spline.
func (c *Curve) check() error {
	k := len(c.Knots)
	if k < 3 || len(c.Values) == 0 || len(c.Values)%k != 0 || notFinite(c.Knots) >= 0 || notFinite(c.Values) >= 0 {
		return fmt.Errorf("it has %d knots and %d values: at least 3 finite knots, and as many finite values per column, are required",
			k, len(c.Values))
	}
	for i := range k - 1 {
		if !(c.place(c.Knots[i+1]) > c.place(c.Knots[i])) {
			return fmt.Errorf("knot %d is %v, and the next %v: knots must increase", i, c.Knots[i], c.Knots[i+1])
		}
	}
	return nil
}

// place returns the place of x on a scale where the first knot is at 0 and the last one at 1.
func (c *Curve) place(x float64) float64 {
	first, last := c.Knots[0], c.Knots[len(c.Knots)-1]
	return (x - first) / (last - first)
}

// apply sets dst, of Width entries, to the columns of the curve at x. The splines are constant
// before the first knot and after the last one.
func (c *Curve) apply(dst []float64, x float64) {
	x = min(max(c.place(x), 0), 1)
	i := 0
	for i+2 < len(c.at) && x > c.at[i+1] {
		i++
	}
	// Hermite's form on [at_i, at_i+1], from values and slopes at both ends.
	h := c.at[i+1] - c.at[i]
	t := (x - c.at[i]) / h
	v1 := t * t * (3 - 2*t)
	s0, s1 := h*t*(1-t)*(1-t), h*t*t*(t-1)
	for j := range dst {
		k := j*len(c.at) + i
		dst[j] = (1-v1)*c.Values[k] + v1*c.Values[k+1] + s0*c.slopes[k] + s1*c.slopes[k+1]
	}
}

// Width returns the number P of columns.
func (d *Design) Width() int {
	p := 1 + len(d.Scale)
	for i := range d.Curves {
		p += d.Curves[i].Width()
	}
	return p
}

// Apply sets dst, of Width entries, to the columns of the table row x, which has one entry per
// table feature and is not changed. NaN counts as Fill. The slices must not overlap.
func (d *Design) Apply(dst, x []float64) {
	dst[0] = 1
	for j, s := range d.Scale {
		dst[1+j] = 0
		if s > 0 {
			dst[1+j] = (d.filled(x, j) - d.Center[j]) / s
		}
	}
	at := 1 + len(d.Scale)
	for i := range d.Curves {
		c := &d.Curves[i]
		c.apply(dst[at:][:c.Width()], d.filled(x, c.Feature))
		at += c.Width()
	}
}

// filled returns feature j of a row, or Fill[j] where it is missing.
func (d *Design) filled(x []float64, j int) float64 {
	if math.IsNaN(x[j]) {
		return d.Fill[j]
	}
	return x[j]
}

// Columns describes the Width columns in their order.
func (d *Design) Columns() []Column {
	list := []Column{{Kind: Constant, Feature: -1, Curve: -1}}
	for j := range d.Scale {
		list = append(list, Column{Kind: Linear, Feature: j, Curve: -1})
	}
	for i := range d.Curves {
		for k := range d.Curves[i].Width() {
			list = append(list, Column{Kind: Bend, Feature: d.Curves[i].Feature, Curve: i, Index: k})
		}
	}
	return list
}

// check reports curves that the features do not have, or that are not splines.
func (d *Design) check(features int) error {
	for i := range d.Curves {
		c := &d.Curves[i]
		if c.Feature < 0 || c.Feature >= features {
			return fmt.Errorf("curve %d is of feature %d: the table has %d", i, c.Feature, features)
		}
		if err := c.check(); err != nil {
			return fmt.Errorf("curve %d: %w", i, err)
		}
	}
	return nil
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// notFinite returns the index of the first entry that is NaN or infinite; -1 if all are finite.
func notFinite(list []float64) int {
	return slices.IndexFunc(list, func(v float64) bool { return !finite(v) })
}
