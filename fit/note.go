package fit

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/text"
)

// note adds what a user should know about strengths and columns.
func (f *fitter) note() {
	r := f.report
	add := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	switch {
	case r.Converged:
	case f.c.Options.EveryIteration && r.Result != nil && r.Result.Status == difalt.IterationLimit:
		add("All %d iterations were done, as asked for: whether they have converged was not judged.", r.Result.Iterations)
	default:
		add("The fit has not converged: predictions are usable, strengths and intervals may be off.")
	}
	if r.Result != nil && r.Result.Status == difalt.Diverged {
		add("The last run of the algorithm diverged after %d iterations with the step size %.3g: the loadings are those of the largest evidence from the best basis before that.", r.Result.Iterations, r.Result.Step)
	}
	if f.outliers > 0 {
		add("Training rows more than %d standard deviations from what is expected of them: %d. Are their targets right?", farOut, f.outliers)
	}
	if f.loudest > 0 {
		add("Tasks differ by their noise: its standard deviation is between %.3g and %.3g. Each has its own, shrunken towards what is usual, and rows count accordingly.", f.quietest, f.loudest)
	}
	switch c := f.carried; {
	case c == nil:
	case c.Rank > r.Chosen.Rank:
		add("Only these rows speak for rank %d: without them the evidence chooses rank %d, which was taken.", c.Rank, r.Chosen.Rank)
	default:
		add("Only these rows speak for other differences between tasks than of their level, which were left out.")
	}
	if r.Chosen.Rank == mostRank && f.c.Rank == 0 {
		add("The largest rank that is tried, %d, was chosen: a larger one may be better (--rank).", mostRank)
	}
	for _, s := range r.Scores {
		for i, t := range s.Tried {
			if t.Ridge == s.Ridge && (i == 0 || i == len(s.Tried)-1) {
				add("The ridge of %q is at the end of its grid, %.3g.", s.Method, s.Ridge)
			}
		}
	}
	if f.directions != nil {
		add("%d features were replaced by %d directions in which the training rows lie.", len(f.Center), f.width()-1)
	}
	names := f.t.Features()
	var constant, dependent []string
	column, isLevel := f.columns()
	for _, j := range f.constant {
		if !isLevel[j] { // those of held-out rows only
			constant = append(constant, fmt.Sprintf("%q", names[j]))
		}
	}
	ours := map[int]bool{} // levels of a column add up to 1: one of them is a combination of the others
	for _, j := range f.dependent {
		switch {
		case f.directions != nil:
		case isLevel[j] && !ours[column[j]]:
			ours[column[j]] = true
		default:
			dependent = append(dependent, fmt.Sprintf("%q", names[j]))
		}
	}
	if constant != nil {
		add("Columns without any variation but rounding: %s. They have no effect.", text.List(constant))
	}
	if dependent != nil {
		add("Columns that are exact combinations of those before them: %s. Predictions do not suffer, but their coefficients have no meaning of their own.", text.List(dependent))
	}
	if f.ids != nil {
		var ids []string
		for _, j := range f.ids {
			if names[j] == f.t.TimeColumn() {
				continue // whose order means something
			}
			ids = append(ids, fmt.Sprintf("%q", names[j]))
		}
		if ids != nil {
			add("Columns of whole numbers that are all different, as numbers of rows are: %s. Leave them out unless their order means something.", text.List(ids))
		}
	}
	if f.settled {
		add("The target is %.4g in all training rows: that is what the model predicts.", f.Target)
	} else if noise := f.chosenNoise; noise <= 2*noiseFloor {
		add("The training rows are fitted exactly, to %.0e of the target's deviation: is the target among the features?", math.Sqrt(noise))
	}
}

// columns returns the column of every feature, and whether it is one of its levels.
func (d *design) columns() (column []int, isLevel []bool) {
	schema := d.t.Schema()
	for k, name := range schema.Columns {
		levels, coded := schema.Levels(name)
		n := 1
		if coded {
			n = len(levels)
		}
		for range n {
			column, isLevel = append(column, k), append(isLevel, coded)
		}
	}
	return column, isLevel
}

// findIDs returns the features that look like numbers of rows: whole numbers, different in all rows of
// every node, in a range of at most twice as many as there are rows.
func (d *design) findIDs(ctx context.Context) (list []int, err error) {
	k := len(d.Center)
	repeated, ends := d.zeros(k), d.zeros(2*k)
	x := make([]float64, k)
	for g := range repeated {
		seen := make([]map[float64]bool, k)
		for j := range k {
			seen[j] = map[float64]bool{}
			ends[g][j], ends[g][k+j] = -math.MaxFloat64, -math.MaxFloat64
		}
		d.eachTraining(d.layout[g], func(i int) {
			for j, v := range d.t.X(x, i) {
				if seen[j] == nil {
					continue
				}
				if v != math.Trunc(v) || seen[j][v] || math.Abs(v) > 1e15 { // NaN is not its whole part
					seen[j], repeated[g][j] = nil, 1
					ends[g][j], ends[g][k+j] = 0, 0
					continue
				}
				seen[j][v] = true
				ends[g][j], ends[g][k+j] = max(ends[g][j], v), max(ends[g][k+j], -v)
			}
		})
	}
	sum, err := d.sum(ctx, repeated)
	if err != nil {
		return nil, err
	}
	most, err := d.max(ctx, ends)
	if err != nil {
		return nil, err
	}
	for j, n := range sum {
		if n == 0 && d.total >= 20 && most[j]+most[k+j] < 2*float64(d.total) {
			list = append(list, j)
		}
	}
	return list, nil
}
