// Package private computes sums over the tasks of all nodes, and a shared representation, with differential
// privacy, and keeps the account.
//
// The unit of protection is a task with all of its rows: two data sets are neighbours if one of them lacks
// the rows of one task, which still counts as a task. A task adds a vector of length at most 1 to a sum, or
// nothing, so that the sums of neighbours differ by a vector of length at most 1. A total has Gaussian noise
// of standard deviation sigma in every number, and is rho-zero-concentrated private with
//
//	rho = 1 / (2 sigma^2)
//
// (Bun and Steinke, Concentrated differential privacy: simplifications, extensions, and lower bounds, 2016).
// The rho of several totals add up, and everything computed from totals is as private. The number and the
// names of tasks are public.
//
// Epsilon and delta follow from rho as they do for one total with Gaussian noise. The noise has a discrete
// Gaussian distribution with a deviation of at least S = 2^20 grid units. A Gaussian that is rounded to the
// grid, which can only hide more, takes a value at z deviations 1 + (z^2 - 1) / (24 S^2) times as often. For
// 2^30 numbers that changes epsilon by less than 1e-7, but for events of a probability below e^-50.
//
// No node ever has the total without noise: every node adds its share of the noise, of variance sigma^2/L,
// to its own part before that is masked. Vectors are rounded towards zero to multiples of a grid, and shares
// are integers of a discrete Gaussian distribution of 2^20 grid units. So no bit of a total depends on how a
// computer rounds. The sum of L shares is less than e^-10^12 away from one discrete Gaussian. See Kairouz,
// Liu and Steinke, The distributed discrete Gaussian mechanism for federated learning with secure
// aggregation, 2021, theorem 1.
package private

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/settings"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Options of Run. All nodes need equal options, except for Workers.
type Options struct {
	// Rank of the representation, from public knowledge; 0 computes the mean alone.
	Rank int
	// Account has the budget; Run spends all that is left of it.
	Account *Account
	// MeanBound, from public knowledge, is a length that most theta_t do not exceed. Then Run publishes
	// the mean of the theta_t, cut to that length, for a quarter of the budget. U is the representation
	// of the differences from it. 0 assumes that the mean is zero.
	MeanBound float64
	// Workers is the number of threads; 0 is GOMAXPROCS.
	Workers int
}

// A Result is the outcome of Run. Mean, U, Spectrum and the account may be published: they have (epsilon,
// delta) privacy, and so has everything computed from them. B is not private.
type Result struct {
	Mean          []float64     // of the theta_t; nil without MeanBound
	MeanDeviation float64       // the standard deviation of the noise in an entry of Mean
	U             *kernel.Basis // d x r and orthonormal, equal bits at all nodes; nil if Rank is 0
	// Spectrum has the r largest eigenvalues of the published matrix and then the mean of all smaller ones,
	// divided by the number of tasks.
	Spectrum []float64
	// B[i] has the coefficients of the tasks of node Hosted()[i] from their own rows: theta_t = Mean + U b_t
	// with b_t = B[i][t*r : (t+1)*r].
	B     [][]float64
	Tasks int // T, of all nodes
}

// Run computes the representation of all tasks with differential privacy; nodes[i] are the tasks of node
// Hosted()[i]. All nodes call it together. Every node computes the direction of the coefficients of each
// task, c_t = theta_t / |theta_t|,
//
//	theta_t = (X_t'X_t + ridge_t I)^-1 X_t'y_t,
//
// with ridge_t from the likelihood of the task alone. The nodes add up c_t c_t', each of length 1, with
// noise, so that the sensitivity of the sum is known without clipping. U spans the r leading eigenvectors of
// the total. Then every node fits its own b_t, with a ridge for their spread in each direction, from Spectrum
// and the likelihood of its tasks.
//
// Run neither scales nor centres features: they should be of about one size, by public knowledge. It clips
// features and responses to 1e30 in size, and those below 1e-30 to 0, so that no task ends a run. An error
// after the first total is a *SpentError; one about totals that cannot be wraps consensus.ErrContradiction.
func Run(ctx context.Context, nodes []*kernel.Tasks, net *consensus.Network, o Options) (*Result, error) {
	if net == nil {
		return nil, errors.New("private: need a network")
	}
	nodes = clip(nodes)
	if err := errors.Join(kernel.CheckEnvironment(), o.validate(nodes, net.Hosted())); err != nil {
		return nil, fmt.Errorf("private: %w", err)
	}
	tasks, err := o.compare(ctx, nodes, net)
	if err != nil {
		return nil, o.Account.Ended(err)
	}
	pool := kernel.NewPool(o.Workers)
	defer pool.Close()
	s := &run{net: net, pool: pool, nodes: nodes, account: o.Account, res: &Result{Tasks: tasks}}
	if err := s.find(ctx, &o); err != nil {
		return nil, o.Account.Ended(err)
	}
	return s.res, nil
}

