package owners

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Train trains on the tables of all nodes of a network; tables[i] is that of node net.Hosted()[i]. All
// processes call it alike, with equal [Settings]. The models of all processes have the same parameters with
// the same bits, but for private training, and each has the tasks of its own process. An error that stops
// all nodes at once is a *Stop; it wraps an *Error for a fault of this process, ctx.Err() when ctx has
// ended, and nothing when another node stopped. wire.ErrContradiction is in the chain of errors about totals
// that cannot be. Train does not change the tables.
func Train(ctx context.Context, tables []*dataset.Table, net *consensus.Network, c Config) (*model.Model, *Report, error) {
	if net == nil || len(tables) != len(net.Hosted()) {
		return nil, nil, errors.New("owners: need a network and one table per node of this process")
	}
	if c.Folds == 0 {
		c.Folds = defaultFolds
	}
	before := net.Traffic()
	s := &frame{group: &group{net: net}, c: &c, tables: tables}
	fault := c.check(net)
	for i, t := range tables {
		if fault == nil {
			fault = c.checkTable(i, t)
		}
	}
	if err := s.check(ctx, fault); err != nil {
		return nil, nil, err
	}
	if err := s.introduce(ctx); err != nil {
		return nil, nil, err
	}
	r := &Report{Folds: c.Folds, Nodes: net.Len(), TaskCount: s.tasks, Converged: true}
	train := s.train
	if c.Private != nil {
		train = s.trainPrivately
	}
	m, err := train(ctx, r)
	if err == nil {
		err = net.Confirm(ctx)
	}
	if err != nil {
		return nil, nil, s.judge(ctx, err)
	}
	r.Traffic = net.Traffic().Minus(before)
	return m, r, nil
}

// judge returns what an error after the own tables have been checked means. Such an error follows from
// totals, so that all nodes have it, unless they have received different ones, which the next sum finds out.
// Where other processes contribute to totals these are wrong.
func (s *frame) judge(ctx context.Context, err error) error {
	var stop *Stop
	var peer *wire.PeerError
	known := errors.Is(err, wire.ErrContradiction) || errors.Is(err, wire.ErrInconsistent)
	if known || errors.As(err, &stop) || errors.As(err, &peer) || s.net.AllHosted() {
		return err
	}
	if end := s.check(ctx, err); errors.Is(end, wire.ErrInconsistent) {
		return end
	}
	return fmt.Errorf("%w: %w", err, wire.ErrContradiction)
}

// introduce lets the nodes agree on features and tasks.
func (s *frame) introduce(ctx context.Context) (err error) {
	s.begin("columns", 0, 1)
	if err = s.features(ctx); err != nil {
		return err
	}
	var names [][]string
	for _, t := range s.tables {
		names = append(names, t.Tasks())
	}
	s.tasks, err = s.distinct(ctx, names)
	return err
}

