package mixed

import (
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
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
	key        uint64      // of all own rows: amounts follow from it
	groups     []int32     // for every row of the table the size of its smallest group; 0: all own rows
	curves     []curveBlur // nil: no number is moved
	logarithms []float64   // largest moves of logarithms of the target, as curveBlur.groups; nil: none
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
	g.setGroups()
	list, read := make([]curveBlur, len(d.Curves)), g.rows.reader()
	for i := range d.Curves {
		c := &d.Curves[i]
		list[i] = g.newCurveBlur(g.valuesOf(c.Feature), c)
	}
	features, moved, rows, most := g.rows.schema.Features(), make([]bool, len(list)), 0, 0.0
	for _, i := range g.counted() {
		x, any := read(int(i)), false
		for k := range list {
			if v := list[k].most(x, g.smallest(int(i))); v > 0 {
				most = max(most, v/list[k].deviation)
				moved[k], any = true, true
			}
		}
		if any {
			rows++
		}
	}
	if rows == 0 {
		return
	}
	g.blur.curves = list
	var which []string
	for k, on := range moved {
		if on {
			which = append(which, features[list[k].feature])
		}
	}
	const format = "In curves numbers of %d own rows are moved, by up to %.2g deviations, so that totals do not " +
		"disclose rows (--least-level): %s. More rows, or levels and values with more rows, would need less."
	g.note(true, format, rows, most, names(which))
}

// A curveBlur holds the largest moves for a curve, in the unit of its feature. A row moves by the larger of
// two amounts: for its interval between knots, and for the smallest group that it is in.
type curveBlur struct {
	feature   int
	knots     []float64
	deviation float64
	places    []float64 // for every interval between knots, before the first one and after the last one
	groups    []float64 // by the size of the smallest group of a row; the last one is for all larger ones
}

// newCurveBlur returns the moves for a curve whose feature has given values.
func (g *guard) newCurveBlur(v *valueCounts, c *Curve) curveBlur {
	b := curveBlur{feature: c.Feature, knots: c.Knots, deviation: v.deviation}
	for _, bits := range v.placeBits(c.Knots) {
		b.places = append(b.places, v.deviation*g.blurShare(v, mostTold*bits))
	}
	b.groups = g.groupMoves(v, len(c.Knots))
	return b
}

// groupMoves returns the largest moves of values, by the size of the smallest group of a row, if sums of some
// functions of the values are known.
func (g *guard) groupMoves(v *valueCounts, functions int) []float64 {
	list := []float64{math.Inf(1)} // no group has no rows
	rows := len(g.counted())
	for size := 1; size <= min(rows, exactCounts); size++ {
		if size == exactCounts {
			size = rows // which stands for all larger groups
		}
		share := g.blurShare(v, mostTold*v.bitsOf(size)/float64(functions))
		list = append(list, v.deviation*share)
		if share == 0 {
			break
		}
	}
	return list
}

// most returns the largest move of a row whose smallest group has a given size.
func (b *curveBlur) most(x []float64, size int) float64 {
	at, _ := slices.BinarySearch(b.knots, x[b.feature])
	return max(b.places[at], b.groups[min(size, len(b.groups)-1)])
}

// blurLogarithm sets the amounts for the logarithm of the target: the number of rows and that are two
// functions of the target.
func (g *guard) blurLogarithm() {
	if g.LeastLevel == 0 {
		return
	}
	g.setGroups()
	var list []float64
	for _, i := range g.counted() {
		list = append(list, rounded.Log(g.rows.in.Table.Y(int(i))))
	}
	const functions = 2
	values, rows, most := countValues(list), 0, 0.0
	moves := g.groupMoves(values, functions)
	for _, i := range g.counted() {
		if v := moves[min(g.smallest(int(i)), len(moves)-1)]; v > 0 {
			rows, most = rows+1, max(most, v/values.deviation)
		}
	}
	if rows == 0 {
		return
	}
	g.blur.logarithms = moves
	const format = "Logarithms of the target of %d own rows are moved, by up to %.2g deviations, so that totals do " +
		"not disclose rows (--least-level). More rows would need less."
	g.note(true, format, rows, most)
}

// blurShare returns the largest move of values, in deviations, with which sums of functions of them disclose
// told bits for each; 0 for none. A value that enough rows have is like a level: sums over its rows may be
// known.
func (g *guard) blurShare(v *valueCounts, told float64) float64 {
	if told >= exactBits || !(v.deviation > 0) || slices.Min(v.counts) >= g.LeastLevel {
		return 0
	}
	return rounded.Exp(-told * math.Ln2)
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
	read, list := g.rows.reader(), []float64(nil)
	for _, i := range g.counted() {
		if v := read(int(i))[feature]; !math.IsNaN(v) {
			list = append(list, v)
		}
	}
	return countValues(list)
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
	for from := range n + 1 {
		sum := 0.0
		for to := from; to <= n; to++ {
			sum += bits[to]
			functions := to - from - (supportInside - 2)
			if from == 0 || to == n {
				functions = to - from - (supportEnd - 1)
			}
			if functions <= 0 || functions >= n || sum == 0 {
				continue
			}
			for at := from; at <= to; at++ {
				least[at] = min(least[at], sum/float64(functions))
			}
		}
	}
	return least
}

// logChoose returns the logarithm of the number of ways to choose k of n.
func logChoose(n, k int) float64 {
	all := rounded.LogGamma(float64(n + 1))
	chosen := rounded.LogGamma(float64(k + 1))
	left := rounded.LogGamma(float64(n - k + 1))
	return all - chosen - left
}

// moves sets dst, which it returns, to the moves of the numbers of a row with features x, one for every
// curve. It is empty where no number is moved.
func (g *guard) moves(dst []float64, row int, x []float64) []float64 {
	dst = dst[:0]
	if g == nil || g.blur.curves == nil {
		return dst
	}
	key, size := rowKey(x, g.rows.in.Table.Y(row)), g.smallest(row)
	for i := range g.blur.curves {
		dst = append(dst, g.blur.curves[i].most(x, size)*g.blur.amount(key, 2+i))
	}
	return dst
}

// logMove returns the move of the logarithm of the target of a row.
func (g *guard) logMove(row int) float64 {
	if g == nil || g.blur.logarithms == nil {
		return 0
	}
	most := g.blur.logarithms[min(g.smallest(row), len(g.blur.logarithms)-1)]
	return most * g.blur.amount(rowKey(nil, g.rows.in.Table.Y(row)), 1)
}
