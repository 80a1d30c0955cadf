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
	// leastMove is the least move, in deviations, of a column of at most fewNumbers values if some of them
	// have few rows. Trainings with other knots give sums of other functions of the same rows, some six each.
	// From 25 trainings with exact numbers a listener read rows with a value that no other row has among
	// 20,000; with this move it read none from 100. Columns of more values need more trainings than that.
	leastMove  = 0x1p-13
	fewNumbers = 600
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
	alike      bool        // the numbers of all rows in a curve move by up to an equal amount
	logarithms []float64   // largest moves of logarithms of the target, as curveBlur.groups; nil: none

	leastOfCurves int // rows that a function of a curve may single out; 0 without curves
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
	g.eachValues(d.Curves, func(i int, v *valueCounts) { list[i] = g.newCurveBlur(v, &d.Curves[i]) })
	g.groupBesideValues(list)
	least := g.leastGroup(list)
	if !slices.ContainsFunc(list, func(b curveBlur) bool { return b.mostFrom(least) > 0 }) {
		return
	}
	g.blur.alike = !slices.ContainsFunc(list, func(b curveBlur) bool {
		return b.mostFrom(least) > b.groups[len(b.groups)-1]
	})
	features, moved, rows, most := g.rows.schema.Features(), make([]bool, len(list)), 0, 0.0
	var moves []float64
	for _, i := range g.counted() {
		any := false
		moves = g.largestMoves(moves, list, int(i), read(int(i)))
		for k, v := range moves {
			if v > 0 {
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

// leastGroup returns the size of the smallest group that some row may be in.
func (g *guard) leastGroup(list []curveBlur) int {
	least := len(g.counted())
	for _, size := range g.blur.groups {
		if size > 0 {
			least = min(least, int(size))
		}
	}
	for i := range list {
		least = min(least, list[i].own.least())
	}
	return least
}

// A curveBlur holds the largest moves for a curve, in the unit of its feature. A row moves by the larger of
// two amounts: for its interval between knots, and for the smallest group that it is in.
type curveBlur struct {
	feature   int
	knots     []float64
	deviation float64
	places    []float64   // for every interval between knots, before the first one and after the last one
	groups    []float64   // by the size of the smallest group of a row; the last one is for all larger ones
	own       valueGroups // of rows where a function of this curve is not 0
}

// newCurveBlur returns the moves for a curve whose feature has given values.
func (g *guard) newCurveBlur(v *valueCounts, c *Curve) curveBlur {
	b := curveBlur{feature: c.Feature, knots: c.Knots, deviation: v.deviation, own: v.groups(c.Knots)}
	for _, bits := range v.placeBits(c.Knots) {
		b.places = append(b.places, v.deviation*blurShare(v, mostTold*bits, g.leastShown(), v.leastMove()))
	}
	b.groups = g.groupMoves(v, len(c.Knots), g.leastShown(), v.leastMove())
	return b
}

// groupMoves returns the largest moves of values, by the size of the smallest group of a row, if sums of some
// functions of the values are known. Values are exact if each has a least number of rows, and otherwise move
// by at least a given share of a deviation.
func (g *guard) groupMoves(v *valueCounts, functions, least int, atLeast float64) []float64 {
	list := []float64{math.Inf(1)} // no group has no rows
	rows := len(g.counted())
	for size := 1; size <= min(rows, exactCounts); size++ {
		if size == exactCounts {
			size = rows // which stands for all larger groups
		}
		share := blurShare(v, mostTold*v.bitsOf(size)/float64(functions), least, atLeast)
		list = append(list, v.deviation*share)
		if share <= atLeast {
			break
		}
	}
	return list
}

// mostFrom returns the largest move of any row, if all groups have at least a given size.
func (b *curveBlur) mostFrom(size int) float64 {
	return max(slices.Max(b.places), b.groups[min(size, len(b.groups)-1)])
}

// most returns the largest move of a row whose smallest group has a given size.
func (b *curveBlur) most(x []float64, size int) float64 {
	at, _ := slices.BinarySearch(b.knots, x[b.feature])
	return max(b.places[at], b.groups[min(size, len(b.groups)-1)])
}

// largestMoves sets dst, which it returns, to the largest moves for every curve of a row with features x. A
// function of one curve may single out few rows: then all other curves move as a group of these rows needs.
func (g *guard) largestMoves(dst []float64, list []curveBlur, row int, x []float64) []float64 {
	dst = dst[:0]
	if g.blur.alike {
		for i := range list {
			dst = append(dst, list[i].groups[len(list[i].groups)-1])
		}
		return dst
	}
	size := g.smallest(row)
	least, at, next := size, -1, size // the smallest group, its curve, and the smallest one of other curves
	for i := range list {
		switch n := list[i].own.size(x[list[i].feature]); {
		case n < least:
			least, at, next = n, i, least
		case n < next:
			next = n
		}
	}
	for i := range list {
		if i == at {
			dst = append(dst, list[i].most(x, next))
		} else {
			dst = append(dst, list[i].most(x, least))
		}
	}
	return dst
}

// blurLogarithm sets the amounts for the logarithm of the target: the number of rows and that are two
// functions of the target. Where there may be curves, a function of one may single out few rows.
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
	moves := g.groupMoves(values, functions, g.LeastLevel, 0)
	if g.curves {
		g.blur.leastOfCurves = g.LeastLevel
	}
	for _, i := range g.counted() {
		if v := moves[g.groupOfLogarithm(int(i), len(moves))]; v > 0 {
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

// groupOfLogarithm returns the size of the smallest group of a row for the logarithm of its target, below a
// limit.
func (g *guard) groupOfLogarithm(row, limit int) int {
	size := g.smallest(row)
	if g.blur.leastOfCurves > 0 {
		size = min(size, g.blur.leastOfCurves)
	}
	return min(size, limit-1)
}

// blurShare returns the largest move of values, in deviations. With this move, sums of functions of the
// values disclose told bits of each value. The result is at least atLeast, and atLeast if told is large. It
// is 0 if every value has the least number of rows, as a level has: sums over these rows may be known.
func blurShare(v *valueCounts, told float64, least int, atLeast float64) float64 {
	switch {
	case !(v.deviation > 0) || slices.Min(v.counts) >= least:
		return 0
	case told >= exactBits:
		return atLeast
	}
	return max(rounded.Exp(-told*math.Ln2), atLeast)
}

// leastMove returns the least move of the values in a curve, in deviations.
func (v *valueCounts) leastMove() float64 {
	if len(v.values) > fewNumbers {
		return 0
	}
	return leastMove
}

// moves sets dst, which it returns, to the moves of the numbers of a row with features x, one for every
// curve. It is empty where no number is moved.
func (g *guard) moves(dst []float64, row int, x []float64) []float64 {
	dst = dst[:0]
	if g == nil || g.blur.curves == nil {
		return dst
	}
	key := rowKey(x, g.rows.in.Table.Y(row))
	dst = g.largestMoves(dst, g.blur.curves, row, x)
	for i := range dst {
		dst[i] *= g.blur.amount(key, 2+i)
	}
	return dst
}

// logMove returns the move of the logarithm of the target of a row.
func (g *guard) logMove(row int) float64 {
	if g == nil || g.blur.logarithms == nil {
		return 0
	}
	most := g.blur.logarithms[g.groupOfLogarithm(row, len(g.blur.logarithms))]
	return most * g.blur.amount(rowKey(nil, g.rows.in.Table.Y(row)), 1)
}
