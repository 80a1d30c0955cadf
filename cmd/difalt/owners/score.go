package owners

import (
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

// A method has coefficients of every task of the design, [node][task][P].
type method struct {
	name  string
	ridge float64
	theta [][][]float64
}

// score compares the model with simpler methods on the held-out rows of all nodes: a sum of 13 numbers a
// method. Without held-out rows only the model has a score, and nothing else is computed.
func (s *frame) score(r *Report, e *estimate, base trial) {
	methods := []method{{name: fit.Ours, theta: e.theta}}
	held := s.sum(1, func(i int, out []float64) {
		for _, chosen := range s.nodes[i].chosen {
			if !chosen {
				out[0]++
			}
		}
	})
	if held[0] > 0 {
		methods = s.baselines(methods, base)
	}
	const each = 13
	total := s.sum(each*len(methods), func(i int, out []float64) {
		s.eachTally(i, methods, func(_ string, train, test []fit.Tally) {
			for m := range methods {
				v := out[m*each:]
				addTally(v, train[m])
				addTally(v[5:], test[m])
				if test[m].Rows > 0 {
					d := test[m].Squares - test[0].Squares
					floats.Add(v[10:13], []float64{1, d, d * d})
				}
			}
		})
	})
	var comparisons []fit.Comparison
	for m, method := range methods {
		v := total[m*each:][:each]
		r.Scores = append(r.Scores, fit.Score{
			Method: method.name, Ridge: method.ridge, Train: tally(v).Errors(s.target.Scale), Test: tally(v[5:]).Errors(s.target.Scale),
		})
		comparisons = append(comparisons, fit.Comparison{Tasks: v[10], Difference: v[11], Square: v[12]})
	}
	r.Verdict = fit.NewVerdict(r.Scores, comparisons, s.target.Scale)
	r.Tasks = func(yield func(fit.TaskScore) bool) {
		more := true
		for i := range s.nodes {
			s.eachTally(i, methods, func(task string, train, test []fit.Tally) {
				score := fit.TaskScore{Task: task}
				for m := range methods {
					score.Train = append(score.Train, train[m].Errors(s.target.Scale))
					score.Test = append(score.Test, test[m].Errors(s.target.Scale))
				}
				more = more && yield(score)
			})
		}
	}
}

func addTally(v []float64, t fit.Tally) {
	floats.Add(v[:5], []float64{t.Rows, t.Squares, t.Absolute, t.Targets, t.TargetSquares})
}

func tally(v []float64) fit.Tally {
	return fit.Tally{Rows: v[0], Squares: v[1], Absolute: v[2], Targets: v[3], TargetSquares: v[4]}
}

// eachTally calls f for every task of node i with the errors of all methods on training rows and on the
// others.
func (s *frame) eachTally(i int, methods []method, f func(task string, train, test []fit.Tally)) {
	g, r := s.nodes[i], s.reader(s.nodes[i])
	rows := make([][]int, len(g.table.Tasks()))
	for row := range g.table.Rows() {
		rows[g.table.Task(row)] = append(rows[g.table.Task(row)], row)
	}
	for k, t := range g.tasks {
		train, test := make([]fit.Tally, len(methods)), make([]fit.Tally, len(methods))
		for _, row := range rows[t.index] {
			to := test
			if g.chosen[row] {
				to = train
			}
			y := r.apply(row)
			for m := range methods {
				to[m].Add(y, floats.Dot(r.columns, methods[m].theta[i][k]))
			}
		}
		f(g.table.Tasks()[t.index], train, test)
	}
}

// baselines appends the simpler methods: one ridge regression of all tasks with intercepts, one of every task
// by itself on the linear columns, with ridges by cross-validation, and the mean of the task. The latter two
// are deviations from a mean of 0, with almost free intercepts, along all columns or none.
func (s *frame) baselines(list []method, base trial) []method {
	none, zero, free := s.newSpan(folds, nil), make([]float64, s.design.Width()), Ridges{Intercept: 1e-6}
	mu, _ := s.mean(none, &base.ridges)
	grid, losses, each := []float64{1, 10, 100}, make([][3]float64, len(s.nodes)), kernel.NewBasis(len(s.level), len(s.level))
	for j := range s.level {
		each.Col(j)[j] = 1
	}
	for f := range folds {
		x := s.newSpan(f, each)
		for i := range s.nodes {
			for k := range grid {
				s.addLosses(losses[i][k:k+1], i, x, &Ridges{Intercept: free.Intercept, Direction: grid[k]}, zero)
			}
		}
	}
	total := s.sum(len(grid), func(i int, out []float64) { copy(out, losses[i][:]) })
	alone := Ridges{Intercept: free.Intercept, Direction: grid[floats.MinIdx(total)]}
	return append(list,
		method{fit.Intercepts, base.ridges.Linear, s.theta(none, &base.ridges, mu)},
		method{fit.Separate, alone.Direction, s.theta(s.newSpan(folds, each), &alone, zero)},
		method{fit.TaskMean, 0, s.theta(none, &free, zero)})
}
