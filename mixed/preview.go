package mixed

import (
	"context"
	"fmt"
)

// A Preview describes what the rules of [Disclosure] do to the table of an owner, before a training.
type Preview struct {
	Rows  int      // training rows of positive weight
	Total int      // of these, that would be in totals; 0 if the owner would not join
	Notes []string // as in the report of a training; the last one is the reason if the owner would not join
}

// NewPreview applies the rules of an owner who trains with others to its table alone. owners is the number of
// all owners. In a training the levels of other owners are columns, too, which can leave out more.
func NewPreview(ctx context.Context, in Input, o Options, owners int) (*Preview, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if owners < 2 {
		return nil, fmt.Errorf("the number of owners is %d: must be at least 2", owners)
	}
	if err := o.check(&in); err != nil {
		return nil, err
	}
	o.Sums = imagined{owners: owners}
	whole, err := rowsByTask(ctx, &in, owners)
	if err != nil {
		return nil, err
	}
	r := newRowsOf(&in, &o, whole)
	if err := r.listColumns(ctx); err != nil {
		return nil, err
	}
	p, g := &Preview{Rows: len(r.order)}, r.guard
	refusal := g.apply(ctx, &o)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.Notes = g.did
	if refusal != nil {
		p.Notes = append(p.Notes, in.about("This owner would take no part: "+refusal.Error()+"."))
		return p, nil
	}
	p.Total = len(g.counted())
	numeric := 0
	for j := range r.stats {
		if !r.stats[j].level {
			numeric++
		}
	}
	if !o.NoCurves && numeric > 0 && numeric <= manyFeatures && g.wantsFewKnots(1+len(r.stats), numeric) {
		const format = "This owner would vote for curves with %d knots in place of %d, which need %d training rows " +
			"(--least-rows)."
		g.note(true, format, fewKnots, knots, g.needed)
		p.Notes = g.did
	}
	return p, nil
}

// imagined are the Sums of a number of owners of whom there is one.
type imagined struct {
	Local
	owners int
}

// Owners implements Sums.
func (s imagined) Owners() int { return s.owners }
