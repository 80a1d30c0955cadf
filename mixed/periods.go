package mixed

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

const (
	leastValues = 5      // of a period
	mostValues  = 60     // of a period: the values of a task fit into the bits of a number
	sharedBy    = 2. / 3 // least share of tasks with a value of a period, in the mean over its values

	leastPeriodGain = 0.01 // least gain of a period in the score, half a percent of the error
	sameScore       = 1e-6 // scores with a smaller difference are equal: the first name decides
)

// A crossing counts the values of a feature in the own rows that are in totals, and the pairs of a task and a
// value.
type crossing struct {
	feature int
	values  []float64 // increasing
	rows    []int     // of every value
	missing int       // rows without a value
	pairs   int       // of a task and a value that it has
	many    bool      // there are more than mostValues; the other fields are empty

	seen uint64 // values of the present task, by their places
}

// crossings returns the crossings of the columns of numbers. Where no period is wanted, all columns count as
// if they had too many values. It reads the rows until all columns have too many.
func (r *rows) crossings(ctx context.Context, wanted bool) ([]*crossing, error) {
	var all []*crossing
	for j := range r.stats {
		if !r.stats[j].level {
			all = append(all, &crossing{feature: j, many: !wanted})
		}
	}
	if !wanted {
		return all, nil
	}
	read, open := r.newReader(), slices.Clone(all)
	for _, k := range r.list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.guard != nil && r.guard.left[k] {
			continue
		}
		read.each(r.of(k), func(_ int, x []float64) {
			for _, c := range open {
				c.add(x[c.feature])
			}
		})
		for _, c := range open {
			c.pairs += bits.OnesCount64(c.seen)
			c.seen = 0
		}
		open = slices.DeleteFunc(open, func(c *crossing) bool { return c.many })
		if len(open) == 0 {
			break
		}
	}
	for _, c := range open {
		c.sort()
	}
	return all, nil
}

// add counts the value of a row of the present task.
func (c *crossing) add(x float64) {
	switch {
	case c.many:
		return
	case math.IsNaN(x):
		c.missing++
		return
	}
	x += 0 // -0 becomes 0
	k := slices.Index(c.values, x)
	if k < 0 {
		k = len(c.values)
		c.values, c.rows = append(c.values, x), append(c.rows, 0)
	}
	if k == mostValues {
		*c = crossing{feature: c.feature, many: true}
		return
	}
	c.rows[k]++
	c.seen |= 1 << k
}

// sort brings the values in their order.
func (c *crossing) sort() {
	order := make([]int, len(c.values))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(c.values[a], c.values[b]) })
	values, rows := slices.Clone(c.values), slices.Clone(c.rows)
	for k, from := range order {
		c.values[k], c.rows[k] = values[from], rows[from]
	}
}

// against reports whether the rules of this owner are against a period: where a value has few own rows, as a
// level of a category, its effect would show them.
func (c *crossing) against(g *guard) bool {
	if g == nil {
		return false
	}
	rare := func(n int) bool { return n > 0 && n < g.LeastLevel }
	return g.Strict || rare(c.missing) || slices.ContainsFunc(c.rows, rare)
}

// A sharing is what all owners know about the values of a feature.
type sharing struct {
	*crossing
	total float64 // of pairs, at all owners
	open  bool    // no owner has too many values, or is against a period
}

// sharingNumbers returns the numbers of an owner about its crossings: pairs, and 1 where it admits no period
// of the feature.
func (r *rows) sharingNumbers(list []*crossing) (v []float64) {
	for _, c := range list {
		closed := map[bool]float64{true: 1}[c.many || c.against(r.guard)]
		v = append(v, float64(c.pairs), closed)
	}
	return v
}

// share sets what all owners know about the values of features, from the totals of sharingNumbers.
func (r *rows) share(list []*crossing, v []float64) error {
	for i, c := range list {
		pairs, closed := v[2*i], v[2*i+1]
		if pairs != math.Trunc(pairs) || closed != math.Trunc(closed) || closed > float64(r.sums.Owners()) {
			return contradiction("how tasks share the values of a column")
		}
		r.shared = append(r.shared, sharing{c, pairs, closed == 0})
	}
	return nil
}

// most returns how many values a period may have, given the pairs of tasks and values.
func (s *sharing) most(tasks float64) int { return int(min(s.total/(sharedBy*tasks), mostValues)) }

// periods returns a period for each feature whose values nearly all tasks share, in the order of names: for
// given features, or for all features where the list is nil, beside a design.
// It takes one sum where there may be a period, and one or some for the values of each.
func (r *rows) periods(ctx context.Context, d *Design, features []int) (list []Period, err error) {
	width := d.Width()
	var open []sharing
	names := r.schema.Features()
	for _, s := range r.shared {
		wanted := features == nil || slices.Contains(features, s.feature)
		varies := r.stats[s.feature].sd > 0
		if most := s.most(r.tasks.count); wanted && varies && most >= leastValues {
			if !s.open {
				r.guard.tellAgainst(&s, most, names[s.feature])
				continue
			}
			open = append(open, s)
			width += most
		}
	}
	if len(open) == 0 || width > widest {
		return nil, nil
	}
	slices.SortFunc(open, func(a, b sharing) int { return cmp.Compare(names[a.feature], names[b.feature]) })
	against, why := make([]float64, len(open)), r.guard.tooFewRows(width)
	for i, s := range open {
		if len(s.values) > s.most(r.tasks.count) || why != "" {
			against[i] = 1
		}
	}
	if why != "" {
		r.guard.note(true, "This owner voted against effects of the values of columns: %s", why)
	} else if err := r.againstShown(ctx, d, open, against); err != nil {
		return nil, err
	}
	if err := r.add(ctx, "owners against a period", &total{v: against, grows: anyNumber}); err != nil {
		return nil, err
	}
	for i, s := range open {
		if against[i] > 0 {
			continue
		}
		p, err := r.newPeriod(ctx, &s, names[s.feature])
		if err != nil {
			return nil, err
		}
		if n := len(p.Values); n >= leastValues && n <= s.most(r.tasks.count) {
			list = append(list, p)
		}
	}
	return list, nil
}

