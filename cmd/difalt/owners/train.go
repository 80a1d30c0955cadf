package owners

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
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
func Train(ctx context.Context, tables []*dataset.Table, net *consensus.Network, c Config) (m *model.Model, r *Report, err error) {
	if net == nil || len(tables) != len(net.Hosted()) {
		return nil, nil, errors.New("owners: need a network and one table per node of this process")
	}
	before, s := net.Traffic(), &frame{ctx: ctx, net: net, c: &c}
	err = attempt(func() {
		s.introduce(tables)
		r = &Report{Nodes: net.Len(), TaskCount: s.tasks, Converged: true}
		train := s.train
		if c.Private != nil {
			train = s.trainPrivately
		}
		e := train(r)
		m, err = model.New(s.parameters(e))
		must(err)
		must(net.Confirm(ctx))
	})
	if err != nil {
		return nil, nil, s.judge(err)
	}
	r.Traffic = net.Traffic().Minus(before)
	return m, r, nil
}

// judge returns what an error means. Such an error follows from totals, unless it is one of a node itself, so
// that all nodes have it, unless they have received different ones, which the next sum finds out. Where other
// processes contribute to totals these are wrong.
func (s *frame) judge(err error) error {
	var stop *Stop
	var peer *wire.PeerError
	known := errors.Is(err, wire.ErrContradiction) || errors.Is(err, wire.ErrInconsistent)
	if known || errors.As(err, &stop) || errors.As(err, &peer) || s.net.AllHosted() {
		return err
	}
	if end := attempt(func() { s.check(err) }); errors.Is(end, wire.ErrInconsistent) {
		return end
	}
	return fmt.Errorf("%w: %w", err, wire.ErrContradiction)
}

// introduce checks the configuration and the tables, lets the nodes agree on features, and counts the tasks.
// A task is one of one node: two nodes with a task of one name have two tasks.
func (s *frame) introduce(tables []*dataset.Table) {
	s.stop(s.c.check(s.net.Len()))
	for i, t := range tables {
		g, err := s.c.newNode(i, t)
		s.stop(err)
		s.nodes = append(s.nodes, g)
	}
	s.check(nil)
	s.begin("columns")
	s.features()
	tasks := s.sum(1, func(i int, out []float64) { out[0] = float64(len(s.nodes[i].table.Tasks())) })
	s.tasks = int(tasks[0])
}

// layOut lets the nodes agree on the design, and applies it.
func (s *frame) layOut() {
	s.addCurves(s.standardise())
	s.hold()
}

// train finds the estimate by sums.
func (s *frame) train(r *Report) *estimate {
	s.layOut()
	s.begin("cross-validation")
	base, chosen := s.choose(r)
	s.begin("model")
	last, still := s.alternate([]*span{s.newSpan(folds, nil)}, chosen.rank, &chosen.ridges, lastAlternations, lastIterations)
	if r.Converged = still; !still {
		r.Notes = append(r.Notes, "The directions still moved at the last iteration.")
	}
	mu, c := s.mean(last[0], &chosen.ridges)
	e := s.conclude(&chosen, mu, c, last[0])
	s.score(r, e, base)
	return e
}

// choose returns the best trial of rank 0 and that of the rank with the least error.
func (s *frame) choose(r *Report) (base, chosen trial) {
	if s.c.Rank != nil && *s.c.Rank > s.mostRank() {
		why := fmt.Errorf("the rank is %d: must be at most %d, the number of columns that vary and of tasks but one", *s.c.Rank, s.mostRank())
		must(&Stop{&Error{why, "the rank is too large"}})
	}
	var list []trial
	if s.c.Ridges != nil {
		list = []trial{{*s.c.Rank, *s.c.Ridges, math.NaN()}}
	} else {
		list = s.search()
	}
	best := 0
	for k, t := range list {
		if s.c.Rank == nil && t.loss < list[best].loss || s.c.Rank != nil && t.rank == *s.c.Rank {
			best = k
		}
	}
	for k, t := range list {
		r.Candidates = append(r.Candidates, Candidate{t.rank, math.Sqrt(t.loss) * s.target.Scale, k == best})
	}
	return list[0], list[best]
}

