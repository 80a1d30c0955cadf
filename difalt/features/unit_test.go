package features

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// offsets draws the tasks of two nodes with features around a mean, all of them times unit, and the last one
// times last besides.
func offsets(mean, unit, last float64) (nodes []*kernel.Tasks) {
	const d = 4
	rng := rand.New(rand.NewPCG(11, 12))
	for range 2 {
		b, x := kernel.NewBuilder(d, []int{20, 30}, kernel.Float64), make([]float64, d)
		for task, n := range []int{20, 30} {
			for i := range n {
				for j := range x {
					x[j] = unit * (mean + rng.NormFloat64())
				}
				x[d-1] *= last
				b.SetRow(task, i, x, unit*rng.NormFloat64())
			}
		}
		nodes = append(nodes, b.Tasks())
	}
	return nodes
}

var units = []float64{0x1p-150, 0x1p-17, 0x1p-3, 0x1p5, 0x1p17, 0x1p150}

// TestStandardizeUnits: the standard form of features in other units is the same, bit for bit, and deviations
// have the unit. A feature whose squares have no digits beside another feature is refused.
func TestStandardizeUnits(t *testing.T) {
	want, scaling, err := Standardize(t.Context(), together(2), offsets(3, 1, .01))
	if err != nil {
		t.Fatal(err)
	}
	for _, unit := range units {
		got, s, err := Standardize(t.Context(), together(2), offsets(3, unit, .01))
		if err != nil {
			t.Fatal(unit, err)
		}
		row, other := make([]float64, 4), make([]float64, 4)
		for j, v := range s.Deviations {
			if v != scaling.Deviations[j]*unit {
				t.Errorf("unit %g: deviation %g, want %g", unit, v, scaling.Deviations[j]*unit)
			}
		}
		for i := range want {
			for task := range want[i].Len() {
				for k := range want[i].Samples(task) {
					if !slices.Equal(want[i].Row(row, task, k), got[i].Row(other, task, k)) {
						t.Fatalf("unit %g, node %d, task %d, sample %d: %v, want %v", unit, i, task, k, other, row)
					}
				}
			}
		}
	}
	for last, want := range map[float64]error{1e-14: nil, 1e14: nil, 1e-18: errTooSmall, 1e18: errTooSmall} {
		if _, _, err := Standardize(t.Context(), together(2), offsets(0, 1, last)); !errors.Is(err, want) {
			t.Errorf("a feature times %g: %v, want %v", last, err, want)
		}
	}
}

// TestCheckUnits: whether features mislead does not depend on their unit.
func TestCheckUnits(t *testing.T) {
	for _, mean := range []float64{0, 5} {
		var want error
		if mean > 0 {
			want = ErrNotStandard
		}
		for _, unit := range append(units, 1e-30, 1e-5, 1, 1e5, 1e30) {
			nodes := offsets(mean, unit, 1)
			if err := Check(t.Context(), together(2), nodes); !errors.Is(err, want) {
				t.Errorf("mean %v, unit %g: %v, want %v", mean, unit, err, want)
			}
			if Misleading(nodes[0]) != (want != nil) {
				t.Errorf("mean %v, unit %g: not seen at one node", mean, unit)
			}
		}
	}
}
