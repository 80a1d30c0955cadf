package owners

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

const (
	// Parts of the budget for the sizes of columns and for their means. Of the rest a quarter is for the mean
	// of the slopes, and the other part for U.
	partSizes, partCenters = 0.1, 0.05
	// Sizes are counted by powers of two from this exponent on; sizes beyond count in the outer ones.
	leastPower, powers = -32, 64
	// A count stands out of the noise when it is above this number of standard deviations.
	sure = 5
)

// account returns the budget of a private training of that number of tasks.
func (p *Privacy) account(tasks int) (*private.Account, error) {
	delta := p.Delta
	if delta == 0 {
		delta = private.DefaultDelta(tasks)
	}
	return private.NewAccount(p.Epsilon, delta, p.Colluding)
}

// trainPrivately finds scales, the mean of the slopes and U by sums with noise. The strengths of intercepts
// and directions, the noise of the target and the coefficients follow from the tasks of this process, and
// stay here.
func (s *frame) trainPrivately(r *Report) *estimate {
	account, err := s.c.Private.account(s.tasks)
	s.check(err)
	r.Private = account
	centerNoise := s.scalePrivately(account)
	s.hold()
	var nodes []*kernel.Tasks
	for _, g := range s.nodes {
		nodes = append(nodes, s.linear(g, folds, make([]float64, s.design.Width()), 0))
	}
	s.check(nil)
	o := private.Options{Rank: *s.c.Rank, Account: account, MeanBound: 1, Workers: s.c.Workers}
	res, err := private.Run(context.WithoutCancel(s.ctx), nodes, s.net, o)
	must(err)
	s.alone = true // nothing is sent from here on
	s.rows, s.tasks = 0, 0
	for _, g := range s.nodes {
		s.tasks += len(g.tasks)
		for _, t := range g.tasks {
			s.rows += float64(len(t.rows))
		}
	}
	e := s.estimateOwn(r, append([]float64{0}, res.Mean...), res.U)
	for j := range e.mu {
		deviation := res.MeanDeviation
		if j == 0 {
			deviation = centerNoise / s.target.Scale
		}
		e.c.SetSym(j, j, deviation*deviation/e.noise)
	}
	r.Notes = append(r.Notes,
		fmt.Sprintf("The rows of a task have differential privacy, epsilon %.3g at delta %.2g; another training spends as much again.",
			account.Epsilon(), account.Delta()),
		"Errors and ridges are those of the tasks of this process.")
	s.score(r, e, s.try(Ridges{Intercept: 1, Direction: 1}, s.foldSpans(nil), &Ridges{}))
	return e
}

// estimateOwn chooses the ridges of intercepts and directions by cross-validation on the tasks of this
// process for a given mean and U, and returns their coefficients.
func (s *frame) estimateOwn(r *Report, mu []float64, u *kernel.Basis) *estimate {
	best, spans := trial{loss: math.Inf(1)}, s.foldSpans(u)
	for _, l0 := range interceptGrid.values(0) {
		for _, l2 := range directionGrid.values(0) {
			t, loss := trial{rank: *s.c.Rank, ridges: Ridges{Intercept: l0, Direction: l2}}, make([]float64, 1)
			for i := range s.nodes {
				for _, x := range spans {
					s.addLosses(loss, i, x, &t.ridges, mu)
				}
			}
			if t.loss = loss[0] / s.rows; t.loss < best.loss {
				best = t
			}
		}
	}
	r.Candidates = []Candidate{{best.rank, math.Sqrt(best.loss) * s.target.Scale, true}}
	return s.conclude(&best, mu, mat.NewSymDense(len(mu), nil), s.newSpan(folds, u))
}

