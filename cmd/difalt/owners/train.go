package owners

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A frame is the nodes of this process, and the facts that all nodes agree on before the estimation.
type frame struct {
	ctx    context.Context // of Train
	net    *consensus.Network
	c      *Config
	nodes  []*node
	schema *mixed.Schema // of all nodes
	level  []bool        // of every agreed feature: it is one of a categorical column
	design mixed.Design
	target mixed.Target
	rows   float64   // for training, of all nodes
	tasks  int       // of all nodes
	slopes []float64 // given mu of private training; nil: from sums
	alone  bool      // sums are over the nodes of this process, and nothing is sent
	stage  string    // for Config.Progress
	done   float64   // share of the stage; every sum completes a part of the rest
}

// Train trains on the tables of all nodes of a network; tables[i] is that of node net.Hosted()[i]. All
// processes call it alike, with equal [Settings]. The models of all processes have the same parameters with
// the same bits, but for private training, and each has the tasks of its own tables, whose names must differ.
//
// A node that ends with an error, or whose context ends, must leave the network, so that the others end,
// too. A fault of the table or the options is an *Error; consensus.ErrContradiction is in the chain of
// errors about totals that cannot be. Train does not change the tables.
func Train(ctx context.Context, tables []*dataset.Table, net *consensus.Network, c Config) (m *mixed.Model,
	r *Report, err error) {
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
		if m, err = mixed.New(s.parameters(e)); err != nil {
			must(&Error{err, "its tasks cannot be kept"})
		}
		must(net.Confirm(ctx))
	})
	if err != nil {
		return nil, nil, s.judge(err)
	}
	r.Traffic = net.Traffic().Minus(before)
	return m, r, nil
}

// introduce checks the configuration and the tables, lets the nodes agree on features, and counts the tasks.
// A task is one of one node: two nodes with a task of one name have two tasks.
func (s *frame) introduce(tables []*dataset.Table) {
	if err := s.c.check(s.net.Len()); err != nil {
		must(&Error{err, "its options cannot be used"})
	}
	for i, t := range tables {
		g, err := s.c.newNode(i, t)
		if err != nil && len(tables) > 1 {
			err = fmt.Errorf("table %d: %w", i+1, err)
		}
		if public := new(Error); err != nil && !errors.As(err, &public) {
			err = &Error{err, "its table cannot be used"}
		}
		must(err)
		s.nodes = append(s.nodes, g)
	}
	s.stage = Stages[0]
	s.features()
	s.tasks = int(s.sum(1, func(i int, out []float64) { out[0] = float64(len(tables[i].Tasks())) })[0])
}

// train finds the estimate by sums.
func (s *frame) train(r *Report) *estimate {
	s.addCurves(s.standardise())
	s.hold()
	s.stage, s.done = Stages[1], 0
	if s.c.Rank != nil && *s.c.Rank > s.mostRank() {
		const format = "the rank is %d: must be at most %d, the number of columns that vary and of tasks but one"
		why := fmt.Errorf(format, *s.c.Rank, s.mostRank())
		must(&Error{why, "the rank is too large"})
	}
	list := s.search()
	best := len(list) - 1
	for k, t := range list {
		if s.c.Rank == nil && t.loss < list[best].loss {
			best = k
		}
	}
	for k, t := range list {
		r.Candidates = append(r.Candidates, Candidate{t.rank, math.Sqrt(t.loss) * s.target.Scale, k == best})
	}
	s.stage, s.done = Stages[2], 0
	last, still := s.alternate([]basis{{set: folds}}, list[best].rank, &list[best].ridges, alternations, lastIterations)
	if r.Converged = still; !still {
		r.Notes = append(r.Notes, "The directions still moved at the last iteration.")
	}
	e := s.estimate(&list[best], last[0])
	s.score(r, e, &list[0])
	return e
}

// An estimate is the parameters in units of the standardised target.
type estimate struct {
	*span
	mu    []float64
	c     *mat.SymDense // of mu, in units of the noise
	noise float64       // variance
	flat  optimum       // mu with hardly any ridge, and its covariance as the factor
}

// leastNoise is the smallest variance of the noise: targets that the model fits exactly have an error of
// rounding.
const leastNoise = 1e-12

// Prior standard deviations of the entries of mu among the effects, in deviations of the target: linear ones,
// and those of curves at least.
const flatLinear, flatCurve = 30, .3

// estimate returns mu by all rows of a set, its covariance, and the noise. If the ridges are the ratios of
// variances, the expectation of the least objective is the noise times the number of rows but one. The error
// of cross-validation bounds the noise.
func (s *frame) estimate(t *trial, b basis) *estimate {
	x := s.span(b, &t.ridges)
	information := s.informations([]*span{x})[0]
	o, err := s.solve(information, &t.ridges)
	must(err)
	e := &estimate{span: x, mu: o.mu, c: mat.NewSymDense(len(o.mu), o.factor.Data), noise: o.value / max(s.rows-1, 1)}
	if t.loss < e.noise {
		e.noise = t.loss
	}
	e.noise = max(e.noise, leastNoise)
	lapack64.Potri(o.factor) // shares the memory of c
	weak := func(deviation float64) float64 { return max(e.noise/(deviation*deviation), 1e-9*s.rows) }
	e.flat, err = s.solve(information, &ridges{linear: weak(flatLinear), curve: min(t.ridges[curve], weak(flatCurve))})
	must(err)
	lapack64.Potri(e.flat.factor)
	return e
}

