package fit

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// Mean is the coefficient vector that all tasks share.
type Mean uint8

const (
	// MeanShared is the coefficients of pooled ridge regression.
	MeanShared Mean = iota
	// MeanNone is zero: the plain model theta_t = U b_t.
	MeanNone
)

// ParseMean returns the Mean of a name, "shared" or "none".
func ParseMean(name string) (Mean, error) {
	switch name {
	case "shared":
		return MeanShared, nil
	case "none":
		return MeanNone, nil
	}
	return 0, fmt.Errorf("unknown mean %q: want shared or none", name)
}

// Config says how Fit trains. Missing features, which tables have that were read with
// dataset.MissingKeep, are replaced by the mean of their column over the training rows
// of all nodes that have a value; those of a categorical column by the shares of its
// levels.
type Config struct {
	// Network is where the nodes of the table meet: as many nodes as the table has. All
	// of them must live in this process. With a Mixer of the caller's, all that is sent
	// goes through it, and cross-validation is not parallel.
	Network *difalt.Network
	// Options of the algorithm. Its Ridge is ignored, and its Observer sees the final
	// run only.
	Options difalt.Options
	// Train[i] says whether row i is for training, and the others are held out; nil
	// trains on all rows.
	Train []bool
	// Mean is the coefficient vector that tasks share.
	Mean Mean
	// Standardize centres and scales every feature to unit variance on the training
	// rows, and centres the target. Constant features stay as they are.
	Standardize bool
	// Intercept gives every task a constant of its own, by adding a feature that is
	// always 1, unless the table has a feature that is constant and not zero.
	Intercept bool
	// Tune chooses the rank, 1 to Options.Rank, the strength of the shared mean and
	// that of the ridge on b_t by cross-validation on the training rows; those of every
	// eighth task if the table has many thousands of them and 256 MiB of features.
	Tune bool
	// Ridge is the strength of the ridge on b_t, during the iterations and after:
	// b_t = argmin |X_t U b - y_t|^2 + Ridge |b|^2. TuneRidge chooses it by
	// cross-validation instead, at the rank Options.Rank.
	Ridge     float64
	TuneRidge bool
	// Folds is the number of folds of the cross-validation, 5 by default.
	Folds int
	// Baselines asks for pooled ridge and one ridge a task in the report.
	Baselines bool
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

func (c *Config) check(t *dataset.Table) error {
	if c.Network == nil || c.Network.Weights == nil {
		return fmt.Errorf("fit needs a network with weights")
	}
	if !t.HasTarget() {
		return fmt.Errorf("the table has no target column")
	}
	if c.Train != nil && len(c.Train) != t.Rows() {
		return fmt.Errorf("the choice of training rows has %d entries for %d rows", len(c.Train), t.Rows())
	}
	if l := c.Network.Weights.Len(); l != len(t.Nodes()) {
		return fmt.Errorf("the table has %d nodes, the network %d", len(t.Nodes()), l)
	}
	if !(c.Ridge >= 0) || math.IsInf(c.Ridge, 0) {
		return fmt.Errorf("the ridge is %v: must be finite and not negative", c.Ridge)
	}
	if c.Folds < 0 || c.Folds == 1 {
		return fmt.Errorf("the number of folds is %d: want at least 2", c.Folds)
	}
	if c.Tune && (c.U0 != nil || c.Start != nil) {
		return fmt.Errorf("the rank cannot be chosen when U0 or Start, which have one, are given")
	}
	return c.Options.Validate()
}

const defaultFolds = 5
