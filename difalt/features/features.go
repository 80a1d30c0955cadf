// Package features brings features into the form that package difalt needs: about one size, and means near
// zero. Offsets and columns of very different sizes slow all methods down, and can look like convergence.
//
// Standardize takes the means of every task away and divides columns by their deviations over all
// nodes; Scaling.Undo returns an estimate to the units of the data. StandardizeOne does it for tasks of one
// machine. Misleading and Check detect data that need this.
//
// Samples with weights (kernel.Tasks.Weighted) count by them in means and deviations.
package features

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/internal/sums"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A Scaling holds the deviations and means that Standardize removed from the tasks of the hosted nodes.
type Scaling struct {
	// Deviations are the standard deviations of the features within tasks, over all nodes; 1 for constant
	// features.
	Deviations []float64
	// Means[i] has the mean of the features of task t of hosted node i at [t*d : (t+1)*d], and
	// Responses[i][t] the mean of its responses.
	Means, Responses [][]float64
	// Unit is the divisor of responses in standard form, a power of two: 1 unless StandardizeOne made
	// the scaling.
	Unit float64
}

const (
	rounding     = 1e-14 // a deviation of this part of the mean is rounding: the feature is constant
	mostSize     = 1e60
	room         = 0x1p-40
	leastSquares = 0x1p-66
)

// Standardize returns the tasks of the hosted nodes in standard form: features and responses without the
// mean of their task, and features divided by their deviations over all nodes. That fits a model with an
// intercept for every task. All nodes call it together. The tasks are copies, with the storage of the tasks:
// Float32 rounds the features once more, by up to 6e-8 of their size in standard form.
//
// A task of n rows becomes n - 1 combinations of its rows, with the products X_t'X_t and X_t'y_t of the rows
// without their means: the intercept takes the place of a row.
//
// All nodes return an error if a number of one of them is not finite or above 1e60 in size. So they do if
// features differ in size by a factor that leaves the smallest ones no digits in a sum.
func Standardize(ctx context.Context, net consensus.Sums, nodes []*kernel.Tasks) ([]*kernel.Tasks, *Scaling, error) {
	if net == nil {
		return nil, nil, errNoNetwork
	}
	fault := checkNodes(net.Hosted(), nodes)
	if fault == nil {
		fault = checkSizes(net.Hosted(), nodes)
	}
	d, err := agree(ctx, net, nodes, fault)
	if err != nil {
		return nil, nil, err
	}
	s := &Scaling{Deviations: make([]float64, d), Unit: 1}
	var rows [][]float64
	for _, k := range nodes {
		means, responses, squares := moments(k)
		s.Means, s.Responses = append(s.Means, means), append(s.Responses, responses)
		rows = append(rows, squares)
	}
	squares, left, err := sumSquares(ctx, net, rows, nodes)
	if err != nil {
		return nil, nil, err
	}
	s.setDeviations(squares, left, 1)
	var list []*kernel.Tasks
	for i, k := range nodes {
		list = append(list, s.apply(i, k))
	}
	return list, s, nil
}

// sumSquares returns the sums of squares of all features over all nodes, and of the freedom of the nodes. All
// nodes return an error if the squares of a feature at one node have no digits beside the largest squares.
func sumSquares(
	ctx context.Context, net consensus.Sums, rows [][]float64, nodes []*kernel.Tasks,
) (squares []float64, left float64, err error) {
	unit, err := unitOf(ctx, net, rows)
	if err != nil {
		return nil, 0, err
	}
	d := len(rows[0])
	for i, k := range nodes {
		lost := 0.0
		for j, v := range rows[i] {
			if rows[i][j] = v / unit; v > 0 && rows[i][j] < leastSquares {
				lost = 1
			}
		}
		rows[i] = append(rows[i], freedom(k, 1), lost)
	}
	if err := net.Sum(ctx, rows); err != nil {
		return nil, 0, err
	}
	if rows[0][d+1] > 0 {
		return nil, 0, errTooSmall
	}
	floats.Scale(unit, rows[0][:d])
	return rows[0][:d], rows[0][d], nil
}

