package fit

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/difalt"
	"gonum.org/v1/gonum/floats"
)

// averages reports whether ranks are averaged: between owners a rank that is not taken stays as far as its first steps led.
func (c *choice) averages() bool { return c.rank == 0 && c.rows.Alone() }

// chooseRank compares ranks from 1 as long as evidence grows, or takes the one that is given, and sets weights where ranks are averaged. Rank 0 is there
// with the better evidence of intercepts alone and of a spread, whichever it has, and before rows are seen it is as probable as all others together.
func (c *choice) chooseRank(ctx context.Context) error {
	if c.shrunken = nil; c.levels != nil {
		c.levels = c.levels.bare()
	}
	for i, k := range c.tried {
		c.tried[i] = k.bare()
	}
	zero, known := c.best, c.best.evidence
	if c.averages() {
		for _, k := range c.tried {
			zero.evidence = min(zero.evidence, k.evidence)
		}
		zero.evidence -= 2 * math.Log(maxRank)
	}
	err := c.compareRanks(ctx)
	if err == nil {
		c.weigh(zero)
	}
	zero.evidence = known
	return err
}

// take makes a candidate that was evaluated the best if it is, and reports whether larger ranks may be better yet.
func (c *choice) take(reached *candidate) (more bool) {
	gain := c.best.evidence - reached.evidence
	if !c.averages() {
		if more = c.rank != 0 || gain > c.decisive(); more {
			c.best = reached
		}
		return more
	}
	empty := reached.empty()
	if gain > enough || gain > 0 && !empty {
		c.best = reached
	}
	return !empty && gain > -decisive
}

// weigh sets the weights of the candidates that are averaged: the best, and where ranks are averaged all that are not decisively worse. They are the
// probabilities of their ranks. Rank 0 is there once, as it was chosen, and a rank whose last axis is slight is as good as the one below.
func (c *choice) weigh(zero *candidate) {
	c.best.weight = 1
	sum := 0.0
	for _, k := range c.tried {
		value := k.evidence
		switch k.Prior {
		case c.best.Prior:
			value = c.best.evidence
		case zero.Prior:
			value = zero.evidence
		default:
			if k.expected || k.Rank == 0 || k.last() < slight {
				continue
			}
		}
		if k.Prior == c.best.Prior || c.averages() && value < c.best.evidence+decisive {
			k.weight = math.Exp((c.best.evidence - value) / 2)
			sum += k.weight
		}
	}
	for _, k := range c.tried {
		if k.weight /= max(sum, 1); k.Prior == c.best.Prior {
			c.best.weight = k.weight
		}
	}
}

// finish runs the algorithm at the rank of the best candidate until it converges, observed, from its loadings, and climbs to the top of the likelihood from it and the
// others that are averaged, the most probable first. After an interrupt there is none of these. The result is nil where the algorithm was not run.
func (c *choice) finish(ctx context.Context, a *algorithm) (all []*candidate, res *difalt.Result, err error) {
	best := c.best
	others := slices.DeleteFunc(slices.Clone(c.tried), func(k *candidate) bool { return !(k.weight > 0 && k.weight < 1) || k.Rank == best.Rank })
	slices.SortStableFunc(others, func(a, b *candidate) int { return cmp.Compare(b.weight, a.weight) })
	*c = choice{question: c.question, rows: c.rows, moments: c.moments, none: c.none, zero: c.zero, levels: c.levels} // without points that were compared
	if best.Rank > 0 {
		if res, err = a.run(ctx, c, best); err != nil {
			return nil, nil, err
		}
		if res != nil && res.Status == difalt.Canceled {
			top := *best
			top.converged, top.weight = false, 1
			return []*candidate{&top}, res, nil
		}
		c.progress("lengths", 0, 1)
	}
	top, err := c.arrive(ctx, best)
	if err != nil {
		return nil, nil, err
	}
	top.converged = top.converged && (res == nil || res.Status.Arrived())
	all = []*candidate{top}
	for _, k := range others {
		if ctx.Err() != nil {
			top.weight = 1
			return all[:1], res, nil
		}
		if k, err = c.arrive(context.WithoutCancel(ctx), k); err != nil {
			return nil, nil, err
		}
		all = append(all, k)
	}
	return all, res, nil
}

// estimates returns what is known by every candidate that is averaged, and sets the coefficients of the first to the means of all.
func (d *design) estimates(ctx context.Context, rows *evidence.Rows, list []*candidate, stacked bool) (all estimates, err error) {
	for _, k := range list {
		e, err := d.estimate(ctx, rows, k)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if stacked {
		width, err := d.narrowing(ctx, rows, all)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			e.narrow(width * width)
		}
	}
	if len(all) > 1 {
		floats.Scale(all[0].weight, all[0].theta.values)
	}
	for _, e := range all[1:] {
		floats.AddScaled(all[0].theta.values, e.weight, e.theta.values)
		e.theta = thetas{}
	}
	return all, nil
}

// estimates are those of the ranks that are averaged, the most probable first.
type estimates []*estimate

// noise returns the variance of the noise of a task, and its degrees of freedom.
func (all estimates) noise(g, i int) (variance, freedom float64) {
	for _, e := range all {
		v, f := e.noiseOf(g, i)
		variance += e.weight * v
		freedom += e.weight * f
	}
	return variance, freedom
}

// noiseOf returns the variance of the noise of a task, and its degrees of freedom.
func (e *estimate) noiseOf(g, i int) (variance, freedom float64) {
	if e.noise == nil {
		return max(e.Noise, e.sampleNoise), e.Freedom
	}
	return e.noise.Variance[g][i], e.noise.Freedoms[g][i]
}
