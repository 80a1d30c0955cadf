package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/evidence"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// Config says how Fit trains. Missing features, which tables have that were read with
// dataset.MissingKeep, are replaced by the mean of their column over the training rows
// of all nodes that have a value; those of a categorical column by the shares of its
// levels.
type Config struct {
	// Network is that of the nodes. It must not be used by anybody else meanwhile.
	Network *consensus.Network
	// Options of the algorithm; see DefaultOptions. Its Rank and Ridge are ignored, and its
	// Observer, Tolerance and StopAtNoise are about the final run only.
	Options difalt.Options
	// Train[i] says whether row i is for training, and the others are held out; nil
	// trains on all rows.
	Train []bool
	// Weights[i] says how much row i counts: as if its noise had a variance of 1 over that, but
	// for a factor that all have in common: their mean over training rows is taken as 1, and given ridges are against that. nil is the same for all.
	Weights []float64
	// Rank of the representation: 0 leaves it to the evidence, and -1 stands for none.
	Rank int
	// Intercept, Ridge and MeanRidge are those of Candidate where they are given; nil leaves
	// them to the evidence.
	Intercept, Ridge, MeanRidge *float64
	// CommonNoise gives all tasks one noise variance. Otherwise each has its own if the evidence supports that.
	CommonNoise bool
	// Curves are the columns of which the effect is a curve, a natural cubic spline, as strong as the evidence has it; an empty list has none, and
	// nil leaves it to the evidence whether a column has a curve, is clipped, a logarithm, or as it is: unless there are Owners, or more than 40 features.
	Curves []string
	// LogTarget says whether the fit is of the logarithm of the target, so that effects multiply it; predictions are its median. nil leaves it to
	// training rows that are left out of their task, where all targets of training rows are above 0 and their logarithms differ by a quarter or more: unless there are Owners, and
	// a model to continue says it.
	LogTarget *bool
	// Continue is a model from which strengths and loadings start, when rows were added. What is
	// found is the same, sooner.
	Continue *model.Model
	// Privacy, if it is not zero, is a budget of differential privacy for all that others learn of the rows of a task. The rank must be given, and
	// there are no iterations: see docs/privacy.md. Strengths, and all that the report says about errors, are by the tasks of this process.
	Privacy Privacy
	// Plain runs the algorithm on the rows as they are, with Rank and Ridge on b_t as given, or
	// 0: no scaling, mean, or intercepts, and nothing to compare it with.
	Plain bool
	// Owners says that the nodes are the owners of the data, and not made up: what they send one another is dithered, with few evaluations of
	// the evidence, and the report says how much it determines. Results differ with and without it.
	Owners bool
	// Auto leaves method, rounds and agreement to difalt.Auto.
	Auto bool
	// Starts is the number of starts that a plain fit chooses from, 1 by default: the spectral one, and
	// random ones. All but the one of the lowest objective are given up early. There is
	// no choice when U0 or Start is given.
	Starts int
	// Folds is the number of folds of the cross-validation of the simpler methods that the model is
	// compared with, 5 by default.
	Folds int
	// U0, Start and Truth of a plain fit are as in difalt.Problem.
	U0           []*kernel.Basis
	Start, Truth *kernel.Basis
	// Drive, if not nil, takes the place of Solver.Run in the final run, so that it can be
	// restored from a snapshot, and snapshots be taken. All processes must do the same.
	Drive func(ctx context.Context, s *difalt.Solver) (*difalt.Result, error)
	// TaskColumn and TargetColumn are remembered in the model, so that other tables can
	// be read with the same columns.
	TaskColumn, TargetColumn string
	// Progress is called as work proceeds; nil is silent. Stages follow one after the
	// other.
	Progress func(stage string, done, total int)
}

// check checks what a process can check by itself.
func (c *Config) check(t *dataset.Table) error {
	k, plain, private := len(t.Features()), c.Plain, c.Privacy != (Privacy{})
	switch n := len(c.Network.Hosted()); {
	case !t.HasTarget():
		return errors.New("the table has no target column")
	case c.Train != nil && len(c.Train) != t.Rows():
		return fmt.Errorf("the choice of training rows has %d entries for %d rows", len(c.Train), t.Rows())
	case c.Weights != nil && len(c.Weights) != t.Rows():
		return fmt.Errorf("there are %d weights for %d rows", len(c.Weights), t.Rows())
	case n != len(t.Nodes()):
		return fmt.Errorf("the table has %d nodes, but %d nodes of the network live here", len(t.Nodes()), n)
	case c.Starts < 0 || c.Starts > maxStarts:
		return fmt.Errorf("the number of starts is %d: must be from 0 to %d", c.Starts, maxStarts)
	case c.Folds < 0 || c.Folds == 1:
		return fmt.Errorf("the number of folds is %d: want at least 2", c.Folds)
	case c.Rank < -1 || c.Rank > k+1 || plain && (c.Rank < 1 || c.Rank == k+1):
		return fmt.Errorf("the rank is %d: there are %d features", c.Rank, k)
	case (plain || private) && len(c.Curves) > 0:
		return errors.New("curves are for a fit that the evidence decides: neither a plain nor a private one")
	case plain && c.Ridge != nil && math.IsInf(*c.Ridge, 0):
		return errors.New("the ridge is infinite: a plain fit has nothing else")
	case plain && c.Weights != nil:
		return errors.New("a plain fit has no weights")
	case !plain && (c.U0 != nil || c.Start != nil || c.Truth != nil):
		return errors.New("U0, Start and Truth are for a plain fit")
	case (plain || private) && c.logTarget():
		return errors.New("the target's logarithm is for a fit that the evidence decides: neither a plain nor a private one")
	}
	for i, w := range c.Weights {
		if w != 0 && !(w >= 1/maxWeight && w <= maxWeight) {
			return fmt.Errorf("the weight of row %d is %v: must be 0, or from %g to %g", i, w, 1/maxWeight, maxWeight)
		}
	}
	for i, ridge := range []*float64{c.Intercept, c.Ridge, c.MeanRidge} {
		if ridge != nil && !(*ridge >= 0 && *ridge <= difalt.MaxRidge || math.IsInf(*ridge, 1)) {
			return fmt.Errorf("%s is %v: must be from 0 to %g, or infinite", []string{"the ridge on intercepts", "the ridge", "the ridge on the mean"}[i], *ridge, difalt.MaxRidge)
		}
	}
	o := c.algorithmOptions()
	err := cmp.Or(c.checkLogTarget(t), c.checkPrivate(t), o.Validate())
	if err == nil && c.Continue != nil && !slices.Equal(c.Continue.Features(), t.Features()) {
		return fmt.Errorf("the model to continue has %d features, %s, and the table %d, %s: they must be the same",
			len(c.Continue.Features()), text.Names(c.Continue.Features()), k, text.Names(t.Features()))
	}
	return err
}

