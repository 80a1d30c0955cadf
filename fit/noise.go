package fit

import (
	"context"
	"math"

	"github.com/difalt/difalt/fit/internal/evidence"
)

const (
	// Weights stay when they change by less than this, as logarithms.
	smallChange = 0.05
	// The most times that weights are chosen for a candidate.
	maxReweights = 8
)

// weighted returns what is chosen with the noise of every task, if the evidence says that tasks differ by their noise; else
// the choice that it is given. Tasks are weighted by their noise and the prior of the coefficients is
// chosen again, until both stay.
func (q *question) weighted(ctx context.Context, c *choice) (*choice, error) {
	noise, err := c.rows.TaskNoise(ctx, c.best.Point)
	if err != nil || !noise.Unlike || c.none.Noise <= 2*evidence.NoiseFloor {
		return c, err
	}
	rows, _, _, err := q.reweight(ctx, c.rows, c.best)
	if err != nil {
		return nil, err
	}
	again := *q
	again.shrunken, again.none = c.shrunken, c.none
	next, err := again.choose(ctx, rows, c.algorithm.again())
	if err != nil {
		return nil, err
	}
	next.rows, next.best, noise, err = q.reweight(ctx, next.rows, next.best)
	if err != nil {
		return nil, err
	}
	if next.best.evidence+noise.Correction > c.best.evidence-math.Log(c.rows.Count) {
		return c, nil
	}
	next.shrunken = c.shrunken
	return next, nil
}

// reweight weights tasks by their noise and climbs from a candidate until weights stay.
func (q *question) reweight(ctx context.Context, rows *evidence.Rows, c *candidate) (*evidence.Rows, *candidate, *evidence.TaskNoise, error) {
	given := q.strengthsFor(c)
	for k := 0; ; k++ {
		noise, err := rows.TaskNoise(ctx, c.Point)
		if err != nil {
			return nil, nil, nil, err
		}
		far, err := rows.FarthestWeight(ctx, noise)
		if err != nil || k > 0 && far < smallChange || k == maxReweights {
			return rows, c, noise, err
		}
		if rows, err = rows.Weighted(ctx, noise.Weight); err != nil {
			return nil, nil, nil, err
		}
		pt, converged, err := rows.Maximize(ctx, c.Point, c.LoadingVariances, given, roughly, maxSteps)
		if err != nil {
			return nil, nil, nil, err
		}
		c = &candidate{Point: pt, evidence: c.evidence + (pt.Penalized() - c.Penalized()), bases: c.bases, converged: converged}
	}
}

// strengthsFor are those that do not change from a candidate on: where it has no spread, that stays so.
func (q *question) strengthsFor(c *candidate) evidence.Strengths {
	given := q.given
	if c.Rank == 0 && c.Spread == 0 {
		given.Spread = 0
	}
	return given
}
