package mixed

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Off switches a rule of [Disclosure] off.
const Off = -1

// A Disclosure holds the limits of an owner's rules. They check the owner's training rows before any of them
// is added to a total. Every member learns all totals, and totals of few rows determine these rows. The
// rules are about own rows only, so that no other owner can argue; they need not be equal at all owners. 0
// stands for the default, [Off] for no rule. A table that is not shared has no rules.
type Disclosure struct {
	// LeastRows is the number of own rows for each column of the design. With fewer an owner votes
	// for fewer knots and curves; without curves it refuses the training. Default 3.
	LeastRows int
	// LeastLevel is the least number of own rows for each of these: a level of a category, which
	// otherwise counts as missing; values of a column other than the usual one, which otherwise counts as
	// constant; rows where two columns differ, as otherwise the later one counts as the earlier one; rows
	// on which a function of a curve, or the effect of a value of a period, is not zero. Default 12,
	// and 3 with Options.NoCurves. Off also switches off the rules without a number of their own: rows
	// that a combination of columns shows are left out, weights are bounded, numbers in curves are moved,
	// and errors are rounded.
	LeastLevel int
	// LeastSmall is the number of own tasks with fewer rows than columns and two, which hide among each
	// other; together they need five times as many rows. Otherwise no total contains their rows, nor
	// those of tasks of one row in any case; they still get coefficients. With curves, tasks with fewer
	// rows than columns need to be as many, with two rows for each column. Half as many are enough if the
	// owner has no other tasks. Otherwise no total contains their rows where these are at most 7 % of its
	// own, and the owner votes against as many curves where they are more. With at most that many tasks,
	// and in tasks whose sums of products few own tasks have, rows are left out that a combination of columns
	// shows among the rows of their task. An owner needs twice as many tasks where all others may pool what
	// they know, or there is one other: only its own rows hide each other then. Default 10.
	LeastSmall int
	// Colluding is the number of other owners that may pool what they know; 0 stands for 1, so that each of
	// them knows its own rows alone.
	Colluding int
	// Strict is for owners who do not trust each other. It leaves tasks with fewer rows than columns and
	// two out of all totals, levels, curves and periods, and rows that a combination of columns shows
	// among the rows of their task. It raises LeastLevel to as many rows.
	Strict bool
}

const (
	// An owner with fewer held-out rows than leastHeldOut adds no errors to a total.
	leastHeldOut = 12
	// A task is small if its rows are fewer than the columns, the constant included, and smallExtra.
	smallExtra = 2
	// Small tasks need rowsPerSmall rows for each task of LeastSmall.
	rowsPerSmall = 5
	// A function of a curve is not zero on supportInside neighbouring intervals or more. At an end these are
	// supportEnd intervals and the part beyond the outer knot.
	supportInside = 4
	supportEnd    = 2
	// Rows are left out in place of curves if they are at most spareShare of the own rows.
	spareShare = .07
	// Weights beyond farWeight times the median weight of own rows count as that.
	farWeight = 10
	// Where all other owners may pool what they know, aloneTimes LeastSmall tasks are needed.
	aloneTimes = 2
)

// limits returns the limits of the rules for a number of owners; 0 is a rule that is off.
func (o *Options) limits(owners int) Disclosure {
	limit := func(v, usual int) int {
		switch {
		case v < 0:
			return 0
		case v == 0:
			return usual
		}
		return v
	}
	level := 12
	if o.NoCurves {
		level = 3
	}
	d := o.Disclosure
	d.LeastRows, d.LeastLevel, d.LeastSmall = limit(d.LeastRows, 3), limit(d.LeastLevel, level), limit(d.LeastSmall, 10)
	if d.Colluding = max(d.Colluding, 1); d.Colluding >= owners-1 {
		d.LeastSmall *= aloneTimes
	}
	return d
}

// A guard applies the rules to the rows of one owner.
type guard struct {
	Disclosure
	rows   *rows
	left   []bool     // tasks whose rows are in no total
	codes  []codedRow // categorical columns of the table
	steady []bool     // columns of all owners that count as constant here
	usual  []float64  // their values; NaN where they count as missing
	fill   []float64  // replaces values that are missing in few rows; NaN for none
	twins  []twin     // columns of all owners that count as another one
	out    []bool     // rows that are in no total
	silent bool       // no errors of this owner are in totals
	median float64    // of the weights of own rows; 0: weights count as they are
	needed int        // training rows for curves with many knots
	blur   blur       // of curves, and of logarithms of the target
	did    []string   // sentences about what the rules did
	curves bool       // the form with curves is tried

	farRows, exposedRows, aloneRows, kindRows int // that are out
}

