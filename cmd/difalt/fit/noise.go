package fit

import (
	"context"
	"errors"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
)

// Weights stay when they change by less than this, as logarithms, in the root of the mean square.
const smallChange = 0.05

// chooseNoise returns what is chosen of rank 0 with the noise of every task, if the evidence says that tasks differ by their noise; else the
// choice that it is given. Slopes of the tasks' own are left out only where the evidence is decisive: a model without is sure of what it leaves out.
func (c *choice) chooseNoise(ctx context.Context) (*choice, error) {
	next, err := c.weighted(ctx)
	if err == nil && next.best == next.levels && next.levels.evidence > next.tried[1].evidence-decisive {
		next.best = next.tried[1]
	}
	return next, err
}

// weighted is chooseNoise, by the larger evidence.
func (c *choice) weighted(ctx context.Context) (*choice, error) {
	if c.commonNoise {
		return c, nil
	}
	noise, err := c.rows.TaskNoise(ctx, c.best.Point)
	if err != nil || !noise.Unlike || c.best.Noise <= 2*evidence.NoiseFloor {
		return c, err
	}
	next := &choice{question: c.question, moments: c.moments, levels: c.levels}
	if err = next.reweight(ctx, c.rows, c.best, noise, keptRank); err != nil {
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
		none, converged, err := next.rows.Maximize(ctx, c.none, nil, c.given, enough, 1)
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
func (c *choice) weightedAgain(ctx context.Context) error {
	if c.rows.Weights == nil || c.best.Rank == 0 && c.rows.Alone() {
		return nil
	}
	noise, err := c.rows.TaskNoise(ctx, c.best.Point)
	if err != nil {
		return err
	}
	return c.reweight(ctx, c.rows, c.best, noise, 0)
}

// reweight sets the rows and the best of a choice: rows are weighted by the noise of their tasks, at a candidate of some rows, and the candidate
// climbs to the top with them; and, but for a single owner before ranks are compared, again as long as that changes the weights, which every
// node chooses by itself. Where weights change by little, or leave no likelihood, all stays as it is.
func (c *choice) reweight(ctx context.Context, rows *evidence.Rows, k *candidate, noise *evidence.TaskNoise, kept int) error {
	c.rows, c.best = rows, k
	given, from := c.strengthsFor(k), k.Point
	until := rows.Evaluations() + max(c.steps(weightSteps, keptLast+kept), 2) // with weights strengths may be far from where they were
	for {
		far, err := c.rows.ChangeOfWeights(ctx, noise)
		if err != nil {
			return err
		}
		left := until - c.rows.Evaluations() - 1
		if far < smallChange || left < 0 {
			break
		}
		if c.rows, err = c.rows.Weighted(ctx, noise); err != nil {
			return err
		}
		from, _, err = c.rows.Maximize(ctx, from, k.LoadingVariances, given, enough, min(left, c.steps(1, 0)))
		if errors.Is(err, evidence.ErrNoLikelihood) {
			c.rows = rows
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
	c.best = &candidate{Point: from, evidence: k.evidence + (from.Penalized() - k.Penalized()), converged: k.converged, weight: k.weight}
	return nil
}

// strengthsFor are those that do not change from a candidate on: where it has no spread, that stays so.
func (c *choice) strengthsFor(k *candidate) evidence.Strengths {
	given := c.given
	if k.interceptsOnly() {
		given.Spread = 0
	}
	return given
}
