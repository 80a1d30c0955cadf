package owners

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// prior returns the distribution of the deviations in units of the noise, whose mode is the penalised least
// squares fit.
func (s *frame) prior(r *Ridges, u *kernel.Basis) *mixedmodel.Prior {
	p := &mixedmodel.Prior{Deviations: make([]float64, s.design.Width()), Noise: 1}
	p.Deviations[0] = 1 / math.Sqrt(r.Intercept)
	if u == nil {
		return p
	}
	_, p.Rank = u.Dims()
	p.Loadings = make([]float64, p.Rank*len(p.Deviations))
	for k := range p.Rank {
		floats.ScaleTo(p.Loadings[k*len(p.Deviations)+1:][:len(s.design.Scale)], 1/math.Sqrt(r.Direction), u.Col(k))
	}
	return p
}

// penalties returns the ridge of every entry of mu; that of the constant is 0.
func (s *frame) penalties(r *Ridges) []float64 {
	d := make([]float64, 0, s.design.Width())
	for _, c := range s.design.Columns() {
		d = append(d, [...]float64{model.Constant: 0, model.Linear: r.Linear, model.Bend: r.Curve}[c.Kind])
	}
	return d
}

// An information is the penalised normal equations of mu over all tasks of all nodes, M mu = h.
type information struct {
	m      *mat.SymDense
	h      []float64
	square float64 // the objective for mu = 0
}

var errUnsolvable = errors.New("the sums of the nodes have no solution")

// solve returns the mean for a ridge per entry, and the Cholesky factor of M + D.
func (n *information) solve(ridge []float64) ([]float64, blas64.Triangular, error) {
	p := len(ridge)
	m := blas64.Symmetric{Uplo: blas.Upper, N: p, Stride: p, Data: slices.Clone(n.m.RawSymmetric().Data)}
	for j, r := range ridge {
		m.Data[j*p+j] += r
	}
	factor, ok := lapack64.Potrf(m)
	if !ok {
		return nil, factor, errUnsolvable
	}
	mu := slices.Clone(n.h)
	lapack64.Potrs(factor, matrix(p, 1, mu))
	if !(floats.Norm(mu, 2) < largest) {
		return nil, factor, errUnsolvable
	}
	return mu, factor, nil
}

// An adder adds numbers of task t to out. Solver has reduced all rows of the task.
type adder func(out []float64, t int, solver *mixedmodel.Solver, rows *mixedmodel.Task)

// sumTasks returns the n numbers that f, on several goroutines, adds to out, over the tasks of a node, each
// reduced under a prior.
func (s *frame) sumTasks(n int, h *holding, prior *mixedmodel.Prior, f adder) []float64 {
	sum, err := total(s.workers(), len(h.tasks), n, func(out []float64, from, to int) error {
		solver := mixedmodel.NewSolver(prior)
		for t := from; t < to; t++ {
			rows := h.all(t, s.design.Width())
			if err := solver.Set(rows); err != nil {
				return err
			}
			f(out, t, solver, rows)
		}
		return nil
	})
	s.stop(err)
	return sum
}

// informations adds up the normal equations of several sets, each with its own U, over all nodes: P(P+1)/2 +
// P + 1 numbers a set.
func (s *frame) informations(ctx context.Context, spans []*span, r *Ridges) ([]information, error) {
	p := s.design.Width()
	length := model.Triangle(p) + p + 1
	z := s.zeros(len(spans) * length)
	for i := range s.held {
		for k, x := range spans {
			s.addInformation(z[i][k*length:][:length], i, x, r)
		}
	}
	total, err := s.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	list := make([]information, len(spans))
	for k := range spans {
		list[k] = unpack(total[k*length:][:length], p)
	}
	return list, nil
}

// addPacked adds the upper triangle by rows of the P x P matrix with which full begins, and the P + 1 numbers
// behind it.
func addPacked(sum, full []float64) {
	p := int(math.Sqrt(float64(len(full)))) // of P^2 + P + 1
	for i := range p {
		floats.Add(sum[:p-i], full[i*p+i:][:p-i])
		sum = sum[p-i:]
	}
	floats.Add(sum, full[p*p:])
}