// bound returns what a weight counts as. Rows that have nearly all weight would be alone in totals, and rows
// with nearly none would not hide others.
func (g *guard) bound(weight float64) float64 {
	if g == nil || g.median == 0 {
		return weight
	}
	return min(max(weight, g.median/farWeight), g.median*farWeight)
}

// setMedian sets the median of the weights of training rows.
func (g *guard) setMedian() {
	if g.rows.in.Table.Weights() == nil || g.LeastLevel == 0 {
		return
	}
	var list []float64
	for _, i := range g.rows.order {
		list = append(list, g.rows.in.weight(int(i)))
	}
	if slices.Sort(list); len(list) > 0 {
		g.median = list[len(list)/2]
	}
}

// A codedRow is a categorical column of the table: its levels are the features from first on.
type codedRow struct {
	column string
	first  int
	hidden []bool // levels that count as missing or, if usual is at least 0, as that level
	usual  int
}

// newGuard returns the guard of the rows of one of several owners.
func newGuard(r *rows, o *Options) *guard {
	g := &guard{Disclosure: o.limits(r.sums.Owners()), rows: r, curves: !o.NoCurves}
	g.left, g.out = make([]bool, len(r.in.Table.Tasks())), make([]bool, r.in.Table.Rows())
	g.setMedian()
	g.setKey()
	schema, at := r.in.Table.Schema(), 0
	for _, column := range schema.Columns {
		levels, coded := schema.Levels(column)
		if !coded {
			at++
			continue
		}
		g.codes = append(g.codes, codedRow{column, at, make([]bool, len(levels)), -1})
		at += len(levels)
	}
	return g
}

// settle leaves out tasks, and hides levels, until the rules hold for a design of the given number of columns
// beside the constant. A second call with more columns leaves out more.
func (g *guard) settle(columns int) {
	for changes := true; changes; {
		tasks, levels, middling := g.leaveSmall(columns), g.hideLevels(), g.leaveMiddling()
		changes = tasks || levels || middling
	}
}

// leaveSmall leaves out small tasks that do not hide among enough others, and tasks of one row. From one
// value of such a row a member that steers strengths reads it, whatever other tasks there are. It reports
// whether there are any.
func (g *guard) leaveSmall(columns int) bool {
	lone, _ := g.small(2)
	if g.LeastSmall == 0 {
		lone = nil
	}
	for _, k := range lone {
		g.left[k] = true
	}
	return g.leaveFew(columns) || len(lone) > 0
}

// leaveFew leaves out small tasks that do not hide among enough others, and reports whether there are any.
func (g *guard) leaveFew(columns int) bool {
	tasks, rows := g.small(1 + columns + smallExtra)
	if len(tasks) == 0 || !g.Strict && len(tasks) >= g.LeastSmall && rows >= rowsPerSmall*g.LeastSmall {
		return false
	}
	for _, k := range tasks {
		g.left[k] = true
	}
	return true
}

// leaveMiddling leaves out the tasks with fewer rows than a design with curves has columns. It does so where
// they are too few to hide among each other and have a small share of the own rows: otherwise the owner
// would have to vote against curves for them. It must be before the first total, since the difference of
// totals with and without their rows would show them. It reports whether there are any.
func (g *guard) leaveMiddling() bool {
	r := g.rows
	if r.stats == nil || !g.curves || g.Strict || g.LeastSmall == 0 {
		return false
	}
	numeric, own := 0, len(g.counted())
	for j := range r.stats {
		if !r.stats[j].level {
			numeric++
		}
	}
	width := 1 + len(r.stats) + numeric*(knots-2)
	if numeric > manyFeatures || own < g.LeastRows*width {
		width = 1 + len(r.stats) + numeric*(fewKnots-2)
	}
	if numeric == 0 || width > widest || own < g.LeastRows*width {
		return false // no curves in any case
	}
	tasks, rows := g.small(width)
	if g.hidden(tasks, rows, width) || float64(rows) > spareShare*float64(own) {
		return false
	}
	for _, k := range tasks {
		g.left[k] = true
	}
	return true
}

// hidden reports whether own tasks with fewer rows than columns, with that number of rows together, hide
// among each other. Half as many suffice where the owner has no others beside them.
func (g *guard) hidden(tasks []int, rows, columns int) bool {
	least := g.LeastSmall
	if rows == len(g.counted()) {
		least = (least + 1) / 2
	}
	return len(tasks) == 0 || least == 0 || len(tasks) >= least && rows >= 2*columns
}

// small returns the own tasks in totals with fewer rows than least, and the number of their rows.
func (g *guard) small(least int) (tasks []int, rows int) {
	for k, left := range g.left {
		if n := len(g.rows.of(k)); n > 0 && n < least && !left {
			tasks = append(tasks, k)
			rows += n
		}
	}
	return tasks, rows
}

