package model

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A Model predicts the target of known tasks. It is immutable, and safe for
// concurrent use.
type Model struct {
	scaling
	rank   int
	ridge  float64
	method difalt.Method

	features []string // of the table, without an added constant
	schema   dataset.Schema
	tasks    []string
	nodes    []string
	nodeOf   []int // node of every task
	samples  []int // training rows of every task
	mean     []float64
	u        []*kernel.Basis // of every node
	b        []float64       // b_t = b[t*rank : (t+1)*rank]

	noise     float64   // variance; 0 if not known
	precision []float64 // A_t'A_t + ridge I, A_t = X_t U: rank x rank for every task
	chol      []float64 // its Cholesky factors

	taskColumn, targetColumn string

	index map[string]int
	// In the units of the table: prediction = x' theta_t + bias_t.
	theta []float64 // theta_t = theta[t*k : (t+1)*k] for k features
	bias  []float64
}

// finish computes what follows from the other fields.
func (m *Model) finish() {
	m.index = make(map[string]int, len(m.tasks))
	k := len(m.features)
	m.theta, m.bias = make([]float64, len(m.tasks)*k), make([]float64, len(m.tasks))
	scaled := make([]float64, m.width())
	for t, name := range m.tasks {
		m.index[name] = t
		copy(scaled, m.mean)
		u := m.u[m.nodeOf[t]]
		for j, b := range m.b[t*m.rank:][:m.rank] {
			for i, v := range u.Col(j) {
				scaled[i] += v * b
			}
		}
		bias := m.target
		if m.constant {
			bias += scaled[k]
		}
		theta := m.theta[t*k:][:k]
		for i := range theta {
			theta[i] = scaled[i] / m.scale[i]
			bias -= theta[i] * m.center[i]
		}
		m.bias[t] = bias
	}
}

// Features returns the names of the features that Predict takes, in their order.
// The slice aliases the model.
func (m *Model) Features() []string { return m.features }

// Tasks returns the names of the tasks. The slice aliases the model.
func (m *Model) Tasks() []string { return m.tasks }

// Nodes returns the names of the nodes. The slice aliases the model.
func (m *Model) Nodes() []string { return m.nodes }

// NodeIndex returns the number of the node of the given name; the empty name stands
// for the first node.
func (m *Model) NodeIndex(name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if g := slices.Index(m.nodes, name); g >= 0 {
		return g, nil
	}
	return 0, fmt.Errorf("the model has no node %q: its nodes are %q", name, m.nodes)
}

// Schema says how the columns of a table become the features. TableOptions.Schema
// reads other tables to them. Its slices alias the model.
func (m *Model) Schema() *dataset.Schema { return &m.schema }

// TaskColumn returns the name of the column that named the tasks in training; empty
// if the model was not trained on a table with named columns.
func (m *Model) TaskColumn() string { return m.taskColumn }

// TargetColumn returns the name of the column that the model predicts; empty as
// TaskColumn is.
func (m *Model) TargetColumn() string { return m.targetColumn }

// Rank returns r.
func (m *Model) Rank() int { return m.rank }

// Ridge returns the strength of the ridge on b_t.
func (m *Model) Ridge() float64 { return m.ridge }

// Method returns the algorithm that trained the model.
func (m *Model) Method() difalt.Method { return m.method }

// Samples returns the number of training rows of every task. The slice aliases the
// model.
func (m *Model) Samples() []int { return m.samples }

// Mean returns the coefficients that all tasks share, for standardised features, in
// the order of FeatureNames. The slice aliases the model.
func (m *Model) Mean() []float64 { return m.mean }

// FeatureNames returns the names of the rows of Basis, Mean and Loadings: the
// features, and ConstantFeature if the model has added it.
func (m *Model) FeatureNames() []string {
	names := slices.Clone(m.features)
	if m.constant {
		names = append(names, ConstantFeature)
	}
	return names
}

// Basis returns a copy of U of a node (d x r), for standardised features, with the
// added constant, if there is one, as the last.
func (m *Model) Basis(node int) *mat.Dense { return mat.DenseCopyOf(m.u[node]) }

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

// Predict returns the prediction for features x of a task. It does not allocate
// unless it fails. An unknown task is an error.
func (m *Model) Predict(task string, x []float64) (float64, error) {
	t, ok := m.index[task]
	if !ok {
		return 0, unknownTask(task)
	}
	if len(x) != len(m.features) {
		return 0, fmt.Errorf("x has %d features, the model %d", len(x), len(m.features))
	}
	return m.predict(t, x), nil
}

// PredictBatch sets dst[i] to the prediction for a row of features of task tasks[i],
// x[i*k : (i+1)*k] for the k features of the model. It does not allocate unless it
// fails. An unknown task or a wrong length is an error, and dst is then unspecified.
func (m *Model) PredictBatch(dst []float64, tasks []string, x []float64) error {
	k := len(m.features)
	if len(dst) != len(tasks) || len(x) != len(tasks)*k {
		return fmt.Errorf("%d tasks with %d features each need %d predictions and %d numbers in x: there are %d and %d",
			len(tasks), k, len(tasks), len(tasks)*k, len(dst), len(x))
	}
	for i, name := range tasks {
		t, ok := m.index[name]
		if !ok {
			return fmt.Errorf("row %d: %w", i, unknownTask(name))
		}
		dst[i] = m.predict(t, x[i*k:][:k])
	}
	return nil
}

func (m *Model) predict(t int, x []float64) float64 {
	return m.bias[t] + dot(x, m.theta[t*len(x):])
}

// FillMissing puts, in place of every NaN among features x of one row, the mean of
// that feature over the training rows, and returns the number of them. Predict takes
// NaN as it is, and returns NaN. x must have as many entries as the model has
// features.
func (m *Model) FillMissing(x []float64) (filled int) {
	for _, v := range x {
		if math.IsNaN(v) {
			filled++
		}
	}
	m.replaceMissing(x)
	return filled
}

// PredictTable returns the prediction for every row of a table with the model's
// features, with FillMissing for those that are missing. Tasks that the model does not know are an error that names them.
func (m *Model) PredictTable(t *dataset.Table) ([]float64, error) {
	if err := m.checkFeatures(t); err != nil {
		return nil, err
	}
	at := make([]int, len(t.Tasks()))
	var unknown []string
	for k, name := range t.Tasks() {
		i, ok := m.index[name]
		if !ok {
			unknown = append(unknown, name)
		}
		at[k] = i
	}
	if unknown != nil {
		return nil, unknownTask(unknown...)
	}
	out := make([]float64, t.Rows())
	x := make([]float64, len(m.features))
	for i := range out {
		m.replaceMissing(t.X(x, i))
		out[i] = m.predict(at[t.Task(i)], x)
	}
	return out, nil
}

func (m *Model) checkFeatures(t *dataset.Table) error {
	if !slices.Equal(t.Features(), m.features) {
		return fmt.Errorf("the table has the features %q, the model %q", t.Features(), m.features)
	}
	return nil
}

// unknownTask names tasks that the model does not know.
func unknownTask(names ...string) error {
	const most = 5
	rest := ""
	if len(names) > most {
		rest = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	quoted := make([]string, len(names))
	for i, s := range names {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	s, it := "", "it"
	if len(names) > 1 {
		s, it = "s", "them"
	}
	return fmt.Errorf("the model does not know task%s %s%s: add %s with adapt", s, strings.Join(quoted, ", "), rest, it)
}