// scalePrivately chooses center and scale of every column by two private sums, and returns the deviation of
// the noise in the center of the target. In the first a task contributes, for every column, the power of two
// of its standard deviation, and that of its mean with the sign. In the second it contributes how far its
// mean is from the middle of the most frequent one.
func (s *frame) scalePrivately(account *private.Account) float64 {
	const places = 3 * powers
	columns := len(s.level) + 1
	var own [][]moment // [node][task, column]
	for _, g := range s.nodes {
		own = append(own, s.moments(g))
	}
	vote := 1 / math.Sqrt(2*float64(columns))
	counts := s.sumPrivately(account, "sizes of columns", partSizes, columns*places, func(i, t int, v []float64) {
		for j, m := range own[i][t*columns:][:columns] {
			if m.deviation > 0 {
				v[j*places+power(m.deviation)] = vote
			}
			if m.mean > 0 {
				v[j*places+powers+power(m.mean)] = vote
			} else if m.mean < 0 {
				v[j*places+2*powers+power(-m.mean)] = vote
			}
		}
	})
	center, scale, reach := make([]float64, columns), make([]float64, columns), make([]float64, columns)
	for j := range columns {
		sizes, means := counts.Values[j*places:][:powers], counts.Values[j*places+powers:][:2*powers]
		most, mean := floats.MaxIdx(sizes), floats.MaxIdx(means)
		if !(sizes[most] > sure*counts.Deviation) { // the totals, and so this error, are the same at all nodes
			s.check(s.tooFewTasks(j))
		}
		scale[j], reach[j] = middle(most), 4*middle(most)
		if means[mean] > sure*counts.Deviation {
			center[j] = middle(mean%powers) * float64(1-2*(mean/powers))
			reach[j] = max(reach[j], math.Abs(center[j]))
		}
	}
	root := math.Sqrt(float64(columns))
	offsets := s.sumPrivately(account, "means of columns", partCenters, columns, func(i, t int, v []float64) {
		for j, m := range own[i][t*columns:][:columns] {
			if off := (m.mean - center[j]) / reach[j]; !math.IsNaN(off) {
				v[j] = min(max(off, -1), 1) / root
			}
		}
	})
	for j := range columns {
		center[j] += reach[j] * root / float64(s.tasks) * offsets.Values[j]
	}
	s.standard(center, scale)
	return reach[columns-1] * root / float64(s.tasks) * offsets.Deviation
}

// tooFewTasks returns the error that the noise hides the size of a column.
func (s *frame) tooFewTasks(column int) error {
	err := fmt.Errorf("%d tasks at epsilon %g do not show the size of column %q: more tasks or a larger epsilon "+
		"are needed", s.tasks, s.c.Private.Epsilon, append(s.schema.Features(), s.c.TargetColumn)[column])
	return &Error{err, err.Error()}
}

// sumPrivately spends a part of the budget on a sum over all tasks.
func (s *frame) sumPrivately(a *private.Account, what string, part float64, n int,
	vector func(i, t int, v []float64)) *private.Total {
	s.check(nil)
	var tasks []int
	for _, g := range s.nodes {
		tasks = append(tasks, len(g.table.Tasks()))
	}
	total, err := a.Sum(context.WithoutCancel(s.ctx), s.net, what, part*a.Budget(), tasks, n, vector)
	must(err)
	return total
}

// A moment is mean and standard deviation of a column in a task, NaN without values.
type moment struct{ mean, deviation float64 }

// moments returns those of every task of a table and every column, the target last, over training rows.
func (s *frame) moments(g *node) (list []moment) {
	columns := len(s.level) + 1
	values := make([][]float64, len(g.table.Tasks())*columns)
	s.eachRow(g, func(row int, x []float64, y float64) {
		for j, v := range append(x, y) {
			if at := g.table.Task(row)*columns + j; !math.IsNaN(v) {
				values[at] = append(values[at], v)
			}
		}
	})
	for _, v := range values {
		mean, deviation := stat.PopMeanStdDev(v, nil)
		list = append(list, moment{mean, deviation})
	}
	return list
}

// power returns the place of a size among the powers of two, and middle the geometric middle of a place.
func power(size float64) int { return min(max(math.Ilogb(size)-leastPower, 0), powers-1) }

func middle(place int) float64 { return math.Ldexp(math.Sqrt2, place+leastPower) }
