package mixed

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/dense"
	"gonum.org/v1/gonum/floats"
)

// rowsOfCombination scans all sums of up to three columns but x0, with the given factors, and a constant. It
// returns the values of x0 of the two rows of others where such a sum is 1, if it is 0 in all others.
func rowsOfCombination(f *fitter, heard []heardTotal, factors []float64) (found [][2]float64) {
	list := totalsOf(heard, "X'X")
	if len(list) < 2 || f.curved == nil {
		return nil
	}
	d, p := f.curved.design, f.curved.p
	g := make([]float64, p*p)
	dense.Unpack(g, p, list[1].others())
	dense.Mirror(p, g)
	features := f.rows.schema.Features()
	x0 := slices.Index(features, "x0")
	column := func(j int) []float64 { // the feature, as a combination of columns of the design
		w := make([]float64, p)
		w[0], w[1+j] = d.Center[j], d.Scale[j]
		return w
	}
	lines := func(w []float64) []float64 { // sums of the combination times the columns of the design
		line := make([]float64, p)
		for k := range line {
			line[k] = floats.Dot(w, g[k*p:][:p])
		}
		return line
	}
	var functions []int // of x0
	for j, c := range d.Columns() {
		if c.Feature == x0 {
			functions = append(functions, j)
		}
	}
	try := func(w []float64) {
		line := lines(w)
		const rows = 2
		if math.Abs(line[0]-rows) > 1e-6 || math.Abs(floats.Dot(w, line)-rows) > 1e-6 {
			return
		}
		x, at := make([]float64, len(features)), make(map[float64][]float64)
		for _, v := range steps(-8, 8) {
			x[x0] = v
			row := make([]float64, p)
			d.Apply(row, x)
			at[v] = row
		}
		least, pair := math.Inf(1), [2]float64{math.NaN(), math.NaN()}
		for _, a := range steps(-8, 8) {
			for _, b := range steps(a, 8) {
				off := 0.0
				for _, j := range functions {
					off = max(off, math.Abs(at[a][j]+at[b][j]-line[j]))
				}
				if off < least {
					least, pair = off, [2]float64{a, b}
				}
			}
		}
		if pair[0] <= pair[1] && !slices.Contains(found, pair) {
			found = append(found, pair)
		}
	}
	var extend func(from, depth int, w []float64)
	extend = func(from, depth int, w []float64) {
		for j := from; j < len(features); j++ {
			if j == x0 {
				continue
			}
			for _, factor := range factors {
				next := slices.Clone(w)
				floats.AddScaled(next, factor, column(j))
				if depth > 1 {
					try(next)
				}
				if depth < 3 {
					extend(j+1, depth+1, next)
				}
			}
		}
	}
	extend(0, 1, make([]float64, p))
	return found
}

// Two or three columns whose sum is 0 in all rows but two show these rows, in a table of any size: also where
// the columns are 0 in nearly all rows, so that a sample of rows has none of their values.
func TestRowsOfCombinations(t *testing.T) {
	const rows, each = 4500, 15
	at := [2]int{101, 2901} // the rows that the sum is about
	for name, c := range map[string]struct {
		columns func(i, having int) (list []float64) // of row i; having: the group of rare rows that it is in, or 0
		factors []float64
		kind    []string // the levels of the last column
	}{
		"a number that is twice another one": {func(i, having int) []float64 {
			v := float64(1+i%7) * float64(min(having, 1))
			return []float64{v, 2 * v}
		}, []float64{2, -1}, nil},
		"a flag that is one of two others": {func(_, having int) []float64 {
			is := [][]float64{{0, 0, 0}, {1, 0, 1}, {0, 1, 1}}
			return is[having]
		}, []float64{1, -1}, nil},
		"a flag that two levels have": {func(i, having int) []float64 {
			return []float64{float64(min(having, 1)), []float64{float64(i % 2), 2, 3}[having]}
		}, []float64{1, -1}, []string{"a", "b", "c", "d"}},
	} {
		for rules, o := range map[bool]Options{false: open, true: {}} {
			var list []*Data
			var wanted [2]float64
			for who, seed := range []uint64{121, 122} {
				d := drawn(seed, []string{"v", "a"}[who], 2, slices.Repeat([]int{rows / 30}, 30)...)
				var extra [][]float64
				for i := range d.Rows() {
					having := 0
					if k := i % (rows / (2 * each)); k < 2 {
						having = 1 + k
					}
					v := slices.Clone(c.columns(i, having))
					if who == 0 && slices.Contains(at[:], i) {
						v[len(v)-1-min(len(c.kind), 1)]++ // which it is not elsewhere
						wanted[slices.Index(at[:], i)] = d.Values[0][i]
					}
					extra = append(extra, v)
				}
				for j := range extra[0] {
					values := make([]float64, len(extra))
					for i := range values {
						values[i] = extra[i][j]
					}
					d.Names, d.Values = append(d.Names, string(rune('a'+j))), append(d.Values, values)
				}
				if c.kind != nil {
					d.Levels = append(make([][]string, len(d.Names)-1), c.kind)
				}
				list = append(list, d)
			}
			f, heard := listen(t, list[0], list[1], o)
			check.FailIf(t, !rules && f.curved == nil, "%s: no curves", name)
			slices.Sort(wanted[:])
			negated := slices.Clone(c.factors)
			floats.Scale(-1, negated)
			found := rowsOfCombination(f, heard,
				slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.factors, negated)))))
			read := slices.Contains(found, wanted)
			check.FailIf(t, read == rules, "%s, rules %v: %v was read, in truth %v", name, rules, found, wanted)
		}
	}
}
