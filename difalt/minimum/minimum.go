// Package minimum checks whether the end of a run is a minimum.
//
// A run ends where the gradient vanishes, which holds at saddle points too. Under noise the direction of U
// that the tasks determine least can be fitted noise. Then all that is computed from the coefficients is
// misleading, such as the statistical error. Check compares that direction with the direction outside of U
// that explains most of the residuals. Nodes with the tasks of a problem call it together, after a run.
package minimum

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/gram"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
)

// Verdict is the answer of Check.
type Verdict uint8

const (
	// Minimum: no direction of U is suspicious, or the weakest direction exceeds noise.
	Minimum Verdict = iota
	// Saddle: another U has a lower objective.
	Saddle
	// Undetermined: noise alone, or a few tasks alone, could explain a direction of U, or the samples are few
	// enough to explain all of it.
	Undetermined
)

// An Outcome compares the weakest direction of U with noise.
type Outcome struct {
	Verdict Verdict
	// U has a U_g of lower objective for every hosted node if Verdict is Saddle, and is nil otherwise.
	U []*kernel.Basis
	// SingularValues has the singular values of the matrix of all b_t, in ascending order. Where the mean
	// square of the features of a task is more than twice, or less than half, the mean square of all
	// features, b_t has a factor: a power of two near the root of this ratio. It is nil where the residuals
	// are zero to rounding, and where there are too few samples.
	SingularValues []float64
	// WeakestDirection is the increase of the objective without the weakest direction of U, and NextDirection
	// about its decrease with the best further direction. Both are relative to the best direction in noise
	// alone, and NaN if nothing was suspicious.
	WeakestDirection, NextDirection float64
	// ParametersPerSample is the number of parameters of a direction over the effective number of samples
	// that determine it: the largest of all directions. It is 0 if nothing was suspicious.
	ParametersPerSample float64
	// StatisticalError is the sine of the angle that noise leaves between the weakest direction and the true
	// one; 0 if nothing was suspicious.
	StatisticalError float64
}

// Options of Check. All nodes have equal ones, except for Pool.
type Options struct {
	Ridge float64      // of the least squares
	Seed  uint64       // of the search for further directions
	Pool  *kernel.Pool // nil uses one thread
	// Totals describes the data of all nodes: package difalt knows it. Nil, at all nodes, lets Check sum it.
	Totals *Totals
}

// Totals are sums over all tasks of all nodes.
type Totals struct {
	Tasks, Samples float64
	XX, YY         float64 // squares of all features, and of all responses
}

const (
	// The weakest direction is suspicious if the tasks' energy in it is below suspicious times the largest
	// energy of noise.
	suspicious = 100
	// An objective below exact times the sum of y^2 is rounding.
	exact = 1e-20
	// lower is the least relative decrease of an objective that counts as one.
	lower = 1e-7
	// A direction explains more than noise if WeakestDirection, or NextDirection, exceeds standsOut.
	standsOut = 1.5
	// farAhead is WeakestDirection over NextDirection above which a direction counts as determined although
	// another one also exceeds the noise.
	farAhead = 10
	// mostParameters is the largest ParametersPerSample of directions with enough samples.
	mostParameters = 0.5
)

// A problem is the data of the nodes, their estimates, and what the nodes have summed.
type problem struct {
	net    consensus.Sums
	tasks  []*kernel.Tasks
	u      []*kernel.Basis
	o      Options
	groups []*kernel.Group // b_t fitted to u
	run    *kernel.Executor

	data   sums.Data // of all nodes
	totals fit
	p      *gram.Matrix // of all b_t, with weights
	// weights has sums.Data.SizeOf of every task: what a task explains in a direction depends on both its b_t
	// and its features.
	weights [][]float64
	axes    [][]float64 // the eigenvectors of P
}

// Check checks the point u, where u[i] is the orthonormal estimate of hosted node i, whose tasks are
// tasks[i]. All nodes of the network call it together and get equal Outcomes, except for Outcome.U. It
// reads the samples a few times. If the arguments of one node cannot be used, all nodes return an error.
func Check(ctx context.Context, net consensus.Sums, tasks []*kernel.Tasks, u []*kernel.Basis, o Options) (
	*Outcome, error) {
	switch {
	case ctx == nil:
		return nil, errors.New("minimum: need a context")
	case net == nil:
		return nil, errors.New("minimum: need a network")
	}
	if o.Pool == nil {
		o.Pool = kernel.NewPool(1)
		defer o.Pool.Close()
	}
	k := &problem{net: net, tasks: tasks, u: u, o: o}
	if err := k.fit(ctx, checkArguments(net.Hosted(), tasks, u, o)); err != nil {
		return nil, err
	}
	out := &Outcome{WeakestDirection: math.NaN(), NextDirection: math.NaN()}
	switch {
	case k.isInterpolation():
		out.Verdict = Undetermined
		return out, nil
	case k.totals.unpenalized <= exact*k.data.YY:
		return out, nil
	}
	if err := k.sumMoments(ctx); err != nil {
		return nil, err
	}
	for _, v := range k.p.Values {
		out.SingularValues = append(out.SingularValues, math.Sqrt(max(v, 0))*k.data.Coefficient())
	}
	if suspicious, err := k.isSuspicious(ctx); !suspicious || err != nil {
		return out, err
	}
	return out, k.compare(ctx, out)
}

