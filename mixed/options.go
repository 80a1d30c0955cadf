package mixed

import (
	"errors"
	"fmt"
	"math"
)

// An Input is the table of an owner, and which of its rows are held out.
type Input struct {
	Table Table
	// HeldOut[i] reports whether row i is held out: it has no influence on the model, and a part in the
	// errors of the report. nil holds out none.
	HeldOut []bool
	// Name begins the notes and errors that are about this table alone, as "Name: note". It distinguishes
	// the notes of owners who train in one process.
	Name string
}

// Options are the choices of a fit. The zero value leaves them to the evidence. Owners who train together
// need equal options, but for Workers, Progress and Disclosure; see [Settings].
type Options struct {
	// Rank is the number of joint directions of the tasks' deviations; nil compares ranks 0 to 3 by evidence.
	Rank *int
	// NoCurves leaves out the splines.
	NoCurves bool
	// LogTarget fits the logarithm of the target, so that effects multiply it.
	LogTarget bool
	// CommonNoise gives all tasks one noise variance. Otherwise every task has its own where the
	// evidence supports it.
	CommonNoise bool
	// Refit fits the model again to all rows, in the form that the held-out rows have judged: with its rank,
	// curves and noise. All rows decide on the strengths. The result is that model, and Report.Judged the
	// judged one.
	// Several owners cannot: the totals of two fits would differ by the held-out rows.
	Refit bool
	// TaskColumn and TargetColumn are stored in the model.
	TaskColumn, TargetColumn string
	// Workers is the number of goroutines that compute, 0 for all processors. Results do not depend on it.
	Workers int
	// Progress receives the point that the training has reached, at every stage and after every sum, from
	// one goroutine; nil is silent.
	Progress func(Progress)
	// Disclosure limits the information about the rows of this owner in totals of several owners.
	Disclosure Disclosure
	// Sums adds up the numbers of several owners; nil: the table has all rows.
	Sums Sums
}

const (
	maxRank   = 50
	maxWeight = 1e100 // of a row: sums of weighted squares are finite
	mostValue = 1e150 // the squares of 10^8 such values have a sum
)

// checkTable reports rows of tasks that the table does not have, and names that are given twice. It also
// reports the faults that a method Check of the table finds, as [Data] has one.
func checkTable(t Table) error {
	if own, ok := t.(interface{ Check() error }); ok {
		if err := own.Check(); err != nil {
			return err
		}
	}
	for i := range t.Rows() {
		if k := t.Task(i); k < 0 || k >= len(t.Tasks()) {
			return rowError(t, i, "%s is of task %d: the table has %d", placeOf(t, i), k, len(t.Tasks()))
		}
	}
	if _, err := numbered("task", t.Tasks()); err != nil {
		return err
	}
	if _, err := numbered("feature", t.Features()); err != nil {
		return err
	}
	return t.Schema().Validate()
}

// A RankError reports Options.Rank out of its range from 0 to Most.
type RankError struct {
	Rank, Most int
	Why        string // where the range comes from
}

func (e *RankError) Error() string { return fmt.Sprintf("the rank is %d: it %s", e.Rank, e.Range()) }

// Range returns the possible ranks in words.
func (e *RankError) Range() string { return fmt.Sprintf("must be from 0 to %d, %s", e.Most, e.Why) }

// trains reports whether a row is for training, if it has a weight.
func (in *Input) trains(row int) bool { return in.HeldOut == nil || !in.HeldOut[row] }

// weight returns the weight of a row. Rows of weight 0 count as absent.
func (in *Input) weight(row int) float64 {
	if w := in.Table.Weights(); w != nil {
		return w[row]
	}
	return 1
}

// check reports the first fault of the options or of the table.
func (o *Options) check(in *Input) error {
	t := in.Table
	switch {
	case isNoTable(t):
		return errNoTable
	case !t.HasTarget():
		return errors.New("the table has no target column")
	case in.HeldOut != nil && len(in.HeldOut) != t.Rows():
		return fmt.Errorf("the choice of held-out rows has %d entries for %d rows", len(in.HeldOut), t.Rows())
	case o.Disclosure.LeastRows < Off || o.Disclosure.LeastLevel < Off || o.Disclosure.LeastSmall < Off:
		return fmt.Errorf("the limits of disclosure are %+v: must be at least %d", o.Disclosure, Off)
	case o.Disclosure.Colluding < 0:
		return fmt.Errorf("the number of colluding owners is %d: must not be negative", o.Disclosure.Colluding)
	case o.Refit && o.Sums != nil && o.Sums.Owners() > 1:
		return errRefits
	case o.Workers < 0:
		return fmt.Errorf("the number of workers is %d: must not be negative", o.Workers)
	case t.Weights() != nil && len(t.Weights()) != t.Rows():
		return fmt.Errorf("the table has %d weights for %d rows", len(t.Weights()), t.Rows())
	}
	if err := checkTable(t); err != nil {
		return err
	}
	training, x := 0, make([]float64, len(t.Features()))
	for i := range t.Rows() {
		w := in.weight(i)
		if w == 0 {
			continue
		}
		at := func() string { return fmt.Sprintf("%s, task %q", placeOf(t, i), t.Tasks()[t.Task(i)]) }
		if !(w >= 1/maxWeight && w <= maxWeight) {
			const format = "%s: the weight is %v: must be 0, or from %g to %g"
			return rowError(t, i, format, at(), w, 1/maxWeight, maxWeight)
		}
		for j, v := range t.X(x, i) {
			if math.Abs(v) > mostValue { // false for NaN, a missing value
				const format = "%s: feature %q is %v: must be at most %g in size"
				return rowError(t, i, format, at(), t.Features()[j], v, mostValue)
			}
		}
		switch y := t.Y(i); {
		case !(math.Abs(y) <= mostValue):
			return rowError(t, i, "%s: the target is %v: must be at most %g in size", at(), y, mostValue)
		case in.trains(i):
			if training++; o.LogTarget && !(y > 0) {
				return rowError(t, i, "%s: the target %v has no logarithm", at(), y)
			}
		}
	}
	if training == 0 {
		return &Error{errors.New("the table has no training rows of positive weight"), fewRows, true}
	}
	return nil
}

// errRefits reports Options.Refit for several owners.
var errRefits = errors.New("several owners cannot fit again to all rows: " +
	"the totals of two fits would differ by the held-out rows")
