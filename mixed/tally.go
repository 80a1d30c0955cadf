package mixed

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// A tally sums errors of predictions over rows.
type tally struct{ Rows, Squares, Absolute, Targets, TargetSquares float64 }

// Bounds of errors and targets of rows in deviations of the target. Sums of errors between owners, and of the
// fourth powers of these, have a known size; those of a single table are finite.
const (
	farthestError = 1e6
	farthestAlone = 1e70
)

// count adds the error of one row. An error beyond the farthest one counts as that, and so does a prediction
// that overflows.
func (t *tally) count(target, prediction, farthest float64) {
	e := target - prediction
	if !(math.Abs(e) <= farthest) {
		e = math.Copysign(farthest, e)
	}
	target = min(max(target, -farthest), farthest)
	t.Rows++
	t.Squares += float64(e * e)
	t.Absolute += math.Abs(e)
	t.Targets += target
	t.TargetSquares += float64(target * target)
}

// Errors returns the errors of the rows, whose targets and predictions were divided by unit. Targets should
// have a mean near 0: explained variance loses digits otherwise.
func (t tally) Errors(unit float64) Errors {
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

// taskErrors are the tallies of the rows of one task for every method, the model first: of training rows, and
// of held-out rows.
type taskErrors [][2]tally

// scoreSize is the number of sums of a method: two tallies and its comparison with the model's errors.
const scoreSize = 13

// addTo adds the tallies of the task to sums, scoreSize numbers for each method.
func (e taskErrors) addTo(sums []float64) {
	for i, t := range e {
		v := sums[i*scoreSize:][:scoreSize]
		for set, t := range t {
			floats.Add(v[5*set:][:5], []float64{t.Rows, t.Squares, t.Absolute, t.Targets, t.TargetSquares})
		}
		if own := t[1].Squares; t[1].Rows > 0 {
			floats.Add(v[10:], []float64{1, own * e[0][1].Squares, own * own})
		}
	}
}

// scoreGrows reports whether no owner adds a negative number to a sum of addTo.
func scoreGrows(i int) bool {
	i %= scoreSize
	return i != 3 && i != 8 && i != 11 // the targets of two tallies, and the difference from the model
}

// score returns the errors of the methods for a task whose targets and predictions were divided by unit.
func (e taskErrors) score(task string, unit float64) TaskScore {
	s := TaskScore{Task: task}
	for _, t := range e {
		s.Train, s.Test = append(s.Train, t[0].Errors(unit)), append(s.Test, t[1].Errors(unit))
	}
	return s
}

// summarise sets the errors of scores from sums, where addTo has added all tasks, and compares the model with
// the other methods. Targets and predictions were divided by unit.
func summarise(scores []Score, sums []float64, unit float64) Verdict {
	tallyOf := func(v []float64) tally { return tally{v[0], v[1], v[2], v[3], v[4]} }
	comparisons := make([]comparison, len(scores))
	for i := range scores {
		v := sums[i*scoreSize:][:scoreSize]
		scores[i].Train, scores[i].Test = tallyOf(v).Errors(unit), tallyOf(v[5:]).Errors(unit)
		comparisons[i] = comparison{v[10], v[11], v[12]}
	}
	return newVerdict(scores, comparisons, unit)
}