func unpack(v []float64, p int) information {
	n := information{m: mat.NewSymDense(p, nil), square: v[len(v)-1]}
	n.h = setPacked(n.m, v)[:p]
	return n
}

// setPacked sets m to the upper triangle by rows with which v begins, and returns the rest of v.
func setPacked(m *mat.SymDense, v []float64) []float64 {
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, v[0])
			v = v[1:]
		}
	}
	return v
}

// A grid is the values that the search tries for a ridge, as powers of ten from least to most.
type grid struct{ least, most, step float64 }

// The grids of Ridges' fields.
var (
	interceptGrid = grid{-2, 2.5, .5}
	linearGrid    = grid{-2, 3, 1}
	curveGrid     = grid{-3, 3, 1}
	directionGrid = grid{-1, 2, .5}
)

func (g grid) values() (list []float64) {
	for e := g.least; e <= g.most; e += g.step {
		list = append(list, math.Pow(10, e))
	}
	return list
}

// around returns the values next to one on the grid, and that one.
func (g grid) around(value float64) []float64 {
	return slices.DeleteFunc(g.values(), func(v float64) bool { return math.Abs(math.Log10(v/value)) > 1.01*g.step })
}

// folds returns the numbers of the folds.
func (s *frame) folds() (list []int) {
	for f := range s.c.Folds {
		list = append(list, f)
	}
	return list
}

// A trial is the ridges with the least squared error of cross-validation so far, per row.
type trial struct {
	ridges Ridges
	loss   float64
}

// try returns, for given l0 and l2, the l1 and l1s with the least error of cross-validation: of all on their
// grids, or around those of near. Two sums.
func (s *frame) try(ctx context.Context, r Ridges, spans []*span, near *Ridges) (trial, error) {
	s.tick()
	best := trial{ridges: r, loss: math.Inf(1)}
	list, err := s.informations(ctx, spans, &r)
	if err != nil {
		return best, err
	}
	linear, curves := linearGrid.values(), curveGrid.values()
	if near != nil {
		linear, curves = linearGrid.around(near.Linear), curveGrid.around(near.Curve)
	}
	if s.design.Curves == nil {
		curves = curves[:1]
	}
	var candidates []Ridges
	for _, r.Linear = range linear {
		for _, r.Curve = range curves {
			candidates = append(candidates, r)
		}
	}
	n := len(candidates)
	means := make([][]float64, len(spans)*n) // [span][candidate]
	err = divide(s.workers(), len(means), func(from, to int) (err error) {
		for k := from; k < to && err == nil; k++ {
			means[k], _, err = list[k/n].solve(s.penalties(&candidates[k%n]))
		}
		return err
	})
	if err != nil {
		return best, err
	}
	z := s.zeros(n)
	for i := range s.held {
		for f, x := range spans {
			s.addLosses(z[i], i, x, &r, means[f*n:][:n])
		}
	}
	total, err := s.sum(ctx, z)
	if err != nil {
		return best, err
	}
	for k, v := range total {
		if v /= s.rows; v < best.loss {
			best = trial{candidates[k], v}
		}
	}
	return best, nil
}

// walk moves one ridge along its grid, in both directions, while the error of cross-validation falls.
func (s *frame) walk(ctx context.Context, best trial, spans []*span, g grid, field func(*Ridges) *float64) (trial, error) {
	for _, step := range []float64{g.step, -g.step} {
		for {
			next := best.ridges
			v := field(&next)
			*v *= math.Pow(10, step)
			if e := math.Log10(*v); e < g.least-.01 || e > g.most+.01 {
				break
			}
			t, err := s.try(ctx, next, spans, &best.ridges)
			if err != nil {
				return best, err
			}
			if !(t.loss < best.loss-1e-7) {
				break
			}
			best = t
		}
	}
	return best, nil
}
