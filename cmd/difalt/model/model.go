// Package model keeps what was learned from many small regression tasks, and
// predicts with it.
//
// The target of task t at features x, or its logarithm ([Scaling].LogTarget), is, with x standardised,
//
//	y = x' (mean + deviation_t) + noise,   deviation_t ~ N(0, L L' + spread I + intercept e e'),
//
// where all tasks share the mean and the covariance of the deviations, with loadings L of low
// rank, and the deviation is the task's own ([Parameters.Prior]). A
// [Model] is a file ([Load], [Model.Save]) that NumPy reads too; it predicts for the
// tasks that it knows, says how sure it is ([Model.PredictError]), also of others ([Model.PredictAny]), and learns new tasks
// from few rows ([Model.Adapt]). Package fit trains models.
//
// The package is light enough for a service: it needs nothing that reads tables,
// speaks over networks or draws.
package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/difalt/difalt/cmd/difalt/dataset/schema"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ConstantFeature is the name of the feature that Scaling.Constant adds.
const ConstantFeature = "(intercept)"

// Parameters are all that a Model consists of, for L nodes, T tasks, d scaled
// features, and w = d, or p + 1 with Directions.
type Parameters struct {
	Method                   string // that found the representation
	Schema                   schema.Schema
	TaskColumn, TargetColumn string // of the table it was trained on; empty if they had no names
	Scaling                  Scaling
	// Directions, p x (d - 1) by rows, are an orthonormal basis of what the training rows
	// say about the features, where these are too many; nil keeps them all. Prior and
	// Covariance are about coefficients along it.
	Directions []float64
	Mean       []float64 // d coefficients that all tasks share
	Prior      Prior
	// Alternatives are averaged with Mean and Prior. Theta, Noise and Covariance are about that average.
	Alternatives []Alternative
	Nodes        []string  // names
	Tasks        []string  // names
	NodeOf       []int     // node of every task, -1 for those that were added later
	Samples      []int     // training rows of every task
	Theta        []float64 // T x d, coefficients of every task
	// Noise is the variance of the noise of every task, in the units of Prior.Noise, and Freedom to how many
	// degrees of freedom it is known; nil if it is Prior.Noise for all.
	Noise, Freedom []float64
	Goodness       Goodness
	// Covariance has the upper triangle of that of the coefficients of every task, by rows,
	// T x w(w+1)/2; nil if it is not known, or if CovarianceOf sets packed to the triangle of task t, of finite numbers, when somebody
	// first asks for one or the model is written: they may take more memory than the rows that they are made of.
	Covariance   []float64
	CovarianceOf func(t int, packed []float64)
}

// A Prior says what tasks have in common beside the mean of their coefficients, and by how much
// they differ: what is known about a task without rows. For w coefficients of a task, the
// constant last, and a representation of rank r,
//
//	deviation ~ N(0, L L' + Spread diag(Slopes) + Intercept e e'),  mean ~ N(0, MeanVariance I),
//
// where Slopes are about the features, e about the constant, and the constant of the mean is free.
// All variances are in units of Noise.
type Prior struct {
	Rank         int       `json:"rank"` // r, 0 if tasks share no representation
	Loadings     []float64 `json:"-"`    // L, w x r, by columns
	Intercept    float64   `json:"intercept_variance"`
	Spread       float64   `json:"spread_variance"`
	MeanVariance float64   `json:"mean_variance"`
	// Slopes are w - 1 numbers above 0; nil are all 1. SlopesFreedom is to how many degrees of freedom the variance of each is
	// known; nil if that is only what Uncertainty says of Spread.
	Slopes, SlopesFreedom []float64 `json:"-"`
	// MeanCovariance is the covariance of Parameters.Mean given the training rows, w x w;
	// zero for a mean that is known.
	MeanCovariance []float64 `json:"-"`
	// Noise is the variance of the noise of the scaled target, and Freedom the degrees of
	// freedom of its estimate; 0 if these are not known.
	Noise   float64 `json:"noise_variance"`
	Freedom float64 `json:"noise_known"`
	// NoisePrior says how tasks differ by their noise; zero if they do not.
	NoisePrior
	// SampleNoise is the variance of single targets about what is expected, of tasks without a noise of their own; Noise if that is more.
	SampleNoise float64 `json:"sample_noise,omitempty"`
	// Uncertainty is the covariance of the entries of Loadings and of the logarithms of Intercept
	// and Spread, in this order; nil takes them as known.
	Uncertainty *mat.SymDense `json:"-"`
}

