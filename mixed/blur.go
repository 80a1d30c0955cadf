package mixed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

const (
	// mostTold is the share of the bits of own rows that sums of known functions may disclose.
	mostTold = 0.5
	// exactBits is the least number of bits for each function where numbers are not moved: a sum has few
	// more.
	exactBits = 24
	// exactCounts bounds counts of rare values that are exact in tables of more rows.
	exactCounts = 2000
)

// A blur moves own numbers where columns are functions of them that other owners know, by amounts that they
// do not know. A sum of such functions has 15 digits, so that few hundred rows of whole numbers have one
// solution. Lattice reduction finds how many rows have each value of a column, and which of these have a
// level, a value of another column, or a target.
type blur struct {
	key       uint64    // of all own rows: amounts follow from it
	curves    []float64 // largest amounts for every curve, in the feature's unit; nil: none
	logarithm float64   // largest amount for the logarithm of the target
}

// setKey sets the key from all own rows.
func (g *guard) setKey() {
	for _, k := range g.rows.whole.list {
		g.blur.key = mix(g.blur.key, g.rows.whole.sums[k])
	}
}

// amount returns a number from -1 to 1 that follows from the key, a row and a place.
func (b *blur) amount(row uint64, place int) float64 {
	h := mix(b.key, row)
	for range 3 {
		h = mix(h, uint64(place))
	}
	return float64(float64(h>>11)*0x1p-52) - 1
}

// blurCurves sets the amounts for the curves of a design: so large that they hide rows, and no larger.
func (g *guard) blurCurves(d *Design) {
	if g == nil || g.LeastLevel == 0 {
		return
	}
	amounts, rarest := make([]float64, len(d.Curves)), g.rarest()
	features, moved, most := g.rows.schema.Features(), []string(nil), 0.0
	for i := range d.Curves {
		c := &d.Curves[i]
		values := g.valuesOf(c.Feature)
		told := mostTold * values.hiddenBits(c.Knots, rarest)
		if share := g.blurShare(values, told); share > 0 {
			amounts[i] = values.deviation * share
			moved, most = append(moved, features[c.Feature]), max(most, share)
		}
	}
	if moved == nil {
		return
	}
	g.blur.curves = amounts
	const format = "In curves numbers are moved, by up to %.2g deviations of the own rows, so that totals do " +
		"not tell " +
		"rows (--least-level): %s. More rows, or levels and values with more rows, would need less."
	g.note(true, format, most, names(moved))
}

// blurLogarithm sets the amount for the logarithm of the target: the number of rows and that are two
// functions of the target.
func (g *guard) blurLogarithm() {
	if g.LeastLevel == 0 {
		return
	}
	var list []float64
	for _, i := range g.counted() {
		list = append(list, math.Log(g.rows.in.Table.Y(int(i))))
	}
	const functions = 2
	values := countValues(list)
	share := g.blurShare(values, mostTold/functions*values.bitsOf(g.rarest()))
	g.blur.logarithm = values.deviation * share
	const format = "Logarithms of the target are moved, by up to %.2g deviations, so that totals do not tell rows " +
		"(--least-level). More rows would need less."
	g.note(share > 0, format, share)
}

// blurShare returns the largest move of values, in deviations, with which sums of functions of them disclose
// told bits for each; 0 for none. A value that enough rows have is like a level: sums over its rows may be
// known.
func (g *guard) blurShare(v *valueCounts, told float64) float64 {
	if told >= exactBits || !(v.deviation > 0) || slices.Min(v.counts) >= g.LeastLevel {
		return 0
	}
	return math.Exp2(-told)
}

// rarest returns the least number of own rows, but not 0, with a level, or off the usual value of a column or
// of the target.
func (g *guard) rarest() int {
	rows := len(g.counted())
	least := rows
	off, usual := g.offUsual(min(rows, exactCounts))
	for j, n := range off {
		if g.rows.stats[j].level && usual[j] == 1 {
			n = min(n, rows-n)
		}
		if n > 0 {
			least = min(least, n)
		}
	}
	if n := len(g.offTarget()); n > 0 {
		least = min(least, n)
	}
	return least
}

// offTarget returns the own rows with another target than the usual one. Where they are many it need not be
// the usual one.
func (g *guard) offTarget() (list []int32) {
	rows := g.counted()
	f := newFrequent(1, len(rows) <= 2*exactCounts)
	for _, i := range rows {
		f.add([]float64{g.rows.in.Table.Y(int(i))})
	}
	usual := f.value(0)
	for _, i := range rows {
		if g.rows.in.Table.Y(int(i)) != usual {
			list = append(list, i)
		}
	}
	return list
}

// A valueCounts holds the different values of own rows, increasing, how many rows have each, and the standard
// deviation over the rows.
type valueCounts struct {
	values    []float64
	counts    []int
	deviation float64
}

// countValues counts values, which it sorts.
func countValues(list []float64) *valueCounts {
	v := &valueCounts{}
	if len(list) > 0 {
		v.deviation = math.Sqrt(stat.PopVariance(list, nil))
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
	read, list := g.rows.reader(), []float64(nil)
	for _, i := range g.counted() {
		if v := read(int(i))[feature]; !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	return countValues(list)
}

// bits returns the bits of the number of rows with a value that have a level of half of all rows.
func (v *valueCounts) bits(at int) float64 { return math.Log2(1 + float64(v.counts[at])) }

// bitsOf returns the bits of a level of the given number of rows: of its numbers of rows with each value.
func (v *valueCounts) bitsOf(rows int) float64 {
	half := 0.0
	for i := range v.counts {
		half += v.bits(i)
	}
	return min(half, logChoose(len(v.counts)+rows-1, rows)/math.Ln2)
}

// hiddenBits returns the bits of own rows for each function of a curve with given knots. They are the fewest
// of two: the bits of a level of rarest rows, for all functions; and the bits of the rows in some
// neighbouring intervals between knots, for the functions that are 0 elsewhere.
func (v *valueCounts) hiddenBits(knots []float64, rarest int) float64 {
	n := len(knots)
	bits := make([]float64, n+1) // between two knots, before the first and after the last one
	for i, x := range v.values {
		at, _ := slices.BinarySearch(knots, x)
		bits[at] += v.bits(i)
	}
	least := v.bitsOf(rarest) / float64(n)
	for from := range n + 1 {
		sum := 0.0
		for to := from; to <= n; to++ {
			sum += bits[to]
			functions := to - from - (supportInside - 2)
			if from == 0 || to == n {
				functions = to - from - (supportEnd - 1)
			}
			if functions > 0 && functions < n && sum > 0 {
				least = min(least, sum/float64(functions))
			}
		}
	}
	return least
}

// logChoose returns the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	chosen, _ := math.Lgamma(float64(k + 1))
	left, _ := math.Lgamma(float64(n - k + 1))
	return all - chosen - left
}

// moves sets dst, which it returns, to the moves of the numbers of a row with features x, one for every
// curve. It is empty where no number is moved.
func (g *guard) moves(dst []float64, row int, x []float64) []float64 {
	dst = dst[:0]
	if g == nil || g.blur.curves == nil {
		return dst
	}
	key := rowKey(x, g.rows.in.Table.Y(row))
	for i, most := range g.blur.curves {
		dst = append(dst, most*g.blur.amount(key, 2+i))
	}
	return dst
}

// logMove returns the move of the logarithm of the target of a row.
func (g *guard) logMove(row int) float64 {
	if g == nil || g.blur.logarithm == 0 {
		return 0
	}
	return g.blur.logarithm * g.blur.amount(rowKey(nil, g.rows.in.Table.Y(row)), 1)
}
