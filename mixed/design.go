package mixed

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

// A Design maps a row of table features to the columns that a model multiplies by coefficients: the constant
// 1, one standardised column per table feature, and the columns of the curves and of the periods. For a table
// with more features than rows, the places of the row along Axes, and its distance from their span, replace
// the standardised features. A design is read-only once it is in use, and then safe for concurrent use.
type Design struct {
	// Fill replaces NaN in a row; it has one entry per table feature, in the feature's unit.
	Fill []float64
	// Center and Scale standardise the table features, (x - Center) / Scale.
	// A feature whose Scale is 0 was constant; its column is always 0.
	Center, Scale []float64
	// Axes are K orthogonal rows of one length, of an entry per table feature: K <= f. Let s be the
	// standardised features of a row and a the length of an axis. The linear columns are Axes s, K
	// numbers, and sqrt(a^2 |s|^2 - |Axes s|^2), which is 0 in the span of the axes. nil: the linear
	// columns are s.
	Axes []float64
	// Curves are listed in the order of their columns. A design with axes has none.
	Curves []Curve
	// Periods are listed in the order of their columns, which follow the columns of curves. A design with
	// axes has no periods.
	Periods []Period
}

// A Curve holds the columns of a natural cubic spline in one table feature.
// The feature is limited to [Knots[0], Knots[last]] first.
type Curve struct {
	Feature int       // index of the table feature
	Knots   []float64 // at least 3, strictly increasing, in the feature's unit
	// Values holds the columns at the knots, one row of len(Knots) numbers per column.
	Values []float64

	at     []float64    // the knots on a scale from 0 to 1
	pieces []float64    // 1 over the lengths of the pieces between knots, on that scale
	width  int          // number of columns
	cubics [][4]float64 // of the columns of the first piece, then of the second ...
}

// A ColumnKind distinguishes the columns of a Design.
type ColumnKind int

// The kinds of columns.
const (
	ConstantColumn ColumnKind = iota // 1 in every row
	LinearColumn                     // a standardised feature, a place on an axis, or the distance from all
	CurveColumn                      // a column of a curve
	PeriodColumn                     // 1 at one value of a period, otherwise 0
)

// A Column describes one column of a Design.
type Column struct {
	Kind    ColumnKind
	Feature int // index of the table feature; -1 for the constant, and for axes
	Curve   int // index in Curves; -1 unless Kind is CurveColumn
	Period  int // index in Periods; -1 unless Kind is PeriodColumn
	Index   int // number of the column within its curve or period, from 0 on
}

// newCurve returns the curve with the given knots and column values, and prepares its evaluation.
// The curve keeps both slices, which must not change afterwards. [New] reports slices that do not fit.
func newCurve(feature int, knots, values []float64) Curve {
	c := Curve{Feature: feature, Knots: knots, Values: values}
	if c.check() != nil {
		return c
	}
	k, m := len(knots), c.Width()
	c.width = m
	c.at, c.pieces, c.cubics = make([]float64, k), make([]float64, k-1), make([][4]float64, (k-1)*m)
	for i, x := range knots {
		c.at[i] = c.place(x)
	}
	for i := range c.pieces {
		c.pieces[i] = 1 / (c.at[i+1] - c.at[i])
	}
	for j := range m {
		v := values[j*k:][:k]
		slopes := naturalSlopes(c.pieces, v)
		for i, unit := range c.pieces { // Hermite's form, from values and slopes at both ends
			s0, s1 := slopes[i]/unit, slopes[i+1]/unit
			c.cubics[i*m+j] = [4]float64{v[i], s0, float64(3*(v[i+1]-v[i])) - float64(2*s0) - s1, 2*(v[i]-v[i+1]) +
				s0 + s1}
		}
	}
	return c
}

// naturalSlopes returns the slopes at the knots of the natural cubic spline with the given values there.
// Units are 1 over the distances of knots. The slopes solve a tridiagonal system, which is diagonally
// dominant, so that elimination needs no pivots.
func naturalSlopes(units, values []float64) []float64 {
	slopes, diagonal := make([]float64, len(values)), make([]float64, len(values))
	for i, u := range units {
		change := float64(3 * (values[i+1] - values[i]) * u * u)
		diagonal[i] += 2 * u
		diagonal[i+1] += 2 * u
		slopes[i] += change
		slopes[i+1] += change
	}
	for i, u := range units {
		by := u / diagonal[i]
		diagonal[i+1] -= float64(by * u)
		slopes[i+1] -= float64(by * slopes[i])
	}
	last := len(values) - 1
	slopes[last] /= diagonal[last]
	for i := last - 1; i >= 0; i-- {
		slopes[i] = (slopes[i] - float64(units[i]*slopes[i+1])) / diagonal[i]
	}
	return slopes
}

