package mixed

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

// A valueCounts holds the different values of own rows, increasing, how many rows have each, the standard
// deviation over these rows, and the number of rows without a value. half is the bits of a level of half of
// all rows: of its numbers of rows with each value.
type valueCounts struct {
	values    []float64
	counts    []int
	deviation float64
	missing   int
	half      float64
}

// countValues counts values, which it sorts.
func countValues(list []float64) *valueCounts {
	v := &valueCounts{}
	if len(list) > 0 {
		v.deviation = rounded.Deviation(list)
	}
	slices.Sort(list)
	for i, x := range list {
		if i == 0 || x != list[i-1] {
			v.values, v.counts = append(v.values, x), append(v.counts, 0)
		}
		v.counts[len(v.counts)-1]++
	}
	for i := range v.counts {
		v.half += v.bits(i)
	}
	return v
}

// valuesAtOnce is the number of values of columns that are read in one pass, 16 MiB.
const valuesAtOnce = 1 << 21

// eachValues calls f with the values in own rows of the feature of each curve: of some curves in one pass.
func (g *guard) eachValues(curves []Curve, f func(curve int, v *valueCounts)) {
	rows, read, first := g.counted(), g.rows.reader(), 0
	for some := range slices.Chunk(curves, max(valuesAtOnce/max(len(rows), 1), 1)) {
		lists := make([][]float64, len(some))
		for k := range lists {
			lists[k] = make([]float64, 0, len(rows))
		}
		for _, i := range rows {
			x := read(int(i))
			for k := range some {
				if v := x[some[k].Feature]; !math.IsNaN(v) {
					lists[k] = append(lists[k], v)
				}
			}
		}
		for k, list := range lists {
			v := countValues(list)
			v.missing = len(rows) - len(list)
			f(first+k, v)
		}
		first += len(some)
	}
}

// bits returns the bits of the number of rows with a value that have a level of half of all rows.
func (v *valueCounts) bits(at int) float64 { return rounded.Log2(1 + float64(v.counts[at])) }

// bitsOf returns the bits of a level of the given number of rows: of its numbers of rows with each value.
func (v *valueCounts) bitsOf(rows int) float64 {
	return min(v.half, logChoose(len(v.counts)+rows-1, rows)/math.Ln2)
}

// placeBits returns, for every interval between knots of a curve, before the first one and after the last
// one, the bits for each function of the rows in neighbouring intervals: the fewest of all neighbours with
// functions that are 0 elsewhere.
func (v *valueCounts) placeBits(knots []float64) []float64 {
	n := len(knots)
	bits, least := make([]float64, n+1), make([]float64, n+1)
	for i, x := range v.values {
		at, _ := slices.BinarySearch(knots, x)
		bits[at] += v.bits(i)
	}
	for at := range least {
		least[at] = math.Inf(1)
	}
	eachSupport(n, func(from, to, functions int) {
		sum := 0.0
		for at := from; at <= to; at++ {
			sum += bits[at]
		}
		if functions >= n || sum == 0 {
			return
		}
		for at := from; at <= to; at++ {
			least[at] = min(least[at], sum/float64(functions))
		}
	})
	return least
}

// eachSupport calls f for the places of a curve with n knots, from one to another, on which functions of the
// curve live that are 0 elsewhere, and for the number of these. Place 0 is before the first knot, and place n
// after the last one.
func eachSupport(n int, f func(from, to, functions int)) {
	for from := range n + 1 {
		for to := from; to <= n; to++ {
			functions := to - from - (supportInside - 2)
			if from == 0 || to == n {
				functions = to - from - (supportEnd - 1)
			}
			if functions > 0 {
				f(from, to, functions)
			}
		}
	}
}

// mostSingled is the largest number of values at which functions of a curve may single out one, or few.
const mostSingled = 2 * mostKnots

// A valueGroups has the least number of rows that a function of a curve singles out if it is not 0 at a
// value. The number follows from the place of the value between knots and, of few values, from the value.
type valueGroups struct {
	knots   []float64
	places  []int
	values  []float64 // nil: there are many
	sizes   []int
	missing int // for rows without a value
}

// size returns the size of the group of a value, NaN for none.
func (s *valueGroups) size(v float64) int {
	if math.IsNaN(v) {
		return s.missing
	}
	place, _ := slices.BinarySearch(s.knots, v)
	least := s.places[place]
	if at, found := slices.BinarySearch(s.values, v); found {
		least = min(least, s.sizes[at])
	}
	return least
}

// least returns the size of the smallest group.
func (s *valueGroups) least() int {
	least := slices.Min(s.places)
	for _, size := range s.sizes {
		least = min(least, size)
	}
	if s.missing > 0 {
		least = min(least, s.missing)
	}
	return least
}

// groups returns the groups of a curve with given knots. It has functions that are 0 but at some neighbouring
// places. With m knots it also has m functions, the constant and the feature among them, so that one of them
// is 0 at any m - 1 values.
func (v *valueCounts) groups(knots []float64) valueGroups {
	n := len(knots)
	out := valueGroups{knots: knots, places: make([]int, n+1), missing: v.missing}
	rows := make([]int, n+1)
	for i, x := range v.values {
		at, _ := slices.BinarySearch(knots, x)
		rows[at] += v.counts[i]
	}
	for at := range out.places {
		out.places[at] = math.MaxInt
	}
	eachSupport(n, func(from, to, _ int) {
		sum := 0
		for at := from; at <= to; at++ {
			sum += rows[at]
		}
		for at := from; sum > 0 && at <= to; at++ {
			out.places[at] = min(out.places[at], sum)
		}
	})
	if len(v.values) > mostSingled {
		return out
	}
	all := slices.Clone(v.counts)
	if v.missing > 0 {
		all = append(all, v.missing)
	}
	slices.Sort(all)
	others := max(len(all)-n, 0) // values besides one at which such a function is not 0
	beside := 0
	for _, rows := range all[:others] {
		beside += rows
	}
	size := func(rows int) int {
		if others > 0 && rows <= all[others-1] { // it is one of them
			return beside + all[others]
		}
		return beside + rows
	}
	out.values, out.missing = v.values, size(v.missing)
	for i := range v.values {
		out.sizes = append(out.sizes, size(v.counts[i]))
	}
	return out
}

// logChoose returns the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	all := rounded.LogGamma(float64(n + 1))
	chosen := rounded.LogGamma(float64(k + 1))
	left := rounded.LogGamma(float64(n - k + 1))
	return all - chosen - left
}
