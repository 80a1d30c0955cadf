package mixed

import (
	"fmt"
	"math"
	"slices"
)

// A Period holds the columns of a number with few values that nearly all tasks share, such as a year: one for
// each value, 1 there and 0 elsewhere. Their effects are in the mean alone, without deviations of tasks. A
// value that is not in the list has none of the columns, and neither has a missing one.
type Period struct {
	Feature int // index of the table feature
	// Values, from 1 to 60 different ones, in the feature's unit; NaN for a value that only tables of
	// other owners have.
	Values []float64
	// Deviation is the prior standard deviation of the effect of a value, in standardised targets.
	Deviation float64
}

// place returns the place of a value, -1 for one that is not there.
func (p *Period) place(x float64) int { return slices.Index(p.Values, x) }

// apply sets dst, with an entry for each value, to the columns of the period at x.
func (p *Period) apply(dst []float64, x float64) {
	clear(dst)
	if k := p.place(x); k >= 0 {
		dst[k] = 1
	}
}

// check reports values and a deviation that no period has.
func (p *Period) check(features int) error {
	if p.Feature < 0 || p.Feature >= features {
		return fmt.Errorf("it is of feature %d: the table has %d", p.Feature, features)
	}
	if n := len(p.Values); n == 0 || n > mostValues {
		return fmt.Errorf("it has %d values: 1 to %d are required", n, mostValues)
	}
	for k, v := range p.Values {
		if math.IsInf(v, 0) || p.place(v) < k && !math.IsNaN(v) {
			return fmt.Errorf("value %d is %v: values are finite, and different", k, v)
		}
	}
	if !(p.Deviation >= deviationLimits.least && p.Deviation <= deviationLimits.most) {
		return fmt.Errorf("the deviation is %v: it must be finite%s", p.Deviation, deviationLimits)
	}
	return nil
}

// variance returns the variance of the effect of a new value, widened for the number of values that the
// deviation is known from.
func (p *Period) variance() float64 {
	return square(p.Deviation * interval95(float64(max(len(p.Values)-1, 1))))
}

// meanGroups returns the number of groups of columns whose means share a strength.
func (d *Design) meanGroups() int { return 1 + len(d.Curves) + len(d.Periods) }

// groups returns the group of every column: 0 for linear ones, then one for each curve and for each period.
func (d *Design) groups() []int {
	list := make([]int, 0, d.Width())
	for _, c := range d.Columns() {
		group := 0
		switch c.Kind {
		case CurveColumn:
			group = 1 + c.Curve
		case PeriodColumn:
			group = 1 + len(d.Curves) + c.Period
		}
		list = append(list, group)
	}
	return list
}
