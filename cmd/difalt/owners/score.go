package owners

import (
	"context"
	"math"

	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// A method has coefficients of every task of the design, [node][task][P].
type method struct {
	name  string
	ridge float64
	theta [][][]float64
}

// score compares the model with simpler methods on the held-out rows of all nodes: a sum of 13 numbers a
// method. Without held-out rows only the model has a score, and nothing else is computed.
func (s *frame) score(ctx context.Context, r *Report, e *estimate, base trial) error {
	methods := []method{{name: fit.Ours, theta: e.theta}}
	out, err := s.sum(ctx, s.heldOut())
	if err != nil {
		return err
	}
	if out[0] > 0 {
		if methods, err = s.baselines(ctx, methods, base); err != nil {
			return err
		}
	}
	const each = 13
	z := s.zeros(each * len(methods))
	for i, h := range s.held {
		s.tick()
		s.eachTally(i, h, methods, func(_ string, train, test []fit.Tally) {
			for m := range methods {
				v := z[i][m*each:]
				addTally(v, train[m])
				addTally(v[5:], test[m])
				if test[m].Rows > 0 {
					d := test[m].Squares - test[0].Squares
					floats.Add(v[10:13], []float64{1, d, d * d})
				}
			}
		})
	}
	total, err := s.sum(ctx, z)
	if err != nil {
		return err
	}
	var comparisons []fit.Comparison
	for m, method := range methods {
		v := total[m*each:][:each]
		r.Scores = append(r.Scores, fit.Score{
			Method: method.name, Ridge: method.ridge, Train: tally(v).Errors(s.target.Scale), Test: tally(v[5:]).Errors(s.target.Scale),
		})
		comparisons = append(comparisons, fit.Comparison{Tasks: v[10], Difference: v[11], Square: v[12]})
	}
	r.Verdict = fit.NewVerdict(r.Scores, comparisons, s.target.Scale)
	r.tasks = func(yield func(fit.TaskScore) bool) {
		more := true
		for i, h := range s.held {
			s.eachTally(i, h, methods, func(task string, train, test []fit.Tally) {
				score := fit.TaskScore{Task: task}
				for m := range methods {
					score.Train = append(score.Train, train[m].Errors(s.target.Scale))
					score.Test = append(score.Test, test[m].Errors(s.target.Scale))
				}
				more = more && yield(score)
			})
		}
	}
	return nil
}

func addTally(v []float64, t fit.Tally) {
	floats.Add(v[:5], []float64{t.Rows, t.Squares, t.Absolute, t.Targets, t.TargetSquares})
}

func tally(v []float64) fit.Tally {
	return fit.Tally{Rows: v[0], Squares: v[1], Absolute: v[2], Targets: v[3], TargetSquares: v[4]}
}

// heldOut counts the rows of every node that are not for training.
func (s *frame) heldOut() [][]float64 {
	z := s.zeros(1)
	for i, t := range s.tables {
		for row := range t.Rows() {
			if s.c.Train != nil && !s.c.Train[i][row] {
				z[i][0]++
			}
		}
	}
	return z
}

// eachTally calls f for every task of a node with the errors of all methods on training rows and on the
// others.
func (s *frame) eachTally(node int, h *holding, methods []method, f func(task string, train, test []fit.Tally)) {
	t, d := s.tables[h.table], s.newDesigner(h.table)
	rows := make([][]int, len(t.Tasks()))
	for row := range t.Rows() {
		rows[t.Task(row)] = append(rows[t.Task(row)], row)
	}
	for k, task := range h.tasks {
		train, test := make([]fit.Tally, len(methods)), make([]fit.Tally, len(methods))
		for _, row := range rows[task] {
			to := test
			if s.c.Train == nil || s.c.Train[h.table][row] {
				to = train
			}
			y := d.apply(row)
			for m := range methods {
				to[m].Add(y, floats.Dot(d.columns, methods[m].theta[node][k]))
			}
		}
		f(t.Tasks()[task], train, test)
	}
}

// baselines appends the simpler methods: one ridge regression of all tasks with intercepts, one of every task
// by itself, with ridges by cross-validation, and the mean of the task.
func (s *frame) baselines(ctx context.Context, list []method, base trial) ([]method, error) {
	rank0, err := s.estimate(ctx, &base, s.noStart(s.c.Folds)[0])
	if err != nil {
		return nil, err
	}
	list = append(list, method{fit.Intercepts, base.ridges.Linear, rank0.theta})
	best, lowest := 0.0, math.Inf(1)
	grid := []float64{1, 10, 100}
	z := s.zeros(len(grid))
	for i, h := range s.held {
		for k, ridge := range grid {
			for f := range s.c.Folds {
				for t, theta := range s.separate(h, f, ridge) {
					z[i][k] += h.parts[t][f].Residual(theta)
				}
			}
		}
	}
	total, err := s.sum(ctx, z)
	if err != nil {
		return nil, err
	}
	for k, v := range total {
		if v < lowest {
			best, lowest = grid[k], v
		}
	}
	single, mean := method{name: fit.Separate, ridge: best}, method{name: fit.TaskMean}
	for _, h := range s.held {
		single.theta = append(single.theta, s.separate(h, s.c.Folds, best))
		mean.theta = append(mean.theta, s.separate(h, s.c.Folds, wholly))
	}
	return append(list, single, mean), nil
}

// wholly is a ridge that leaves a column without effect.
const wholly = 1e30

// separate fits every task of a node by itself on the linear columns of a set with a ridge. Theta of a task
// without rows is 0.
func (s *frame) separate(h *holding, set int, ridge float64) [][]float64 {
	s.tick()
	p, d, theta := s.design.Width(), 1+len(s.design.Scale), make([][]float64, len(h.tasks))
	s.stop(divide(s.workers(), len(theta), func(from, to int) error {
		for t := from; t < to; t++ {
			theta[t] = make([]float64, p)
			g, c := blas64.Symmetric{Uplo: blas.Upper, N: d, Stride: d, Data: make([]float64, d*d)}, theta[t][:d]
			for f, part := range h.parts[t] {
				switch {
				case f == set || part.Rows == 0:
				case part.G == nil:
					x := blas64.General{Rows: part.Rows, Cols: d, Stride: p, Data: part.X}
					blas64.Syrk(blas.Trans, 1, x, 1, g)
					blas64.Gemv(blas.Trans, 1, x, column(part.Y), 1, column(c))
				default:
					for i := range d {
						floats.Add(g.Data[i*d:][:d], part.G[i*p:][:d])
					}
					floats.Add(c, part.C[:d])
				}
			}
			g.Data[0] += 1e-6 // for a task without rows
			for j := 1; j < d; j++ {
				g.Data[j*d+j] += ridge
			}
			factor, ok := lapack64.Potrf(g)
			if !ok {
				return mixedmodel.ErrNumeric
			}
			lapack64.Potrs(factor, matrix(d, 1, c))
		}
		return nil
	}))
	return theta
}
