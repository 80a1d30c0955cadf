package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A row of a hidden level has the usual level and no other one, or misses the value of the column. Rows of
// other levels, and other columns, stay as they are.
func TestHide(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		usual   int
		x, want []float64
	}{
		"hidden":                    {2, []float64{7, 1, 0, 0, 8}, []float64{7, 0, 0, 1, 8}},
		"shown":                     {2, []float64{7, 0, 1, 0, 8}, []float64{7, 0, 1, 0, 8}},
		"missing":                   {2, []float64{7, nan, nan, nan, 8}, []float64{7, 0, 0, 1, 8}},
		"hidden as missing":         {-1, []float64{7, 1, 0, 0, 8}, []float64{7, nan, nan, nan, 8}},
		"missing in enough rows":    {-1, []float64{7, nan, nan, nan, 8}, []float64{7, nan, nan, nan, 8}},
		"shown, as hidden are none": {-1, []float64{7, 0, 0, 1, 8}, []float64{7, 0, 0, 1, 8}},
	} {
		g := &guard{codes: []codedRow{{"kind", 1, []bool{true, false, false}, c.usual}}}
		g.hide(c.x)
		check.FailIf(t, !slices.EqualFunc(c.x, c.want, func(a, b float64) bool {
			return a == b || math.IsNaN(a) && math.IsNaN(b)
		}), "%s: %v, want %v", name, c.x, c.want)
	}
}

// A row whose target alone is not the sum of columns that it is in the other rows of its task is in no total.
func TestTargetAloneInItsTask(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	d := &Data{Names: []string{"a", "b"}, Levels: make([][]string, 2), Values: make([][]float64, 2)}
	for k := range 5 {
		d.TaskNames = append(d.TaskNames, string(rune('p'+k)))
		for range 60 {
			a, b := r.NormFloat64(), r.NormFloat64()
			y := a + b
			if k != 2 {
				y += r.NormFloat64()
			}
			d.Values[0], d.Values[1] = append(d.Values[0], a), append(d.Values[1], b)
			d.TaskOf, d.Targets = append(d.TaskOf, k), append(d.Targets, y)
		}
	}
	for broken, want := range map[float64]int{0: 300, 1: 299} {
		d.Targets[2*60+17] += broken
		p := check.OK(NewPreview(t.Context(), Input{Table: d}, Options{NoCurves: true}, 3))
		d.Targets[2*60+17] -= broken
		check.FailIf(t, p.Total != want, "%v: %d rows in totals, want %d: %s", broken, p.Total, want,
			strings.Join(p.Notes, " "))
	}
}
