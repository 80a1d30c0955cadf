package owners

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

const (
	// Alternations of U and mu in cross-validation from nothing and from a U for other ridges, and at the
	// end.
	firstAlternations, laterAlternations, lastAlternations = 2, 1, 30
	// Iterations of difalt in an alternation.
	trialIterations, lastIterations = 12, 60
	// Alternations end when the penalised objective falls by no more than this part of itself.
	tolerance = 1e-6
)

// A grid is the values that the search tries for a ridge, as powers of ten from least to most.
type grid struct{ least, most, step float64 }

// The grids of Ridges' fields.
var (
	interceptGrid = grid{-2, 2.5, .5}
	linearGrid    = grid{-2, 3, 1}
	curveGrid     = grid{-3, 3, 1}
	directionGrid = grid{-1, 2, .5}
)

// values returns the values of the grid that are next to near, and near itself; 0 stands for all.
func (g grid) values(near float64) (list []float64) {
	for e := g.least; e <= g.most; e += g.step {
		if v := math.Pow(10, e); near == 0 || math.Abs(math.Log10(v/near)) <= 1.01*g.step {
			list = append(list, v)
		}
	}
	return list
}

// A trial is the ridges for a rank with the least squared error of cross-validation so far, per row.
type trial struct {
	rank   int
	ridges Ridges
	loss   float64
}

// search returns the best trial of every rank, from 0 on; of a given one, and 0 before.
func (s *frame) search() []trial {
	none := s.foldSpans(nil)
	best := s.tune(Ridges{Intercept: 1, Direction: 1}, none)
	list, from, to := []trial{best}, 1, min(searchedRank, s.mostRank())
	if s.c.Rank != nil {
		from, to = max(*s.c.Rank, 1), *s.c.Rank
	}
	for rank := from; rank <= to; rank++ {
		t, u := list[len(list)-1], none
		t.ridges.Direction = 1
		for round, alternations := range []int{firstAlternations, laterAlternations} {
			u, _ = s.alternate(u, rank, &t.ridges, alternations, trialIterations)
			next := s.tune(t.ridges, u)
			if round == 0 || next.loss < t.loss {
				t = next
			}
		}
		list = append(list, t)
		if n := len(list); n > 2 && t.loss > list[n-2].loss {
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

// tune returns the best trial on the grids around ridges, from these on.
func (s *frame) tune(r Ridges, spans []*span) trial {
	t := s.try(r, spans, &Ridges{})
	if spans[0].u != nil {
		t = s.walk(t, spans, directionGrid, func(r *Ridges) *float64 { return &r.Direction })
	}
	return s.walk(t, spans, interceptGrid, func(r *Ridges) *float64 { return &r.Intercept })
}

// walk moves one ridge along its grid, in both directions, while the error of cross-validation falls.
func (s *frame) walk(best trial, spans []*span, g grid, field func(*Ridges) *float64) trial {
	for _, step := range []float64{g.step, -g.step} {
		for {
			next := best.ridges
			v := field(&next)
			*v *= math.Pow(10, step)
			if e := math.Log10(*v); e < g.least-.01 || e > g.most+.01 {
				break
			}
			t := s.try(next, spans, &best.ridges)
			if !(t.loss < best.loss-1e-7) {
				break
			}
			best = t
		}
	}
	return best
}

// try returns, for given l0 and l2, the l1 and l1s with the least error of cross-validation, of those on
// their grids next to those of near; 0 there stands for all. Two sums.
func (s *frame) try(r Ridges, spans []*span, near *Ridges) trial {
	best := trial{spans[0].f.Rows - 1, r, math.Inf(1)}
	list := s.informations(spans, &r)
	curves := curveGrid.values(near.Curve)
	if s.design.Curves == nil {
		curves = curves[:1]
	}
	var candidates []Ridges
	for _, r.Linear = range linearGrid.values(near.Linear) {
		for _, r.Curve = range curves {
			candidates = append(candidates, r)
		}
	}
	n := len(candidates)
	means := make([][]float64, len(spans)*n) // [span][candidate]
	_, err := s.parallel(len(means), 0, func(_ []float64, from, to int) (err error) {
		for k := from; k < to && err == nil; k++ {
			means[k], _, err = list[k/n].solve(s.penalties(&candidates[k%n]))
		}
		return err
	})
	must(err)
	total := s.sum(n, func(i int, out []float64) {
		for f, x := range spans {
			s.addLosses(out, i, x, &r, means[f*n:][:n]...)
		}
	})
	for k, v := range total {
		if v /= s.rows; v < best.loss {
			best.ridges, best.loss = candidates[k], v
		}
	}
	return best
}

// An information is the penalised normal equations of mu over all tasks of all nodes, M mu = h.
type information struct {
	m      *mat.SymDense
	h      []float64
	square float64 // the objective for mu = 0
}

// informations adds up the normal equations of several sets, each with its own U, over all nodes: P(P+1)/2 +
// P + 1 numbers a set.
func (s *frame) informations(spans []*span, r *Ridges) []information {
	p := s.design.Width()
	length := model.Triangle(p) + p + 1
	total := s.sum(len(spans)*length, func(i int, out []float64) {
		for k, x := range spans {
			s.addInformation(out[k*length:][:length], i, x, r)
		}
	})
	list := make([]information, len(spans))
	for k := range spans {
		n := information{m: mat.NewSymDense(p, nil)}
		total = unpack(n.m, total)
		n.h, n.square, total = total[:p], total[p], total[p+1:]
		list[k] = n
	}
	return list
}

// unpack sets m to the upper triangle by rows with which v begins, and returns the rest of v.
func unpack(m *mat.SymDense, v []float64) []float64 {
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, v[0])
			v = v[1:]
		}
	}
	return v
}