// find publishes the mean and the basis of the options, and confirms the totals.
func (s *run) find(ctx context.Context, o *Options) error {
	if o.MeanBound > 0 {
		if err := s.findMean(ctx, o); err != nil {
			return err
		}
	}
	if o.Rank > 0 {
		if err := s.findBasis(ctx, o.Rank); err != nil {
			return err
		}
	}
	return s.net.Confirm(ctx)
}

// validate checks everything that this process can see.
func (o *Options) validate(nodes []*kernel.Tasks, hosted []int) error {
	p := difalt.Problem{Nodes: nodes}
	if err := p.Validate(hosted, o.Rank); err != nil {
		return err
	}
	run := difalt.Options{Rank: max(o.Rank, 1), Workers: o.Workers}
	if err := run.Validate(nodes[0].Features(), 0); err != nil {
		return err
	}
	switch {
	case !(o.MeanBound >= 0) || math.IsInf(o.MeanBound, 0):
		return &difalt.ParameterError{Name: "MeanBound", Value: o.MeanBound, Why: "must be finite, and not negative"}
	case o.Rank < 0 || o.Rank == 0 && o.MeanBound == 0:
		const why = "must be at least 1: a choice from the data would cost budget"
		return &difalt.ParameterError{Name: "Rank", Value: o.Rank, Why: why}
	case o.Account == nil:
		return &difalt.ParameterError{Name: "Account", Value: nil, Why: "is the budget, which Run needs"}
	}
	return nil
}

// compare checks that all nodes have equal options, and returns the number of tasks. No message depends on
// rows.
func (o *Options) compare(ctx context.Context, nodes []*kernel.Tasks, net *consensus.Network) (tasks int, err error) {
	var list []consensus.Setting
	for _, v := range []struct {
		name  string
		value any
	}{
		{"Rank", o.Rank}, {"MeanBound", o.MeanBound}, {"Account", o.Account},
		{"the number of features", nodes[0].Features()},
	} {
		list = append(list, consensus.Setting{Name: v.name, Value: fmt.Sprint(v.value)})
	}
	same := settings.Digits(list)
	rows := make([][]float64, len(nodes))
	for i, k := range nodes {
		rows[i] = append(slices.Clone(same), float64(k.Len()))
	}
	if err := net.Sum(ctx, rows); err != nil {
		return 0, err
	}
	n := len(same)
	if !settings.Alike(rows[0][:n], net.Len()) {
		return 0, fmt.Errorf("private: %w", settings.Difference(ctx, net, list))
	}
	least := net.Len() - len(nodes) // a task of every other node
	for _, k := range nodes {
		least += k.Len()
	}
	const most = 1 << 31 // tasks
	if all := rows[0][n]; !(all >= float64(least) && all <= most && all == math.Trunc(all)) {
		const format = "private: all nodes have %v tasks, but at least %d exist: %w"
		return 0, fmt.Errorf(format, all, least, consensus.ErrContradiction)
	}
	return int(rows[0][n]), nil
}

// A run is a call of Run.
type run struct {
	net     *consensus.Network
	pool    *kernel.Pool
	nodes   []*kernel.Tasks
	account *Account
	res     *Result
}

// eachTask returns the results of f for every task, by hosted node and task, and the number of tasks of every
// hosted node.
func (s *run) eachTask(f func(k *kernel.Tasks, t int) []float64) (out [][][]float64, tasks []int) {
	for _, k := range s.nodes {
		list := make([][]float64, k.Len())
		s.pool.Run(func(w int) {
			for t := w; t < k.Len(); t += s.pool.Workers() {
				list[t] = f(k, t)
			}
		})
		out, tasks = append(out, list), append(tasks, k.Len())
	}
	return out, tasks
}

