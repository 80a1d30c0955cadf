package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/mat"
)

// The penalty of the basis is the identity: the integral of products of second derivatives, which are linear
// between knots, by Simpson's rule.
func TestNaturalBasisHasUnitPenalty(t *testing.T) {
	knots := []float64{-3, -1, 0.5, 2, 7}
	const k, scale = 5, 2.0
	values, second := naturalBasis(knots, scale), mat.NewDense(k, k-2, nil) // at the knots
	for j := range k - 2 {
		var s interp.NaturalCubic
		check.Done(s.Fit(knots, values[j*k:][:k]))
		for i := 1; i < k-1; i++ {
			second.Set(i, j, (s.PredictDerivative(knots[i]+1e-4)-s.PredictDerivative(knots[i]))/1e-4*scale*scale)
		}
	}
	for a := range k - 2 {
		for b := range k - 2 {
			sum := 0.0
			for i := range k - 1 {
				fa, ga, fb, gb := second.At(i, a), second.At(i+1, a), second.At(i, b), second.At(i+1, b)
				sum += (knots[i+1] - knots[i]) / scale * (fa*fb + (fa+ga)*(fb+gb) + ga*gb) / 6
			}
			if want := map[bool]float64{true: 1}[a == b]; math.Abs(sum-want) > 2e-3 {
				t.Errorf("penalty of %d and %d: %v, want %v", a, b, sum, want)
			}
		}
	}
}

// Columns are standardised with weights; curves are orthogonal to 1 and nearly to the feature, which they
// limit to their knots, and their squares sum to 1 on average.
func TestDesignOverTrainingRows(t *testing.T) {
	s := statsOf(t, weightedTable(t), true, 1)
	if len(s.design.Curves) != 2 {
		t.Fatalf("%d curves, want 2", len(s.design.Curves))
	}
	n, squares := s.tasks.rows, []float64{0, 0}
	for j := 1; j < s.p; j++ {
		c, total := s.columns[j], func(i int) float64 { return s.total[i*s.p+j] / n }
		check.FailIf(t, math.Abs(total(0)) > 1e-9 || c.Curve >= 0 && math.Abs(total(1+c.Feature)) > 2e-3,
			"column %d: mean %v, product with the feature %v", j, total(0), total(1+c.Feature))
		if c.Curve >= 0 {
			squares[c.Curve] += total(j)
		} else if math.Abs(total(j)-1) > 1e-9 {
			t.Errorf("column %d: variance %v, want 1", j, total(j))
		}
	}
	check.FailIf(t, !floats.EqualApprox(squares, []float64{1, 1}, 1e-9), "squares of curves %v: want 1", squares)
}

// withNoise returns a table with the values of a column, and with other columns and a target of noise.
func withNoise(t *testing.T, r *rand.Rand, x []float64, more int) *Data {
	t.Helper()
	names := []string{"x"}
	for j := range more {
		names = append(names, fmt.Sprint("more", j))
	}
	table, row := newTable(t, names...), make([]float64, len(names))
	for _, v := range x {
		for j := range row {
			row[j] = r.NormFloat64()
		}
		row[0] = v
		add(t, table, "a", r.NormFloat64(), row...)
	}
	return table
}

