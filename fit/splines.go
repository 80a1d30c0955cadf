package fit

import (
	"context"

	"github.com/difalt/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/model"
)

// Splines are fitted up to so many coefficients of a task, and so many squares of them in all tasks: they are there to be compared with.
const mostSplineWidth, mostSplineWork = 120, 3e7

// fitSplines fits curves of all columns that can have one, the same for all tasks, with an intercept for each task that is shrunken towards that of all: what
// the model has to be compared with if effects are not straight. It is for a design without transforms, and the alternatives of its features. No method is returned
// where there are no curves, or where so many tasks take long.
func (d *design) fitSplines(ctx context.Context, alternatives []*alternative, tasks float64, workers int) (methods []method, err error) {
	chosen := make([]*alternative, len(d.Center))
	for _, a := range alternatives {
		if a.Kind == model.Curved {
			chosen[a.Feature] = a
		}
	}
	curved := d.transformed(chosen)
	if w := curved.width(); w == d.width() || w > mostSplineWidth || tasks*float64(w*w) > mostSplineWork {
		return nil, nil
	}
	rows, err := curved.sufficientRows(ctx, workers)
	if err != nil {
		return nil, err
	}
	intercepts := evidence.Unknown()
	intercepts.Spread = 0
	start, _, err := rows.Start(ctx, rows.FirstGuess(), intercepts)
	if err != nil {
		return nil, err
	}
	pt, _, err := rows.Maximize(ctx, start, nil, intercepts, nearTop, 1)
	if err != nil {
		return nil, err
	}
	m := method{Score: Score{Method: Splines, Ridge: 1 / pt.MeanVariance}, of: curved}
	m.theta, err = curved.coefficients(ctx, rows, pt.Posterior())
	return []method{m}, err
}
