package mixed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// wantsFewKnots reports whether this owner votes for curves with few knots: it has too few rows for the
// columns that numeric features would have with many, beside the linear ones.
func (g *guard) wantsFewKnots(linear, numeric int) bool {
	if g == nil {
		return false
	}
	most, own := linear+numeric*(knots-2), len(g.counted())
	g.needed = g.LeastRows * most
	return own < g.needed
}

// tellFewKnots keeps sentences about curves that have few knots since an owner has voted for them.
func (g *guard) tellFewKnots() {
	own := len(g.counted())
	const format = "This owner voted for curves with %d knots in place of %d, which need %d training rows " +
		"(--least-rows): it has %d."
	g.note(own < g.needed, format, fewKnots, knots, g.needed, own)
	g.noteAll("Curves have %d knots: some owner has too few rows for more.", fewKnots)
}

// tellCoarse keeps a sentence about curves of two owners, one of them with few rows.
func (g *guard) tellCoarse() {
	if g == nil {
		return
	}
	g.noteAll("There are two owners, and one has fewer than %d rows: knots come from coarser counts, and curves may "+
		"differ from those of difalt fit.", few)
}

// coarser are the numbers of knots that a curve may have where owners vote against it with more; 0 stands for
// all of them.
var coarser = []int{0, fewKnots, 4, 3}

// thinned returns the curve with a number of its knots, evenly spaced among them, or with all if it has no
// more; 0: with all. scale is the unit of its feature.
func (c *Curve) thinned(most int, scale float64) Curve {
	n := len(c.Knots)
	if most == 0 || n <= most {
		return *c
	}
	var knots []float64
	for i := range most {
		knots = append(knots, c.Knots[(2*i*(n-1)+most-1)/(2*(most-1))])
	}
	return newSpline(c.Feature, knots, scale)
}

// voteOnCurves leaves in a design the curves that no owner votes against, in two sums. The first is about
// each curve, with all of its knots and with fewer: a function of it may live on few own rows alone. The
// second is about the number of columns that are left: an owner may have too few rows for them, or too few
// small tasks. within marks the linear columns that vary within tasks.
func (g *guard) voteOnCurves(ctx context.Context, d *Design, within []bool) error {
	if g == nil {
		return nil
	}
	features, size := g.rows.schema.Features(), len(coarser)
	var all []Curve // all forms of the first curve, then of the second ...
	for i := range d.Curves {
		for _, most := range coarser {
			c := &d.Curves[i]
			all = append(all, c.thinned(most, d.Scale[c.Feature]))
		}
	}
	against, alone := make([]float64, len(all)), make([]bool, len(all))
	if g.LeastLevel > 0 {
		alone = g.bendAlone(all)
	}
	for k, c := range all {
		if g.Strict || alone[k] {
			against[k] = 1
		}
		if last := k%size == size-1; last && alone[k] && !g.Strict {
			const format = "This owner voted against the curve of %q: fewer than %d own rows (--least-level) lie " +
				"where it can bend alone."
			g.note(true, format, features[c.Feature], g.LeastLevel)
		} else if !last && alone[k] && !alone[k+1] && !g.Strict {
			const format = "This owner voted against more than %d knots of the curve of %q: fewer than %d own rows " +
				"(--least-level) lie where it can bend alone with more."
			g.note(true, format, len(all[k+1].Knots), features[c.Feature], g.LeastLevel)
		}
	}
	if err := g.vote(ctx, "owners against a curve", against); err != nil {
		return err
	}
	var kept []Curve
	thinner := 0
	for i := range d.Curves {
		at := slices.Index(against[i*size:][:size], 0)
		if at >= 0 {
			kept = append(kept, all[i*size+at])
		}
		if at > 0 {
			thinner++
		}
	}
	g.noteLost(len(d.Curves), len(kept), thinner, "voted against them")
	d.Curves = kept
	if len(kept) == 0 {
		return nil
	}
	return g.voteOnNumber(ctx, d, within)
}

// noteLost keeps sentences about curves that were left out, or have fewer knots, since some owner did that.
func (g *guard) noteLost(curves, kept, thinner int, why string) {
	if out := curves - kept; out > 0 {
		g.noteAll("%d of %d curves were left out: some owner %s.", out, curves, why)
	}
	if thinner > 0 {
		g.noteAll("%d of %d curves have fewer knots: some owner %s with more.", thinner, curves, why)
	}
}

// fewerColumns returns the curves of a design, and then designs with ever fewer columns: the last curve in an
// order has fewer knots, and is left out in the end, then the one before it. A curve without columns is left
// out. The last design still has a curve.
func fewerColumns(d *Design, order []int) [][]Curve {
	steps := [][]Curve{slices.Clone(d.Curves)}
	for _, i := range slices.Backward(order) {
		c := &d.Curves[i]
		for _, most := range coarser[1:] {
			if len(c.Knots) > most {
				next := slices.Clone(steps[len(steps)-1])
				next[i] = c.thinned(most, d.Scale[c.Feature])
				steps = append(steps, next)
			}
		}
		next := slices.Clone(steps[len(steps)-1])
		next[i] = Curve{}
		steps = append(steps, next)
	}
	return steps[:len(steps)-1]
}