// unitOf returns a power of two: the largest number of all nodes is about 2^40 times as large. Numbers then
// keep their digits in a sum down to leastSquares.
func unitOf(ctx context.Context, net consensus.Sums, rows [][]float64) (float64, error) {
	var largest [][]float64
	for _, row := range rows {
		largest = append(largest, []float64{rounded.MaxNorm(row)})
	}
	units, err := sums.Units(ctx, net, largest)
	if err != nil {
		return 0, err
	}
	return units[0] * room, nil
}

var errTooSmall = errors.New("features: a feature varies by less than 1e-16 of another at a node: change its unit")

var errNoNetwork = errors.New("features: need a network")

// agree returns the number of features, or an error at all nodes if the arguments of one cannot be used.
func agree(ctx context.Context, net consensus.Sums, nodes []*kernel.Tasks, fault error) (d int, err error) {
	if fault == nil && len(nodes) > 0 {
		d = nodes[0].Features()
	}
	if err := sums.Agree(ctx, net, fault, nil, nil, d); err != nil {
		return 0, fmt.Errorf("features: %w", err)
	}
	return d, nil
}

// checkNodes returns an error unless all hosted nodes have tasks of one number of features.
func checkNodes(hosted []int, nodes []*kernel.Tasks) error {
	if len(nodes) != len(hosted) {
		return fmt.Errorf("the tasks of %d nodes: this process hosts %d", len(nodes), len(hosted))
	}
	for i, k := range nodes {
		switch {
		case k == nil:
			return fmt.Errorf("node %d has no tasks", hosted[i])
		case k.Features() != nodes[0].Features():
			return fmt.Errorf("node %d has %d features, but node %d has %d", hosted[i], k.Features(), hosted[0],
				nodes[0].Features())
		}
	}
	return nil
}

// checkSizes returns an error that names the first hosted node with a number that is too large or not finite.
func checkSizes(hosted []int, nodes []*kernel.Tasks) error {
	for i, k := range nodes {
		x, y := sizes.Largest(k)
		if !(x <= mostSize && y <= mostSize) {
			return fmt.Errorf("node %d has a feature of %.3g, or a response of %.3g: at most %.3g", hosted[i], x, y,
				mostSize)
		}
	}
	return nil
}

// setDeviations sets the deviations from sums of squares and their freedom, for weights in units of unit^2.
func (s *Scaling) setDeviations(squares []float64, freedom, unit float64) {
	for j, v := range squares {
		s.Deviations[j] = 1
		if v > 0 && freedom > 0 {
			s.Deviations[j] = math.Sqrt(v/freedom) / unit
		}
	}
}

// rootUnit returns a power of two near the root of the largest weight of a task, and 1 if that is 1. Sums of
// weights, and of products with their roots, neither overflow nor underflow if roots are divided by it.
func rootUnit(k *kernel.Tasks, t int) float64 {
	most := 0.0
	for i := range k.Samples(t) {
		most = max(most, k.Weight(t, i))
	}
	return powerOfTwo(math.Sqrt(most))
}

// freedom returns the number of samples that are left to the deviations within tasks: all but one of every
// task that has some, times the mean weight of the task in units of unit^2.
func freedom(k *kernel.Tasks, unit float64) float64 {
	left := 0.0
	for t := range k.Len() {
		n, total := float64(k.Samples(t)), 0.0
		for i := range k.Samples(t) {
			total += k.Weight(t, i) / unit / unit
		}
		if n > 0 {
			left += total * (n - 1) / n
		}
	}
	return left
}

// moments returns the means of the features and responses of every task. It also returns the sums of squares
// of all features about the means of their tasks. The sum is 0 if a feature varies by rounding only.
func moments(k *kernel.Tasks) (means, responses, squares []float64) {
	d := k.Features()
	row := make([]float64, d)
	means, responses, squares = make([]float64, k.Len()*d), make([]float64, k.Len()), make([]float64, d)
	for t := range k.Len() {
		mean, total, y := means[t*d:][:d], 0.0, k.Y(t)
		if len(y) == 0 {
			continue
		}
		unit := rootUnit(k, t)
		for i := range y {
			weight := k.Weight(t, i)
			root := math.Sqrt(weight) / unit // the row and its response have root * unit as a factor
			rounded.AddScaled(mean, root, k.Row(row, t, i))
			responses[t] += float64(root * y[i])
			total += weight / unit / unit
		}
		floats.Scale(1/total, mean)
		floats.Scale(1/unit, mean)
		responses[t] /= total * unit
		for i := range y {
			root := math.Sqrt(k.Weight(t, i))
			for j, v := range k.Row(row, t, i) {
				m := float64(root * mean[j])
				v -= m
				if math.Abs(v) > rounding*math.Abs(m) {
					squares[j] += float64(v * v)
				}
			}
		}
	}
	return means, responses, squares
}

