package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// Columns are standardised with weights; curves are orthogonal to 1 and the feature, and their squares sum
// to 1 on average.
func TestDesignOverTrainingRows(t *testing.T) {
	s := statsOf(t, weightedTable(t), true, 1)
	if len(s.design.Curves) != 2 {
		t.Fatalf("%d curves, want 2", len(s.design.Curves))
	}
	n, squares := s.rowsTotal(s.tasks), []float64{0, 0}
	for j := 1; j < s.p; j++ {
		c, total := s.columns[j], func(i int) float64 { return s.total[i*s.p+j] / n }
		check.FailIf(t, math.Abs(total(0)) > 1e-9 || c.Curve >= 0 && math.Abs(total(1+c.Feature)) > 1e-9,
			"column %d: mean %v, product with the feature %v", j, total(0), total(1+c.Feature))
		if c.Curve >= 0 {
			squares[c.Curve] += total(j)
		} else if math.Abs(total(j)-1) > 1e-9 {
			t.Errorf("column %d: variance %v, want 1", j, total(j))
		}
	}
	check.FailIf(t, !floats.EqualApprox(squares, []float64{1, 1}, 1e-9), "squares of curves %v: want 1", squares)
}

func TestKnots(t *testing.T) {
	skewed := make([]float64, 100) // 50 zeros and 0 to 49
	for i := range skewed {
		skewed[i] = float64(max(i-50, 0))
	}
	for name, c := range map[string]struct {
		x    []float64
		few  bool
		want []float64
	}{
		"four distinct values": {[]float64{1, 2, 3, 4, 4, 3}, false, nil},
		"a knot at each":       {[]float64{7, 1, 2, 3, 4, 4, 4, 3, 3}, false, []float64{1, 2, 3, 4, 7}},
		"few":                  {[]float64{5, 0, 1, 2, 3, 4}, true, []float64{0, 1.25, 2.5, 3.75, 5}},
		"most values equal":    {[]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5}, true, nil},
		"nearly equal values":  {[]float64{0, 1e-9, 2e-9, 3e-9, 1, 2, 3, 4, 5}, true, []float64{0, 1, 3, 5}},
		"eight quantiles":      {skewed, false, []float64{0, 6 + 4./7, 20 + 5./7, 34 + 6./7, 49}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := knotsOf(c.x, c.few); !floats.EqualApprox(got, c.want, 1e-12) {
				t.Errorf("knots %v, want %v", got, c.want)
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
		r := newRows(table, &Config{})
		r.describe()
		if d, crowded := r.newDesign(true); len(d.Curves) != want || crowded != (want == 0) {
			t.Errorf("%d columns: %d curves of %d columns in all, crowded %v", len(names), len(d.Curves), d.Width(), crowded)
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
		if _, report := fitted(t, table, Config{}); !(report.Scores[0].Train.RMSE < 2*orders) {
			t.Errorf("%v orders of magnitude: RMSE %v", orders, report.Scores[0].Train.RMSE)
		}
	}
}