// Width returns the number m of columns of the curve.
func (c *Curve) Width() int { return len(c.Values) / max(len(c.Knots), 1) }

// check reports knots and values that do not define a spline.
func (c *Curve) check() error {
	k := len(c.Knots)
	if k < 3 || len(c.Values) == 0 || len(c.Values)%k != 0 || notFinite(c.Knots) >= 0 {
		const format = "it has %d knots and %d values: at least 3 finite knots, and as many values per " +
			"column, are required"
		return fmt.Errorf(format, k, len(c.Values))
	}
	values := array{"values", &c.Values, []int{len(c.Values)}, coefficientLimits}
	if err := values.check(); err != nil {
		return err
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
	at := c.at
	last := len(at) - 1
	x = (x - c.Knots[0]) / (c.Knots[last] - c.Knots[0])
	switch { // in place of min and max, which also order zeros by sign
	case !(x > 0):
		x = 0
	case x > 1:
		x = 1
	}
	piece := 0
	// The sign of a difference, since the processor would mispredict a branch.
	for _, knot := range at[1:last] {
		piece += int(math.Float64bits(knot-x) >> 63)
	}
	t := (x - at[piece]) * c.pieces[piece]
	cubics := c.cubics[piece*len(dst):][:len(dst)]
	for j := range dst {
		f := &cubics[j]
		dst[j] = f[0] + float64(t*(f[1]+float64(t*(f[2]+float64(t*f[3])))))
	}
}

// Width returns the number P of columns.
func (d *Design) Width() int {
	p := 1 + d.linear()
	for i := range d.Curves {
		p += d.Curves[i].Width()
	}
	for i := range d.Periods {
		p += len(d.Periods[i].Values)
	}
	return p
}

// linear returns the number of columns between the constant and the columns of curves.
func (d *Design) linear() int {
	if d.Axes == nil {
		return len(d.Scale)
	}
	return d.axes() + 1
}

// distance returns the index of the column that is the distance from all axes; -1 for a design without axes.
func (d *Design) distance() int {
	if d.Axes == nil {
		return -1
	}
	return d.axes() + 1
}

// axes returns the number of axes.
func (d *Design) axes() int { return len(d.Axes) / max(len(d.Scale), 1) }

// Apply sets dst, of Width entries, to the columns of the table row x, which has one entry per
// table feature and is not changed. NaN counts as Fill. The slices must not overlap.
func (d *Design) Apply(dst, x []float64) { d.apply(dst, x, nil) }

// applyMoved is Apply where curves are functions of numbers that are moved, each by an entry of moves; none
// are moved where it is empty.
func (d *Design) applyMoved(dst, x, moves []float64) {
	d.Apply(dst, x)
	if len(moves) == 0 {
		return
	}
	at := 1 + d.linear()
	for i := range d.Curves {
		c := &d.Curves[i]
		c.apply(dst[at:][:c.width], d.filled(x, c.Feature)+moves[i])
		at += c.width
	}
}

// apply is Apply for a row where the levels of the given categories count as the mean of their columns.
func (d *Design) apply(dst, x []float64, mean []category) {
	dst[0] = 1
	if d.Axes == nil {
		d.standardise(dst[1:], x, mean)
	} else {
		standard := make([]float64, len(d.Scale))
		d.standardise(standard, x, mean)
		copy(dst[1:], d.project(standard))
	}
	at := 1 + d.linear()
	for i := range d.Curves {
		c := &d.Curves[i]
		c.apply(dst[at:][:c.width], d.filled(x, c.Feature))
		at += c.width
	}
	for i := range d.Periods {
		p := &d.Periods[i]
		p.apply(dst[at:][:len(p.Values)], x[p.Feature])
		at += len(p.Values)
	}
}

// standardise sets dst to the standardised features of a row, 0 for levels of the given categories.
func (d *Design) standardise(dst, x []float64, mean []category) {
	for j, s := range d.Scale {
		dst[j] = 0
		if s > 0 {
			dst[j] = (d.filled(x, j) - d.Center[j]) / s
		}
	}
	for i := range mean {
		clear(dst[mean[i].first:][:mean[i].levels])
	}
}

// project returns the places of standardised features along the axes, and their distance from the span.
func (d *Design) project(standard []float64) []float64 {
	f, along, dst := len(standard), 0.0, make([]float64, d.linear())
	for k := range d.axes() {
		dst[k] = rounded.Dot(d.Axes[k*f:][:f], standard)
		along += float64(dst[k] * dst[k])
	}
	dst[d.axes()] = math.Sqrt(max(float64(square(d.length())*rounded.Dot(standard, standard))-along, 0))
	return dst
}

// length returns the length of an axis, 0 for a design without axes.
func (d *Design) length() float64 {
	if d.Axes == nil {
		return 0
	}
	return rounded.Norm(d.Axes[:len(d.Scale)])
}

// A term is a multiple of a standardised feature.
type term struct {
	feature int
	factor  float64
}

// Slope sets dst, of Width entries, to the columns of a straight effect: their product with coefficients is
// the effect of one standard deviation of a table feature.
func (d *Design) Slope(dst []float64, feature int) { d.combination(dst, d.length(), term{feature, 1}) }

// combination sets dst, of Width entries, to the columns for which the product with coefficients is the sum
// of the terms. length is the length of an axis.
func (d *Design) combination(dst []float64, length float64, terms ...term) {
	clear(dst)
	f, along, all := len(d.Scale), 0.0, 0.0
	if d.Axes == nil {
		for _, t := range terms {
			dst[1+t.feature] += t.factor
		}
		return
	}
	for k := range d.axes() {
		for _, t := range terms {
			dst[1+k] += float64(t.factor * d.Axes[k*f+t.feature])
		}
		along += float64(dst[1+k] * dst[1+k])
	}
	for _, t := range terms { // features differ
		all += float64(t.factor * t.factor)
	}
	dst[d.distance()] = math.Sqrt(max(float64(square(length)*all)-along, 0))
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
	list := []Column{{Kind: ConstantColumn, Feature: -1, Curve: -1, Period: -1}}
	for j := range d.linear() {
		c := Column{Kind: LinearColumn, Feature: j, Curve: -1, Period: -1}
		if d.Axes != nil {
			c.Feature = -1
		}
		list = append(list, c)
	}
	for i := range d.Curves {
		for k := range d.Curves[i].Width() {
			c := Column{Kind: CurveColumn, Feature: d.Curves[i].Feature, Curve: i, Period: -1, Index: k}
			list = append(list, c)
		}
	}
	for i := range d.Periods {
		for k := range d.Periods[i].Values {
			c := Column{Kind: PeriodColumn, Feature: d.Periods[i].Feature, Curve: -1, Period: i, Index: k}
			list = append(list, c)
		}
	}
	return list
}

// check reports axes and curves that do not fit the features, and curves that are not splines.
func (d *Design) check(features int) error {
	if err := d.checkAxes(features); err != nil {
		return err
	}
	for i := range d.Curves {
		c := &d.Curves[i]
		if c.Feature < 0 || c.Feature >= features {
			return fmt.Errorf("curve %d is of feature %d: the table has %d", i, c.Feature, features)
		}
		if err := c.check(); err != nil {
			return fmt.Errorf("curve %d: %w", i, err)
		}
	}
	for i := range d.Periods {
		if err := d.Periods[i].check(features); err != nil {
			return fmt.Errorf("period %d: %w", i, err)
		}
	}
	return nil
}

// checkAxes reports axes that have not one length, or are beside curves.
func (d *Design) checkAxes(features int) error {
	n := len(d.Axes)
	switch {
	case d.Axes == nil:
		return nil
	case features == 0 || n == 0 || n%features != 0 || n/features > features || len(d.Curves)+len(d.Periods) > 0:
		const format = "the axes have %d entries, beside %d features, %d curves and %d periods: " +
			"1 to %d axes of an entry per feature are required, without curves and periods"
		return fmt.Errorf(format, n, features, len(d.Curves), len(d.Periods), features)
	}
	entries := array{"axes", &d.Axes, []int{n}, coefficientLimits}
	if err := entries.check(); err != nil {
		return err
	}
	first := rounded.Norm(d.Axes[:features])
	for k := range n / features {
		if l := rounded.Norm(d.Axes[k*features:][:features]); !(math.Abs(l-first) <= 1e-6*first) || first == 0 {
			const format = "array %q: axis %d has the length %v, the first %v: all have one length"
			return fmt.Errorf(format, "axes", k, l, first)
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
