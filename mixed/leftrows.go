package mixed

import (
	"context"
	"errors"
)

// leftRows returns the number of rows that are left out by themselves.
func (g *guard) leftRows() int { return g.farRows + g.exposedRows + g.aloneRows + g.kindRows }

// apply applies the rules to the rows and to the columns of all owners, describes what they did, and reports
// what keeps this owner out of a training.
func (g *guard) apply(ctx context.Context, o *Options) error {
	for far, more := true, true; more; far = false {
		g.settle(len(g.rows.stats))
		g.holdSteady()
		g.holdTwins()
		var err error
		if more, err = g.leaveRows(ctx, o, far); err != nil {
			return err
		}
	}
	if o.LogTarget {
		g.blurLogarithm()
	}
	g.describe()
	return g.takesPart()
}

// leaveRows leaves out own rows that totals would show, and reports whether there are any: rows far from the
// predictions of a fit to own rows alone, if far is set, and rows that a combination of columns shows.
func (g *guard) leaveRows(ctx context.Context, o *Options, far bool) (bool, error) {
	if g.LeastLevel == 0 {
		return false, nil
	}
	before := g.leftRows()
	if far {
		if err := g.leaveFar(ctx, o); err != nil {
			return false, err
		}
	}
	rows, read := g.counted(), g.rows.reader()
	p := len(g.rows.stats)
	m := &matrix{len(rows), p + 1, func(dst []float64, i int) {
		copy(dst, read(int(rows[i])))
		dst[p] = g.rows.value(int(rows[i]), o.LogTarget)
	}, g.weightsOf(rows)}
	list, err := m.exposed(ctx, g.leastOff())
	if err != nil {
		return false, err
	}
	for _, i := range list {
		g.out[rows[i]] = true
	}
	g.exposedRows += len(list)
	g.leaveRareTargets()
	if err := g.leaveAlone(ctx, o); err != nil {
		return false, err
	}
	told, columns := g.unlike()
	n, err := g.leaveUnlike(ctx, told, columns)
	if err != nil {
		return false, err
	}
	g.aloneRows += n
	if len(g.rows.list) <= g.LeastSmall {
		told = g.rows.list
	}
	g.kindRows += g.leaveKinds(told, o.LogTarget)
	g.rows.rowList = g.rows.whole.only(g.rows.counts)
	return g.leftRows() > before, nil
}

// leaveAlone leaves out rows that a combination of columns shows among the rows of their task, where members
// may know sums of products of single tasks: in tables of few tasks, from all totals together. Under strict
// rules it does so in any table, since a member that lies can have the sums of such rows alone in a total.
func (g *guard) leaveAlone(ctx context.Context, o *Options) error {
	if !g.Strict && len(g.rows.list) > g.LeastSmall {
		return nil
	}
	p, read := len(g.rows.stats), g.rows.reader()
	for _, k := range g.rows.list {
		rows := g.kept(k)
		if len(rows) < 1+p+smallExtra { // small tasks hide among each other
			continue
		}
		m := &matrix{len(rows), p + 1, func(dst []float64, i int) {
			copy(dst, read(int(rows[i])))
			dst[p] = g.rows.value(int(rows[i]), o.LogTarget)
		}, g.weightsOf(rows)}
		list, err := m.exposed(ctx, 0)
		if err != nil {
			return err
		}
		for _, i := range list {
			g.out[rows[i]] = true
		}
		g.aloneRows += len(list)
	}
	return nil
}

// leaveRareTargets leaves out the rows with another target than the usual one if they are few: the line of
// X'y is about these rows alone, as the line of X'X of a level is.
func (g *guard) leaveRareTargets() {
	list := g.offTarget()
	if len(list) >= g.leastOff() {
		return
	}
	for _, i := range list {
		if !g.out[i] {
			g.out[i] = true
			g.exposedRows++
		}
	}
}

// shownShare is the share of the least number of rows with a level below which a design shows rows. From the
// line of X'X of a level with curves a listener read all values of a column for up to 8 rows. A design, and a
// value of a column with a curve, cannot be left out as a level can.
const shownShare = 0.75

// leastShown returns the least number of own rows for a combination of columns, or for a value.
func (g *guard) leastShown() int { return int(shownShare * float64(g.leastOff())) }

// shows reports whether a combination of the columns of a design and of the target shows own rows.
func (g *guard) shows(ctx context.Context, d *Design) (bool, error) {
	if g == nil || g.LeastLevel == 0 {
		return false, nil
	}
	rows, read, p := g.counted(), g.rows.reader(), d.Width()
	m := &matrix{len(rows), p + 1, func(dst []float64, i int) {
		row := int(rows[i])
		own := read(row)
		d.applyMoved(dst[:p], own, g.moves(nil, row, own))
		dst[p] = g.rows.standardized(row, g.rows.target.Log)
	}, g.weightsOf(rows)}
	list, err := m.exposed(ctx, g.leastShown())
	return len(list) > 0, err
}

// leaveFar leaves out the rows that count less than half in a fit to own rows alone.
func (g *guard) leaveFar(ctx context.Context, o *Options) error {
	t := g.rows.in.Table
	in := Input{Table: t, HeldOut: make([]bool, t.Rows())}
	for i := range in.HeldOut {
		in.HeldOut[i] = !g.rows.counts(i) || !g.counts(i)
	}
	if len(g.counted()) == 0 || len(g.rows.stats) > widest {
		return nil
	}
	f := &fitter{Options: Options{NoCurves: true, LogTarget: o.LogTarget, Workers: o.Workers}, in: &in}
	bounds, err := f.boundsAlone(ctx)
	for i, b := range bounds {
		if b < .5 && !in.HeldOut[i] {
			g.out[i] = true
			g.farRows++
		}
	}
	return err
}

// boundsAlone returns the weights of the rows of a table by their distance, nil where they count alike.
// Numbers out of range give none: the first optimiser of all owners reports them.
func (f *fitter) boundsAlone(ctx context.Context) ([]float64, error) {
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	f.chooseTasks()
	if err := f.plain.hold(ctx); err != nil {
		return nil, err
	}
	first := f.newForm(f.plain).end(0)
	c := first.newOptimiser(f.plain.start())
	err := optimiseAll(ctx, c)
	if err == nil {
		first.keepHigher(&c.best)
		first, err = f.boundRows(ctx, first)
	}
	if errors.Is(err, errNumeric) {
		return nil, nil
	}
	return first.s.bounds, err
}
