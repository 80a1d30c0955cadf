package fit

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/fit/internal/evidence"
)

// Weights stay when they change by less than this, as logarithms, in the root of the mean square.
const smallChange = 0.05

// chooseNoise returns what is chosen of rank 0 with the noise of every task, if the evidence says that tasks differ by their noise; else the
// choice that it is given. Slopes of the tasks' own are left out only where the evidence is decisive: a model without is sure of what it leaves out.
func (q *question) chooseNoise(ctx context.Context, c *choice) (*choice, error) {
	c, err := q.weighted(ctx, c)
	if err == nil && c.best == c.levels && c.levels.evidence > c.tried[1].evidence-decisive {
		c.best = c.tried[1]
	}
	return c, err
}

// weighted is chooseNoise, by the larger evidence.
func (q *question) weighted(ctx context.Context, c *choice) (*choice, error) {
	if q.commonNoise {
		return c, nil
	}
	noise, err := c.rows.TaskNoise(ctx, c.best.Point)
	if err != nil || !noise.Unlike || c.best.Noise <= 2*evidence.NoiseFloor {
		return c, err
	}
	next := &choice{moments: c.moments, levels: c.levels}
	if err = q.reweight(ctx, next, c.rows, c.best, noise, keptRank); err != nil {
		return nil, err
	}
	if next.rows == c.rows {
		return c, nil
	}
	if noise, err = next.rows.TaskNoise(ctx, next.best.Point); err != nil {
		return nil, err
	}
	if next.best.evidence+noise.Correction > c.best.evidence-math.Log(c.rows.Count) {
		return c, nil
	}
	next.tried, next.none, next.zero = []*candidate{next.best}, next.best.Point, next.best.evidence
	if c.best == c.levels { // with weights there may be more than levels
		none, converged, err := next.rows.Maximize(ctx, c.none, nil, q.given, enough, 1)
		if err != nil {
			return nil, err
		}
		alike, ok := none.Alike()
		if !ok {
			return c, nil
		}
		k := judged(alike, none)
		k.converged = converged
		next.none, next.levels, next.zero = none, next.best, k.evidence
		if next.tried = append(next.tried, k); k.evidence < next.best.evidence {
			next.best = next.tried[1]
		}
	}
	return next, nil
}

// weightedAgain weights rows by the noise of their tasks at the best of a choice, if they have been weighted before.
func (q *question) weightedAgain(ctx context.Context, c *choice) error {
	if c.rows.Weights == nil || c.best.Rank == 0 && c.rows.Alone() {
		return nil
	}
	noise, err := c.rows.TaskNoise(ctx, c.best.Point)
	if err != nil {
		return err
	}
	return q.reweight(ctx, c, c.rows, c.best, noise, 0)
}

// reweight sets the rows and the best of a choice: rows are weighted by the noise of their tasks, at a candidate of some rows, and the candidate
// climbs to the top with them; and, but for a single owner before ranks are compared, again as long as that changes the weights, which every
// node chooses by itself. Where weights change by little, or leave no likelihood, all stays as it is.
func (q *question) reweight(ctx context.Context, to *choice, rows *evidence.Rows, k *candidate, noise *evidence.TaskNoise, kept int) error {
	to.rows, to.best = rows, k
	given, from := q.strengthsFor(k), k.Point
	until := rows.Evaluations() + max(to.steps(weightSteps, keptLast+kept), 2) // with weights strengths may be far from where they were
	for {
		far, err := to.rows.ChangeOfWeights(ctx, noise)
		if err != nil {
			return err
		}
		left := until - to.rows.Evaluations() - 1
		if far < smallChange || left < 0 {
			break
		}
		if to.rows, err = to.rows.Weighted(ctx, noise); err != nil {
			return err
		}
		from, _, err = to.rows.Maximize(ctx, from, k.LoadingVariances, given, enough, min(left, to.steps(1, 0)))
		if errors.Is(err, evidence.ErrNoLikelihood) {
			to.rows = rows
			return nil
		}
		if err != nil {
			return err
		}
		if kept > 0 && rows.Alone() {
			break // what a direction would explain is not to become noise
		}
		noise.Reweigh(ctx, from)
	}
	to.best = &candidate{Point: from, evidence: k.evidence + (from.Penalized() - k.Penalized()), converged: k.converged, weight: k.weight}
	return nil
}

// strengthsFor are those that do not change from a candidate on: where it has no spread, that stays so.
func (q *question) strengthsFor(c *candidate) evidence.Strengths {
	given := q.given
	if c.Rank == 0 && c.Spread == 0 {
		given.Spread = 0
	}
	return given
}
