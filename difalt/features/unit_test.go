package features

import (
	"errors"
	"math"
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

// TestUnitOfWeights: weights that are all alike, of any size, change neither means nor deviations, and
// multiply the rows in standard form by their root.
func TestUnitOfWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	b := kernel.NewBuilder(2, []int{5, 9}, kernel.Float64)
	for task, n := range []int{5, 9} {
		for i := range n {
			b.SetRow(task, i, []float64{3 + rng.NormFloat64(), rng.NormFloat64()}, 7+rng.NormFloat64())
		}
	}
	k := b.Tasks()
	standard, s, err := StandardizeOne(k)
	if err != nil {
		t.Fatal(err)
	}
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*math.Abs(y) }
	for _, weight := range []float64{0x1p-1074, 0x1p-1000, 0x1p-400, 4, 0x1p400, 0x1p1000, 0x1p1022} {
		weights := slices.Repeat([]float64{weight}, 14)
		weighted, err := k.Weighted(weights)
		if err != nil {
			t.Fatal(err)
		}
		other, o, err := StandardizeOne(weighted)
		if err != nil {
			t.Errorf("weight %g: %v", weight, err)
			continue
		}
		for j := range 2 {
			if !near(o.Deviations[j], s.Deviations[j]) || !near(o.Means[0][2+j], s.Means[0][2+j]) {
				t.Errorf("weight %g: deviation %g and mean %g of feature %d, without weights %g and %g",
					weight, o.Deviations[j], o.Means[0][2+j], j, s.Deviations[j], s.Means[0][2+j])
			}
		}
		if !near(o.Responses[0][1], s.Responses[0][1]) {
			t.Errorf("weight %g: mean response %g, without weights %g", weight, o.Responses[0][1], s.Responses[0][1])
		}
		x, y := other.Row(make([]float64, 2), 1, 3), standard.Row(make([]float64, 2), 1, 3)
		root := math.Sqrt(weight)
		if !near(x[0]/root, y[0]) || !near(other.Y(1)[3]*o.Unit/root, standard.Y(1)[3]*s.Unit) {
			t.Errorf("weight %g: row %v, without weights %v", weight, x, y)
		}
		centred, means, _ := Center(weighted)
		if same, _, _ := Center(k); !near(means[2], s.Means[0][2]) || !near(centred.Y(1)[3]/root, same.Y(1)[3]) {
			t.Errorf("weight %g: centred response %g and mean %g", weight, centred.Y(1)[3], means[2])
		}
	}
}
