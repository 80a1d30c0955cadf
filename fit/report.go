package fit

import (
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
)

// Tried is a ridge strength and the root mean square error that it had in
// cross-validation.
type Tried struct{ Ridge, RMSE float64 }

// Errors that differ by less than rounding, relative to them, are equal.
const rounding = 1e-9

// smallest returns the index of the smallest error, the last of those within a part of it.
func smallest(rmse []float64, within float64) int {
	least := slices.Min(rmse)
	for g := len(rmse) - 1; g > 0; g-- {
		if rmse[g] <= least*(1+within) {
			return g
		}
	}
	return 0
}

// best returns the strength of smallest error, the larger one of equals.
func best(tried []Tried) float64 {
	rmse := make([]float64, len(tried))
	for i, t := range tried {
		rmse[i] = t.RMSE
	}
	return tried[smallest(rmse, rounding)].Ridge
}

// Errors are those of predictions on a set of rows.
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
	// nothing if it was given, or if the table of Report.Tried has it.
	Ridge       float64
	Tried       []Tried
	Train, Test Errors
}

// Names of the methods in a Report.
const (
	Ours   = "shared representation"
	Pooled = "pooled ridge"
	Single = "one ridge per task"
)

// A TaskScore is how well the methods do on the rows of one task, in the order of
// Report.Scores. Explained variance is relative to the mean of the task.
type TaskScore struct {
	Task, Node  string
	Train, Test []Errors
}

// A Report says how a Fit went. Scores, choices and Traffic are about all nodes; Tasks,
// FewRows, Singular and Result about those that live in this process.
type Report struct {
	// Scores of ours and, if asked for, of the baselines. Test errors are of no rows
	// when none were held out.
	Scores []Score
	// Tasks has the same for every task of this process.
	Tasks []TaskScore
	// Chosen is the setting of the final run, and Tried what cross-validation compared
	// it with, by rank, mean strength and ridge; nothing if all was given.
	Chosen Candidate
	Tried  []Candidate
	// TunedTasks is the number of tasks that take part in cross-validation, but for that
	// of pooled ridge: a part of AllTasks, those of all nodes, when there are many
	// thousands with large tables.
	TunedTasks, AllTasks int
	// Spectrum holds the singular values of the coefficients b_t of all tasks, at the
	// largest rank that was tried, if Config.Spectrum asks for them.
	Spectrum []float64
	// Result of the final run, and the Options, as Config.Auto has chosen them.
	Result  *difalt.Result
	Options difalt.Options
	// FewRows are the tasks with fewer training rows than the rank, and Singular
	// those whose least squares had no unique solution, so that b_t is the one of
	// minimum norm.
	FewRows, Singular []string
	// Exposed are the nodes about which more can be told than sums over many rows.
	Exposed Exposed
	// Folds of the cross-validation.
	Folds int
	// Traffic is all that Fit sent between the nodes.
	Traffic consensus.Traffic
}

// set is the index of training rows (0) and held-out rows (1).
func set(train bool) int {
	if train {
		return 0
	}
	return 1
}

// A tally sums the errors of predictions on a set of rows.
type tally struct{ rows, squares, absolute float64 }

func (t *tally) add(e float64) {
	t.rows++
	t.squares += e * e
	t.absolute += math.Abs(e)
}

// errors turns a tally into errors; spread is sum (y - mean of y)^2 of the set.
func (t *tally) errors(spread float64) Errors {
	nan := math.NaN()
	n := t.rows
	if n == 0 {
		return Errors{RMSE: nan, MAE: nan, ExplainedVariance: nan}
	}
	e := Errors{Rows: int(n), RMSE: math.Sqrt(t.squares / n), MAE: t.absolute / n, ExplainedVariance: nan}
	if spread > 0 {
		e.ExplainedVariance = 1 - t.squares/spread
	}
	return e
}
