package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// ConstantFeature is the name of the feature that Scaling.Constant adds.
const ConstantFeature = "(intercept)"

// Parameters are all that a Model consists of, for L nodes, T tasks and d scaled
// features.
type Parameters struct {
	Method                   string // that trained the model
	Schema                   Schema
	TaskColumn, TargetColumn string // of the table it was trained on; empty if they had no names
	Scaling                  Scaling
	Mean                     []float64       // d coefficients that all tasks share
	Nodes                    []string        // names
	U                        []*kernel.Basis // of every node, d x r
	Tasks                    []string        // names
	NodeOf                   []int           // node of every task
	Samples                  []int           // training rows of every task
	B                        []float64       // b_t = B[t*r : (t+1)*r]
	Precision                []float64       // A_t'A_t + ridge I, A_t = X_t U: r x r for every task
	Ridge                    float64         // on b_t
	NoiseVariance            float64         // 0 if it is not known
}

// A Model predicts the target of known tasks. It is immutable, and safe for
// concurrent use.
type Model struct {
	p        Parameters
	rank     int
	features []string // of the table, without an added constant
	chol     []float64
	index    map[string]int
	// In the units of the table: prediction = x' theta_t + bias_t.
	theta []float64 // theta_t = theta[t*k : (t+1)*k] for k features
	bias  []float64
}

// New returns the model of the given parameters. The model keeps their slices, which
// must not be changed any more. It returns an error that names, as Save does, the array whose
// length does not fit the others, or that holds what no model can.
func New(p Parameters) (*Model, error) {
	m := &Model{p: p, features: p.Schema.Features()}
	m.p.Schema = p.Schema.clone()
	if err := m.check(); err != nil {
		return nil, err
	}
	m.index = make(map[string]int, len(p.Tasks))
	for t, name := range p.Tasks {
		if _, twice := m.index[name]; twice {
			return nil, fmt.Errorf("array %q names task %q twice", "task", name)
		}
		m.index[name] = t
	}
	m.unscale()
	m.factor()
	return m, nil
}

// check checks the lengths of the parameters, and sets the rank.
func (m *Model) check() error {
	p := &m.p
	if len(p.U) == 0 {
		return fmt.Errorf("the model has no bases")
	}
	d := p.Scaling.Width()
	for g, u := range p.U {
		rows, r := u.Dims()
		if g == 0 {
			m.rank = r
		}
		if rows != d || r != m.rank {
			return fmt.Errorf("the basis of node %d is %d x %d: want %d x %d", g, rows, r, d, m.rank)
		}
	}
	k, t, r := len(m.features), len(p.Tasks), m.rank
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"fill", len(p.Scaling.Fill), k}, {"center", len(p.Scaling.Center), k}, {"scale", len(p.Scaling.Scale), k},
		{"mean", len(p.Mean), d}, {"node_name", len(p.Nodes), len(p.U)}, {"node", len(p.NodeOf), t},
		{"samples", len(p.Samples), t}, {"B", len(p.B), t * r}, {"precision", len(p.Precision), t * r * r},
	} {
		if c.got != c.want {
			return fmt.Errorf("array %q has %d entries: want %d", c.what, c.got, c.want)
		}
	}
	for i, s := range p.Scaling.Scale {
		if !(s > 0) {
			return fmt.Errorf("array %q: entry %d is %v: want more than 0", "scale", i, s)
		}
	}
	for i, g := range p.NodeOf {
		if g < 0 || g >= len(p.U) {
			return fmt.Errorf("array %q: entry %d is %d: want 0 to %d", "node", i, g, len(p.U)-1)
		}
	}
	if !(p.Ridge >= 0) || !(p.NoiseVariance >= 0) {
		return fmt.Errorf("the model has ridge %v and noise variance %v", p.Ridge, p.NoiseVariance)
	}
	return nil
}

