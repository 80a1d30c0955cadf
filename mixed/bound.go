package mixed

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

const (
	// farRow is the distance of a target from its prediction without the row, in standard deviations, at
	// which the row counts half. Nearer rows are hardly touched: farRow^2 = 64 degrees of freedom of
	// Student's distribution are nearly normal.
	farRow = 8.0
	// boundRounds is the number of times that weights and strengths follow each other.
	boundRounds = 3
)

// boundOf returns the weight of a row at a distance: the weight in an EM step for Student's distribution with
// farRow^2 degrees of freedom (Lange, Little and Taylor 1989). It is a smooth function of all rows, so that
// the sums before and after differ in all of them.
func boundOf(distance float64) float64 {
	const freedom = farRow * farRow
	return (freedom + 1) / (freedom + float64(distance*distance))
}

// boundRows returns the choice of rank 0 where rows that are far from their prediction count less. Without
// far rows, or if all rows, the far ones too, are not predicted better without themselves, it returns the
// first choice. One wrong target would win directions, and inflate the noise and so the shrinkage of all
// tasks. The large targets of a skewed distribution are right, and are predicted worse where they count
// less.
func (f *fitter) boundRows(ctx context.Context, first *choice) (*choice, error) {
	if f.rows.sums.Owners() > 1 {
		return first, nil
	}
	distances, any, err := first.distances(ctx)
	if err != nil || !any {
		return first, err
	}
	last := *first
	for range boundRounds {
		bounds := make([]float64, len(distances))
		for i, d := range distances {
			bounds[i] = boundOf(d)
		}
		last.s.forget() // so that the tasks are in memory once
		s, err := newBoundedStats(ctx, f.rows, first.s.design, f.Workers, bounds)
		if err != nil {
			return nil, err
		}
		s.some = first.s.some
		if err := s.hold(ctx); err != nil {
			return nil, err
		}
		next := s.candidate(0)
		c := next.newOptimiser(last.q)
		if err := optimiseAll(ctx, c); err != nil {
			return nil, err
		}
		next.keepHigher(&c.best)
		last = next
		if distances, _, err = last.distances(ctx); err != nil {
			return nil, err
		}
	}
	bounded, err := last.predictsBetter(ctx, first)
	if err != nil {
		return nil, err
	}
	if !bounded {
		return first, first.s.hold(ctx)
	}
	return &last, nil
}

// predictsBetter reports whether a choice predicts rows that are left out better than another one.
func (c *choice) predictsBetter(ctx context.Context, other *choice) (bool, error) {
	ours, theirs := c.leaveOneOut(ctx), other.leaveOneOut(ctx)
	if err := cmp.Or(ours.err, theirs.err); err != nil {
		return false, err
	}
	return rowErrors{ours.v[0], ours.v[1]}.score() < rowErrors{theirs.v[0], theirs.v[1]}.score(), nil
}

// distances returns how far the target of every training row is from its prediction without the row, in
// standard deviations of that prediction's error; other rows of the table have distance 0. any reports
// whether a row is farther than farRow.
func (c *choice) distances(ctx context.Context) (distances []float64, any bool, err error) {
	s := c.s
	distances = make([]float64, s.rows.in.Table.Rows())
	t := s.solveOwn(ctx, c.m.prior, s.tasks, 0, func(w *worker, k int, _ []float64) {
		noise := c.m.prior.Noise.Variance
		c.eachResidual(w, k, func(row int, e, h float64) {
			bound := 1.0
			if s.bounds != nil {
				bound = s.bounds[row]
			}
			left := remainder(h)
			distances[row] = math.Abs(e) / left / math.Sqrt(noise*(bound+(1-left)/left))
		})
	})
	if errors.Is(t.err, errNumeric) { // a task out of range: the next optimiser of all tasks reports it
		return distances, false, nil
	}
	return distances, slices.Max(distances) > farRow, t.err
}
