package fit

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// A Config holds the choices of a fit. Its zero value leaves them to the evidence and trains on all rows.
type Config struct {
	// Sums adds up the numbers of several owners; nil: the table has all rows.
	Sums Sums
	// Train[i] reports whether row i is for training; the other rows are held out. nil trains on all rows.
	Train []bool
	// Rank is the number of joint directions of the tasks' deviations; nil compares ranks 0 to 3 by evidence.
	Rank *int
	// NoCurves leaves out the splines.
	NoCurves bool
	// LogTarget fits the logarithm of the target, so that effects multiply it.
	LogTarget bool
	// CommonNoise gives all tasks the same noise variance. Otherwise every task has its own where the
	// evidence supports it.
	CommonNoise bool
	// Workers is the number of goroutines that compute, 0 for all processors. Results do not depend on it.
	Workers int
	// Progress receives the stage and the completed share of it, from one goroutine; nil is silent.
	Progress func(stage string, share float64)
	// TaskColumn and TargetColumn are stored in the model.
	TaskColumn, TargetColumn string
}

const (
	maxRank   = 50
	maxWeight = 1e100 // of a row: sums of weighted squares are finite
)

// check reports the first entry of the configuration that does not fit the table.
func (c *Config) check(t *dataset.Table) error {
	switch {
	case !t.HasTarget():
		return errors.New("the table has no target column")
	case c.Train != nil && len(c.Train) != t.Rows():
		return fmt.Errorf("the choice of training rows has %d entries for %d rows", len(c.Train), t.Rows())
	case c.Workers < 0:
		return fmt.Errorf("the number of workers is %d: must not be negative", c.Workers)
	}
	weights, training := t.Weights(), 0
	for i := range t.Rows() {
		if !c.trains(i) {
			continue
		}
		if weights != nil && weights[i] == 0 {
			continue
		}
		training++
		if w := weights; w != nil && !(w[i] >= 1/maxWeight && w[i] <= maxWeight) {
			return fmt.Errorf("row %d of the table, task %q: the weight is %v: must be 0, or from %g to %g",
				i+1, t.Tasks()[t.Task(i)], w[i], 1/maxWeight, maxWeight)
		}
		if y := t.Y(i); c.LogTarget && !(y > 0) || math.IsNaN(y) || math.IsInf(y, 0) {
			return fmt.Errorf("row %d of the table, task %q: the target %v has no logarithm", i+1, t.Tasks()[t.Task(i)], y)
		}
	}
	if training == 0 {
		return errors.New("the table has no training rows of positive weight")
	}
	return nil
}

func (c *Config) trains(row int) bool { return c.Train == nil || c.Train[row] }

func (c *Config) progress(stage string, share float64) {
	if c.Progress != nil {
		c.Progress(stage, share)
	}
}
