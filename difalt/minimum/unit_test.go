package minimum

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// scaledBy returns tasks with features times x and responses times y.
func scaledBy(tasks []*kernel.Tasks, x, y float64) (list []*kernel.Tasks) {
	for _, k := range tasks {
		var samples []int
		for t := range k.Len() {
			samples = append(samples, k.Samples(t))
		}
		b, row := kernel.NewBuilder(k.Features(), samples, k.Storage()), make([]float64, k.Features())
		for t, n := range samples {
			for i := range n {
				for j, v := range k.Row(row, t, i) {
					row[j] = v * x
				}
				b.SetRow(t, i, row, k.Y(t)[i]*y)
			}
		}
		list = append(list, b.Tasks())
	}
	return list
}

// TestUnits: an outcome does not depend on the units of features and responses: with powers of two not by a
// bit, and singular values have the unit of coefficients. The verdict stays with powers of ten.
func TestUnits(t *testing.T) {
	for name, c := range map[string]struct {
		size  float64
		noise float64
		ridge float64
	}{
		"clear": {1, .01, 0}, "suspicious": {.05, .5, 0}, "no signal": {0, 1, 0}, "ridge": {.05, .5, 2},
		"exact": {1, 0, 0},
	} {
		tasks, u, _ := setting(12, func(int) float64 { return c.size }, c.noise)
		check := func(x, y float64) *Outcome {
			s, err := Check(t.Context(), together{}, scaledBy(tasks, x, y), u, Options{Seed: 1, Ridge: c.ridge * x * x})
			if err != nil {
				t.Fatal(name, err)
			}
			return s
		}
		want := check(1, 1)
		for _, units := range [][2]float64{{1, 0x1p10}, {1, 0x1p17}, {0x1p-17, 1}, {0x1p17, 0x1p-17},
			{0x1p-150, 0x1p150}, {0x1p190, 0x1p-190}} {
			x, y := units[0], units[1]
			got := check(x, y)
			for k := range got.SingularValues {
				got.SingularValues[k] *= x / y
			}
			numbers := func(o *Outcome) []float64 {
				list := append([]float64{o.ParametersPerSample, o.StatisticalError}, o.SingularValues...)
				if !math.IsNaN(o.WeakestDirection) {
					list = append(list, o.WeakestDirection, o.NextDirection)
				}
				return list
			}
			if got.Verdict != want.Verdict || !slices.Equal(numbers(got), numbers(want)) {
				t.Errorf("%s, units %g and %g: %+v, want %+v", name, x, y, got, want)
			}
			for i := range got.U {
				if !mat.Equal(got.U[i], want.U[i]) {
					t.Errorf("%s, units %g and %g: node %d goes elsewhere", name, x, y, i)
				}
			}
		}
		for _, units := range [][2]float64{{1, 1e3}, {1, 3e4}, {1, 1e5}, {1, 1e-5}, {1e-5, 1}, {1e5, 1e5},
			{1e50, 1e-50}} {
			if got := check(units[0], units[1]); got.Verdict != want.Verdict {
				t.Errorf("%s, units %g and %g: %v, want %v", name, units[0], units[1], got.Verdict, want.Verdict)
			}
		}
	}
}