// An estimate is the parameters in units of the standardised target; covariances are in units of the noise.
type estimate struct {
	trial
	span    *span
	mu      []float64
	c       *mat.SymDense // of mu
	theta   [][][]float64 // [node][task], P coefficients
	noise   float64       // variance
	freedom float64       // of the noise
}

// mean returns mu by all rows of the set of a span, and its covariance.
func (s *frame) mean(x *span, r *Ridges) ([]float64, *mat.SymDense) {
	list := s.informations([]*span{x}, r)
	mu, factor, err := list[0].solve(s.penalties(r))
	must(err)
	if _, ok := lapack64.Potri(factor); !ok {
		must(errUnsolvable)
	}
	return mu, mat.NewSymDense(len(mu), factor.Data)
}

// leastNoise is the smallest variance of the noise: targets that the model fits exactly have an error of
// rounding.
const leastNoise = 1e-12

// conclude returns the coefficients of the hosted tasks for a mean with covariance c, and the noise: the sum
// of squared residuals over the rows less the degrees of freedom, the sum of tr X'X Cov(theta_t).
func (s *frame) conclude(t *trial, mu []float64, c *mat.SymDense, x *span) *estimate {
	e, d := &estimate{trial: *t, span: x, mu: mu, c: c, theta: s.theta(x, &t.ridges, mu)}, x.deviations(&t.ridges)
	total := s.sum(2, func(i int, out []float64) {
		g := s.nodes[i]
		floats.Add(out, s.overTasks(g, 2, func(out []float64, k int) error {
			cov, err := x.covariance(&x.tasks[i][k], d, c)
			if err != nil {
				return err
			}
			for row, y := range g.tasks[k].outside(folds) {
				v := mat.NewVecDense(len(row), row)
				out[0] += math.Pow(y-floats.Dot(row, e.theta[i][k]), 2)
				out[1] += mat.Inner(v, cov, v)
			}
			return nil
		}))
	})
	// Cross-validation, whose expected error is about the noise times rows / freedom, corrects for the choice
	// of ridges and rank.
	e.freedom = max(s.rows-total[1], 1)
	squares := total[0]
	if check := t.loss * e.freedom * e.freedom / s.rows; check > squares {
		squares = check
	}
	e.noise = max(squares/e.freedom, leastNoise)
	return e
}

// parameters returns the model of the tasks of this process.
func (s *frame) parameters(e *estimate) model.Parameters {
	p, root, d, u := len(e.mu), math.Sqrt(e.noise), e.span.deviations(&e.ridges), e.span.f
	m := model.Parameters{
		Estimator: "cross-validation", Schema: s.schema.Clone(), Design: s.design, Target: s.target,
		Mean: e.mu, MeanCovariance: pack(e.c, e.noise),
		Prior: model.Prior{
			Deviations: make([]float64, p), Rank: e.rank, Freedom: float64(max(s.tasks-1, 1)),
			Noise: model.Noise{Variance: e.noise, Freedom: e.freedom},
		},
		Tasks: model.Tasks{Column: s.c.TaskColumn},
	}
	m.Prior.Deviations[0] = d[0] * root
	for k, v := range u.Data[p:] {
		m.Prior.Loadings = append(m.Prior.Loadings, v*d[1+k/p]*root)
	}
	var own []*projection
	for i, g := range s.nodes {
		for k, t := range g.tasks {
			m.Tasks.Names = append(m.Tasks.Names, g.table.Tasks()[t.index])
			m.Tasks.Samples = append(m.Tasks.Samples, len(t.rows))
			m.Tasks.Theta = append(m.Tasks.Theta, e.theta[i][k]...)
			own = append(own, &e.span.tasks[i][k])
		}
	}
	m.Tasks.Covariance = func(t int) []float64 {
		cov, _ := e.span.covariance(own[t], d, e.c) // conclude has checked it
		return pack(cov, e.noise)
	}
	return m
}

// pack returns the upper triangle of scale c by rows.
func pack(c *mat.SymDense, scale float64) []float64 {
	packed := make([]float64, 0, model.Triangle(c.SymmetricDim()))
	for i := range c.SymmetricDim() {
		for j := i; j < c.SymmetricDim(); j++ {
			packed = append(packed, scale*c.At(i, j))
		}
	}
	return packed
}