// A NoisePrior says how the variance v of the noise differs between tasks: Scale / v has the
// distribution of chi^2 with Freedom degrees of freedom, over Freedom.
type NoisePrior struct {
	Scale   float64 `json:"noise_scale,omitempty"`
	Freedom float64 `json:"noise_freedom,omitempty"`
}

// A Model predicts the target of the tasks that it was trained on or adapted to. It is immutable, and safe for
// concurrent use.
type Model struct {
	p        Parameters
	features []string // of the table, without an added constant
	levels   []categorical
	index    map[string]int
	bias     []float64        // of predictions at the center, in the units of the table
	noise    []float64        // see TaskNoise
	later    func() []float64 // Parameters.Covariance, if that is CovarianceOf
	// What is known about tasks without rows, which bias and noise have last.
	components []component
	mean       []float64 // of all components
	// Variances: of the noise of a usual task, and of single targets; and of coefficients outside of Directions.
	usual, single, outside float64
}

// New returns the model of the given parameters. The model keeps their slices, which
// must not be changed any more. It returns an error that names, as Save does, the array whose
// length does not fit the others, or that holds what no model can.
func New(p Parameters) (*Model, error) {
	m := &Model{p: p, features: p.Schema.Features()}
	m.p.Schema = p.Schema.Clone()
	m.p.Scaling.Transforms = slices.Clone(p.Scaling.Transforms)
	for i := range m.p.Scaling.Transforms {
		m.p.Scaling.Transforms[i].complete()
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.levels = categoricals(&m.p.Schema)
	if p.CovarianceOf != nil {
		m.later = sync.OnceValue(m.p.covariances)
	}
	m.average()
	m.complete()
	return m, nil
}

// covariances returns what would be Covariance.
func (p *Parameters) covariances() []float64 {
	packed := p.Width() * (p.Width() + 1) / 2
	all := make([]float64, len(p.Tasks)*packed)
	for t := range p.Tasks {
		p.CovarianceOf(t, all[t*packed:][:packed])
	}
	return all
}

// covariance returns those of all tasks, nil if they are not known.
func (m *Model) covariance() []float64 {
	if m.later != nil {
		return m.later()
	}
	return m.p.Covariance
}

// Width returns w, the number of coefficients of a task that Prior and Covariance are about.
func (p *Parameters) Width() int {
	if k := len(p.Scaling.Center); p.Directions != nil && k > 0 {
		return len(p.Directions)/k + 1
	}
	return p.Scaling.Width()
}

// check returns an error that names what does not fit, or what no model can hold.
func (m *Model) check() error {
	p := &m.p
	if p.Directions != nil && !p.Scaling.Constant {
		return fmt.Errorf("array %q has %d entries: want %d", "directions", len(p.Directions), 0)
	}
	if err := p.Scaling.checkTransforms(len(m.features)); err != nil {
		return err
	}
	for _, a := range p.arrays(m.features) {
		if err := a.check(); err != nil {
			return err
		}
	}
	for j, v := range p.Scaling.Least {
		if !(v <= p.Scaling.Most[j]) {
			return fmt.Errorf("array %q: entry %d is %v: want at most %v", "least", j, v, p.Scaling.Most[j])
		}
	}
	if _, err := numbered("feature", m.features); err != nil {
		return err
	}
	var err error
	if m.index, err = numbered("task", p.Tasks); err != nil {
		return err
	}
	return cmp.Or(
		checkEach("scale", p.Scaling.Scale, "more than 0", func(v float64) bool { return v > 0 }),
		checkEach("samples", p.Samples, "0 or more", func(n int) bool { return n >= 0 }),
		checkEach("node", p.NodeOf, fmt.Sprintf("-1 to %d", len(p.Nodes)-1), func(g int) bool { return g >= -1 && g < len(p.Nodes) }),
		p.checkNumbers())
}

// numbered returns the numbers of names, none of which may be there twice.
func numbered(array string, names []string) (map[string]int, error) {
	index := make(map[string]int, len(names))
	for i, name := range names {
		if _, twice := index[name]; twice {
			return nil, fmt.Errorf("array %q: entry %d is %q, which is there twice", array, i, name)
		}
		index[name] = i
	}
	return index, nil
}

func checkEach[T any](array string, list []T, want string, ok func(v T) bool) error {
	for i, v := range list {
		if !ok(v) {
			return fmt.Errorf("array %q: entry %d is %v: want %s", array, i, v, want)
		}
	}
	return nil
}

// checkNumbers is check for what is not in arrays, and for variances.
func (p *Parameters) checkNumbers() error {
	err := checkVariances(slices.Concat(p.Noise, p.Freedom)...)
	p.priors(func(_ string, weight float64, _ *[]float64, prior *Prior) {
		switch {
		case err != nil:
		case !(weight > 0 && weight <= 1):
			err = fmt.Errorf("the weight of a rank of the model is %v: want weights above 0 that sum to 1", weight)
		default:
			err = prior.check()
		}
	})
	if err != nil {
		return err
	}
	if g := p.Goodness; !(g.R2Marginal >= 0 && g.R2Marginal <= g.R2Conditional && g.R2Conditional <= 1) {
		return fmt.Errorf("the parts of the variance that the model explains are %v and %v", g.R2Marginal, g.R2Conditional)
	}
	if s := &p.Scaling; !(s.TargetScale > 0 && s.TargetScale <= math.MaxFloat64) || !(math.Abs(s.Target) <= math.MaxFloat64) {
		return fmt.Errorf("the unit of the target is %v, and its mean %v", s.TargetScale, s.Target)
	}
	if l := p.Goodness.LogLikelihood; !(math.Abs(l) <= math.MaxFloat64) {
		return fmt.Errorf("the log likelihood is %v", l)
	}
	return nil
}

func checkVariances(list ...float64) error {
	for _, v := range list {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return fmt.Errorf("a variance of the model is %v", v)
		}
	}
	return nil
}

