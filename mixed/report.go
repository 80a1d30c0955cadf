package mixed

import (
	"cmp"
	"iter"
	"slices"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/private"
)

// Names of the methods in a Report.
const (
	Ours       = "model"
	Pooled     = "pooled ridge"
	Intercepts = "ridge with intercepts"
	Separate   = "one ridge per task"
	TaskMean   = "mean of the task"

	PooledCurves     = "pooled ridge, curves"
	InterceptsCurves = "intercepts and curves"
)

// Errors are the errors of predictions on a set of rows. Without rows, RMSE, MAE and ExplainedVariance are
// NaN.
type Errors struct {
	Rows int `json:"rows"`
	// RMSE is sqrt(sum (y - prediction)^2 / Rows) and MAE sum |y - prediction| / Rows, both in the unit of
	// the target.
	RMSE float64 `json:"rmse"`
	MAE  float64 `json:"mae"`
	// ExplainedVariance is 1 - sum (y - prediction)^2 / sum (y - mean of y)^2, both sums and the mean over
	// all rows of the set. It is NaN where all targets of the set are equal.
	ExplainedVariance float64 `json:"explained_variance"`
}

// A Score is the errors of a method on training and held-out rows, and its ridge on standardised columns, 0
// for methods without one.
type Score struct {
	Method string  `json:"name"`
	Ridge  float64 `json:"ridge"`
	Train  Errors  `json:"train"`
	Test   Errors  `json:"held_out"`
}

// A TaskScore holds the errors of the methods on the rows of one task, in the order of Report.Scores.
type TaskScore struct {
	Task        string
	Train, Test []Errors
}

// A Candidate is a form of the model that was compared by evidence: its logarithm, and the same less the
// penalty of free loadings, and less 0.3 for each curve beyond ten. The penalty is half the number of
// loadings times the logarithm of the number of tasks, and more where the rows determine loadings so closely
// that they may follow every row.
type Candidate struct {
	Rank      int     `json:"rank"`
	Curves    bool    `json:"curves"`
	Evidence  float64 `json:"log_evidence"`
	Penalised float64 `json:"penalised_evidence"`
	Chosen    bool    `json:"chosen"`
}

// A Total counts the totals of one kind over all owners, and the numbers in them.
type Total struct {
	Name    string `json:"name"`
	Sums    int    `json:"sums"`
	Numbers int    `json:"numbers"`
}

// Sums returns the number of sums of a finished fit.
func (r *Report) Sums() (n int) {
	for _, t := range r.Totals {
		n += t.Sums
	}
	return n
}

// A Report describes a finished fit.
type Report struct {
	// Scores of the model, first, and of the methods it is compared with. Test errors have no rows
	// when none were held out.
	Scores     []Score
	Verdict    Verdict
	Candidates []Candidate
	// Converged is false when the strengths of the chosen candidate still moved at the last iteration.
	Converged bool
	// Notes are sentences for the user.
	Notes []string
	// Outliers are the training rows of this owner whose targets are more than [FarOut] deviations from their
	// predictions, the farthest first. No row is left out for it.
	Outliers []Outlier
	// Owners is the number of owners, and TaskCount the number of their tasks with training rows in totals.
	Owners, TaskCount int
	// Totals lists the totals over all owners, which each of them learns, in the order of their first one.
	Totals []Total
	// Traffic is the traffic of the process in [Together].
	Traffic transport.Traffic
	Private *private.Account // nil but for [Privately]
	// Judged is the model that the held-out rows have judged, where [Options.Refit] has fitted another one to
	// all rows; nil: they have judged the model itself. It has neither covariances nor digests of tasks.
	Judged *Model
	tasks  iter.Seq[TaskScore]
	scorer *scorer
	owned  []ownedTable // of the owners in this process
}

// An Outlier is a training row far from its prediction.
type Outlier struct {
	Task       string
	Table, Row int     // number of the table in this process, and number of the row in the table, both from 0
	Deviations float64 // the residual over the standard deviation of the noise
}

// Tasks returns the errors of every task, computed when they are read: there may be millions.
func (r *Report) Tasks() iter.Seq[TaskScore] {
	if r.tasks == nil {
		return func(func(TaskScore) bool) {}
	}
	return r.tasks
}

// joinReports returns the report of the owners in one process: they have equal scores and candidates, and
// each has its notes and tasks.
func joinReports(list []*Report) *Report {
	out := *list[0]
	for i, r := range list[1:] {
		for _, o := range r.Outliers {
			o.Table = i + 1
			out.Outliers = append(slices.Clip(out.Outliers), o)
		}
		out.owned = append(slices.Clip(out.owned), r.owned...)
		for _, note := range r.Notes {
			if !slices.Contains(out.Notes, note) {
				out.Notes = append(out.Notes, note)
			}
		}
	}
	slices.SortStableFunc(out.Outliers, func(a, b Outlier) int { return cmp.Compare(b.Deviations, a.Deviations) })
	out.tasks = func(yield func(TaskScore) bool) {
		for _, r := range list {
			for score := range r.Tasks() {
				if !yield(score) {
					return
				}
			}
		}
	}
	return &out
}
