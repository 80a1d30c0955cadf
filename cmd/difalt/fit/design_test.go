package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/interp"
)

// The penalty of the basis is the identity: the integral of products of second derivatives, by Gauss
// quadrature.
func TestNaturalBasisHasUnitPenalty(t *testing.T) {
	knots := []float64{-3, -1, 0.5, 2, 7}
	const scale = 2.0
	values := NaturalBasis(knots, scale)
	k, x := len(knots), make([]float64, len(knots))
	for i, v := range knots {
		x[i] = v / scale
	}
	if len(values) != k*(k-2) {
		t.Fatalf("%d values, want %d", len(values), k*(k-2))
	}
	second := func(j int) func(float64) float64 {
		var s interp.NaturalCubic
		if err := s.Fit(x, values[j*k:][:k]); err != nil {
			t.Fatal(err)
		}
		return func(at float64) float64 { return (s.PredictDerivative(at+1e-5) - s.PredictDerivative(at-1e-5)) / 2e-5 }
	}
	for i := range k - 2 {
		for j := range k - 2 {
			a, b := second(i), second(j)
			sum := 0.0
			for l := range k - 1 {
				sum += quad.Fixed(func(at float64) float64 { return a(at) * b(at) }, x[l]+1e-4, x[l+1]-1e-4, 8, nil, 0)
			}
			if want := map[bool]float64{true: 1, false: 0}[i == j]; math.Abs(sum-want) > 2e-3 {
				t.Errorf("penalty of %d and %d: %v, want %v", i, j, sum, want)
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
	row, n := make([]float64, s.p), float64(len(s.rows.order))
	moments, squares := make([]float64, s.p*3), make([]float64, 3)
	s.rows.each(func(x []float64, w float64) {
		s.design.Apply(row, x)
		for j, v := range row {
			moments[j] += w * v / n
			moments[s.p+j] += w * v * row[1] / n
			moments[2*s.p+j] += w * v * row[2] / n
			if c := s.columns[j]; c.Curve >= 0 {
				squares[c.Curve] += w * v * v / n
			}
		}
	})
	for j := 1; j < s.p; j++ {
		if c := s.columns[j]; math.Abs(moments[j]) > 1e-9 || c.Curve >= 0 && math.Abs(moments[(1+c.Curve)*s.p+j]) > 1e-9 {
			t.Errorf("column %d: mean %v, product with the feature %v", j, moments[j], moments[s.p+j])
		}
	}
	if math.Abs(moments[s.p+1]-1) > 1e-9 || math.Abs(squares[0]-1) > 1e-9 || math.Abs(squares[1]-1) > 1e-9 {
		t.Errorf("variance %v, squares of curves %v: want 1", moments[s.p+1], squares)
	}
}

func TestQuantiles(t *testing.T) {
	for name, c := range map[string]struct {
		x    []float64
		want []float64
	}{
		"four distinct values": {[]float64{1, 2, 3, 4, 4, 3}, nil},
		"most values equal":    {[]float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5}, nil},
		"nearly equal values":  {[]float64{0, 1e-9, 2e-9, 3e-9, 1, 2, 3, 4, 5}, []float64{0, 1, 3, 5}},
		"six values":           {[]float64{5, 0, 1, 2, 3, 4}, []float64{0, 1.25, 2.5, 3.75, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			got := quantiles(c.x, 5)
			if len(got) != len(c.want) {
				t.Fatalf("knots %v, want %v", got, c.want)
			}
			for i := range got {
				if math.Abs(got[i]-c.want[i]) > 1e-12 {
					t.Errorf("knots %v, want %v", got, c.want)
				}
			}
		})
	}
}

// A column over many orders of magnitude, whose quantiles nearly coincide, has a curve or none, and a finite
// fit.
func TestSkewedColumn(t *testing.T) {
	for _, orders := range []float64{1, 5, 30} {
		r := rand.New(rand.NewPCG(1, 1))
		table, err := dataset.NewTable([]string{"x"}, true)
		for i := 0; i < 200 && err == nil; i++ {
			x := orders * r.NormFloat64()
			err = table.Append(fmt.Sprint(i%10), []float64{math.Pow(10, x)}, x+r.NormFloat64())
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, report := fitted(t, table, Config{}); !(report.Scores[0].Train.RMSE < 2*orders) {
			t.Errorf("%v orders of magnitude: RMSE %v", orders, report.Scores[0].Train.RMSE)
		}
	}
}