// penalties returns the ridge of every entry of mu; that of the constant is 0.
func (s *frame) penalties(r *Ridges) []float64 {
	d := make([]float64, 0, s.design.Width())
	for _, c := range s.design.Columns() {
		d = append(d, [...]float64{model.Constant: 0, model.Linear: r.Linear, model.Bend: r.Curve}[c.Kind])
	}
	return d
}

var errUnsolvable = errors.New("the sums of the nodes have no solution")

// solve returns the mean for a ridge per entry, and the Cholesky factor of M + D.
func (n *information) solve(ridge []float64) ([]float64, blas64.Triangular, error) {
	p := len(ridge)
	m, mu := symmetric(p, slices.Clone(n.m.RawSymmetric().Data)), slices.Clone(n.h)
	for j, r := range ridge {
		m.Data[j*p+j] += r
	}
	factor, ok := lapack64.Potrf(m)
	if ok {
		lapack64.Potrs(factor, matrix(p, 1, mu))
	}
	if !ok || !(floats.Norm(mu, 2) < largest) {
		return nil, factor, errUnsolvable
	}
	return mu, factor, nil
}

// alternate alternates between the mean of every span given U, and U given the mean, from the U of the spans.
// It reports whether the sum of the penalised objectives has ceased to fall.
func (s *frame) alternate(spans []*span, rank int, r *Ridges, alternations, iterations int) ([]*span, bool) {
	if rank == 0 {
		return spans, true
	}
	last := math.Inf(1)
	for range alternations {
		list := s.informations(spans, r)
		objective, means, next := 0.0, make([][]float64, len(spans)), make([]*span, len(spans))
		for k := range spans {
			var err error
			means[k], _, err = list[k].solve(s.penalties(r))
			must(err)
			objective += list[k].square - floats.Dot(list[k].h, means[k])
		}
		if spans[0].u != nil && math.Abs(last-objective) <= tolerance*objective {
			return spans, true
		}
		last = objective
		for k, x := range spans {
			next[k] = s.newSpan(x.set, s.directions(x, means[k], rank, r, iterations))
		}
		spans = next
	}
	return spans, false
}

// directions runs the accelerated method of package difalt along the tree: U = argmin sum_t min_b |y_t - X_t
// mu - X_t U b|^2 + l2 |b|^2 on the set of a span, from its U or, without one, from the spectral
// initialisation. The result has the same bits at all nodes.
func (s *frame) directions(x *span, mu []float64, rank int, r *Ridges, iterations int) *kernel.Basis {
	p := new(difalt.Problem)
	for _, g := range s.nodes {
		if p.Nodes = append(p.Nodes, s.linear(g, x.set, mu, r.Intercept)); x.u != nil {
			p.U0 = append(p.U0, x.u)
		}
	}
	precision := 1e-6
	if iterations == trialIterations {
		precision = 1e-2
	}
	solver, err := difalt.NewSolver(p, s.net, difalt.Options{
		Method: difalt.Accelerated, Rank: rank, Iterations: iterations, Ridge: r.Direction, Tolerance: precision, Seed: s.c.Seed,
		Workers: s.c.Workers, Codec: consensus.Float64, AnyFeatures: true,
	})
	must(err)
	defer solver.Close()
	status := difalt.Running
	for status == difalt.Running && err == nil {
		status, err = solver.Step(s.ctx)
	}
	if !errors.Is(err, difalt.ErrDiverged) { // a run that has diverged has the best basis that it found
		must(err)
	}
	if status == difalt.Canceled {
		s.check(s.ctx.Err()) // the context of the node that stops has ended
		panic(uneven("a run that ended without a node that stops"))
	}
	res, err := solver.Result()
	must(err)
	return res.U[0]
}
