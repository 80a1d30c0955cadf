package mixed

import "fmt"

// note keeps a sentence about this owner for its report.
func (g *guard) note(when bool, format string, args ...any) {
	if when {
		g.did = append(g.did, g.rows.in.about(fmt.Sprintf(format, args...)))
	}
}

// noteAll keeps a sentence about all owners for the report of this one.
func (g *guard) noteAll(format string, args ...any) {
	g.did = append(g.did, fmt.Sprintf(format, args...))
}

// about returns a note about this table alone, which begins with its name if it has one.
func (in *Input) about(note string) string {
	if in.Name == "" {
		return note
	}
	return in.Name + ": " + note
}

// describe keeps sentences about the rows and columns that the rules left out.
func (g *guard) describe() {
	g.describeRows()
	g.describeColumns()
}

// describeRows keeps sentences about rows that are in no total, or count with another weight.
func (g *guard) describeRows() {
	n := g.rows.in.heldOut(g.counts)
	g.silent = g.LeastLevel > 0 && n > 0 && n < leastHeldOut
	const silent = "The errors of this owner are in no total: %d held-out rows are fewer than %d. " +
		"Hold out more (--holdout)."
	g.note(g.silent, silent, n, leastHeldOut)
	others := g.rows.sums.Owners() - 1
	const pooled = "The rules hold if %d of %d other owners pool what they know (--colluding): %d small tasks hide " +
		"each other (--least-small)."
	g.note(g.Colluding > 1 && g.LeastSmall > 0, pooled, min(g.Colluding, others), others, g.LeastSmall)
	far := 0
	for _, i := range g.rows.order {
		if w := g.rows.in.weight(int(i)); w != g.bound(w) {
			far++
		}
	}
	const weights = "%d training rows with a weight more than %d times the median of the own ones, or less, count " +
		"with that weight (--least-level)."
	g.note(far > 0, weights, far, farWeight)
	tasks, rows := 0, 0
	for k, left := range g.left {
		if left {
			tasks++
			rows += len(g.rows.of(k))
		}
	}
	const small = "%d training rows of %d small tasks are in no total; these tasks have coefficients nevertheless. " +
		"Larger tasks, more small ones, fewer columns, or a lower --least-small would change that."
	g.note(tasks > 0, small, rows, tasks)
	const distant = "%d training rows are in no total, and in no task: they are far from the predictions of " +
		"the other " +
		"own rows, which are predicted better without them. Check their targets (--least-level)."
	g.note(g.farRows > 0, distant, g.farRows)
	const shown = "%d training rows are in no total, and in no task: a combination of columns would show them. " +
		"Check their values, or drop columns that follow from others (--least-level)."
	g.note(g.exposedRows > 0, shown, g.exposedRows)
	const alone = "%d training rows are in no total, and in no task: a combination of columns shows them among the " +
		"rows of their task, such as a value that no other row of it has. Add rows or tasks (--least-small)."
	g.note(g.aloneRows > 0, alone, g.aloneRows)
	const counted = "%d training rows are in no total, and in no task: all columns and the target have few values, " +
		"and sums of products show rows whose values few others have. Add rows (--least-level)."
	g.note(g.kindRows > 0, counted, g.kindRows)
}

// describeColumns keeps sentences about levels and columns that count as other ones.
func (g *guard) describeColumns() {
	schema := g.rows.in.Table.Schema()
	for i := range g.codes {
		var hidden []string
		c := &g.codes[i]
		levels, _ := schema.Levels(c.column)
		for k, level := range levels {
			if c.hidden[k] {
				hidden = append(hidden, level)
			}
		}
		as := "missing"
		if c.usual >= 0 {
			as = fmt.Sprintf("%q", levels[c.usual])
		}
		const rare = "Levels of %q with few own rows count as %s (--least-level): %s."
		g.note(len(hidden) > 0, rare, c.column, as, names(hidden))
	}
	var constant []string
	for j, name := range g.rows.schema.Features() {
		if g.steady[j] {
			constant = append(constant, name)
		}
	}
	const steady = "Columns with one value in nearly all own rows count as constant (--least-level): %s."
	g.note(constant != nil, steady, names(constant))
	features := g.rows.schema.Features()
	for _, t := range g.twins {
		const format = "Column %q counts as %q: they differ in %d own rows (--least-level)."
		g.note(true, format, features[t.column], features[t.of], t.rows)
	}
}