// checkLogTarget checks that targets of training rows have logarithms where the fit is of these; errors of other rows are those of targets.
func (c *Config) checkLogTarget(t *dataset.Table) error {
	if !c.logTarget() {
		return nil
	}
	for i := range t.Rows() {
		if (c.Train == nil || c.Train[i]) && !(t.Y(i) > 0) {
			return fmt.Errorf("row %d of the table, of task %q, has a target of %v, which has no logarithm", i, t.Tasks()[t.Task(i)], t.Y(i))
		}
	}
	return nil
}

// logTarget reports whether the fit is of the logarithm of the target from the beginning.
func (c *Config) logTarget() bool {
	if c.LogTarget == nil {
		return c.Continue != nil && c.Continue.Parameters().Scaling.LogTarget
	}
	return *c.LogTarget
}

// algorithmOptions are those of the algorithm, with a rank and a ridge that stand for those of the fit.
func (c *Config) algorithmOptions() difalt.Options {
	o := c.Options
	o.Rank, o.Ridge = max(c.Rank, 1), 0
	return o
}

// strengths are the variances that the ridges stand for.
func (c *Config) strengths() evidence.Strengths {
	variance := func(ridge *float64) float64 {
		if ridge == nil {
			return math.NaN()
		}
		return min(1 / *ridge, evidence.MaxStrength)
	}
	s := evidence.Strengths{Intercept: variance(c.Intercept), Spread: variance(c.Ridge), MeanVariance: variance(c.MeanRidge)}
	if c.MeanRidge != nil {
		s.MeanVariance = max(s.MeanVariance, evidence.MinStrength)
	}
	return s
}

func (c *Config) progress(stage string, done, total int) {
	if c.Progress != nil {
		c.Progress(stage, done, total)
	}
}

// settings are what all processes must have agreed on: the columns, how to train, and the options of the algorithm.
func (c *Config) settings(t *dataset.Table) []wire.Setting {
	schema := t.Schema()
	var settings []wire.Setting
	add := func(name string, value any) {
		settings = append(settings, wire.Setting{Name: name, Value: fmt.Sprint(value)})
	}
	add("the number of feature columns", len(schema.Columns))
	for j, column := range schema.Columns {
		add(fmt.Sprintf("feature column %d", j), fmt.Sprintf("%q", column))
	}
	for _, column := range schema.Columns {
		kind := "a number"
		if levels, _ := schema.Levels(column); levels != nil {
			kind = fmt.Sprintf("one of the levels %q", levels)
		}
		add(fmt.Sprintf("column %q", column), kind)
	}
	add("the task column", strconv.Quote(c.TaskColumn))
	add("the target column", strconv.Quote(c.TargetColumn))
	add("the column of groups", strconv.Quote(t.GroupColumn()))
	add("the choice of weights", c.Weights != nil)
	add("the rank", c.Rank)
	add("the ridge on intercepts", value(c.Intercept))
	add("the ridge", value(c.Ridge))
	add("the ridge on the mean", value(c.MeanRidge))
	add("the choice of common noise", c.CommonNoise)
	add("the choice of the target's logarithm", value(c.LogTarget))
	add("the model to continue", fingerprint(c.Continue))
	add("the choice of a plain fit", c.Plain)
	add("the choice of auto", c.Auto)
	add("the choice of owners", c.Owners)
	add("the number of starts", c.Starts)
	add("the number of folds", c.Folds)
	add("the privacy budget", c.Privacy)
	if c.Curves == nil {
		add("the columns that are curves", "auto")
	} else {
		add("the columns that are curves", fmt.Sprintf("%q", c.Curves))
	}
	return append(settings, c.algorithmOptions().Settings()...)
}

// value returns what a pointer points to, or "auto".
func value[T any](v *T) string {
	if v == nil {
		return "auto"
	}
	return fmt.Sprint(*v)
}

// fingerprint tells the loadings and strengths of models apart.
func fingerprint(m *model.Model) string {
	if m == nil {
		return "none"
	}
	p := m.Parameters().Prior
	hash := fnv.New64a()
	fmt.Fprint(hash, p.Loadings, p.Intercept, p.Spread, p.Slopes, p.MeanVariance)
	return fmt.Sprintf("%x", hash.Sum64())
}

const (
	defaultFolds = 5
	commonFolds  = 100   // or fewer are no mistake on any table
	maxStarts    = 10000 // no table has use for more
	maxWeight    = 1e150 // of a row: sums of weighted squares are finite
)
