package owners

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/reduce"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

const (
	// searchedRank is the largest rank that is compared.
	searchedRank = 3
	// Alternations of U and mu for the model, and iterations of difalt in an alternation, in cross-validation
	// and for the model.
	alternations, trialIterations, lastIterations = 30, 12, 60
	// Alternations end when the penalised objective falls by no more than this part of itself.
	tolerance = 1e-6
)

// ridges are the strengths of the penalties, for a target of standard deviation 1.
type ridges [4]float64

// The entries of ridges.
const (
	intercept = iota // l0, of a_t^2
	linear           // l1, of the squares of mu at linear columns
	curve            // l1s, of the squares of mu at curve columns
	direction        // l2, of |b_t|^2
)

// grids are the values that the search tries for each of the ridges.
var grids = [...][]float64{
	intercept: {.01, .03, .1, .3, 1, 3, 10, 30, 100, 300},
	linear:    {.01, .1, 1, 10, 100, 1000},
	curve:     {.001, .01, .1, 1, 10, 100, 1000},
	direction: {100, 30, 10, 3, 1, .3, .1},
}

// start holds the first ridges of a search.
var start = ridges{1, 10, 10, 1}

// A trial is the ridges for a rank with the least squared error of cross-validation, per row.
type trial struct {
	rank   int
	ridges ridges
	loss   float64
}

// bases returns U for every fold.
func bases(u *kernel.Basis) (list []basis) {
	for f := range folds {
		list = append(list, basis{f, u})
	}
	return list
}

// search returns the best trial of rank 0 and of every rank that is compared. Of a rank, it takes the
// directions from large ridges, where they are the first ones of the tasks' slopes, to small ones.
func (s *frame) search() []trial {
	list := []trial{s.scan(bases(nil), intercept, start, grids[intercept]...)}
	from, to := 1, min(searchedRank, s.mostRank())
	if s.c.Rank != nil {
		from, to = max(*s.c.Rank, 1), *s.c.Rank
	}
	for rank := from; rank <= to; rank++ {
		best, u, r := trial{loss: math.Inf(1)}, bases(nil), list[len(list)-1].ridges
		us := u
		for _, r[direction] = range grids[direction] {
			u, _ = s.alternate(u, rank, &r, 1, trialIterations)
			t := s.try(u, r)
			if r = t.ridges; t.loss < best.loss {
				best, us = t, u
			} else if t.loss > 1.05*best.loss {
				break
			}
		}
		for _, factors := range [][]float64{{.01, .1, 1, 10, 100}, {.3, 1, 3}} {
			values := floats.ScaleTo(factors, best.ridges[intercept], factors)
			us, _ = s.alternate(us, rank, &best.ridges, 1, trialIterations)
			if t := s.scan(us, intercept, best.ridges, values...); t.loss < best.loss {
				best = t
			}
		}
		list = append(list, best)
		if n := len(list); n > 2 && best.loss > list[n-2].loss {
			break
		}
	}
	return list
}

// mostRank bounds the rank by the columns that vary and the tasks.
func (s *frame) mostRank() int {
	varying := floats.Count(func(scale float64) bool { return scale > 0 }, s.design.Scale)
	return max(min(varying, s.tasks-1), 0)
}

// scan returns the best trial over values of one ridge.
func (s *frame) scan(list []basis, ridge int, r ridges, values ...float64) trial {
	best := trial{loss: math.Inf(1)}
	for _, v := range values {
		r[ridge] = v
		if t := s.try(list, r); t.loss < best.loss {
			best, r = t, t.ridges
		}
	}
	return best
}

// try returns, for given l0 and l2, the l1 and l1s on their grids with the least error of cross-validation.
// With directions they are those next to r, but for the largest l2. Two sums.
func (s *frame) try(list []basis, r ridges) trial {
	around := func(ridge int) []float64 {
		return slices.DeleteFunc(slices.Clone(grids[ridge]), func(v float64) bool {
			return list[0].u != nil && r[direction] < grids[direction][0] && math.Abs(math.Log10(v/r[ridge])) > 1.1
		})
	}
	spans, best, lines, bends := s.spans(list, &r), trial{loss: math.Inf(1)}, around(linear), around(curve)
	if s.slopes != nil {
		lines = lines[:1]
	}
	if s.design.Curves == nil {
		bends = bends[:1]
	}
	var candidates []ridges
	for _, r[linear] = range lines {
		for _, r[curve] = range bends {
			candidates = append(candidates, r)
		}
	}
	p, n, informations := s.design.Width(), len(candidates), s.informations(spans)
	means := make([]float64, len(spans)*n*p) // of every span and candidate
	_, err := reduce.Sum(s.c.Workers, len(spans)*n, 0, func(_ []float64, from, to int) error {
		for k := from; k < to; k++ {
			o, err := s.solve(informations[k/n], &candidates[k%n])
			if err != nil {
				return err
			}
			copy(means[k*p:], o.mu)
		}
		return nil
	})
	must(err)
	total := s.sum(n, func(i int, out []float64) {
		for f, x := range spans {
			floats.Add(out, s.losses(i, x, dense.General(n, p, means[f*n*p:][:n*p])))
		}
	})
	for k, v := range total {
		if v /= s.rows; v < best.loss {
			best = trial{spans[0].f.Rows - 1, candidates[k], v}
		}
	}
	return best
}

