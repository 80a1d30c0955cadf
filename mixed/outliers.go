package mixed

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

// An outlier is a training row far from its prediction.
type outlier struct {
	task, row int
	size      float64 // in noise deviations
}

// FarOut is the residual of an [Outlier], over the standard deviation of the noise, that is exceeded.
const FarOut = 6.0

// outlierChance is the largest chance that a row of a table without wrong targets is named.
const outlierChance = 0.05

// findOutliers sets farRows to the training rows of this owner with large residuals, the farthest first. The
// coefficients of all tasks must be there.
func (f *fitter) findOutliers(ctx context.Context, chosen *choice) error {
	if chosen.q.exact() {
		return nil
	}
	lists := make([][]outlier, len(f.rows.in.Table.Tasks()))
	_, err := chosen.s.reduceOwn(ctx, chosen.s.tasks.own, 0, func(w *worker, k int, _ []float64) error {
		lists[k] = f.outliersOf(w, chosen, k)
		return nil
	})
	for _, k := range chosen.s.tasks.own {
		f.farRows = append(f.farRows, lists[k]...)
	}
	slices.SortStableFunc(f.farRows, func(a, b outlier) int { return cmp.Compare(b.size, a.size) })
	return err
}

// outliersOf returns the outliers of one task. The noise of a task is estimated without the row in question,
// so that a wrong target does not add to the noise and hide there.
func (f *fitter) outliersOf(w *worker, chosen *choice, task int) (out []outlier) {
	s, squares := chosen.s, 0.0
	list := w.far[:0]
	for rows := range slices.Chunk(f.rows.of(task), batch) {
		if w.cancelled() {
			return nil
		}
		w.read.each(rows, func(at int, x []float64) {
			row := int(rows[at])
			s.design.Apply(w.v, x)
			z := f.rows.standardized(row, f.rows.target.Log) - rounded.Dot(w.v, f.theta[task*s.p:][:s.p])
			z = math.Abs(z) * math.Sqrt(f.rows.weight(row))
			list = append(list, outlier{task, row, z})
			squares += float64(z * z)
		})
	}
	w.far = list
	slices.SortStableFunc(list, func(a, b outlier) int { return cmp.Compare(b.size, a.size) })
	variance, freedom := chosen.q.noise, f.freedom
	for _, o := range list {
		if n := f.noise; n != nil {
			squares -= float64(o.size * o.size)
			freedom = max(n.freedoms[task]-float64(len(out)+1), n.freedom)
			variance = (float64(n.freedom*n.usual) + squares) / freedom
		}
		o.size /= math.Sqrt(variance)
		if o.size <= FarOut || newStudent(freedom).beyond(o.size)*f.rows.tasks.rows > outlierChance {
			break
		}
		out = append(out, o)
	}
	return out
}

// outliers returns the outliers for the report.
func (f *fitter) outliers() (list []Outlier) {
	for _, o := range f.farRows {
		list = append(list, Outlier{Task: f.in.Table.Tasks()[o.task], Row: o.row, Deviations: o.size})
	}
	return list
}