func (s *frame) workers() int {
	if s.c.Workers > 0 {
		return s.c.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// train finds the model by sums.
func (s *frame) train(ctx context.Context, r *Report) (*model.Model, error) {
	size, err := s.standardise(ctx)
	if err == nil {
		err = s.addCurves(ctx, size)
	}
	if err != nil {
		return nil, err
	}
	s.hold()
	s.begin("cross-validation", 0, .25)
	base, chosen, rank, err := s.choose(ctx, r)
	if err != nil {
		return nil, err
	}
	s.begin("model", 0, 1)
	last, still, err := s.alternate(ctx, s.noStart(s.c.Folds), rank, &chosen.ridges, lastAlternations, lastIterations)
	if err != nil {
		return nil, err
	}
	if r.Converged = still; !still {
		r.Notes = append(r.Notes, "The directions still moved at the last iteration.")
	}
	e, err := s.estimate(ctx, &chosen, last[0])
	if err != nil {
		return nil, err
	}
	if err := s.score(ctx, r, e, base); err != nil {
		return nil, err
	}
	return model.New(s.parameters(e))
}

// choose returns the candidate of rank 0, the chosen one and its rank.
func (s *frame) choose(ctx context.Context, r *Report) (base, chosen trial, rank int, err error) {
	if s.c.Rank != nil && *s.c.Rank > s.mostRank() {
		why := fmt.Errorf("the rank is %d: must be at most %d, the number of columns that vary and of tasks but one", *s.c.Rank, s.mostRank())
		return base, chosen, 0, &Stop{&Error{why, "the rank is too large"}}
	}
	if s.c.Ridges != nil {
		chosen = trial{*s.c.Ridges, math.NaN()}
		r.Candidates = []Candidate{{*s.c.Rank, chosen.ridges, math.NaN(), true}}
		return chosen, chosen, *s.c.Rank, nil
	}
	list, ranks, err := s.search(ctx)
	if err != nil {
		return base, chosen, 0, err
	}
	best := 0
	for k, t := range list {
		if s.c.Rank != nil && ranks[k] == *s.c.Rank || s.c.Rank == nil && t.loss < list[best].loss {
			best = k
		}
	}
	for k, t := range list {
		r.Candidates = append(r.Candidates, Candidate{ranks[k], t.ridges, math.Sqrt(t.loss) * s.target.Scale, k == best})
	}
	return list[0], list[best], ranks[best], nil
}

// An estimate is the parameters in units of the standardised target.
type estimate struct {
	prior      *mixedmodel.Prior
	mu         []float64
	covariance []float64     // of mu, P x P
	theta      [][][]float64 // [node][task], P coefficients
	freedom    float64       // of the noise
}

// estimate finds mu and the coefficients by all training rows.
func (s *frame) estimate(ctx context.Context, t *trial, x *span) (*estimate, error) {
	list, err := s.informations(ctx, []*span{x}, &t.ridges)
	if err != nil {
		return nil, err
	}
	mu, factor, err := list[0].solve(s.penalties(&t.ridges))
	if err != nil {
		return nil, err
	}
	c, ok := lapack64.Potri(factor)
	if !ok {
		return nil, errUnsolvable
	}
	for i := range mu {
		for j := range i {
			c.Data[i*len(mu)+j] = c.Data[j*len(mu)+i]
		}
	}
	return s.conclude(ctx, t, mu, c.Data, x.u)
}

// leastNoise is the smallest variance of the noise: targets that the model fits exactly have an error of
// rounding.
const leastNoise = 1e-12

// conclude returns the coefficients of the hosted tasks for a mean with covariance c, in units of the noise,
// and the noise: the sum of squared residuals over the rows less the degrees of freedom, the sum of tr X'X
// Cov(theta_t).
func (s *frame) conclude(ctx context.Context, t *trial, mu, c []float64, u *kernel.Basis) (*estimate, error) {
	s.tick()
	e, z := &estimate{prior: s.prior(&t.ridges, u), mu: mu, covariance: c}, s.zeros(2)
	for i, h := range s.held {
		theta := make([][]float64, len(h.tasks))
		z[i] = s.sumTasks(2, h, e.prior, func(out []float64, k int, solver *mixedmodel.Solver, rows *mixedmodel.Task) {
			theta[k] = make([]float64, len(mu))
			cov := make([]float64, len(c))
			solver.Coefficients(theta[k], cov, mu, c)
			out[0] += rows.Residual(theta[k])
			out[1] += trace(rows, cov)
		})
		e.theta = append(e.theta, theta)
	}
	total, err := s.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	// Cross-validation, whose expected error is about the noise times rows / freedom, corrects for the choice
	// of ridges and rank.
	e.freedom = max(s.rows-total[1], 1)
	squares := total[0]
	if check := t.loss * e.freedom * e.freedom / s.rows; check > squares {
		squares = check
	}
	e.prior.Noise = max(squares/e.freedom, leastNoise)
	floats.Scale(math.Sqrt(e.prior.Noise), e.prior.Deviations)
	floats.Scale(math.Sqrt(e.prior.Noise), e.prior.Loadings)
	floats.Scale(e.prior.Noise, e.covariance)
	return e, nil
}

// trace returns tr X'X c of a symmetric c.
func trace(rows *mixedmodel.Task, c []float64) (sum float64) {
	p := int(math.Sqrt(float64(len(c))))
	if rows.G != nil { // the upper triangle
		for i := range p {
			sum += rows.G[i*p+i]*c[i*p+i] + 2*floats.Dot(rows.G[i*p+i+1:(i+1)*p], c[i*p+i+1:(i+1)*p])
		}
		return sum
	}
	m := mat.NewDense(p, p, c)
	for x := rows.X; len(x) > 0; x = x[p:] {
		v := mat.NewVecDense(p, x[:p])
		sum += mat.Inner(v, m, v)
	}
	return sum
}

// parameters returns the model of the tasks of this process.
func (s *frame) parameters(e *estimate) model.Parameters {
	p := len(e.mu)
	m := model.Parameters{
		Estimator: "cross-validation", Schema: s.schema.Clone(), Design: s.design, Target: s.target,
		Mean: e.mu, MeanCovariance: make([]float64, model.Triangle(p)),
		Prior: model.Prior{
			Deviations: e.prior.Deviations, Rank: e.prior.Rank, Loadings: e.prior.Loadings, Freedom: float64(max(s.tasks-1, 1)),
			Noise: model.Noise{Variance: e.prior.Noise, Freedom: e.freedom},
		},
		Tasks: model.Tasks{Column: s.c.TaskColumn},
	}
	pack(m.MeanCovariance, e.covariance, p)
	type place struct{ node, task int }
	var places []place
	for i, h := range s.held {
		for t, k := range h.tasks {
			m.Tasks.Names = append(m.Tasks.Names, s.tables[h.table].Tasks()[k])
			m.Tasks.Samples = append(m.Tasks.Samples, len(h.rows[t]))
			m.Tasks.Theta = append(m.Tasks.Theta, e.theta[i][t]...)
			places = append(places, place{i, t})
		}
	}
	m.Tasks.CovarianceOf = func(t int, packed []float64) {
		solver, theta, cov := mixedmodel.NewSolver(e.prior), make([]float64, p), make([]float64, p*p)
		at := places[t]
		if err := solver.Set(s.held[at.node].all(at.task, p)); err != nil { // as wide as that of an unseen task
			cov = e.prior.Covariance()
			floats.Add(cov, e.covariance)
		} else {
			solver.Coefficients(theta, cov, e.mu, e.covariance)
		}
		pack(packed, cov, p)
	}
	return m
}

// pack copies the upper triangle of a p x p matrix by rows.
func pack(packed, full []float64, p int) {
	for i := range p {
		packed = packed[copy(packed, full[i*p+i:(i+1)*p]):]
	}
}
