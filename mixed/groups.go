package mixed

import (
	"cmp"
	"slices"
)

// pairRows is the number of own rows where two columns differ above which the rows stop being a group.
const pairRows = 200

// A rowGroup is own rows that a line of X'X or X'y, or the difference of two lines, is about alone.
type rowGroup struct {
	size int
	in   func(x []float64, y float64) bool // whether a row with features x and target y is of the group
}

// smallest returns the size of the smallest group of own rows that a row is in.
func (g *guard) smallest(row int) int {
	if size := g.blur.groups[row]; size > 0 {
		return int(size)
	}
	return len(g.rows.order)
}

// setGroups finds the smallest group of every own row.
func (g *guard) setGroups() {
	if g.blur.groups != nil {
		return
	}
	g.blur.groups = make([]int32, g.rows.in.Table.Rows())
	list, read := g.smallGroups(), g.rows.reader()
	if len(list) == 0 {
		return
	}
	for _, i := range g.counted() {
		x, y := read(int(i)), g.rows.in.Table.Y(int(i))
		at := slices.IndexFunc(list, func(group rowGroup) bool { return group.in(x, y) })
		if at >= 0 {
			g.blur.groups[i] = int32(list[at].size)
		}
	}
}

// smallGroups returns the groups of fewer than exactCounts own rows, the smallest first: rows with another
// value of a column, or of the target, than the usual one; rows with the usual one of two values; and rows
// where two columns differ, or a column and the target.
func (g *guard) smallGroups() (list []rowGroup) {
	rows := len(g.counted())
	most := min(rows, exactCounts)
	add := func(size int, in func(x []float64, y float64) bool) {
		if size > 0 && size < most {
			list = append(list, rowGroup{size, in})
		}
	}
	off, usual := g.offUsual(most)
	pairs := g.pairs()
	for j, n := range off {
		add(n, func(x []float64, _ float64) bool { return !same(x[j], usual[j]) })
		if pairs[j].two() {
			add(rows-n, func(x []float64, _ float64) bool { return same(x[j], usual[j]) })
		}
	}
	for _, t := range g.findTwins(pairRows) {
		add(t.rows, func(x []float64, _ float64) bool { return !same(t.value(x[t.of]), x[t.column]) })
	}
	target, common := g.pairOfTarget(), g.usualTarget()
	n := len(g.offTarget())
	add(n, func(_ []float64, y float64) bool { return y != common })
	if target.two() {
		add(rows-n, func(_ []float64, y float64) bool { return y == common })
		for _, t := range g.twinsOfTarget(pairs, target) {
			add(t.rows, func(x []float64, y float64) bool { return t.value(x[t.of]) != y })
		}
	}
	slices.SortStableFunc(list, func(a, b rowGroup) int { return cmp.Compare(a.size, b.size) })
	return list
}

// An indicator is 1 in rows where a feature has a value, and 0 in others.
type indicator struct {
	feature int
	value   float64
}

func (d indicator) in(x []float64) bool { return same(x[d.feature], d.value) }

// groupBesideValues adds groups: the rows where a value of a column differs from a column of two values, or
// from a value of another column. Functions of the curve of a column single out each of its values if the
// column has no more values than knots.
func (g *guard) groupBesideValues(list []curveBlur) {
	var singled, all []indicator
	for i := range list {
		if own := &list[i].own; len(own.values) <= len(list[i].knots) {
			for _, v := range own.values {
				singled = append(singled, indicator{list[i].feature, v})
			}
		}
	}
	if len(singled) == 0 {
		return
	}
	all = singled
	for j, p := range g.pairs() {
		if p.two() {
			all = append(all, indicator{j, p.low}, indicator{j, p.high})
		}
	}
	type pairing struct {
		a, b indicator
		rows int
	}
	var open []pairing
	for i, a := range singled {
		for _, b := range all[i+1:] {
			if a.feature != b.feature {
				open = append(open, pairing{a, b, 0})
			}
		}
	}
	read := g.rows.reader()
	for _, i := range g.counted() {
		x, left := read(int(i)), open[:0]
		for _, p := range open {
			if p.a.in(x) != p.b.in(x) {
				p.rows++
			}
			if p.rows < pairRows {
				left = append(left, p)
			}
		}
		if open = left; len(open) == 0 {
			return
		}
	}
	for _, i := range g.counted() {
		x := read(int(i))
		for _, p := range open {
			if p.a.in(x) != p.b.in(x) {
				g.blur.groups[i] = int32(min(g.smallest(int(i)), p.rows))
			}
		}
	}
}

// twinsOfTarget returns the columns of two values as codes for a target of two values, one of each kind,
// where they differ from it in fewer than pairRows own rows.
func (g *guard) twinsOfTarget(pairs []pair, target pair) (list []twin) {
	var open []twin
	for j, p := range pairs {
		if p.two() {
			from := [2]float64{p.low, p.high}
			open = append(open, twin{j, -1, true, from, [2]float64{target.low, target.high}, 0},
				twin{j, -1, true, from, [2]float64{target.high, target.low}, 0})
		}
	}
	read := g.rows.reader()
	for _, i := range g.counted() {
		x, y := read(int(i)), g.rows.in.Table.Y(int(i))
		for k := range open {
			if t := &open[k]; t.value(x[t.of]) != y {
				t.rows++
			}
		}
	}
	for _, t := range open {
		if t.rows < pairRows {
			list = append(list, t)
		}
	}
	return list
}

// pairOfTarget returns the smallest and the largest target of own rows, and whether there are others.
func (g *guard) pairOfTarget() (p pair) {
	for k, i := range g.counted() {
		y := g.rows.in.Table.Y(int(i))
		switch {
		case k == 0:
			p.low, p.high = y, y
		case p.more || y == p.low || y == p.high:
		case p.low == p.high:
			p.low, p.high = min(y, p.low), max(y, p.high)
		default:
			p.more = true
		}
	}
	return p
}

// usualTarget returns the most frequent target of own rows. Where many have another one, it need not be the
// most frequent one.
func (g *guard) usualTarget() float64 {
	rows := g.counted()
	f := newFrequent(1, len(rows) <= 2*exactCounts)
	for _, i := range rows {
		f.add([]float64{g.rows.in.Table.Y(int(i))})
	}
	return f.value(0)
}

// offTarget returns the own rows with another target than the usual one.
func (g *guard) offTarget() (list []int32) {
	usual := g.usualTarget()
	for _, i := range g.counted() {
		if g.rows.in.Table.Y(int(i)) != usual {
			list = append(list, i)
		}
	}
	return list
}
