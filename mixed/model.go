// Package mixed trains mixed models of many related regression tasks, keeps them, and predicts with them.
//
// The target of task t at a table row with the columns x ([Design]), or its logarithm, is after
// standardisation ([Target])
//
//	z = x' theta_t + noise,   theta_t = mu + deviation_t,
//	deviation_t ~ N(0, diag(Deviations)^2 + Loadings Loadings').
//
// All tasks share mu and the distribution of deviations ([Prior]). A [Model] predicts for
// known and unseen tasks ([Model.Predict]), with standard errors ([Model.PredictError]); it
// learns from new rows ([Model.Adapt]), lists the effects of features ([Model.Effects]), and
// is stored in a file that NumPy reads ([Model.Save], [Load]). [New] makes one from parameters of any origin.
//
// # Training
//
// [Fit] trains on one table. [Together] trains on the tables of several owners, who exchange sums over all
// of them and get the model of one table. [Privately] has differential privacy. In training the deviations
// are
//
//	deviation_t = diag(sigma) e_t + W b_t,   e_t, b_t ~ N(0, I).
//
// x holds 1, the standardised features and, for every number with five or more distinct training values, the
// columns of a natural cubic spline. At first sigma has one value for the intercept, one for linear columns
// and one for curves; in the chosen model every linear column and every curve has its own, with the common
// one as prior. The mean has the prior N(0, tau^2), with one tau for linear columns and one for each curve.
// W, P x r, acts on the intercept and the linear columns. All these strengths maximise the marginal
// likelihood (empirical Bayes). Nearly all tasks may share the values of a number, such as a year. These get
// columns of their own in the mean where rows that are left out are then predicted better ([Period]).
//
// The estimator is the alternation of AltGDmin with posterior means: b_t given W by its posterior mean and
// covariance, then a scaled gradient step on W: W + (sum G_t)^-1 gradient (mean b b')^-1. Closed forms for
// the strengths are steps of EM. Anderson acceleration makes it faster. Ranks 0 to 3 are compared by
// penalised evidence, without curves and, around the best of them, with curves. Curves are kept where they
// are 3 nats better. Each form starts once more from the optimum of the other one, so that neither wins by
// its start. Where noise by task is in the weights, lower ranks are compared again with it.
//
// A task keeps its products X'X, X'y, y'y, or its rows where these are fewer than the columns. Rows and
// tasks are added up in an order of their contents. So results have equal bits for every number of workers
// and every order of the rows and tasks of a table.
//
// The package reads no files and opens no connections.
package mixed

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/difalt/difalt/internal/dense"
)

// A Model predicts the target of table rows. It is immutable and safe for concurrent use.
type Model struct {
	p        Parameters
	features []string
	levels   []category
	index    map[string]int // tasks by name
	unseen   []float64      // packed covariance of the coefficients of a task without rows
	widening widening
	periods  []float64 // variances of the effects of new values
}

// A widening holds factors of the variances of the noise: with them normal intervals become intervals of
// Student's t. A quantile takes as long as a hundred predictions.
type widening struct {
	usual float64         // of tasks without a noise of their own
	tasks []atomic.Uint64 // bits for the other tasks, 0 before they are computed; nil without any
}

// A category is a categorical column: levels consecutive features from first on.
type category struct {
	first, levels int
	widening      float64 // of the variance of the effect of an unseen level
}

// errEmpty is the error of the methods of a zero Model.
var errEmpty = errors.New("the model is empty: New, Load and LoadFile return models")

// New returns the model of the given parameters. It keeps their slices, which must not change
// afterwards. Errors name the array that does not fit the others or whose numbers are impossible.
// Required are at least one task, a positive scale of the target, and a positive variance of the noise;
// everything else may be zero, but slices must have the lengths that [Parameters] gives.
func New(p Parameters) (*Model, error) {
	curves := make([]Curve, len(p.Design.Curves))
	for i, c := range p.Design.Curves {
		curves[i] = newCurve(c.Feature, c.Knots, c.Values)
	}
	p.Design.Curves = curves
	m := &Model{p: p, features: p.Schema.Features()}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.levels = categories(&p.Schema, &p.Design)
	m.unseen = dense.Pack(nil, len(p.Mean), p.Prior.Covariance())
	widening := square(interval95(p.Prior.Freedom))
	for i, v := range p.MeanCovariance {
		m.unseen[i] = float64(widening*m.unseen[i]) + v
	}
	for i := range p.Design.Periods {
		m.periods = append(m.periods, p.Design.Periods[i].variance())
	}
	noise := &p.Prior.Noise
	m.widening.usual = square(interval95(cmp.Or(noise.TaskFreedom, noise.Freedom)))
	if p.Tasks.Noise != nil {
		m.widening.tasks = make([]atomic.Uint64, len(p.Tasks.Noise))
	}
	return m, nil
}

// categories lists the categorical columns of a schema.
func categories(s *Schema, d *Design) (list []category) {
	first, coded := 0, s.byColumn()
	for _, column := range s.Columns {
		n := 1
		if levels, ok := coded[column]; ok {
			n = len(levels)
			learned := 0.0
			for _, scale := range d.Scale[first:][:n] {
				if scale > 0 {
					learned++
				}
			}
			list = append(list, category{first, n, square(interval95(max(learned-1, 1)))})
		}
		first += n
	}
	return list
}