// parameters returns the model of the tasks of this process.
func (s *frame) parameters(e *estimate) mixed.Parameters {
	p := len(e.mu)
	scaled := func(v []float64, scale float64) []float64 { return floats.ScaleTo(make([]float64, len(v)), scale, v) }
	m := mixed.Parameters{
		Estimator: "cross-validation", Schema: *s.schema, Design: s.design, Target: s.target, Mean: e.mu,
		MeanCovariance: scaled(dense.Pack(nil, p, e.c.RawSymmetric().Data), e.noise),
		Prior: mixed.Prior{
			Deviations: make([]float64, p), Rank: e.f.Rows - 1, Loadings: scaled(e.f.Data[p:], math.Sqrt(e.noise)),
			Freedom: float64(max(s.tasks-1, 1)), Noise: mixed.Noise{Variance: e.noise, Freedom: max(s.rows-1, 1)},
		},
		Tasks: mixed.Tasks{Column: s.c.TaskColumn},
	}
	if s.c.Private == nil {
		m.Effects = &mixed.Estimate{Mean: e.flat.mu, Freedom: m.Prior.Freedom,
			Covariance: scaled(dense.Pack(nil, p, e.flat.factor.Data), e.noise)}
	}
	m.Prior.Deviations[0] = e.f.Data[0] * math.Sqrt(e.noise)
	var own []*task
	for i, g := range s.nodes {
		for k := range g.tasks {
			t := &g.tasks[k]
			own = append(own, t)
			m.Tasks.Theta = append(m.Tasks.Theta, e.theta(i, k, dense.General(1, p, e.mu)).Data...)
			m.Tasks.Names = append(m.Tasks.Names, g.table.Tasks()[t.index])
			m.Tasks.Samples = append(m.Tasks.Samples, t.from[folds])
		}
	}
	c := scaled(mat.DenseCopyOf(e.c).RawMatrix().Data, e.noise)
	if len(own) > mixed.MostCovariances/dense.Triangle(p) {
		return m
	}
	for t := range own {
		x, y := own[t].set(folds)
		data := mixed.Task{Rows: len(y), G: make([]float64, p*p), C: make([]float64, p)}
		data.AddRows(x.Data, y)
		var solver mixed.Solver
		theta, covariance := make([]float64, p), make([]float64, p*p)
		_ = solver.Set(&m.Prior, &data) // it was solved before
		solver.Coefficients(theta, covariance, e.mu, c)
		m.Tasks.Covariances = append(m.Tasks.Covariances, dense.Pack(nil, p, covariance))
	}
	return m
}

// A method has the coefficients of the tasks that follow from a span and a mean.
type method struct {
	name  string
	ridge float64
	*span
	mu []float64
}

// score compares the model with simpler methods on the held-out rows of all nodes: a sum of 13 numbers a
// method. Without held-out rows only the model has a score, and nothing else is computed.
func (s *frame) score(r *Report, e *estimate, base *trial) {
	methods := []method{{fit.Ours, 0, e.span, e.mu}}
	held := s.sum(1, func(i int, out []float64) {
		for _, t := range s.nodes[i].tasks {
			out[0] += float64(len(t.y) - 2*t.from[folds])
		}
	})
	if held[0] > 0 {
		methods = s.baselines(methods, base)
	}
	total := s.sum(fit.ScoreSize*len(methods), func(i int, out []float64) {
		for k := range s.nodes[i].tasks {
			s.errors(i, k, methods).AddTo(out)
		}
	})
	for _, m := range methods {
		r.Scores = append(r.Scores, fit.Score{Method: m.name, Ridge: m.ridge})
	}
	r.Verdict = fit.Summarise(r.Scores, total, s.target.Scale)
	r.Tasks = func(yield func(fit.TaskScore) bool) {
		for i, g := range s.nodes {
			for k, t := range g.tasks {
				if !yield(s.errors(i, k, methods).Score(g.table.Tasks()[t.index], s.target.Scale)) {
					return
				}
			}
		}
	}
}

// errors returns the errors of all methods on the rows of a task of node i.
func (s *frame) errors(i, k int, methods []method) fit.TaskErrors {
	t, p, out := &s.nodes[i].tasks[k], s.design.Width(), make(fit.TaskErrors, len(methods))
	n := t.from[folds]
	for m, method := range methods {
		theta := method.theta(i, k, dense.General(1, p, method.mu)).Data
		for row, y := range t.y {
			z := t.x[row*p:][:p] // the constant is the root of the weight
			if estimate := floats.Dot(z, theta); row < n {
				out[m][0].Add(y/z[0], estimate/z[0])
			} else if row >= 2*n {
				out[m][1].Add(y, estimate)
			}
		}
	}
	return out
}

// baselines appends the simpler methods: one ridge regression of all tasks with intercepts, one of every task
// by itself on the linear columns, with ridges by cross-validation, and the mean of the task. The latter two
// are deviations from a mean of 0, with almost free intercepts, along all columns or none.
func (s *frame) baselines(list []method, base *trial) []method {
	none, zero, grid := basis{set: folds}, make([]float64, s.design.Width()), []float64{1, 10, 100}
	each := kernel.NewBasis(len(s.level), len(s.level))
	for j := range s.level {
		each.Col(j)[j] = 1
	}
	common, free := s.estimate(base, none), ridges{intercept: 1e-6}
	total := s.sum(len(grid), func(i int, out []float64) {
		for k, ridge := range grid {
			free[direction] = ridge
			for _, b := range bases(each) {
				floats.Add(out[k:k+1], s.losses(i, s.span(b, &free), dense.General(1, len(zero), zero)))
			}
		}
	})
	free[direction] = grid[floats.MinIdx(total)]
	return append(list,
		method{fit.Intercepts, base.ridges[linear], common.span, common.mu},
		method{fit.Separate, free[direction], s.span(basis{folds, each}, &free), zero},
		method{fit.TaskMean, 0, s.span(none, &free), zero})
}