// checkArguments returns an error that names the hosted node whose arguments cannot be used.
func checkArguments(hosted []int, tasks []*kernel.Tasks, u []*kernel.Basis, o Options) error {
	if len(tasks) != len(hosted) || len(u) != len(hosted) {
		const format = "the tasks of %d nodes and %d bases: this process hosts %d nodes"
		return fmt.Errorf(format, len(tasks), len(u), len(hosted))
	}
	if !(o.Ridge >= 0) || math.IsInf(o.Ridge, 0) {
		return fmt.Errorf("the ridge is %v: must be finite, and not negative", o.Ridge)
	}
	if t := o.Totals; t != nil {
		for _, v := range []float64{t.Tasks - 1, t.Samples, t.XX, t.YY} {
			if !(v >= 0) || math.IsInf(v, 0) {
				return fmt.Errorf("the totals %+v describe no data", *t)
			}
		}
	}
	for i, node := range hosted {
		if tasks[i] == nil || u[i] == nil {
			return fmt.Errorf("node %d has no tasks or no basis", node)
		}
		d, r := u[i].Dims()
		if d != tasks[i].Features() {
			return fmt.Errorf("node %d has %d features and a basis of %d rows", node, tasks[i].Features(), d)
		}
		if firstD, firstR := u[0].Dims(); d != firstD || r != firstR {
			const format = "the basis of node %d is %d x %d: must be %d x %d, as at node %d"
			return fmt.Errorf(format, node, d, r, firstD, firstR, hosted[0])
		}
		for j := range r {
			if !(rounded.Norm(u[i].Col(j)) < 2) {
				return fmt.Errorf("the basis of node %d is not orthonormal", node)
			}
		}
	}
	return nil
}

// compare fills the outcome of a suspicious point.
func (k *problem) compare(ctx context.Context, out *Outcome) error {
	left, weakest, q, err := k.explained(ctx, out)
	if err != nil {
		return err
	}
	v, next, err := k.strongest(ctx, left)
	if err != nil {
		return err
	}
	edge, data := k.noise(), &k.data
	out.WeakestDirection, out.NextDirection = weakest/edge, next/(data.Curvature()*edge)
	if out.U, err = k.alongArc(ctx, q, v); err != nil {
		return err
	}
	if out.U != nil {
		out.Verdict = Saddle
	} else if out.isUndetermined() {
		out.Verdict = Undetermined
	}
	out.StatisticalError = k.tilt(out.WeakestDirection)
	return nil
}

// isUndetermined reports whether noise, or a few tasks, could explain a direction.
func (out *Outcome) isUndetermined() bool {
	weakest, next, parameters := out.WeakestDirection, out.NextDirection, out.ParametersPerSample
	switch {
	case weakest < standsOut || parameters > 1:
		return true
	case parameters > mostParameters && (weakest < suspicious || next > 1):
		return true
	}
	return next > standsOut && weakest < farAhead*next
}

// A fit is what the nodes sum after they have fitted b_t to u.
type fit struct {
	informative float64 // sum of n_t - r over tasks with more than r samples
	unpenalized float64 // the objective without the ridge
	penalty     float64 // of the ridge
	energy      float64 // the unit of both
}

// Fields implements sums.Record.
func (f *fit) Fields(row *sums.Row) {
	row.Number(&f.informative, 1)
	row.Number(&f.unpenalized, f.energy)
	row.Number(&f.penalty, f.energy)
}

// objective returns the objective that a run lowers.
func (f *fit) objective() float64 { return f.unpenalized + f.penalty }

// fit fits b_t to u at every node, and sums the totals. It returns an error at all nodes if one has a fault.
func (k *problem) fit(ctx context.Context, fault error) error {
	d, r := 0, 0
	if fault == nil && len(k.u) > 0 {
		d, r = k.u[0].Dims()
		for _, t := range k.tasks {
			k.groups = append(k.groups, kernel.NewGroup(t, r))
		}
		k.run = kernel.NewExecutor(k.o.Pool, k.groups)
		k.run.Minimize(k.u, k.o.Ridge)
	}
	if err := k.describe(ctx, fault, d, r); err != nil {
		return err
	}
	k.totals.energy = k.data.Energy()
	own := func(i int) sums.Record {
		t, g := k.tasks[i], k.groups[i]
		f := &fit{unpenalized: g.Objective, penalty: k.o.Ridge * rounded.Dot(g.B, g.B), energy: k.totals.energy}
		for task := range t.Len() {
			f.informative += float64(max(t.Samples(task)-r, 0))
		}
		return f
	}
	if err := sums.Agree(ctx, k.net, fault, &k.totals, own, d, r); err != nil {
		return fmt.Errorf("minimum: %w", err)
	}
	return nil
}

