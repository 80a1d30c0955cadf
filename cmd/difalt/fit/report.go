package fit

import (
	"iter"
	"math"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
)

// Tried is a ridge strength and the root mean square error that it had in
// cross-validation.
type Tried struct{ Ridge, RMSE float64 }

// bestRidge returns the strength of the smallest sum of squared errors, the larger one of those that are equal but for
// rounding, and all that were tried, with their errors in a unit.
func bestRidge(grid, squares []float64, weights, unit float64) (best float64, tried []Tried) {
	least := math.Inf(1)
	for k, ridge := range grid {
		rmse := math.Sqrt(squares[k]/max(weights, 1)) * unit
		tried = append(tried, Tried{ridge, rmse})
		if rmse < least {
			least = rmse
		}
	}
	best = grid[0]
	for _, t := range tried {
		if t.RMSE <= least*(1+1e-9) {
			best = t.Ridge
		}
	}
	return best, tried
}

// Errors are those of predictions on a set of rows, NaN if there are none.
type Errors struct {
	Rows int
	// RMSE is sqrt(sum (y - prediction)^2 / Rows) and MAE sum |y - prediction| / Rows,
	// in the unit of the target.
	RMSE, MAE float64
	// ExplainedVariance is 1 - sum (y - prediction)^2 / sum (y - mean of y)^2, both
	// sums and the mean over all rows of the set, of whatever task. NaN if all targets
	// of the set are equal.
	ExplainedVariance float64
}

// A Score is how well a method does on training and held-out rows.
type Score struct {
	Method string
	// Ridge is the strength that was used, and Tried what cross-validation compared;
	// nothing where it was chosen otherwise.
	Ridge       float64
	Tried       []Tried
	Train, Test Errors
}

// A TaskScore is how well the methods do on the rows of one task, in the order of
// Report.Scores. Explained variance is relative to the mean of the task.
type TaskScore struct {
	Task, Node  string
	Train, Test []Errors
}

// A Report says how a Fit went. Scores, choices, Notes and Traffic are about all nodes; Tasks,
// FewRows, Singular and Result about those that live in this process.
type Report struct {
	// Scores of the model, and of what it is compared with: Ours or Mixed, Shrunken, Splines (unless nothing was looked for), Pooled, Single and
	// TaskMean. Test errors are of no rows when none were held out.
	Scores []Score
	// Verdict sums up the comparison.
	Verdict Verdict
	// Chosen is the model, and Tried what it was compared with by evidence.
	Chosen Candidate
	Tried  []Candidate
	// Converged says that both the algorithm and the strengths have converged.
	Converged bool
	// Notes are sentences that a user should read: strengths at the end of their range,
	// columns that look wrong.
	Notes []string
	// Result of the final run; nil for a model of rank 0 or of tasks with no more rows than the rank, which has none. Options are as
	// Config.Auto has chosen them.
	Result  *difalt.Result
	Options difalt.Options
	// FewRows are the tasks with fewer training rows than the rank, and Singular
	// those whose least squares had no unique solution, so that b_t is the one of
	// minimum norm. A plain fit has them.
	FewRows, Singular []string
	// What Disclosure and Tasks return.
	disclosure func() Disclosure
	tasks      iter.Seq[TaskScore]
	// Private is the account of a fit with a privacy budget: Scores, Verdict and Traffic are then about this process alone. Else nil.
	Private *Private
	// Folds of the cross-validation of the baselines.
	Folds int
	// Traffic is all that Fit sent between the nodes.
	Traffic wire.Traffic
}

// set is the index of training rows (0) and held-out rows (1).
func set(train bool) int {
	if train {
		return 0
	}
	return 1
}

// A tally sums squares and sizes of errors of predictions on a set of rows.
type tally struct{ squares, absolute float64 }

func (t *tally) add(e float64) {
	t.squares += e * e
	t.absolute += math.Abs(e)
}

// errors turns a tally of n rows into errors in a unit; spread is sum (y - mean of y)^2 of the set.
func (t tally) errors(n, spread, unit float64) Errors {
	nan := math.NaN()
	if n == 0 {
		return Errors{RMSE: nan, MAE: nan, ExplainedVariance: nan}
	}
	e := Errors{Rows: int(n), RMSE: math.Sqrt(t.squares/n) * unit, MAE: t.absolute / n * unit, ExplainedVariance: nan}
	if spread > 0 {
		e.ExplainedVariance = 1 - t.squares/spread
	}
	return e
}

// Tasks are the errors on the rows of every task of this process, each counted when it is asked for: there may be millions.
func (r *Report) Tasks() iter.Seq[TaskScore] {
	if r.tasks == nil {
		return func(func(TaskScore) bool) {}
	}
	return r.tasks
}

// Disclosure is about what the first node of this process could learn of the tasks of others. The first call counts it, which
// takes as long as the fit where there are many features.
func (r *Report) Disclosure() Disclosure {
	if r.disclosure == nil {
		return Disclosure{}
	}
	return r.disclosure()
}