// voteOnNumber leaves as many columns of curves in a design as all owners have rows for, in one sum. An owner
// votes against each design for whose columns it has too few rows, or too few small tasks. Curves of columns
// that vary within tasks come first, and curves of few columns before wider ones.
func (g *guard) voteOnNumber(ctx context.Context, d *Design, within []bool) error {
	order := make([]int, len(d.Curves))
	for i := range order {
		order[i] = i
	}
	cost := func(i int) int { // columns, and more than any number of them
		if c := &d.Curves[i]; within[1+c.Feature] {
			return c.width
		}
		return d.Curves[i].width + widest
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cost(a), cost(b)) })
	steps := fewerColumns(d, order)
	against, why, most := make([]float64, len(steps)), "", 0
	for k, curves := range steps {
		width := 0
		for i := range curves {
			width += curves[i].width
		}
		tooFew := g.tooFewRows(1 + d.linear() + width)
		if tooFew == "" {
			most = max(most, width)
			continue
		}
		against[k] = 1
		why = cmp.Or(why, tooFew)
	}
	g.note(why != "", "This owner voted against more than %d columns of curves: %s", most, why)
	if err := g.vote(ctx, "owners against a number of columns of curves", against); err != nil {
		return err
	}
	var kept []Curve
	thinner := 0
	if at := slices.Index(against, 0); at >= 0 {
		for i, c := range steps[at] {
			if c.width > 0 {
				kept = append(kept, c)
			}
			if c.width > 0 && c.width < d.Curves[i].width {
				thinner++
			}
		}
	}
	g.noteLost(len(d.Curves), len(kept), thinner, "has too few rows for them")
	d.Curves = kept
	return nil
}

// voteOnColumns removes all curves from a design if an owner votes against them: a combination of their
// columns and others would show own rows. It takes one sum.
func (g *guard) voteOnColumns(ctx context.Context, d *Design) error {
	if g == nil {
		return nil
	}
	shows, err := g.shows(ctx, d)
	if err != nil {
		return err
	}
	votes := []float64{map[bool]float64{true: 1}[shows]}
	g.note(shows, "This owner voted against curves: together with other columns they would show own rows. "+
		"Check columns that follow from others in nearly all rows (--least-level).")
	if err := g.vote(ctx, "owners whose rows curves would show", votes); err != nil {
		return err
	}
	if votes[0] > 0 {
		g.noteAll("Curves were left out: they would show rows of some owner.")
		d.Curves = nil
	}
	return nil
}

// tooFewRows returns a sentence about too few own rows for the columns of a design, or too few small tasks.
// It is empty where there are enough.
func (g *guard) tooFewRows(columns int) string {
	if g == nil {
		return ""
	}
	own := len(g.counted())
	tasks, rows := g.small(columns)
	switch {
	case own < g.LeastRows*columns:
		const format = "%d training rows are fewer than %d (--least-rows) for each of %d columns."
		return fmt.Sprintf(format, own, g.LeastRows, columns)
	case !g.hidden(tasks, rows, columns):
		const format = "%d tasks with fewer than %d rows, with %d rows together, are too few to hide " +
			"among each other (--least-small)."
		return fmt.Sprintf(format, len(tasks), columns, rows)
	}
	return ""
}

// vote replaces 0 or 1 by the number of owners with 1.
func (g *guard) vote(ctx context.Context, name string, v []float64) error {
	return g.rows.add(ctx, name, &total{v: v, grows: anyNumber})
}

// bendAlone reports for each curve whether there is a function of it that is 0 in all but a few own rows: a
// function of the part beyond an outer knot and the intervals beside it, or of neighbouring intervals.
func (g *guard) bendAlone(curves []Curve) []bool {
	// Rows between two knots, before the first and after the last one; and rows on a knot, which are
	// inside of the supports on both sides of it only.
	within, on := make([][]int, len(curves)), make([][]int, len(curves))
	for k := range curves {
		n := len(curves[k].Knots)
		within[k], on[k] = make([]int, n+1), make([]int, n)
	}
	read := g.rows.reader()
	for _, i := range g.counted() {
		x := read(int(i))
		for k := range curves {
			v := x[curves[k].Feature]
			if math.IsNaN(v) {
				continue
			}
			if at, exact := slices.BinarySearch(curves[k].Knots, v); exact {
				on[k][at]++
			} else {
				within[k][at]++
			}
		}
	}
	list := make([]bool, len(curves))
	for k := range list {
		list[k] = g.isAlone(within[k], on[k])
	}
	return list
}

// isAlone is bendAlone for one curve, from the numbers of rows between its n knots, and on them.
func (g *guard) isAlone(within, on []int) bool {
	n := len(on)
	alone := func(from, to int) bool { // between the knots from and to; 0 and n + 1 stand for the ends
		sum := 0
		for i := from; i < to; i++ {
			sum += within[i]
			if i > from {
				sum += on[i-1]
			}
		}
		return sum > 0 && sum < g.LeastLevel
	}
	end := min(1+supportEnd, n+1)
	if alone(0, end) || alone(n+1-end, n+1) {
		return true
	}
	for from := 1; from+supportInside <= n; from++ {
		if alone(from, from+supportInside) {
			return true
		}
	}
	return false
}