func (p *Prior) check() error {
	if err := checkVariances(p.Intercept, p.Spread, p.MeanVariance, p.Noise, p.Freedom, p.NoisePrior.Scale, p.NoisePrior.Freedom, p.SampleNoise); err != nil {
		return err
	}
	if n := p.NoisePrior; (n.Scale > 0) != (n.Freedom > 0) {
		return fmt.Errorf("the prior of the noise has scale %v and %v degrees of freedom: want both or neither", n.Scale, n.Freedom)
	}
	for _, v := range slices.Concat(p.Slopes, p.SlopesFreedom) {
		if !(v > 0) {
			return fmt.Errorf("a variance of slopes of the model is %v", v)
		}
	}
	return nil
}

// complete computes the noise of every task, and what is predicted at the center, in the units of the table.
func (m *Model) complete() {
	p, s := &m.p.Prior, &m.p.Scaling
	m.noise, m.bias = make([]float64, len(m.p.Tasks)+1), slices.Repeat([]float64{s.Target}, len(m.p.Tasks)+1)
	for t := range m.noise {
		v, freedom := m.single, p.Freedom
		switch {
		case t < len(m.p.Noise):
			v, freedom = m.p.Noise[t], m.p.Freedom[t]
		case t == len(m.p.Tasks) && p.NoisePrior.Freedom > 0:
			v, freedom = m.usual, p.NoisePrior.Freedom
		}
		m.noise[t] = math.Sqrt(v) * mixedmodel.Interval95(freedom) * s.TargetScale
		if s.Constant {
			m.bias[t] += m.scaled(t)[len(s.Center)] * s.TargetScale
		}
	}
}

