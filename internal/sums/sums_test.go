package sums_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

type record struct {
	yes, no bool
	small   float64
	list    []float64
}

func (r *record) Fields(row *sums.Row) {
	row.Flag(&r.yes)
	row.Number(&r.small, 0x1p-30)
	row.Numbers(r.list, 4)
	row.Flag(&r.no)
}

// TestRow: a record of totals has the sums of the fields of all nodes, whatever their units, and a flag that
// one node has set. Numbers before and behind the record stay.
func TestRow(t *testing.T) {
	a := &record{yes: true, small: 0x3p-31, list: []float64{1, -2}}
	b := &record{small: 0x1p-31, list: []float64{5, 6}}
	total := sums.Write([]float64{7}, a)
	for k, v := range sums.Write([]float64{7}, b) {
		total[k] += v
	}
	got := record{list: make([]float64, 2)}
	left := sums.Read(append(total, 9)[1:], &got)
	if !got.yes || got.no || got.small != 0x1p-29 || !slices.Equal(got.list, []float64{6, 4}) ||
		!slices.Equal(left, []float64{9}) {
		t.Errorf("%+v, and %v behind it", got, left)
	}
	if want := []float64{7, 1, 1.5, .25, -.5, 0}; !slices.Equal(sums.Write([]float64{7}, a), want) {
		t.Errorf("the row is %v, want %v", sums.Write([]float64{7}, a), want)
	}
}

// TestData compares the numbers about data with their definitions, by hand.
func TestData(t *testing.T) {
	b := kernel.NewBuilder(2, []int{1, 0, 2}, kernel.Float64)
	b.SetRow(0, 0, []float64{1, 2}, 3)
	b.SetRow(2, 0, []float64{0, -1}, 4)
	b.SetRow(2, 1, []float64{3, 3}, 0)
	d := sums.Of(b.Tasks(), 1)
	want := sums.Data{Features: 2, Rank: 1, Tasks: 3, Samples: 3, XX: 24, YY: 25}
	total := sums.Data{Features: 2, Rank: 1}
	sums.Read(sums.Write(nil, &d), &total)
	if d != want || total != want {
		t.Errorf("%+v, read as %+v, want %+v", d, total, want)
	}
	d = sums.Data{Features: 5, Rank: 2, Tasks: 6, Samples: 120, XX: 3 * 600, YY: 7 * 120}
	for name, v := range map[string][2]float64{
		"MeanFeature": {d.MeanFeature(), 3}, "MeanResponse": {d.MeanResponse(), 7}, "PerTask": {d.PerTask(), 20},
		"Curvature": {d.Curvature(), 60}, "Free": {d.Free(), 98},
		"NoiseEdge": {d.NoiseEdge(2), 2 * math.Pow(math.Sqrt(5)+math.Sqrt(6), 2)},
	} {
		if !(math.Abs(v[0]/v[1]-1) < 1e-14) {
			t.Errorf("%s is %v, want %v", name, v[0], v[1])
		}
	}
}

// together adds rows of the nodes of one process.
type together int

func (n together) Hosted() []int { return make([]int, n) }

func (together) Sum(_ context.Context, rows [][]float64) error {
	for _, row := range rows[1:] {
		floats.Add(rows[0], row)
	}
	for _, row := range rows[1:] {
		copy(row, rows[0])
	}
	return nil
}

// TestUnits: the largest number of all nodes is at least one unit and below two units, from the smallest to
// the largest float64.
func TestUnits(t *testing.T) {
	for exponent := -1074; exponent <= 1023; exponent++ {
		largest := math.Ldexp(1, exponent)
		if exponent > -1000 {
			largest = math.Nextafter(math.Ldexp(1, exponent+1), 0)
		}
		units, err := sums.Units(t.Context(), together(2), [][]float64{{largest, 0}, {largest / 3, 0}})
		if err != nil || units[1] != 1 {
			t.Fatal(units, err)
		}
		fraction, _ := math.Frexp(units[0])
		if q := largest / units[0]; fraction != .5 || q >= 2 || q < 1 && largest >= 0x1p-1022 {
			t.Errorf("the unit of %g is %g", largest, units[0])
		}
	}
}

// TestComplete: sums of squares come out right whether rows have room for them or not.
func TestComplete(t *testing.T) {
	for _, scale := range []float64{0x1p-300, 0x1p-31, 1, 0x1p90, 0x1p400} {
		own := []sums.Data{{XX: 3, YY: 5 * scale, Tasks: 1}, {XX: 4, YY: scale, Tasks: 2}, {}}
		var rows [][]float64
		for i := range own {
			rows = append(rows, sums.Write(nil, &own[i]))
		}
		if err := together(3).Sum(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		var total sums.Data
		sums.Read(rows[0], &total)
		if err := total.Complete(t.Context(), together(3), own); err != nil {
			t.Fatal(err)
		}
		if total.XX != 7 || total.YY != 6*scale || total.Tasks != 3 || total.Energy() != 8*scale {
			t.Errorf("%+v, energy %g, for responses of size %g", total, total.Energy(), scale)
		}
	}
}