// apply returns the standard form of the tasks of hosted node i. It has the products X_t'X_t and X_t'y_t of
// the rows without their means, times the roots of their weights, and no weights.
func (s *Scaling) apply(i int, k *kernel.Tasks) *kernel.Tasks {
	d, samples := k.Features(), make([]int, k.Len())
	for t := range samples {
		samples[t] = max(k.Samples(t)-1, 0)
	}
	b := kernel.NewBuilder(d, samples, k.Storage())
	for t, n := range samples {
		if n == 0 {
			continue
		}
		rows, roots := s.centre(i, t, k)
		reflect(rows, roots)
		for l, row := range rows[1:] {
			for j := range s.Deviations {
				row[j] /= s.Deviations[j]
			}
			b.SetRow(t, l, row[:d], row[d])
		}
	}
	return b.Tasks()
}

// centre returns the rows of task t of hosted node i without their means, each with its response behind it.
// It also returns the roots of their weights, which are factors of the rows.
func (s *Scaling) centre(i, t int, k *kernel.Tasks) (rows [][]float64, roots []float64) {
	d, y := k.Features(), k.Y(t)
	mean := append(slices.Clone(s.Means[i][t*d:][:d]), s.Responses[i][t])
	left, total, unit := make([]float64, d+1), 0.0, rootUnit(k, t)
	for l := range y {
		root := math.Sqrt(k.Weight(t, l))
		row := make([]float64, d+1)
		k.Row(row[:d], t, l)
		row[d] = y[l]
		for j, m := range mean {
			m = float64(m * root)
			row[j] -= m
			if j < d && math.Abs(row[j]) <= rounding*math.Abs(m) {
				row[j] = 0
			}
		}
		rounded.AddScaled(left, root/unit, row)
		total += float64(root / unit * (root / unit))
		rows, roots = append(rows, row), append(roots, root)
	}
	for l, row := range rows { // the rounding of the means, in the size of the offsets
		rounded.AddScaled(row, -roots[l]/unit/total, left)
	}
	return rows, roots
}

// reflect multiplies rows, from the left, by the reflector that maps roots to a multiple of the first unit
// vector. Centred rows are orthogonal to roots, so that the first of them becomes zero, and belongs to the
// intercept: n rows have n - 1 degrees of freedom. If all rows stayed, rounding would decide on their rank.
func reflect(rows [][]float64, roots []float64) {
	first := roots[0] + rounded.Norm(roots)
	for l, row := range rows[1:] {
		rounded.AddScaled(row, -roots[l+1]/first, rows[0])
	}
}

// Undo returns the estimate of hosted node i in the units of the data, from U_g and the coefficients of its
// tasks in standard form, b_t = b[t*r : (t+1)*r]: an orthonormal u, its coefficients, and the intercept of
// every task, so that
//
//	y_t = X_t u coefficients_t + intercept_t.
func (s *Scaling) Undo(i int, standard *kernel.Basis, b []float64) (
	u *kernel.Basis, coefficients, intercepts []float64) {
	d, r := standard.Dims()
	u = standard.Clone()
	for j := range r {
		floats.Div(u.Col(j), s.Deviations)
	}
	rr := make([]float64, r*r)
	u.Orthonormalize(rr, nil)
	coefficients, intercepts = make([]float64, len(b)), make([]float64, len(b)/r)
	for t := range intercepts {
		from, to := b[t*r:][:r], coefficients[t*r:][:r]
		for i := range r { // to = R from, where R(i,j) = rr[j*r+i]
			for j := i; j < r; j++ {
				to[i] += float64(rr[j*r+i] * from[j])
			}
			to[i] *= s.Unit
		}
		intercepts[t] = s.Responses[i][t]
		for j, c := range to {
			intercepts[t] -= float64(c * rounded.Dot(u.Col(j), s.Means[i][t*d:][:d]))
		}
	}
	return u, coefficients, intercepts
}