// againstShown votes against the periods that together with the columns of a design would show own rows. It
// votes against all periods where only several of them together would.
func (r *rows) againstShown(ctx context.Context, d *Design, open []sharing, against []float64) error {
	with := *d
	var all []Period
	shown := false
	for i, s := range open {
		if against[i] > 0 || len(s.values) == 0 {
			continue
		}
		p := Period{Feature: s.feature, Values: s.values}
		with.Periods = append(slices.Clone(d.Periods), p)
		shows, err := r.guard.shows(ctx, &with)
		if err != nil {
			return err
		}
		if shows {
			against[i], shown = 1, true
		} else {
			all = append(all, p)
		}
	}
	if len(all) > 1 {
		with.Periods = append(slices.Clone(d.Periods), all...)
		shows, err := r.guard.shows(ctx, &with)
		if err != nil {
			return err
		}
		for i := range against {
			if shows {
				against[i], shown = 1, true
			}
		}
	}
	if shown {
		const against = "This owner voted against effects of the values of some column: together with other " +
			"columns they would show own rows. Check columns that follow from others in nearly all rows " +
			"(--least-level)."
		r.guard.note(true, against)
	}
	return nil
}

// newPeriod returns the period of a feature with the values of all owners.
func (r *rows) newPeriod(ctx context.Context, s *sharing, name string) (p Period, err error) {
	own := make([]string, len(s.values))
	for k, v := range s.values {
		own[k] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	all, err := r.levels(ctx, "values of "+name, own)
	if err != nil {
		return p, err
	}
	p.Feature = s.feature
	for _, text := range all {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil { // of other owners
			v = math.NaN()
		}
		p.Values = append(p.Values, v)
	}
	if missing := slices.ContainsFunc(s.values, func(v float64) bool { return p.place(v) < 0 }); missing {
		return p, contradiction("the values of column " + strconv.Quote(name))
	}
	return p, nil
}

// tellAgainst keeps a sentence about a period that the rules of this owner are against.
func (g *guard) tellAgainst(s *sharing, most int, name string) {
	if g != nil && !s.many && len(s.values) <= most {
		const format = "This owner voted against effects of the values of %q: some values have fewer than %d " +
			"own rows " +
			"(--least-level)."
		g.note(!g.Strict && s.against(g), format, name, g.LeastLevel)
	}
}

// withPeriods returns stats of these rows under a design with periods. It takes one sum.
func (s *stats) withPeriods(ctx context.Context, list []Period) (*stats, error) {
	d := *s.design
	d.Periods = list
	out, err := newBoundedStats(ctx, s.rows, &d, s.workers, s.bounds)
	if err != nil {
		return nil, err
	}
	out.some = s.some
	return out, out.hold(ctx)
}

// under returns the choice after optimisation from its variance components under stats with periods, on tasks
// as optimiseAndPolish takes them.
func (c *choice) under(ctx context.Context, s *stats, tasks *taskSet) (*choice, error) {
	out := s.candidate(c.Rank)
	out.Candidate = c.Candidate
	end, err := s.optimiseAndPolish(ctx, tasks, c.q.carry(c.s, s), iterations)
	if err != nil {
		return nil, err
	}
	out.optimum = *end
	return &out, nil
}

// choosePeriods returns the choice with those periods that predict rows better without themselves. The
// evidence does not decide: it prefers periods that predict worse, and the other way round. The best period
// comes first; others, which must be better alone, join it where they still gain.
func (f *fitter) choosePeriods(ctx context.Context, chosen *choice) (*choice, error) {
	if f.NoCurves || chosen.s.design.Axes != nil {
		return chosen, nil
	}
	list, err := f.rows.periods(ctx, chosen.s.design, nil)
	for len(list) > 0 && err == nil {
		var gains []float64
		var best *choice
		if best, gains, err = bestPeriod(ctx, chosen, list); err != nil || best == nil {
			break
		}
		taken := best.s.design.Periods[len(best.s.design.Periods)-1].Feature
		var rest []Period
		for i, p := range list {
			if gains[i] > leastPeriodGain && p.Feature != taken {
				rest = append(rest, p)
			}
		}
		chosen, list = best, rest
	}
	return chosen, err
}

// bestPeriod returns the choice with the period that gains most, nil where none gains enough, and the gains
// of all periods.
func bestPeriod(ctx context.Context, chosen *choice, list []Period) (best *choice, gains []float64, err error) {
	gains = make([]float64, len(list))
	most := leastPeriodGain
	for i, p := range list {
		s, err := chosen.s.withPeriods(ctx, append(slices.Clone(chosen.s.design.Periods), p))
		if err != nil {
			return nil, nil, err
		}
		next, err := chosen.under(ctx, s, s.tasks)
		if errors.Is(err, errNumeric) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		scores, err := scoresOf(ctx, next, chosen)
		if err != nil {
			return nil, nil, err
		}
		if gains[i] = scores[1] - scores[0]; gains[i] > most+sameScore || best == nil && gains[i] > most {
			best, most = next, gains[i]
		}
	}
	return best, gains, nil
}

// described returns the periods of the choice with their deviations.
func (c *choice) described() []Period {
	list := slices.Clone(c.s.design.Periods)
	for i := range list {
		list[i].Deviation = c.q.tau[1+len(c.s.design.Curves)+i]
	}
	return list
}
