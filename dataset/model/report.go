package model

import (
	"math"

	"github.com/difalt/difalt/difalt"
)

// Tried is a ridge strength and the root mean square error that it had in
// cross-validation.
type Tried struct{ Ridge, RMSE float64 }

// best returns the strength of smallest error, the larger one of equals.
func best(tried []Tried) float64 {
	b := tried[len(tried)-1]
	for i := len(tried) - 1; i >= 0; i-- {
		if tried[i].RMSE < b.RMSE {
			b = tried[i]
		}
	}
	return b.Ridge
}

// Errors are those of predictions on a set of rows.
type Errors struct {
	Rows int
	// RMSE is sqrt(sum (y - prediction)^2 / Rows), in the unit of the target.
	RMSE float64
	// ExplainedVariance is 1 - sum (y - prediction)^2 / sum (y - mean of y)^2, both
	// sums and the mean over all rows of the set, of whatever task. NaN if all targets
	// of the set are equal.
	ExplainedVariance float64
}

// A Score is how well a method does on training and held-out rows.
type Score struct {
	Method string
	// Ridge is the strength that was used, and Tried what cross-validation compared;
	// nothing if it was given.
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

// A Report says how a Fit went.
type Report struct {
	// Scores of ours and, if asked for, of the baselines. Test errors are of no rows
	// when none were held out.
	Scores []Score
	// Result of the final run.
	Result *difalt.Result
	// FewRows are the tasks with fewer training rows than the rank, and Singular
	// those whose least squares had no unique solution, so that b_t is the one of
	// minimum norm.
	FewRows, Singular []string
	// Folds of the cross-validation.
	Folds int
}

// set is the index of training rows (0) and held-out rows (1).
func set(train bool) int {
	if train {
		return 0
	}
	return 1
}

// A yardstick holds what Errors need to know of the targets, of training rows and
// of held-out rows.
type yardstick struct {
	rows    [2]int
	squares [2]float64 // sum (y - mean)^2
}

func (d *design) yardstick() *yardstick {
	k := &yardstick{}
	var mean [2]float64
	for i, on := range d.train {
		k.rows[set(on)]++
		mean[set(on)] += d.t.Y(i)
	}
	for s := range mean {
		mean[s] /= float64(max(k.rows[s], 1))
	}
	for i, on := range d.train {
		e := d.t.Y(i) - mean[set(on)]
		k.squares[set(on)] += e * e
	}
	return k
}

func (k *yardstick) errors(s int, sse float64) Errors {
	if k.rows[s] == 0 {
		return Errors{RMSE: math.NaN(), ExplainedVariance: math.NaN()}
	}
	e := Errors{Rows: k.rows[s], RMSE: math.Sqrt(sse / float64(k.rows[s])), ExplainedVariance: math.NaN()}
	if k.squares[s] > 0 {
		e.ExplainedVariance = 1 - sse/k.squares[s]
	}
	return e
}

func (k *yardstick) score(method string, ridge float64, tried []Tried, sse [2]float64) Score {
	return Score{Method: method, Ridge: ridge, Tried: tried, Train: k.errors(0, sse[0]), Test: k.errors(1, sse[1])}
}
