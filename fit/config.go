package fit

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// Config says how Fit trains. Missing features, which tables have that were read with
// dataset.MissingKeep, are replaced by the mean of their column over the training rows
// of all nodes that have a value; those of a categorical column by the shares of its
// levels.
type Config struct {
	// Network is where the nodes meet. It must not be used by anybody else meanwhile.
	Network *consensus.Network
	// Options of the algorithm; see DefaultOptions. Its Ridge is ignored, and its Observer,
	// Tolerance and StopAtNoise are about the final run only.
	Options difalt.Options
	// Train[i] says whether row i is for training, and the others are held out; nil
	// trains on all rows.
	Train []bool
	// NoMean leaves out the coefficients that all tasks share, those of pooled ridge
	// regression: the plain model theta_t = U b_t.
	NoMean bool
	// Standardize centres and scales every feature to unit variance on the training
	// rows, and centres the target. Constant features stay as they are.
	Standardize bool
	// Intercept gives every task a constant of its own, by adding a feature that is
	// always 1, unless the table has a feature that is constant and not zero.
	Intercept bool
	// Tune chooses the rank, 1 to Options.Rank, the strength of the shared mean and
	// that of the ridge on b_t by cross-validation on the training rows; those of every
	// eighth task if there are many thousands of them and 256 MiB of features.
	Tune bool
	// Ridge is the strength of the ridge on b_t, during the iterations and after:
	// b_t = argmin |X_t U b - y_t|^2 + Ridge |b|^2. TuneRidge chooses it by
	// cross-validation instead, at the rank Options.Rank.
	Ridge     float64
	TuneRidge bool
	// Auto leaves method, rounds and agreement to difalt.Auto.
	Auto bool
	// Starts is the number of starts to choose from, 1 by default: the spectral one, and
	// random ones. All but the one of the lowest objective are given up early. There is
	// no choice when U0 or Start is given.
	Starts int
	// Folds is the number of folds of the cross-validation, 5 by default.
	Folds int
	// Baselines asks for pooled ridge and one ridge a task in the report.
	Baselines bool
	// Spectrum asks for Report.Spectrum. Every node then sends the sum of b_t b_t' over
	// its tasks, and with Tune the algorithm runs once more.
	Spectrum bool
	// Release lets Fit give the memory of the table's features back before the final
	// run: X of the table must not be called any more.
	Release bool
	// U0, Start and Truth are as in difalt.Problem. They need d rows, including that
	// of an added constant feature.
	U0           []*kernel.Basis
	Start, Truth *kernel.Basis
	// TaskColumn and TargetColumn are remembered in the model, so that other tables can
	// be read with the same columns.
	TaskColumn, TargetColumn string
	// Progress is called as work gets done; nil is silent. Stages come one after the
	// other.
	Progress func(stage string, done, total int)
}

// check checks what a process can check by itself.
func (c *Config) check(t *dataset.Table) error {
	if !t.HasTarget() {
		return errors.New("the table has no target column")
	}
	if c.Train != nil && len(c.Train) != t.Rows() {
		return fmt.Errorf("the choice of training rows has %d entries for %d rows", len(c.Train), t.Rows())
	}
	if n := len(c.Network.Hosted()); n != len(t.Nodes()) {
		return fmt.Errorf("the table has %d nodes, but %d nodes of the network live here", len(t.Nodes()), n)
	}
	if !(c.Ridge >= 0) || math.IsInf(c.Ridge, 0) {
		return fmt.Errorf("the ridge is %v: must be finite and not negative", c.Ridge)
	}
	if c.Starts < 0 {
		return fmt.Errorf("the number of starts is %d: must not be negative", c.Starts)
	}
	if c.Folds < 0 || c.Folds == 1 {
		return fmt.Errorf("the number of folds is %d: want at least 2", c.Folds)
	}
	if c.Tune && (c.U0 != nil || c.Start != nil) {
		return errors.New("the rank cannot be chosen when U0 or Start, which have one, are given")
	}
	return c.Options.Validate()
}

// terms are what all processes must have agreed on: the columns, and how to train.
func (c *Config) terms(t *dataset.Table) []term {
	schema, o := t.Schema(), &c.Options
	terms := []term{{"the number of feature columns", fmt.Sprint(len(schema.Columns))}}
	for j, column := range schema.Columns {
		terms = append(terms, term{fmt.Sprintf("feature column %d", j), fmt.Sprintf("%q", column)})
	}
	for _, column := range schema.Columns {
		levels, _ := schema.Levels(column)
		kind := "a number"
		if levels != nil {
			kind = fmt.Sprintf("one of the levels %q", levels)
		}
		terms = append(terms, term{fmt.Sprintf("column %q", column), kind})
	}
	for _, s := range []struct {
		what  string
		value any
	}{
		{"the task column", fmt.Sprintf("%q", c.TaskColumn)}, {"the target column", fmt.Sprintf("%q", c.TargetColumn)},
		{"the method", o.Method}, {"the rank", o.Rank}, {"the seed", o.Seed},
		{"the number of iterations", o.Iterations}, {"the number of rounds", o.Rounds},
		{"the number of rounds in the initialisation", o.InitRounds}, {"the number of power iterations", o.PowerIterations},
		{"the step", o.Step}, {"the scaled step", o.ScaledStep}, {"the tolerance", o.Tolerance},
		{"the choice to stop at the noise", o.StopAtNoise}, {"the preconditioner", o.Preconditioner}, {"the memory", o.Memory}, {"the number of starts", c.Starts}, {"the choice of auto", c.Auto},
		{"the agreement", o.Agreement}, {"the choice to normalise tasks", o.NormalizeTasks},
		{"the choice of no mean", c.NoMean}, {"the choice to standardise", c.Standardize}, {"the choice of an intercept", c.Intercept},
		{"the choice to tune", c.Tune}, {"the ridge", c.Ridge}, {"the choice to tune the ridge", c.TuneRidge},
		{"the number of folds", c.Folds}, {"the choice of baselines", c.Baselines}, {"the choice of a spectrum", c.Spectrum},
	} {
		terms = append(terms, term{s.what, fmt.Sprint(s.value)})
	}
	return terms
}

const defaultFolds = 5
