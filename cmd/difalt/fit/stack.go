package fit

import (
	"cmp"
	"context"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
)

// leastWeight is the weight from which on a candidate of rank 0 is averaged with a model that has more.
const leastWeight = 0.05

// stack adds candidates of rank 0 to those that are averaged, that with slopes of the tasks' own and that of intercepts alone, one after the other with the weight by which errors of training
// rows are least when these are left out of their task (stacking: Wolpert 1992, Breiman 1996), unless it is next to none or strengths are given. The evidence says which
// candidate is likely if one of them is true; where none is, as with noise that grows with the target, it takes noise of few rows for slopes of their
// task, or for directions of these. The largest weight comes first.
func (c *choice) stack(ctx context.Context, d *design, averaged []*candidate) ([]*candidate, error) {
	if !c.averages() || c.levels == nil || averaged[0].interceptsOnly() {
		return averaged, nil
	}
	for _, k := range []*candidate{{Point: c.none, evidence: c.zero}, c.levels} {
		if k.like(averaged[0]) || ctx.Err() != nil {
			continue
		}
		ctx := context.WithoutCancel(ctx) // it is short, and what there is is wanted after an interrupt too
		pt, converged, err := c.rows.Maximize(ctx, k.Point, nil, c.strengthsFor(k), c.least(), c.steps(lastSteps, 0))
		if err != nil {
			return nil, err
		}
		weight, err := d.leftOutWeight(ctx, c.rows, averaged, pt)
		if err != nil {
			return nil, err
		}
		if weight < leastWeight {
			continue
		}
		for _, a := range averaged {
			a.weight *= 1 - weight
		}
		if at := slices.IndexFunc(averaged, k.like); at >= 0 { // which the evidence did not rule out
			averaged[at].weight += weight
		} else {
			averaged = append(averaged, &candidate{Point: pt, evidence: k.evidence, converged: converged, weight: weight})
		}
		c.stacked = true
	}
	averaged = slices.DeleteFunc(averaged, func(k *candidate) bool { return k.weight == 0 }) // another one has it all
	slices.SortStableFunc(averaged, func(a, b *candidate) int { return cmp.Compare(b.weight, a.weight) })
	return averaged, nil
}

// reported returns what was tried, with the weights of what is averaged, and all that is.
func reported(tried, averaged []*candidate) []*candidate {
	for _, k := range tried {
		k.weight = 0
	}
	for _, a := range averaged {
		if at := slices.IndexFunc(tried, func(k *candidate) bool { return !k.expected && k.like(a) }); at >= 0 {
			tried[at].weight = a.weight
		} else {
			tried = slices.Insert(tried, 0, a)
		}
	}
	return tried
}

// like reports whether tasks differ by the same of two candidates.
func (c *candidate) like(other *candidate) bool {
	return c.Rank == other.Rank && c.interceptsOnly() == other.interceptsOnly()
}

// interceptsOnly reports whether tasks differ by nothing else.
func (c *candidate) interceptsOnly() bool { return c.Rank == 0 && c.Spread == 0 }

// leftOutWeight returns the weight of another point beside candidates by which the squares of errors of training rows are least that are left out of their task,
// times 1 - se² / weight² for its standard error over tasks: less where these disagree, and 0 where it may be none.
func (d *design) leftOutWeight(ctx context.Context, rows *evidence.Rows, averaged []*candidate, other *evidence.Point) (float64, error) {
	var l nodes.Layout
	gain, apart, gains, both, aparts, tasks := l.Span(1), l.Span(1), l.Span(1), l.Span(1), l.Span(1), l.Span(1)
	models := []weighted{{other.Posterior(), other.Deviations(), 1, 1}}
	for _, k := range averaged {
		models = append(models, weighted{k.Posterior(), k.Deviations(), k.weight, 0})
	}
	z := d.Zeros(l.Len)
	for g, list := range d.layout {
		pairs := make([][2]float64, len(list))
		parallel.For(ctx, rows.Workers, len(list), func(_, i int) { pairs[i] = d.leftOutPair(rows, g, i, models) })
		for _, p := range pairs {
			gain.Add(z[g], p[0])
			apart.Add(z[g], p[1])
			gains.Add(z[g], p[0]*p[0])
			both.Add(z[g], p[0]*p[1])
			aparts.Add(z[g], p[1]*p[1])
			tasks.Add(z[g], 1)
		}
	}
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return 0, err
	}
	n, a := tasks.First(sum), apart.First(sum)
	weight := min(gain.First(sum)/a, 1)
	if !(weight > 0) { // nor are there two that differ
		return 0, nil
	}
	variance := (gains.First(sum) - 2*weight*both.First(sum) + weight*weight*aparts.First(sum)) / (a * a) * n / (n - 1)
	return weight * max(1-variance/(weight*weight), 0), nil
}

// A weighted model is one of several whose predictions are added up, of one (0) or the other side (1) of a comparison.
type weighted struct {
	*mixedmodel.Posterior
	by     *mixedmodel.Deviations
	weight float64
	side   int
}

// leftOutPair returns of a task the sums over its training rows of e (e - o) and (e - o)², for the errors e and o of both sides.
func (d *design) leftOutPair(rows *evidence.Rows, g, i int, models []weighted) (pair [2]float64) {
	n := int(rows.Samples(g, i))
	errors, owns := make([][2]float64, n), make([]float64, n)
	for _, m := range models {
		t, memory := rows.Task(g, i)
		row := 0
		d.eachLeftOut(m.Posterior, m.by, d.layout[g][i], rows.Weight(g, i), &t, func(_ int, own, residual, rest float64) {
			owns[row] = own
			errors[row][m.side] += m.weight * residual / rest
			row++
		})
		memory.Put()
	}
	for row, e := range errors {
		apart := e[0] - e[1]
		pair[0] += owns[row] * e[0] * apart
		pair[1] += owns[row] * apart * apart
	}
	return pair
}