// sum is Account.Sum. Without noise no number of a total exceeds the number of tasks in magnitude: a larger
// one contradicts the number of tasks.
func (s *run) sum(
	ctx context.Context, what string, rho float64, tasks []int, n int, vector func(i, t int, v []float64),
) (*Total, error) {
	const sure = 40 // standard deviations, which noise never reaches
	total, err := s.account.Sum(ctx, s.net, what, rho, tasks, n, vector)
	if err != nil {
		return nil, err
	}
	for _, v := range total.Values {
		if most := float64(s.res.Tasks) + float64(sure*total.Deviation); !(math.Abs(v) <= most) {
			const format = "private: %s has a number of %.3g, of %d tasks: %w"
			return nil, fmt.Errorf(format, what, v, s.res.Tasks, consensus.ErrContradiction)
		}
	}
	return total, nil
}

// meanPasses is the number of estimates of the mean. Each one reduces the bias that the ridges of the
// previous one have caused.
const meanPasses = 2

// findMean publishes the mean of the theta_t and subtracts its part from the responses.
func (s *run) findMean(ctx context.Context, o *Options) error {
	d := s.nodes[0].Features()
	rho := s.account.Left() / meanPasses
	if o.Rank > 0 {
		rho /= 4
	}
	s.res.Mean = make([]float64, d)
	for range meanPasses {
		thetas, tasks := s.eachTask(estimate)
		scaled := func(i, t int, v []float64) {
			for j, x := range thetas[i][t] {
				v[j] = x / o.MeanBound
			}
		}
		total, err := s.sum(ctx, "the mean of the coefficients", rho, tasks, d, scaled)
		if err != nil {
			return err
		}
		unit := o.MeanBound / float64(s.res.Tasks)
		floats.Scale(unit, total.Values)
		floats.Add(s.res.Mean, total.Values)
		s.res.MeanDeviation = unit * total.Deviation
		for i, k := range s.nodes {
			s.nodes[i] = without(k, total.Values)
		}
	}
	return nil
}

// findBasis publishes the sum of c_t c_t', and fits the coefficients of the hosted nodes.
func (s *run) findBasis(ctx context.Context, r int) error {
	d := s.nodes[0].Features()
	directions, tasks := s.eachTask(direction)
	outer := func(i, t int, v []float64) { packOuter(v, directions[i][t]) }
	const what = "the directions of the coefficients"
	total, err := s.sum(ctx, what, s.account.Left(), tasks, d*(d+1)/2, outer)
	if err != nil {
		return err
	}
	if err := s.res.read(total, d, r); err != nil {
		return err
	}
	s.res.B = make([][]float64, len(s.nodes))
	loadings := s.res.loadings()
	s.pool.Run(func(w int) {
		for i := w; i < len(s.nodes); i += s.pool.Workers() {
			s.res.B[i] = fitOwn(s.nodes[i], loadings)
		}
	})
	return nil
}

// packOuter sets v to the upper triangle of c c' by rows. Entries off the diagonal, which stand for two, are
// multiplied by sqrt(2), so that |v| = |c|^2.
func packOuter(v, c []float64) {
	at := 0
	for i, x := range c {
		v[at] = x * x
		for j, y := range c[i+1:] {
			v[at+1+j] = math.Sqrt2 * x * y
		}
		at += len(c) - i
	}
}

// read sets U and Spectrum from the published sum.
func (res *Result) read(total *Total, d, r int) error {
	m, at := mat.NewSymDense(d, nil), 0
	for i := range d {
		for j := i; j < d; j++ {
			v := total.Values[at]
			if j > i {
				v /= math.Sqrt2
			}
			m.SetSym(i, j, v)
			at++
		}
	}
	var e mat.EigenSym
	if !e.Factorize(m, true) {
		const format = "private: the published sum has no eigenvectors: %w"
		return fmt.Errorf(format, consensus.ErrContradiction)
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	values := e.Values(nil)
	res.U = kernel.NewBasis(d, r)
	tasks := float64(res.Tasks)
	for j := range r {
		mat.Col(res.U.Col(j), d-1-j, &vectors)
		res.Spectrum = append(res.Spectrum, values[d-1-j]/tasks)
	}
	rest := 0.0
	for _, v := range values[:d-r] {
		rest += v / tasks / float64(d-r)
	}
	res.Spectrum = append(res.Spectrum, rest)
	return nil
}