// describe sets data. It returns an error at all nodes if one has a fault and data have to be summed.
func (k *problem) describe(ctx context.Context, fault error, d, r int) error {
	k.data = sums.Data{Features: float64(d), Rank: float64(r)}
	if k.o.Totals != nil {
		t := k.o.Totals
		k.data.Tasks, k.data.Samples, k.data.XX, k.data.YY = t.Tasks, t.Samples, t.XX, t.YY
		return nil
	}
	own := make([]sums.Data, len(k.groups))
	part := func(i int) sums.Record {
		own[i] = sums.Of(k.tasks[i], r)
		return &own[i]
	}
	if err := sums.Agree(ctx, k.net, fault, &k.data, part, d, r); err != nil {
		return fmt.Errorf("minimum: %w", err)
	}
	return k.data.Complete(ctx, k.net, own)
}

// sumMoments sums P = sum_t w_t b_t b_t' for weights w_t.
func (k *problem) sumMoments(ctx context.Context) error {
	r := int(k.data.Rank)
	k.p = gram.New(r)
	rows := make([][]float64, len(k.groups))
	for i, g := range k.groups {
		weights := make([]float64, k.tasks[i].Len())
		for t := range weights {
			weights[t] = k.data.SizeOf(k.tasks[i], t)
		}
		k.weights = append(k.weights, weights)
		rows[i] = make([]float64, len(k.p.P))
		gram.Outer(rows[i], g.B, r, weights, rounded.Power(k.data.Coefficient(), -2))
	}
	if err := k.net.Sum(ctx, rows); err != nil {
		return err
	}
	k.p.Invert(rows[0])
	for a := range r {
		k.axes = append(k.axes, k.p.Vector(a))
	}
	return nil
}

// isInterpolation reports whether some U fit any responses without an error, so that noise explains all of
// U. A task leaves n_t - r equations for U, whose range has r (d - r) unknowns: none for a square U, where
// all U have one objective.
func (k *problem) isInterpolation() bool {
	d, r := k.data.Features, k.data.Rank
	return d == r || k.totals.informative <= r*(d-r) && k.o.Ridge == 0
}

// noise returns the largest energy that noise alone gives to a direction that is chosen for it. The variance
// of the noise is estimated from the objective.
func (k *problem) noise() float64 {
	return k.data.NoiseEdge(k.totals.objective() / max(k.data.Free(), 1))
}

// parametersPerSample returns the number of parameters of a direction over the effective number of samples
// behind it. concentration is sum c^4 / (sum c^2)^2 of the tasks' coefficients c in that direction.
func (k *problem) parametersPerSample(concentration float64) float64 {
	data := &k.data
	return data.Features * concentration / max(data.PerTask()-data.Rank, 1)
}

// isSuspicious reports whether the weakest direction may be noise, or a few tasks may determine a direction.
// Then (w_t b_t'P^-1 b_t)^2 is large for those tasks; the sum of w_t b_t'P^-1 b_t over all tasks is r.
func (k *problem) isSuspicious(ctx context.Context) (bool, error) {
	data := &k.data
	left := max(data.PerTask()-data.Rank-1, 1) * data.MeanFeature() * rounded.Power(data.Coefficient(), 2)
	if k.p.Values[0]*left < suspicious*k.noise() {
		return true, nil
	}
	rows, r := make([][]float64, len(k.groups)), int(data.Rank)
	for i, g := range k.groups {
		leverage := 0.0
		for t, w := range k.weights[i] {
			h := k.p.Leverage(g.B[t*r:][:r]) / rounded.Power(data.Coefficient(), 2) * w
			leverage += float64(h * h)
		}
		rows[i] = []float64{leverage}
	}
	err := k.net.Sum(ctx, rows)
	return k.parametersPerSample(rows[0][0]) > 1, err
}

// tilt returns the sine of the angle between a direction and its estimate, if it explains more than noise by
// the factor weakest. If a direction explains theta times the variance of the noise over T tasks of d
// features, its eigenvalue is lambda = (1 + theta)(1 + ratio/theta). With ratio = d/T,
//
//	cos^2 = (1 - ratio/theta^2) / (1 + ratio/theta)
//
// (Baik, Ben Arous and Peche 2005; Paul 2007).
func (k *problem) tilt(weakest float64) float64 {
	ratio := k.data.Features / k.data.Tasks
	edge := 1 + math.Sqrt(ratio)
	a := float64(weakest*edge*edge) - 1 - ratio
	theta := (a + math.Sqrt(max(float64(a*a)-float64(4*ratio), 0))) / 2
	if !(theta > 0) {
		return 1
	}
	cos2 := (1 - ratio/(theta*theta)) / (1 + ratio/theta)
	return math.Sqrt(1 - min(max(cos2, 0), 1))
}
