package mixed

import "math"

// holdSteady finds the columns of all owners that have another value than the usual one in few own rows: they
// count as constant, or as missing where most values are missing.
func (g *guard) holdSteady() {
	g.steady, g.usual, g.twins, g.fill = nil, nil, nil, nil // the reader shows all values
	least := g.leastOff()
	fill := g.fillFew(least)
	off, usual := g.offUsual(least)
	steady := make([]bool, len(off))
	for j, n := range off {
		steady[j] = n > 0 && n < least
	}
	g.steady, g.usual, g.fill = steady, usual, fill
}

// fillFew returns, for every column that is missing in few own rows, the mean of the others, and NaN for
// other columns. What all owners fill in follows from totals: it could be so far from all values that the
// rows without one would show.
func (g *guard) fillFew(least int) []float64 {
	mean, found, read := make([]float64, len(g.rows.stats)), make([]int, len(g.rows.stats)), g.rows.reader()
	rows := g.counted()
	for _, i := range rows {
		for j, v := range read(int(i)) {
			if !math.IsNaN(v) {
				found[j]++
				mean[j] += (v - mean[j]) / float64(found[j])
			}
		}
	}
	for j, n := range found {
		if missing := len(rows) - n; n == 0 || missing == 0 || missing >= least || g.rows.stats[j].level {
			mean[j] = math.NaN()
		}
	}
	return mean
}

// leastOff returns the least number of own rows with another value of a column than the usual one, or than
// another column. Where other owners are not trusted it is more than the columns: one of them could have
// these rows alone in a total, and fewer rows than columns follow from it.
func (g *guard) leastOff() int {
	if g.Strict {
		return max(g.LeastLevel, 1+len(g.rows.stats)+smallExtra)
	}
	return g.LeastLevel
}

// holdTwins finds the columns of all owners that differ from an earlier one in few own rows, where they count
// as the earlier one: the difference of two totals would show these rows.
func (g *guard) holdTwins() {
	taken := make([]bool, len(g.rows.stats))
	var list []twin
	for _, t := range g.findTwins(g.leastOff()) {
		if !taken[t.column] {
			taken[t.column] = true
			list = append(list, t)
		}
	}
	g.twins = list
}

// offUsual counts, for every column of all owners, the own rows with another value than the usual one; a
// missing value is a value like others. Where the counts are at least some limit they need not be exact.
func (g *guard) offUsual(limit int) (off []int, usual []float64) {
	rows, read := g.counted(), g.rows.reader()
	f := newFrequent(len(g.rows.stats), len(rows) <= 2*limit)
	for _, i := range rows {
		f.add(read(int(i)))
	}
	off, usual = make([]int, len(g.rows.stats)), make([]float64, len(g.rows.stats))
	for j := range usual {
		usual[j] = f.value(j)
	}
	for _, i := range rows {
		for j, v := range read(int(i)) {
			if !same(v, usual[j]) {
				off[j]++
			}
		}
	}
	return off, usual
}

// same reports whether two values are equal; missing ones are.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// A twin is a column that has the value of another one in all but a few own rows. Two columns of two values
// each are twins, too, where one is a code for the other one.
type twin struct {
	of, column int
	coded      bool
	from, to   [2]float64 // of a coded column: values of the other one, and what they stand for
	rows       int        // that differ
}

// value returns what the column counts as beside a value of the other one.
func (t *twin) value(of float64) float64 {
	switch {
	case t.coded && of == t.from[0]:
		return t.to[0]
	case t.coded && of == t.from[1]:
		return t.to[1]
	}
	return of
}

// atOnce is the number of columns that are compared with all later ones in one pass through the rows.
const atOnce = 256

// findTwins returns the columns that differ from another one in some own rows, but fewer than a limit: in the
// order of the columns. Levels of one category differ in the rows of both, and are not compared.
func (g *guard) findTwins(limit int) (list []twin) {
	n := len(g.rows.stats)
	if limit < 2 {
		return nil
	}
	pairs, category := g.pairs(), make([]int, n) // 0: a column of numbers
	for k, c := range g.rows.schema.levelPlaces() {
		for j := c[0]; j < c[1]; j++ {
			category[j] = 1 + k
		}
	}
	rows, read := g.counted(), g.rows.reader()
	for first := 0; first < n; first += atOnce {
		var open []twin
		for column := first; column < min(first+atOnce, n); column++ {
			for of := range column {
				a, b := pairs[of], pairs[column]
				levels := category[of] > 0 && category[of] == category[column]
				if levels || a.constant() || b.constant() {
					continue
				}
				if !a.two() || !b.two() {
					open = append(open, twin{of: of, column: column})
					continue
				}
				from := [2]float64{a.low, a.high}
				open = append(open, twin{of, column, true, from, [2]float64{b.low, b.high}, 0})
				open = append(open, twin{of, column, true, from, [2]float64{b.high, b.low}, 0})
			}
		}
		for _, i := range rows {
			x, left := read(int(i)), open[:0]
			for _, t := range open {
				if !same(t.value(x[t.of]), x[t.column]) {
					t.rows++
				}
				if t.rows < limit {
					left = append(left, t)
				}
			}
			if open = left; len(open) == 0 {
				break
			}
		}
		for _, t := range open {
			if t.rows > 0 {
				list = append(list, t)
			}
		}
	}
	return list
}

// A pair is the smallest and the largest value of a column in own rows, and whether it has others.
type pair struct {
	low, high float64
	more      bool
}

func (p *pair) constant() bool { return !(p.low < p.high) }
func (p *pair) two() bool      { return p.low < p.high && !p.more }

// pairs returns the pairs of all columns of all owners.
func (g *guard) pairs() []pair {
	list, read := make([]pair, len(g.rows.stats)), g.rows.reader()
	for j := range list {
		list[j] = pair{math.Inf(1), math.Inf(-1), false}
	}
	rows := g.counted()
	for _, i := range rows {
		for j, v := range read(int(i)) {
			if !math.IsNaN(v) {
				list[j].low, list[j].high = min(list[j].low, v), max(list[j].high, v)
			}
		}
	}
	for _, i := range rows {
		for j, v := range read(int(i)) {
			p := &list[j]
			p.more = p.more || v > p.low && v < p.high
		}
	}
	return list
}

// replace replaces the values of columns that count as constant, or as others, in a row of all owners'
// features.
func (g *guard) replace(x []float64) {
	if g == nil {
		return
	}
	for j, steady := range g.steady {
		switch {
		case steady:
			x[j] = g.usual[j]
		case math.IsNaN(x[j]):
			x[j] = g.fill[j]
		}
	}
	for i := range g.twins {
		t := &g.twins[i]
		x[t.column] = t.value(x[t.of])
	}
}

// levelPlaces returns the first feature of every categorical column, and the feature after its last one.
func (s *Schema) levelPlaces() (list [][2]int) {
	at, coded := 0, s.byColumn()
	for _, column := range s.Columns {
		levels, ok := coded[column]
		if !ok {
			at++
			continue
		}
		list = append(list, [2]int{at, at + len(levels)})
		at += len(levels)
	}
	return list
}
