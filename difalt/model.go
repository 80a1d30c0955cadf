package difalt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/difalt/difalt/difalt/features"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"gonum.org/v1/gonum/floats"
)

// A Model predicts responses: y = Intercepts[t] + x'U b_t for a row x of task t. It is plain data, which
// goroutines may share while nobody writes it.
type Model struct {
	// U is the representation (d x r) in the units of the features. Its columns, times the deviations of the
	// features, are orthonormal: X U b has the coefficients b of features in standard form.
	U *kernel.Basis
	// B has the coefficients of the tasks, b_t = B[t*r : (t+1)*r], in the unit of the responses.
	B []float64
	// Intercepts has an entry for every task. It is nil for a model without intercepts.
	Intercepts []float64
	// Tasks has the status of the least squares of every task.
	Tasks []lsq.Status
	// Ridge is lambda of b_t = argmin |X_t U b - y_t|^2 + lambda |b|^2.
	Ridge float64

	// How the run ended, as in Result; of the model that was adapted after Adapt.
	Status                     Status
	Iterations                 int
	Residual, StatisticalError float64
}

// Model returns the model of hosted node i, or of the only node. scaling is what features.Standardize
// returned with the tasks of the run; it is nil if they were as they are. It shares no memory with the
// result. It panics if the result has no such node.
func (r *Result) Model(i int, scaling *features.Scaling) *Model {
	r.mustHost(i)
	m := &Model{
		U: r.U[i].Clone(), B: slices.Clone(r.B[i]), Tasks: slices.Clone(r.Tasks[i]), Ridge: r.Ridge,
		Status: r.Status, Iterations: r.Iterations, Residual: r.Residual, StatisticalError: r.StatisticalError,
	}
	if scaling == nil {
		return m
	}
	_, rank := m.U.Dims()
	for j := range rank {
		floats.Div(m.U.Col(j), scaling.Deviations)
	}
	floats.Scale(scaling.Unit, m.B)
	m.setIntercepts(scaling.Means[i], scaling.Responses[i])
	return m
}

// setIntercepts sets the intercepts from the means of the features and responses of the tasks.
func (m *Model) setIntercepts(means, responses []float64) {
	d, _ := m.U.Dims()
	m.Intercepts = slices.Clone(responses)
	for t := range m.Intercepts {
		m.Intercepts[t] -= m.product(t, means[t*d:][:d])
	}
}

// Len returns the number of tasks.
func (m *Model) Len() int {
	if m.U == nil {
		return 0
	}
	_, r := m.U.Dims()
	return len(m.B) / max(r, 1)
}

// Predict appends the predictions for rows of a task to dst, and returns it. It panics if the task is out of
// range or a row has another number of features than the model.
func (m *Model) Predict(dst []float64, task int, rows ...[]float64) []float64 {
	m.mustHave(task)
	d, _ := m.U.Dims()
	for _, x := range rows {
		if len(x) != d {
			panic("difalt: the row has another number of features than the model")
		}
		y := m.product(task, x)
		if m.Intercepts != nil {
			y += m.Intercepts[task]
		}
		dst = append(dst, y)
	}
	return dst
}

// mustHave panics if the model has no such task.
func (m *Model) mustHave(task int) {
	if uint(task) >= uint(m.Len()) {
		panic("difalt: the model has no such task")
	}
}

// product returns x'U b_t.
func (m *Model) product(task int, x []float64) (y float64) {
	_, r := m.U.Dims()
	for j, b := range m.B[task*r:][:r] {
		y += float64(b * rounded.Dot(m.U.Col(j), x))
	}
	return y
}

// Theta returns U b_t, the effects of the features in a task. It panics if the task is out of range.
func (m *Model) Theta(task int) []float64 {
	m.mustHave(task)
	d, r := m.U.Dims()
	theta := make([]float64, d)
	for j, b := range m.B[task*r:][:r] {
		rounded.AddScaled(theta, b, m.U.Col(j))
	}
	return theta
}

// Adapt returns a model of new tasks with this representation: it fits their coefficients, and their
// intercepts if the model has them. A Model with nothing but U and Ridge will do. A task with few samples
// gets the coefficients of minimum norm and a status that reports it, unless Ridge is positive. Without
// samples its coefficients and its intercept are 0. The numbers of the tasks may have any size.
//
// It returns a *kernel.DataError that names the task and the row of a number that is not finite, and
// ctx.Err() if the context has ended.
func (m *Model) Adapt(ctx context.Context, tasks *kernel.Tasks) (*Model, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if tasks == nil {
		return nil, errNoTasks
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	d, r := m.U.Dims()
	if tasks.Features() != d {
		return nil, fmt.Errorf("difalt: the new tasks have %d features, the model has %d", tasks.Features(), d)
	}
	if err := tasks.CheckFinite(); err != nil {
		return nil, err
	}
	adapted := *m
	adapted.U = m.U.Clone()
	centred, means, responses := tasks, []float64(nil), []float64(nil)
	if m.Intercepts != nil {
		centred, means, responses = features.Center(tasks)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pool := kernel.NewPool(0)
	defer pool.Close()
	g := kernel.NewGroup(centred, r)
	kernel.NewExecutor(pool, []*kernel.Group{g}).Minimize([]*kernel.Basis{adapted.U}, m.Ridge)
	adapted.B, adapted.Tasks = slices.Clone(g.B), slices.Clone(g.Status)
	if m.Intercepts != nil {
		adapted.setIntercepts(means, responses)
	}
	return &adapted, adapted.check()
}

var errNoRepresentation = errors.New("difalt: the model has no representation")

// check returns an error unless the parts of the model fit together and hold finite numbers.
func (m *Model) check() error {
	if m == nil || m.U == nil {
		return errNoRepresentation
	}
	d, r := m.U.Dims()
	if r == 0 {
		return errNoRepresentation
	}
	n := len(m.B) / r
	switch {
	case r > d:
		return fmt.Errorf("difalt: the model has rank %d, but %d features", r, d)
	case len(m.B) != n*r || len(m.Tasks) != n || m.Intercepts != nil && len(m.Intercepts) != n:
		return fmt.Errorf("difalt: the model has %d coefficients, %d intercepts and %d statuses of tasks for rank %d",
			len(m.B), len(m.Intercepts), len(m.Tasks), r)
	case !(m.Ridge >= 0 && m.Ridge <= MaxRidge):
		return &ParameterError{"Ridge", m.Ridge, fmt.Sprintf("must be from 0 to %g", MaxRidge)}
	}
	if err := checkBasis("the representation of the model", m.U, d, r); err != nil {
		return err
	}
	for i, v := range m.B {
		if !finite(v) {
			return fmt.Errorf("difalt: coefficient %d of task %d is %v", i%r, i/r, v)
		}
	}
	for t, v := range m.Intercepts {
		if !finite(v) {
			return fmt.Errorf("difalt: the intercept of task %d is %v", t, v)
		}
	}
	return nil
}
