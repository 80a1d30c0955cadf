package options

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit"
	"github.com/difalt/difalt/internal/memory"
	"github.com/difalt/difalt/model"
)

// commonFolds is a number of folds that is no mistake on any table: the default is below it.
const commonFolds = 100

// algorithm returns the options of the algorithm. Those of the flags keep the tolerance as it was
// typed, for children.
func (f *Flags) algorithm() difalt.Options {
	o := f.Config.Options
	if o.EveryIteration {
		o.Tolerance = 0
	}
	return o
}

// ConfigOf returns what fit.Fit wants of a table that was read by the options, after Resolve.
// Its network is for the caller to set.
func (f *Flags) ConfigOf(t *dataset.Table) (*fit.Config, error) {
	c := f.Config
	c.TaskColumn, c.TargetColumn, c.Weights = f.Table.Task, f.Table.Target, t.Weights()
	c.Options = f.algorithm()
	switch {
	case len(c.Curves) == 0 || slices.Equal(c.Curves, []string{auto}):
		c.Curves = nil
	case slices.Equal(c.Curves, []string{"none"}):
		c.Curves = []string{}
	}
	var err error
	if path := f.Files.Continue; path != "" {
		if c.Continue, err = model.Load(path); err != nil {
			return nil, fmt.Errorf("--continue: %w", err)
		}
	}
	if most := max(t.Rows(), commonFolds); c.Folds > most {
		return nil, Usagef("--folds is %d: want at most %d for so few rows", c.Folds, most)
	}
	if n := len(t.Features()); c.Rank > n {
		return nil, Usagef("--rank is %d: there are %d features", c.Rank, n)
	}
	if c.Train, err = t.Split(f.Split); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Files.Data, err)
	}
	if f.Table.Folder == "" { // or most of it lies there
		what := fmt.Sprintf("%s: %d tasks of %d rows with %d features", f.Files.Data, len(t.Tasks()), t.Rows(), len(t.Features()))
		if err := memory.Check(fit.Memory(t, &c), what); err != nil {
			return nil, err
		}
	}
	return &c, nil
}