// informations adds up the normal equations of mu of several spans over all nodes: for each the upper
// triangle of M, h and the objective for mu = 0.
func (s *frame) informations(spans []*span) (list [][]float64) {
	p := s.design.Width()
	length := dense.Triangle(p) + p + 1
	total := s.sum(len(spans)*length, func(i int, out []float64) {
		for k, x := range spans {
			s.addInformation(out[k*length:][:length], i, x)
		}
	})
	return slices.Collect(slices.Chunk(total, length))
}

// An optimum is the mean that minimises the penalised objective, or the given one, the objective, and the
// Cholesky factor of the normal equations.
type optimum struct {
	mu     []float64
	value  float64
	factor blas64.Triangular
}

var errUnsolvable = errors.New("the sums of the nodes have no solution")

// solve solves normal equations under ridges. The constant has no ridge.
func (s *frame) solve(information []float64, r *ridges) (o optimum, err error) {
	p := s.design.Width()
	m, h := make([]float64, p*p), information[dense.Triangle(p):][:p]
	dense.Unpack(m, p, information)
	for j, c := range s.design.Columns() {
		m[j*p+j] += [...]float64{mixed.Constant: 0, mixed.Linear: r[linear], mixed.Bend: r[curve]}[c.Kind]
	}
	mu := slices.Clone(h)
	o.value = information[len(information)-1]
	if s.slopes != nil {
		blas64.Symv(1, dense.Symmetric(p, m), dense.Vector(s.slopes), -2, dense.Vector(mu))
		o.mu, o.value = s.slopes, o.value+floats.Dot(mu, s.slopes)
	}
	var ok bool
	if o.factor, ok = lapack64.Potrf(dense.Symmetric(p, m)); !ok {
		return o, errUnsolvable
	}
	if s.slopes == nil {
		blas64.Trsv(blas.Trans, o.factor, dense.Vector(mu))
		o.value -= floats.Dot(mu, mu)
		blas64.Trsv(blas.NoTrans, o.factor, dense.Vector(mu))
		o.mu = mu
	}
	if !(floats.Norm(o.mu, 2) < largest) {
		return o, errUnsolvable
	}
	return o, nil
}

// alternate alternates n times between the mean of every set given U, and U given the mean. It reports
// whether the sum of the penalised objectives has ceased to fall.
func (s *frame) alternate(list []basis, rank int, r *ridges, n, iterations int) (u []basis, still bool) {
	last := math.Inf(1)
	for range n {
		objective, means := 0.0, make([][]float64, len(list))
		for k, information := range s.informations(s.spans(list, r)) {
			o, err := s.solve(information, r)
			must(err)
			objective += o.value
			means[k] = o.mu
		}
		if rank == 0 || list[0].u != nil && math.Abs(last-objective) <= tolerance*objective {
			return list, true
		}
		last = objective
		list = slices.Clone(list)
		for k := range list {
			list[k].u = s.directions(list[k], means[k], rank, r, iterations)
		}
	}
	return list, false
}

// directions runs the accelerated method of package difalt along the tree: U = argmin sum_t min_b |y_t - X_t
// mu - X_t U b|^2 + l2 |b|^2 on a set, from its U or, without one, from the spectral initialisation. The
// result has the same bits at all nodes.
func (s *frame) directions(b basis, mu []float64, rank int, r *ridges, iterations int) *kernel.Basis {
	p, precision := new(difalt.Problem), map[int]float64{trialIterations: 1e-2, lastIterations: 1e-6}[iterations]
	for _, g := range s.nodes {
		if p.Nodes = append(p.Nodes, s.linear(g, b.set, mu, r[intercept])); b.u != nil {
			p.U0 = append(p.U0, b.u)
		}
	}
	solver, err := difalt.NewSolver(p, s.net, difalt.Options{
		Method: difalt.Accelerated, Rank: rank, Iterations: iterations, Ridge: r[direction], Tolerance: precision,
		Seed: s.c.Seed, Workers: s.c.Workers, Codec: consensus.Float64, AnyFeatures: true, Inner: true,
	})
	must(err)
	defer solver.Close()
	status := difalt.Running
	for status == difalt.Running && err == nil {
		status, err = solver.Step(s.ctx)
	}
	if status == difalt.Canceled { // the context of this node has ended, or another node leaves
		s.sum(1, func(int, []float64) {})
		panic(uneven("a run that ended without a node that leaves"))
	}
	if !errors.Is(err, difalt.ErrDiverged) { // a run that has diverged has the best basis that it found
		must(err)
	}
	res, err := solver.Result()
	must(err)
	return res.U[0]
}
