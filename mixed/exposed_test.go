package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// The rows that a combination of columns shows are found, and no others: one row, or some, in which a column
// is not what it is elsewhere; a value far out; whatever the units, and with missing values.
func TestExposed(t *testing.T) {
	const rows = 200
	for name, c := range map[string]struct {
		change func(x [][]float64)
		want   []int
	}{
		"nothing": {func([][]float64) {}, nil},
		"a sum of columns but for one row": {func(x [][]float64) {
			for _, v := range x {
				v[3] = v[0] + v[1] - v[2]
			}
			x[17][3]++
		}, []int{17}},
		"another unit but for three rows": {func(x [][]float64) {
			for i, v := range x {
				v[3] = 32 + 1.8*v[0]
				if i == 5 || i == 90 || i == 150 {
					v[3]--
				}
			}
		}, []int{5, 90, 150}},
		"a sum of columns but for 11 rows": {func(x [][]float64) {
			for i, v := range x {
				v[3] = v[0] + v[1]
				if i < 11 {
					v[3] += float64(1 + i)
				}
			}
		}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"but for twelve rows": {func(x [][]float64) {
			for i, v := range x {
				v[3] = v[0] + v[1]
				if i < 12 {
					v[3] += float64(1 + i)
				}
			}
		}, nil},
		"always a sum of columns": {func(x [][]float64) {
			for _, v := range x {
				v[3] = v[0] + v[1]
			}
		}, nil},
		"a value far out":                       {func(x [][]float64) { x[3][1] = 1e6 }, []int{3}},
		"a target far out, or a column far out": {func(x [][]float64) { x[9][4], x[20][0] = -1e5, 1e9 }, []int{9, 20}},
		"missing in twenty rows": {func(x [][]float64) {
			for i := range 20 {
				x[9*i][2] = math.NaN()
			}
		}, nil},
		"a constant": {func(x [][]float64) {
			for _, v := range x {
				v[2] = 7
			}
		}, nil},
	} {
		for _, unit := range []float64{1, 1e-9, 1e6} {
			r := rand.New(rand.NewPCG(3, 4))
			x := make([][]float64, rows)
			for i := range x {
				for range 5 {
					x[i] = append(x[i], math.Round(100*r.NormFloat64())/100)
				}
			}
			c.change(x)
			m := &matrix{rows, 5, func(dst []float64, i int) {
				copy(dst, x[i])
				dst[1], dst[3] = unit*dst[1], 5+dst[3]/unit
			}, nil}
			got := check.OK(m.exposed(t.Context(), 12))
			check.FailIf(t, !slices.Equal(got, c.want), "%s, unit %g: %v, want %v", name, unit, got, c.want)
		}
	}
}

// A row with a target far from all others stays out of all totals, so that owners have the model of the other
// rows.
func TestFarRowsStayOut(t *testing.T) {
	in := ample(7, 3)
	list := cut(in, 3)
	d := list[1].Table.(*Data)
	at := slices.Index(list[1].HeldOut, false)
	size := math.Sqrt(float64(d.Rows()))
	d.Targets[at] += 1.5 * size // not so far that it makes up the squares of all targets
	m, report, err := Together(t.Context(), list, network("path", 3), Options{})
	check.Done(err)
	check.FailIf(t, !slices.ContainsFunc(report.Notes, func(note string) bool {
		return note == "1 training rows are in no total, and in no task: they are far from the predictions "+
			"of the other own rows, "+
			"which are predicted better without them. Check their targets (--least-level)."
	}), "no note: %q", report.Notes)
	list[1].HeldOut = slices.Clone(list[1].HeldOut)
	weights := slices.Repeat([]float64{1}, d.Rows())
	weights[at] = 0
	d.Weighting = weights
	want, _, err := Together(t.Context(), list, network("path", 3), Options{})
	check.Done(err)
	a, b := m.Parameters(), want.Parameters()
	check.FailIf(t, math.Abs(a.Prior.Noise.Variance-b.Prior.Noise.Variance) > 1e-9*b.Prior.Noise.Variance,
		"the noise is %v, without the row %v", a.Prior.Noise.Variance, b.Prior.Noise.Variance)
	for k, name := range d.TaskNames {
		x := []float64{.3, .6, 1, 0, 0}
		y, _, err := m.Predict(name, x)
		z, _, err2 := want.Predict(name, x)
		check.FailIf(t, err != nil || err2 != nil || math.Abs(y-z) > 1e-9, "task %d: %v, without the row %v", k, y, z)
	}
}

// What the rules leave out does not depend on the unit of the weights, however close they are to finding
// nothing.
func TestUnitOfWeights(t *testing.T) {
	said := map[string][]string{}
	for _, unit := range []float64{1, 3, .1, 1e6} {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 19))
			var list []Input
			for g := range 2 {
				d := drawn(20*seed+uint64(g), fmt.Sprint("owner ", g), 4, 40, 40)
				for i := range d.Targets {
					d.Weighting = append(d.Weighting, unit*(.5+r.Float64()))
					d.Values[3][i] = d.Values[0][i] + d.Values[1][i]
					if g == 0 && i%20 < 2 { // eight rows: some samples have none of them
						d.Values[3][i]++
					}
				}
				list = append(list, Input{Table: d})
			}
			fits, errs := describeTogether(t, list, Options{NoCurves: true, Disclosure: Disclosure{LeastLevel: 12}})
			check.Done(errs[0])
			name := fmt.Sprint("seed ", seed)
			if unit == 1 {
				said[name] = fits[0].rows.guard.did
			}
			check.FailIf(t, !slices.Equal(fits[0].rows.guard.did, said[name]), "%s, unit %v: %q, want %q", name,
				unit, fits[0].rows.guard.did, said[name])
		}
	}
	found := 0
	for _, notes := range said {
		if slices.ContainsFunc(notes,
			func(note string) bool { return strings.Contains(note, "a combination of columns") }) {
			found++
		}
	}
	check.FailIf(t, found == 0, "no rule binds: %q", said)
}