// scaled returns the coefficients of a task for scaled features; after the last, those of one without rows.
func (m *Model) scaled(t int) []float64 {
	if t == len(m.p.Tasks) {
		return m.mean
	}
	d := m.p.Scaling.Width()
	return m.p.Theta[t*d:][:d]
}

// Parameters returns what the model consists of. The slices alias the model and must
// not be changed.
func (m *Model) Parameters() Parameters { return m.p }

// Features returns the names of the features that Predict takes, in their order.
// The slice aliases the model.
func (m *Model) Features() []string { return m.features }

// Tasks returns the names of the tasks. The slice aliases the model.
func (m *Model) Tasks() []string { return m.p.Tasks }

// Unit says in words what effects, deviations and Noise are in: the unit of the target, or with Scaling.LogTarget its logarithm.
func (m *Model) Unit() string {
	if m.p.Scaling.LogTarget {
		return "logarithm of the target"
	}
	return "unit of the target"
}

// Rank returns that of the representation, the most probable one of Ranks; 0 if tasks share none.
func (m *Model) Rank() int { return m.p.Prior.Rank }

// ScaledFeatures returns the names of the rows of mean and Loadings: the features with their
// transforms, and ConstantFeature if the model has added it.
func (m *Model) ScaledFeatures() []string {
	names := m.p.Scaling.InputNames(m.features)
	if m.p.Scaling.Constant {
		names = append(names, ConstantFeature)
	}
	return names
}

// Coefficients returns theta and the constant of a task in the units of the table:
// the prediction for features x, or its logarithm with Scaling.LogTarget, is x' theta + constant, where Scaling.Expand makes inputs of features that
// the model has transformed.
func (m *Model) Coefficients(task string) (theta []float64, constant float64, err error) {
	t, ok := m.index[task]
	if !ok {
		return nil, 0, unknownTask(task)
	}
	constant = m.bias[t]
	for j, c := range m.p.Scaling.Center {
		v := m.p.Scaling.inTable(m.scaled(t), j)
		theta = append(theta, v)
		constant -= v * c
	}
	return theta, constant, nil
}

// Loadings returns what tasks differ by: the columns of a d x r matrix are the
// principal axes of the deviations of low rank, in the standardised features, with the
// added constant, if there is one, last, scaled to the standard deviation of the
// deviations along them, in what Unit says. values are these standard deviations. Both are of the rank of Rank, as Spread is.
func (m *Model) Loadings() (loadings *mat.Dense, values []float64) {
	p, d := &m.p.Prior, m.p.Scaling.Width()
	if p.Rank == 0 {
		return nil, nil
	}
	loadings = mat.NewDense(d, p.Rank, nil)
	unit := math.Sqrt(p.Noise) * m.p.Scaling.TargetScale
	for a := range p.Rank {
		column := m.expand(m.components[0].Column(a))
		floats.Scale(unit, column)
		loadings.SetCol(a, column)
		values = append(values, floats.Norm(column, 2))
	}
	return loadings, values
}

// expand returns coefficients of all scaled features from those along Directions.
func (m *Model) expand(theta []float64) []float64 {
	if m.p.Directions == nil {
		return slices.Clone(theta)
	}
	k, p := len(m.p.Scaling.Center), m.p.Width()-1
	out := make([]float64, k+1)
	for j, v := range theta[:p] {
		floats.AddScaled(out[:k], v, m.p.Directions[j*k:][:k])
	}
	out[k] = theta[p]
	return out
}

// Spread returns the standard deviations, in what Unit says, of what tasks differ by
// beside the representation: of their constants, and of every other coefficient, for
// standardised features.
func (m *Model) Spread() (intercept, others float64) {
	p := &m.p.Prior
	unit := math.Sqrt(p.Noise) * m.p.Scaling.TargetScale
	return unit * math.Sqrt(p.Intercept), unit * math.Sqrt(p.Spread)
}
