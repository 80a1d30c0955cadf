package owners

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

const (
	// Part of the budget for the sizes of columns. Of the rest a quarter is for the mean of the slopes, and
	// the other part for U.
	partSizes = 0.1
	// Sizes are counted by powers of two from this exponent on; sizes beyond count in the outer ones.
	leastPower, powers = -32, 64
	// A count stands out of the noise when it is above this number of standard deviations.
	sure = 5
)

// trainPrivately finds scales, the mean of the slopes and U by sums with noise. Centers, the strengths of
// intercepts and directions, the noise of the target and the coefficients follow from the tasks of this
// process, and stay here.
func (s *frame) trainPrivately(r *Report) *estimate {
	account, err := s.c.Private.account(s.tasks)
	must(err)
	r.Private = account
	s.scalePrivately(account)
	s.hold()
	var nodes []*kernel.Tasks
	for _, g := range s.nodes {
		nodes = append(nodes, s.linear(g, folds, make([]float64, s.design.Width()), 0))
	}
	o := private.Options{Rank: *s.c.Rank, Account: account, MeanBound: 1, Workers: s.c.Workers}
	res, err := private.Run(s.ctx, nodes, s.net, o)
	must(err)
	all := float64(s.tasks)
	s.alone, s.tasks = true, 0 // nothing is sent from here on
	for _, g := range s.nodes {
		s.tasks += len(g.tasks)
	}
	base := s.try(bases(nil), start)
	s.slopes = append([]float64{0}, res.Mean...)
	best := s.scan(bases(res.U), direction, start, grids[direction]...)
	best = s.scan(bases(res.U), intercept, best.ridges, grids[intercept]...)
	r.Candidates = []Candidate{{best.rank, math.Sqrt(best.loss) * s.target.Scale, true}}
	e := s.estimate(&best, basis{folds, res.U})
	e.c = mat.NewSymDense(len(e.mu), nil)
	for j := range e.mu { // the noise for privacy, the sample of tasks, and the noise of their rows
		along := mat.Col(nil, j, mat.NewDense(e.f.Rows, e.f.Cols, e.f.Data))
		task := floats.Dot(along, along) + float64(s.tasks)/s.rows
		e.c.SetSym(j, j, res.MeanDeviation*res.MeanDeviation/e.noise+task/all)
	}
	r.Notes = append(r.Notes,
		fmt.Sprintf("The rows of a task have differential privacy, epsilon %.3g at delta %.2g; another training "+
			"spends as much again.", account.Epsilon(), account.Delta()),
		"Errors and ridges are those of the tasks of this process.")
	s.slopes = nil
	s.score(r, e, &base)
	return e
}

// scalePrivately chooses the scale of every column by a private sum. A task contributes the power of two of
// its standard deviation for every column. Centers are the means of this process: slopes do not
// depend on them.
func (s *frame) scalePrivately(account *private.Account) {
	s.alone = true
	s.standardise()
	s.alone = false
	center := append(slices.Clone(s.design.Center), s.target.Center)
	columns, own, tasks := len(center), make([][][]float64, len(s.nodes)), make([]int, len(s.nodes))
	for i, g := range s.nodes {
		tasks[i], own[i] = len(g.table.Tasks()), g.values(columns)
	}
	vote, rho := 1/math.Sqrt(float64(columns)), partSizes*account.Budget()
	votes := func(i, t int, v []float64) {
		for j := range columns {
			if size := stat.PopStdDev(own[i][t*columns+j], nil); size > 0 {
				v[j*powers+min(max(math.Ilogb(size)-leastPower, 0), powers-1)] = vote
			}
		}
	}
	counts, err := account.Sum(s.ctx, s.net, "sizes of columns", rho, tasks, columns*powers, votes)
	must(err)
	scale := make([]float64, columns)
	for j := range scale {
		sizes := counts.Values[j*powers:][:powers]
		most := floats.MaxIdx(sizes)
		// The totals, and so this error, are the same at all nodes.
		if !(sizes[most] > sure*counts.Deviation) {
			err := fmt.Errorf("%d tasks at epsilon %g do not show the size of column %q: more tasks or a larger "+
				"epsilon are needed", s.tasks, s.c.Private.Epsilon, append(s.schema.Features(), s.c.TargetColumn)[j])
			must(&Error{err, err.Error()})
		}
		scale[j] = math.Ldexp(math.Sqrt2, most+leastPower) // the geometric middle
	}
	s.standard(center, scale)
}

// values returns the values of every task of a table and every column, the target last, over training rows.
func (g *node) values(columns int) [][]float64 {
	list, read := make([][]float64, len(g.table.Tasks())*columns), g.reader()
	for row, train := range g.train {
		if x, y := read(row); train {
			for j, v := range append(x, y) {
				if at := g.table.Task(row)*columns + j; !math.IsNaN(v) {
					list[at] = append(list[at], v)
				}
			}
		}
	}
	return list
}