// check reports arrays that do not fit, and numbers that no model has.
func (m *Model) check() error {
	p := &m.p
	var err error
	if _, err = numbered("feature", m.features); err != nil {
		return err
	}
	if m.index, err = numbered("task", p.Tasks.Names); err != nil {
		return err
	}
	if err := cmp.Or(p.Schema.Validate(), p.Design.check(len(m.features)), p.checkNumbers()); err != nil {
		return err
	}
	for _, a := range p.arrays() {
		if err := a.check(); err != nil {
			return err
		}
	}
	for j, s := range p.Design.Scale {
		if s > 0 && !(s >= leastScale && p.Target.Scale/s <= mostSlope) {
			const format = "the scale of feature %.60q is %v: it is too small for a target of scale %v"
			return fmt.Errorf(format, m.features[j], s, p.Target.Scale)
		}
	}
	if err := p.checkCovariances(); err != nil {
		return err
	}
	if t := len(m.index); t == 0 || len(p.Tasks.Samples) != t || slices.Min(p.Tasks.Samples) < 0 {
		const format = "the model has %d tasks and %d entries of samples: it needs a task, and a number of " +
			"samples for each"
		return fmt.Errorf(format, t, len(p.Tasks.Samples))
	}
	if n := len(p.Tasks.Digests); n != 0 && n != len(m.index) {
		return fmt.Errorf("the model has %d tasks and %d digests of their rows", len(m.index), n)
	}
	return nil
}

const (
	mostScale  = 1e250  // of the target; the least is one over it
	leastScale = 1e-300 // of a feature, unless it is 0
	mostSlope  = 1e250  // scale of the target over that of a feature: effects are finite
)

// checkNumbers checks the numbers outside of arrays.
func (p *Parameters) checkNumbers() error {
	const most = math.MaxFloat64
	noise, effects, g := &p.Prior.Noise, cmp.Or(p.Effects, &Estimate{}), &p.Goodness
	for _, n := range []struct {
		name string
		v    float64
		limits
	}{
		{"center of the target", p.Target.Center, valueLimits},
		{"scale of the target", p.Target.Scale, limits{1 / mostScale, mostScale}},
		{"variance of the noise", noise.Variance, varianceLimits},
		{"freedom of the noise", noise.Freedom, limits{0, most}},
		{"freedom of a task's noise", noise.TaskFreedom, limits{0, most}},
		{"variance of equal noise", noise.Alike, limits{0, most}},
		{"level of the noise", noise.Level, limits{-mostLevel, mostLevel}},
		{"slope of the noise", noise.Slope, limits{-mostGrowth, mostGrowth}},
		{"freedom of the deviations", p.Prior.Freedom, limits{0, most}},
		{"freedom of the effects", effects.Freedom, limits{0, most}},
		{"rank", float64(p.Prior.Rank), limits{0, float64(p.Design.Width())}},
		{"evidence", g.Evidence, noLimits},
		{"marginal R2", g.R2Marginal, limits{0, 1}},
		{"conditional R2", g.R2Conditional, limits{0, 1}},
	} {
		if !(n.v >= n.least && n.v <= n.most) {
			return fmt.Errorf("the %s is %v: it must be from %g to %g", n.name, n.v, n.least, n.most)
		}
	}
	return nil
}

// checkCovariances checks the covariances of mean, effects and tasks.
func (p *Parameters) checkCovariances() error {
	w, prior := len(p.Mean), 0.0 // the largest variance of a deviation
	for j, d := range p.Prior.Deviations {
		v := float64(d * d)
		for k := range p.Prior.Rank {
			v += square(p.Prior.Loadings[k*w+j])
		}
		prior = max(prior, v)
	}
	if err := checkDiagonal("mean_covariance", p.MeanCovariance, w, 0); err != nil {
		return err
	}
	if e := p.Effects; e != nil {
		if err := checkDiagonal("effects_covariance", e.Covariance, w, 0); err != nil {
			return err
		}
	}
	if n := len(p.Tasks.Covariances); p.Tasks.Covariances != nil && n != len(p.Tasks.Names) {
		const format = "the model has %d tasks and %d covariances: it needs one for each, or none"
		return fmt.Errorf(format, len(p.Tasks.Names), n)
	}
	reduced := false
	for t := range p.Tasks.Covariances {
		c := &p.Tasks.Covariances[t]
		reduced = reduced || c.Packed == nil
		if err := c.check(fmt.Sprintf("covariance of task %.60q", p.Tasks.Names[t]), w, prior); err != nil {
			return err
		}
	}
	if s := p.Tasks.Strengths; s != nil || reduced {
		if p.Tasks.Covariances == nil {
			return errors.New("the model has strengths of covariances and no covariances of tasks")
		}
		return s.check(w)
	}
	return nil
}

// farBelow is the share of the largest variance below which rounding does not explain a negative one.
const farBelow = 1e-6