// keeps reports whether a row is not left out by itself.
func (g *guard) keeps(row int) bool { return g == nil || g.out == nil || !g.out[row] }

// counts reports whether totals contain the task of a row.
func (g *guard) counts(row int) bool { return g == nil || !g.left[g.rows.in.Table.Task(row)] }

// counted returns the own training rows that are in totals, in their order.
func (g *guard) counted() (list []int32) {
	for _, k := range g.rows.list {
		if !g.left[k] {
			list = append(list, g.rows.of(k)...)
		}
	}
	return list
}

// hideLevels hides the levels with too few own rows, and reports whether there are new ones. Hidden levels
// count as missing if the column is missing in enough rows then, and otherwise as the most frequent level: a
// missing value of few rows would show them like a level.
func (g *guard) hideLevels() (changes bool) {
	t := g.rows.in.Table
	x := make([]float64, len(t.Features()))
	rows := make([]int, len(x)) // of every level
	missing := make([]int, len(g.codes))
	for _, i := range g.counted() {
		t.X(x, int(i))
		for c := range g.codes {
			switch at := g.codes[c].level(x); {
			case at < 0:
				missing[c]++
			default:
				rows[g.codes[c].first+at]++
			}
		}
	}
	for c := range g.codes {
		code := &g.codes[c]
		code.usual = -1
		for k := range code.hidden {
			n := rows[code.first+k]
			if !code.hidden[k] && (g.Strict || n > 0 && n < g.LeastLevel) {
				code.hidden[k], changes = true, true
			}
			switch {
			case code.hidden[k]:
				missing[c] += n
			case code.usual < 0 || n > rows[code.first+code.usual]:
				code.usual = k
			}
		}
		if missing[c] == 0 || missing[c] >= g.LeastLevel {
			code.usual = -1
		}
	}
	return changes
}

// level returns the place of the level of a row, -1 where it is missing.
func (c *codedRow) level(x []float64) int {
	if len(c.hidden) == 0 || math.IsNaN(x[c.first]) {
		return -1
	}
	return slices.Index(x[c.first:][:len(c.hidden)], 1)
}

// hide replaces hidden levels, and missing ones of few rows, in a row of the table.
func (g *guard) hide(x []float64) {
	if g == nil {
		return
	}
	for i := range g.codes {
		c := &g.codes[i]
		at := c.level(x)
		if at < 0 && c.usual < 0 || at >= 0 && !c.hidden[at] {
			continue
		}
		for k := range c.hidden {
			switch {
			case c.usual < 0:
				x[c.first+k] = math.NaN()
			case k == c.usual:
				x[c.first+k] = 1
			default:
				x[c.first+k] = 0
			}
		}
	}
}

// shown returns the levels of a categorical column that are not hidden, of all that it has.
func (g *guard) shown(column string, all []string) (list []string) {
	if g == nil {
		return all
	}
	c := &g.codes[slices.IndexFunc(g.codes, func(c codedRow) bool { return c.column == column })]
	for k, level := range all {
		if !c.hidden[k] {
			list = append(list, level)
		}
	}
	return list
}

// takesPart reports what keeps the rows of this owner out of all totals: too few rows for the linear columns.
func (g *guard) takesPart() error {
	own, columns := len(g.counted()), 1+len(g.rows.stats)
	if g.LeastRows == 0 || own >= g.LeastRows*columns {
		return nil
	}
	left := 0
	for k, out := range g.left {
		if out {
			left += len(g.rows.of(k))
		}
	}
	const format = "the table has %d training rows for totals, and %d columns with the constant: " +
		"it needs %d for each, %d rows, so that totals do not determine rows"
	why := fmt.Sprintf(format, own, columns, g.LeastRows, g.LeastRows*columns)
	if left > 0 {
		why += fmt.Sprintf("; %d more rows are of tasks with fewer than %d rows", left, columns+smallExtra)
	}
	alone := len(g.rows.stats) == len(g.rows.in.Table.Features()) // no levels of other owners
	why += ". Add rows or tasks, drop columns, or lower --least-rows or --least-small"
	return &Error{errors.New(why), fewRows, alone}
}

// heldOut counts the held-out rows of positive weight that counts accepts.
func (in *Input) heldOut(counts func(row int) bool) (n int) {
	for i := range in.Table.Rows() {
		if in.weight(i) > 0 && !in.trains(i) && counts(i) {
			n++
		}
	}
	return n
}

// scores reports whether totals of errors contain the errors of a task. Where few held-out rows are left they
// contain no error of this owner.
func (g *guard) scores(task int) bool { return g == nil || !g.left[task] && !g.silent }

// fewRows is the public text about a table that does not satisfy a limit.
const fewRows = "its table has too few rows"
