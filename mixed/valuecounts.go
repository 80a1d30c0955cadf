package mixed

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

// A valueCounts holds the different values of own rows, increasing, how many rows have each, the standard
// deviation over these rows, and the number of rows without a value.
type valueCounts struct {
	values    []float64
	counts    []int
	deviation float64
	missing   int
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
	return v
}

// valuesOf counts the values of a feature in own rows.
func (g *guard) valuesOf(feature int) *valueCounts {
	read, list, missing := g.rows.reader(), []float64(nil), 0
	for _, i := range g.counted() {
		if v := read(int(i))[feature]; math.IsNaN(v) {
			missing++
		} else {
			list = append(list, v)
		}
	}
	v := countValues(list)
	v.missing = missing
	return v
}

// bits returns the bits of the number of rows with a value that have a level of half of all rows.
func (v *valueCounts) bits(at int) float64 { return rounded.Log2(1 + float64(v.counts[at])) }

// bitsOf returns the bits of a level of the given number of rows: of its numbers of rows with each value.
func (v *valueCounts) bitsOf(rows int) float64 {
	half := 0.0
	for i := range v.counts {
		half += v.bits(i)
	}
	return min(half, logChoose(len(v.counts)+rows-1, rows)/math.Ln2)
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

// A valueGroups says for every value of a feature how many rows a function of its curve singles out at least,
// if it is not 0 at that value.
type valueGroups struct {
	values  []float64
	sizes   []int
	missing int // for rows without a value
}

// size returns the size of the group of a value, NaN for none.
func (s *valueGroups) size(v float64) int {
	at, found := slices.BinarySearch(s.values, v)
	if math.IsNaN(v) || !found {
		return s.missing
	}
	return s.sizes[at]
}

// groups returns the groups of a curve with given knots. It has as many functions as knots, the constant and
// the feature among them, so that one of them is 0 at any values but so many fewer; and it has functions that
// are 0 but at some neighbouring places.
func (v *valueCounts) groups(knots []float64) valueGroups {
	n, all := len(knots), slices.Clone(v.counts)
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
	rows, least := make([]int, n+1), make([]int, n+1)
	for i, x := range v.values {
		at, _ := slices.BinarySearch(knots, x)
		rows[at] += v.counts[i]
	}
	for at := range least {
		least[at] = math.MaxInt
	}
	eachSupport(n, func(from, to, _ int) {
		sum := 0
		for at := from; at <= to; at++ {
			sum += rows[at]
		}
		for at := from; at <= to; at++ {
			least[at] = min(least[at], sum)
		}
	})
	out := valueGroups{values: v.values, missing: size(v.missing)}
	for i, x := range v.values {
		at, _ := slices.BinarySearch(knots, x)
		out.sizes = append(out.sizes, min(size(v.counts[i]), least[at]))
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