// unscale computes the coefficients in the units of the table.
func (m *Model) unscale() {
	p, s, k := &m.p, &m.p.Scaling, len(m.features)
	m.theta, m.bias = make([]float64, len(p.Tasks)*k), make([]float64, len(p.Tasks))
	scaled := make([]float64, s.Width())
	for t := range p.Tasks {
		copy(scaled, p.Mean)
		u := p.U[p.NodeOf[t]]
		for j, b := range p.B[t*m.rank:][:m.rank] {
			for i, v := range u.Col(j) {
				scaled[i] += v * b
			}
		}
		bias := s.Target
		if s.Constant {
			bias += scaled[k]
		}
		theta := m.theta[t*k:][:k]
		for i := range theta {
			theta[i] = scaled[i] / s.Scale[i]
			bias -= theta[i] * s.Center[i]
		}
		m.bias[t] = bias
	}
}

// Parameters returns what the model consists of. The slices alias the model and must
// not be changed.
func (m *Model) Parameters() Parameters { return m.p }

// Features returns the names of the features that Predict takes, in their order.
// The slice aliases the model.
func (m *Model) Features() []string { return m.features }

// Tasks returns the names of the tasks. The slice aliases the model.
func (m *Model) Tasks() []string { return m.p.Tasks }

// Rank returns r.
func (m *Model) Rank() int { return m.rank }

// NodeIndex returns the number of the node of the given name; the empty name stands
// for the first node.
func (m *Model) NodeIndex(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if g := slices.Index(m.p.Nodes, name); g >= 0 {
		return g, nil
	}
	return 0, fmt.Errorf("the model has no node %q: its nodes are %q", name, m.p.Nodes)
}

// ScaledFeatures returns the names of the rows of U, mean and Loadings: the features,
// and ConstantFeature if the model has added it.
func (m *Model) ScaledFeatures() []string {
	names := slices.Clone(m.features)
	if m.p.Scaling.Constant {
		names = append(names, ConstantFeature)
	}
	return names
}

// Coefficients returns theta and the constant of a task in the units of the table:
// the prediction for features x is x' theta + constant. theta aliases the model.
func (m *Model) Coefficients(task string) (theta []float64, constant float64, err error) {
	t, ok := m.index[task]
	if !ok {
		return nil, 0, unknownTask(task)
	}
	k := len(m.features)
	return m.theta[t*k:][:k:k], m.bias[t], nil
}

// Loadings returns what tasks differ by: the columns of a d x r matrix are the
// principal axes of the deviations U b_t, in the standardised features, with the
// added constant, if there is one, last, scaled to the root mean square of the
// deviations along them. values are the singular values of the deviations. The
// largest entry of every column is positive.
func (m *Model) Loadings() (loadings *mat.Dense, values []float64) {
	values, v := axes(m.p.B, m.rank)
	loadings = new(mat.Dense)
	loadings.Mul(m.p.U[0], v)
	for j, s := range values {
		scale := s / math.Sqrt(float64(len(m.p.Tasks)))
		col := mat.Col(nil, j, loadings)
		at := 0
		for i, x := range col {
			if math.Abs(x) > math.Abs(col[at]) {
				at = i
			}
		}
		if col[at] < 0 {
			scale = -scale
		}
		for i, x := range col {
			loadings.Set(i, j, scale*x)
		}
	}
	return loadings, values
}

// axes returns the singular values of the matrix whose columns are the b_t, in
// descending order, and its left singular vectors (r x r): the principal axes within
// the subspace.
func axes(b []float64, r int) ([]float64, *mat.Dense) {
	var svd mat.SVD
	values, v := make([]float64, r), mat.NewDense(r, r, nil)
	for j := range r {
		v.Set(j, j, 1)
	}
	if len(b) == 0 || !svd.Factorize(mat.NewDense(len(b)/r, r, b), mat.SVDFullV) {
		return values, v
	}
	copy(values, svd.Values(nil))
	svd.VTo(v)
	return values, v
}