// Knots lie at every value of a column that has few, and otherwise at quantiles, to within 5 rows or a
// fiftieth of all.
func TestKnots(t *testing.T) {
	skewed, normal := make([]float64, 200), make([]float64, 1000) // 100 zeros and 0 to 99
	r := rand.New(rand.NewPCG(3, 1))
	for i := range skewed {
		skewed[i] = float64(max(i-100, 0))
	}
	for i := range normal {
		normal[i] = 1e6 + r.NormFloat64()
	}
	several := func(n int, values ...float64) []float64 { return slices.Repeat(values, n) }
	for name, c := range map[string]struct {
		x           []float64
		more        int // columns beside
		values      []float64
		least, most int // knots that are no values
	}{
		"four distinct values": {several(10, 1, 2, 3, 4), 0, nil, 0, 0},
		"few rows":             {several(2, 7, 1, 2, 3, 4, 4, 4, 3, 3), 0, nil, 0, 0},
		"a knot at each":       {several(8, 7, 1, 2, 3, 4, 4, 4, 3, 3), 0, []float64{1, 2, 3, 4, 7}, 0, 0},
		"many columns":         {normal, 8, nil, fewKnots, fewKnots},
		"most values equal":    {append(several(400, 0), 1, 2, 3, 4, 5), 0, nil, 0, 0},
		"half of them equal":   {skewed, 0, nil, 5, 5},
		"eight quantiles":      {normal, 0, nil, knots, knots},
	} {
		t.Run(name, func(t *testing.T) {
			table := withNoise(t, r, c.x, c.more)
			rows := check.OK(newRows(t.Context(), &Input{Table: table}, &Options{}))
			numeric := []int{0}
			for j := range c.more {
				numeric = append(numeric, 1+j)
			}
			if len(c.x) < leastRows {
				numeric = nil
			}
			got := append(check.OK(rows.knots(t.Context(), numeric, len(numeric) > manyFeatures)), nil)[0]
			if c.most == 0 {
				check.FailIf(t, len(got) != len(c.values) || !floats.EqualApprox(got, c.values, 1e-3),
					"knots %v, want %v", got, c.values)
				return
			}
			check.FailIf(t, len(got) < c.least || len(got) > c.most,
				"%d knots %v, want %d to %d", len(got), got, c.least, c.most)
			if c.most < fewKnots || name == "half of them equal" {
				return
			}
			sorted := slices.Sorted(slices.Values(c.x))
			for i, k := range got {
				at, _ := slices.BinarySearch(sorted, k)
				want := .5 + float64(len(sorted)-1)*float64(i)/float64(len(got)-1)
				check.FailIf(t, math.Abs(float64(at)-want) > float64(len(sorted))/50+1,
					"knot %v is above %d rows, want %v", k, at, want)
			}
		})
	}
}

// 74 columns with curves and the constant make 297 columns, which constant columns fill up to the limit.
func TestCurvesOfManyColumns(t *testing.T) {
	for more, want := range map[int]int{3: 74, 4: 0} {
		var names []string
		for j := range 74 + more {
			names = append(names, fmt.Sprint("x", j))
		}
		table, x := newTable(t, names...), make([]float64, len(names))
		for i := range 20 {
			for j := range 74 {
				x[j] = float64(i*(j+1)%19) + float64(i)/100
			}
			add(t, table, "a", 0, x...)
		}
		r := check.OK(newRows(t.Context(), &Input{Table: table}, &Options{}))
		d, tooWide, err := r.addCurves(t.Context(), r.newDesign(), nil)
		if err != nil || len(d.Curves) != want || tooWide != (want == 0) {
			t.Errorf("%d columns: %d curves of %d columns in all, too wide %v", len(names), len(d.Curves), d.Width(),
				tooWide)
		}
	}
}

// A column over many orders of magnitude, whose quantiles nearly coincide, has a curve or none, and a finite
// fit.
func TestSkewedColumn(t *testing.T) {
	for _, orders := range []float64{1, 5, 30} {
		r, table := rand.New(rand.NewPCG(1, 1)), newTable(t, "x")
		for i := range 200 {
			x := orders * r.NormFloat64()
			add(t, table, fmt.Sprint(i%10), x+r.NormFloat64(), math.Pow(10, x))
		}
		if _, report := fitted(t, table, Options{}); !(report.Scores[0].Train.RMSE < 2*orders) {
			t.Errorf("%v orders of magnitude: RMSE %v", orders, report.Scores[0].Train.RMSE)
		}
	}
}

// The outer knots of evenly spread values are near the least and the largest value, wherever the places of
// counts fall.
func TestOuterKnots(t *testing.T) {
	for shift := range 40 {
		d := &Data{Names: []string{"x"}}
		for i := range 260 {
			check.Done(d.Append("t", 0, float64(i)+float64(shift)*20))
		}
		d.Values[0] = append(d.Values[0], float64(shift)) // moves the mean, and so the places of counts
		d.TaskOf, d.Targets = append(d.TaskOf, 0), append(d.Targets, 1)
		rows := check.OK(newRows(t.Context(), &Input{Table: d}, &Options{}))
		got := check.OK(rows.knots(t.Context(), []int{0}, false))[0]
		low, high := slices.Min(d.Values[0]), slices.Max(d.Values[0])
		if spacing := 260.0 / 7; len(got) < 6 || got[0] < low-spacing || got[len(got)-1] > high+spacing {
			t.Errorf("values from %v to %v: knots %v", low, high, got)
		}
	}
}
