package difalt

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

var errNoTasks = errors.New("difalt: need tasks")

// Fit fits a model with a representation of the given rank to tasks that live on one machine, by Accelerated.
// It is Options.Fit with defaults.
func Fit(ctx context.Context, tasks *kernel.Tasks, rank int) (*Model, error) {
	return Options{Rank: rank}.Fit(ctx, tasks)
}

// Fit fits a model to tasks that live on one machine:
//
//	y_t = intercept_t + X_t U b_t + noise.
//
// It needs no graph and no network. Features and responses may have any units, offsets and sizes: Fit takes
// the means of every task away, and divides features by their deviations and responses by a power of two. The
// model is in the units of the data. Samples may have weights (kernel.Tasks.Weighted).
//
// Method is Accelerated if it is DifAltGDmin, its zero value: on one node the paper's methods are gradient
// descent. AnyFeatures has no meaning, and Ridge concerns coefficients of features in standard form.
//
// It returns a *ParameterError for an option out of range, and a *kernel.DataError that names the task and
// the row of a number that is not finite. As in Run, ErrDiverged and ctx.Err() come with the model where
// there is one.
func (o Options) Fit(ctx context.Context, tasks *kernel.Tasks) (*Model, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if tasks == nil {
		return nil, errNoTasks
	}
	if o.Method == DifAltGDmin {
		o.Method = Accelerated
	}
	if err := o.Validate(tasks.Features(), tasks.Len()); err != nil {
		return nil, err
	}
	tasks, unit, err := commonWeights(tasks)
	if err != nil {
		return nil, err
	}
	standard, scaling, err := features.StandardizeOne(tasks)
	if err != nil {
		return nil, err
	}
	graph, err := topology.Complete(1)
	if err != nil {
		return nil, err
	}
	problem, net, err := InProcess([]*kernel.Tasks{standard}, graph)
	if err != nil {
		return nil, err
	}
	ridge := o.Ridge
	o.Ridge, o.AnyFeatures = ridge*unit, true
	if o.Ridge > MaxRidge {
		return nil, &ParameterError{"Ridge", ridge, fmt.Sprintf("must be at most %g times the mean weight", MaxRidge)}
	}
	if o.Method == Accelerated {
		o.Codec = consensus.Float64 // nothing is sent
	}
	res, err := Run(ctx, problem, net, o)
	if res == nil {
		return nil, err
	}
	model := res.Model(0, scaling)
	model.Ridge = ridge
	if err == nil {
		if fault := model.check(); fault != nil { // features of 1e-310 have coefficients of 1e310
			const format = "difalt: in the units of the data the model is not finite: divide features by their size: %w"
			return nil, fmt.Errorf(format, fault)
		}
	}
	return model, err
}

// commonWeights returns tasks whose mean weight is near 1, and the factor of their weights: a power of four.
// Weights near 1 stay as they are.
func commonWeights(k *kernel.Tasks) (*kernel.Tasks, float64, error) {
	most, total := 0.0, 0.0
	for t := range k.Len() {
		for i := range k.Samples(t) {
			most = max(most, k.Weight(t, i))
		}
	}
	if most == 0 { // no samples
		return k, 1, nil
	}
	largest := math.Ilogb(most)
	for t := range k.Len() {
		for i := range k.Samples(t) {
			total += math.Ldexp(k.Weight(t, i), -largest) / float64(k.TotalSamples())
		}
	}
	const (
		near = 5
		far  = 500 // the factor of the smallest weights would overflow
	)
	power := min(-(math.Ilogb(total)+largest)/2, far)
	if power > -near && power < near {
		return k, 1, nil
	}
	unit := math.Ldexp(1, 2*power)
	weights := make([]float64, k.TotalSamples())
	for i := range weights {
		weights[i] = unit
	}
	k, err := k.Weighted(weights)
	return k, unit, err
}
