package mixed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/longtest"
)

// anyCut deals the tasks of a table to so many owners by chance, at least one to each. A level that only
// tasks of one owner have is a level of its table alone.
func anyCut(in Input, owners int, r *rand.Rand) []Input {
	d := in.Table.(*Data)
	owner := make([]int, len(d.TaskNames))
	for k := range owner {
		owner[k] = k % owners
		if k >= owners && r.IntN(3) > 0 { // the first owners have more
			owner[k] = min(r.IntN(owners), r.IntN(owners))
		}
	}
	r.Shuffle(len(owner), func(i, j int) { owner[i], owner[j] = owner[j], owner[i] })
	out := make([]Input, owners)
	for g := range out {
		out[g] = part(in, func(task int) bool { return owner[task] == g })
	}
	return out
}

// withOneRow adds a task of one row, with a level that no other task has where there are levels.
func withOneRow(in Input) Input {
	d := in.Table.(*Data).clone()
	var x []float64
	for j, levels := range d.Levels {
		v := d.Values[j][0]
		if levels != nil {
			d.Levels[j] = append(slices.Clone(levels), "of one task")
			v = float64(len(levels))
		}
		x = append(x, v)
	}
	check.Done(d.Append("of one row", d.Targets[0], x...))
	if d.Weighting != nil {
		d.Weighting = append(d.Weighting, 1)
	}
	return Input{Table: d, HeldOut: append(slices.Clone(in.HeldOut), false)}
}

// trainingRows counts the training rows of positive weight.
func trainingRows(in Input) (n int) {
	for i := range in.Table.Rows() {
		if in.trains(i) && in.weight(i) > 0 {
			n++
		}
	}
	return n
}

// fitWith is Fit or, where coarse, Fit with the knots of two owners of which one has few rows.
// bounded reports whether rows far out count less: each owner looks for these among its own rows.
func fitWith(t *testing.T, in Input, o Options, coarse bool) (m *Model, r *Report, bounded bool, err error) {
	f := &fitter{Options: o, in: &in}
	if err := f.read(t.Context()); err != nil {
		return nil, nil, false, err
	}
	if f.rows.coarse = coarse; coarse && f.curved != nil {
		f.curved = nil
		d, _, err := f.rows.addCurves(t.Context(), *f.plain.design, f.plain.within)
		if check.Done(err); len(d.Curves) > 0 {
			f.curved = check.OK(newStats(t.Context(), f.rows, &d, f.Workers))
		}
	}
	m, r, err = f.train(t.Context())
	return m, r, f.plain.bounds != nil, err
}

// alwaysHeld reports whether a note is about what owners do whatever their rules are: one of them is against
// noise by task, or has errors that are so large that they are in no total.
func alwaysHeld(note string) bool {
	return strings.Contains(note, "All tasks have the same noise") ||
		strings.Contains(note, "The errors of this owner are in no total")
}

// Owners without rules have the model of one table with all rows, whatever the columns, the options and the
// cut: in predictions and their errors, and in scores. Only two differ, where one has few rows: in the knots,
// and a note says so.
func TestAnyCutIsFit(t *testing.T) {
	tables := uint64(40)
	switch {
	case longtest.Enabled():
		tables = 400
	case testing.Short():
		tables = 12
	}
	compared := uint64(0)
	for seed := range tables {
		in, o, tolerance := anyTable(seed + 1000)
		r := rand.New(rand.NewPCG(seed, 93))
		if r.IntN(2) == 0 {
			in = withOneRow(in)
		}
		if o.LogTarget {
			tolerance *= 10 // of exp
		}
		owners := 2 + r.IntN(5)
		o.Refit = false
		list := anyCut(in, owners, r)
		with := o
		with.Disclosure = open.Disclosure
		several, again, err := Together(t.Context(), list, network("exponential", owners), with)
		name := fmt.Sprintf("table %d, %d owners", seed, owners)
		coarse := owners == 2 && slices.ContainsFunc(list, func(in Input) bool { return trainingRows(in) < few })
		one, report, bounded, failed := fitWith(t, in, o, coarse)
		if err != nil && slices.ContainsFunc(list, func(in Input) bool { return trainingRows(in) == 0 }) {
			continue
		}
		if err != nil || failed != nil {
			t.Errorf("%s: %v, and one table: %v", name, err, failed)
			continue
		}
		rounding := one.Noise() < .01*one.Parameters().Target.Scale // decides
		if bounded || rounding || slices.ContainsFunc(again.Notes, alwaysHeld) {
			continue
		}
		compared++
		told := slices.ContainsFunc(again.Notes, func(s string) bool { return strings.Contains(s, "two owners") })
		check.FailIf(t, coarse != told && chosenOf(report).Curves, "%s: coarse counts %v, told %v: %q", name, coarse,
			told, again.Notes)
		t.Run(name, func(t *testing.T) {
			c := change{in: in, factor: 1}
			for i := range in.Table.Rows() {
				c.rows = append(c.rows, i)
			}
			compareAny(t, oneNoise(one), oneNoise(several), report, again, in, c, tolerance)
		})
	}
	check.FailIf(t, compared < tables/2, "only %d of %d tables were compared", compared, tables)
}
