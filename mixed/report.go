package mixed

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
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

// A Tally sums errors of predictions over rows.
type Tally struct{ Rows, Squares, Absolute, Targets, TargetSquares float64 }

// farthestError bounds the error of a row in deviations of the target, so that sums of errors and of their
// squares have a known size.
const farthestError = 1e6

// Add counts one row. An error of more than a million counts as that.
func (t *Tally) Add(target, prediction float64) {
	e := min(max(target-prediction, -farthestError), farthestError)
	t.Rows++
	t.Squares += float64(e * e)
	t.Absolute += math.Abs(e)
	t.Targets += target
	t.TargetSquares += float64(target * target)
}

// Errors returns the errors of the rows, whose targets and predictions were divided by unit. Targets should
// have a mean near 0: explained variance loses digits otherwise.
func (t Tally) Errors(unit float64) Errors {
	nan := math.NaN()
	e := Errors{Rows: int(t.Rows), RMSE: nan, MAE: nan, ExplainedVariance: nan}
	if t.Rows == 0 {
		return e
	}
	e.RMSE, e.MAE = math.Sqrt(t.Squares/t.Rows)*unit, t.Absolute/t.Rows*unit
	if spread := t.TargetSquares - float64(t.Targets*(t.Targets/t.Rows)); spread > 1e-12*t.TargetSquares {
		e.ExplainedVariance = 1 - t.Squares/spread
	}
	return e
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

// TaskErrors are the tallies of the rows of one task for every method, the model first: of training rows, and
// of held-out rows.
type TaskErrors [][2]Tally

// ScoreSize is the number of sums of a method: two tallies and its comparison with the model's errors.
const ScoreSize = 13

// AddTo adds the tallies of the task to sums, ScoreSize numbers for each method.
func (e TaskErrors) AddTo(sums []float64) {
	for i, t := range e {
		v := sums[i*ScoreSize:][:ScoreSize]
		for set, t := range t {
			floats.Add(v[5*set:][:5], []float64{t.Rows, t.Squares, t.Absolute, t.Targets, t.TargetSquares})
		}
		if own := t[1].Squares; t[1].Rows > 0 {
			floats.Add(v[10:], []float64{1, own * e[0][1].Squares, own * own})
		}
	}
}

// scoreGrows reports whether no owner adds a negative number to a sum of AddTo.
func scoreGrows(i int) bool {
	i %= ScoreSize
	return i != 3 && i != 8 && i != 11 // the targets of two tallies, and the difference from the model
}

// Score returns the errors of the methods for a task whose targets and predictions were divided by unit.
func (e TaskErrors) Score(task string, unit float64) TaskScore {
	s := TaskScore{Task: task}
	for _, t := range e {
		s.Train, s.Test = append(s.Train, t[0].Errors(unit)), append(s.Test, t[1].Errors(unit))
	}
	return s
}

// Summarise sets the errors of scores from sums, where AddTo has added all tasks, and compares the model with
// the other methods. Targets and predictions were divided by unit.
func Summarise(scores []Score, sums []float64, unit float64) Verdict {
	tally := func(v []float64) Tally { return Tally{v[0], v[1], v[2], v[3], v[4]} }
	comparisons := make([]comparison, len(scores))
	for i := range scores {
		v := sums[i*ScoreSize:][:ScoreSize]
		scores[i].Train, scores[i].Test = tally(v).Errors(unit), tally(v[5:]).Errors(unit)
		comparisons[i] = comparison{v[10], v[11], v[12]}
	}
	return newVerdict(scores, comparisons, unit)
}

// A Candidate is a form of the model that was compared by evidence: its logarithm, and the same less half the
// number of free loadings times the logarithm of the number of tasks.
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

// joinReports returns the report of the owners in one process: they have the same scores and candidates, and
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