// checkDiagonal reports a negative variance in a packed covariance of order n. Rounding errors count
// relative to its largest variance, or to most where this is larger.
func checkDiagonal(name string, packed []float64, n int, most float64) error {
	least, at := 0.0, 0
	for i := range n {
		least, most = min(least, packed[at]), max(most, packed[at])
		at += n - i
	}
	if least < -farBelow*most {
		return fmt.Errorf("array %q: the variance %v is negative", name, least)
	}
	return nil
}

// numbered returns the index of every name, and an error for a name that is there twice or not UTF-8.
func numbered(array string, names []string) (map[string]int, error) {
	index := make(map[string]int, len(names))
	for i, name := range names {
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("array %q: entry %d is %.60q, which is not UTF-8", array, i, name)
		}
		if _, twice := index[name]; twice {
			return nil, fmt.Errorf("array %q: entry %d is %.60q, which is there twice", array, i, name)
		}
		index[name] = i
	}
	return index, nil
}

// Parameters returns the numbers of the model. The slices alias the model and must not be changed.
func (m *Model) Parameters() Parameters { return m.p }

// Features returns the names of the table features that Predict takes, in their order. The slice
// aliases the model and must not be changed.
func (m *Model) Features() []string { return m.features }

// Tasks returns the names of the tasks. The slice aliases the model and must not be changed.
func (m *Model) Tasks() []string { return m.p.Tasks.Names }

// Knows reports whether the model has learned rows of the task. It counts any other task as unseen.
func (m *Model) Knows(task string) bool { return m.taskOf(task) >= 0 }

// taskOf returns the index of a task, -1 for an unseen one.
func (m *Model) taskOf(task string) int {
	if t, ok := m.index[task]; ok && m.p.Tasks.Samples[t] > 0 {
		return t
	}
	return -1
}

// Unit describes the unit of effects, noise and deviations: the unit of the target or of its logarithm.
func (m *Model) Unit() string {
	if m.p.Target.Log {
		return "logarithm of the target"
	}
	return "unit of the target"
}

// Noise returns the standard deviation, in Unit, of the targets of a usual task about their expectations.
func (m *Model) Noise() float64 { return math.Sqrt(m.p.Prior.Noise.Variance) * m.p.Target.Scale }

// noise returns the variance of the standardised target of task t, or of an unseen one for t = -1,
// about its expectation. It is widened so that 95 % of the targets are within 1.96 of its root.
func (m *Model) noise(t int) float64 {
	if t < 0 || m.widening.tasks == nil {
		return m.p.Prior.Noise.Variance * m.widening.usual
	}
	factor := math.Float64frombits(m.widening.tasks[t].Load())
	if factor == 0 {
		factor = square(interval95(m.p.Tasks.Freedom[t]))
		m.widening.tasks[t].Store(math.Float64bits(factor))
	}
	return m.p.Tasks.Noise[t] * factor
}

// growing returns the noise whose factor task t has in intervals; an unseen task has the usual one, for t =
// -1.
func (m *Model) growing(t int) *Noise {
	g := m.p.Tasks.Growth
	if t < 0 || g == nil {
		return &m.p.Prior.Noise
	}
	return &Noise{Level: g.Level[t], Slope: g.Slope[t]}
}

func square(v float64) float64 { return float64(v * v) }

// quadratic returns z' C z for the packed C, or 0 where rounding makes it negative: twice the sum of the
// upper triangle, with half of the diagonal. It takes four rows of C together, whose sums need not wait for
// each other.
func quadratic(packed, z []float64) (sum float64) {
	for ; len(z) > 4; z = z[4:] {
		n := len(z)
		r0, r1, r2, r3 := packed[:n], packed[n:][:n-1], packed[2*n-1:][:n-2], packed[3*n-3:][:n-3]
		packed = packed[4*n-6:]
		s0 := float64(r0[0]*z[0]/2) + float64(r0[1]*z[1]) + float64(r0[2]*z[2]) + float64(r0[3]*z[3])
		s1 := float64(r1[0]*z[1]/2) + float64(r1[1]*z[2]) + float64(r1[2]*z[3])
		s2 := float64(r2[0]*z[2]/2) + float64(r2[1]*z[3])
		s3 := float64(r3[0] * z[3] / 2)
		rest := z[4:]
		r0, r1, r2, r3 = r0[4:][:len(rest)], r1[3:][:len(rest)], r2[2:][:len(rest)], r3[1:][:len(rest)]
		for j, u := range rest {
			s0 += float64(r0[j] * u)
			s1 += float64(r1[j] * u)
			s2 += float64(r2[j] * u)
			s3 += float64(r3[j] * u)
		}
		sum += float64(2 * z[0] * s0)
		sum += float64(2 * z[1] * s1)
		sum += float64(2 * z[2] * s2)
		sum += float64(2 * z[3] * s3)
	}
	for i, v := range z {
		inner := float64(packed[0] * v / 2)
		for j, u := range z[i+1:] {
			inner += float64(packed[1+j] * u)
		}
		sum += float64(2 * v * inner)
		packed = packed[len(z)-i:]
	}
	return max(sum, 0)
}
