package owners

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"gonum.org/v1/gonum/floats"
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
func (s *frame) trainPrivately(ctx context.Context, r *Report) (*model.Model, error) {
	account, err := s.c.Private.account(s.tasks)
	s.stop(err)
	if err := s.check(ctx, nil); err != nil {
		return nil, err
	}
	r.Private = account
	centerNoise, err := s.scalePrivately(ctx, account)
	if err != nil {
		return nil, err
	}
	s.hold()
	var nodes []*kernel.Tasks
	for _, h := range s.held {
		nodes = append(nodes, s.linear(h, s.c.Folds, make([]float64, s.design.Width()), 0))
	}
	if err := s.check(ctx, nil); err != nil {
		return nil, err
	}
	o := private.Options{Rank: *s.c.Rank, Account: account, MeanBound: 1, Workers: s.c.Workers}
	res, err := private.Run(context.WithoutCancel(ctx), nodes, s.net, o)
	if err != nil {
		return nil, err
	}
	s.alone = true // nothing is sent from here on
	s.rows, s.tasks = 0, 0
	for _, h := range s.held {
		s.tasks += len(h.tasks)
		for _, rows := range h.rows {
			s.rows += float64(len(rows))
		}
	}
	e, err := s.estimateOwn(ctx, r, append([]float64{0}, res.Mean...), res.U)
	if err != nil {
		return nil, err
	}
	for j := range e.mu {
		deviation := res.MeanDeviation
		if j == 0 {
			deviation = centerNoise / s.target.Scale
		}
		e.covariance[j*len(e.mu)+j] = deviation * deviation
	}
	r.Notes = append(r.Notes,
		fmt.Sprintf("The rows of a task have differential privacy, epsilon %.3g at delta %.2g; another training spends as much again.",
			account.Epsilon(), account.Delta()),
		"Errors and ridges are those of the tasks of this process.")
	base, err := s.try(ctx, Ridges{Intercept: 1, Direction: 1}, s.noStart(s.folds()...), nil)
	if err == nil {
		err = s.score(ctx, r, e, base)
	}
	if err != nil {
		return nil, err
	}
	return model.New(s.parameters(e))
}

// estimateOwn chooses the ridges of intercepts and directions by cross-validation on the tasks of this
// process for a given mean and U, and returns their coefficients.
func (s *frame) estimateOwn(ctx context.Context, r *Report, mu []float64, u *kernel.Basis) (*estimate, error) {
	best := trial{loss: math.Inf(1)}
	var spans []*span
	for f := range s.c.Folds {
		spans = append(spans, s.newSpan(f, u))
	}
	for _, l0 := range interceptGrid.values() {
		for _, l2 := range directionGrid.values() {
			t := trial{ridges: Ridges{Intercept: l0, Direction: l2}}
			loss := make([]float64, 1)
			for i := range s.held {
				for _, x := range spans {
					s.addLosses(loss, i, x, &t.ridges, [][]float64{mu})
				}
			}
			if t.loss = loss[0] / s.rows; t.loss < best.loss {
				best = t
			}
		}
	}
	r.Candidates = []Candidate{{*s.c.Rank, best.ridges, math.Sqrt(best.loss) * s.target.Scale, true}}
	return s.conclude(ctx, &best, mu, make([]float64, len(mu)*len(mu)), u)
}

// scalePrivately chooses center and scale of every column by two private sums, and returns the deviation of
// the noise in the center of the target. In the first a task contributes, for every column, the power of two
// of its standard deviation, and that of its mean with the sign. In the second it contributes how far its
// mean is from the middle of the most frequent one.
func (s *frame) scalePrivately(ctx context.Context, account *private.Account) (float64, error) {
	columns, tasks := len(s.level)+1, make([]int, len(s.tables))
	mean, deviation := make([][][]float64, len(s.tables)), make([][][]float64, len(s.tables))
	for i, t := range s.tables {
		mean[i], deviation[i] = s.moments(i)
		tasks[i] = len(t.Tasks())
	}
	const places = 3 * powers
	vote := 1 / math.Sqrt(2*float64(columns))
	counts, err := s.sumPrivately(ctx, account, "sizes of columns", partSizes, tasks, columns*places, func(i, t int, v []float64) {
		for j := range columns {
			if d := deviation[i][t][j]; d > 0 {
				v[j*places+power(d)] = vote
			}
			if m := mean[i][t][j]; m > 0 {
				v[j*places+powers+power(m)] = vote
			} else if m < 0 {
				v[j*places+2*powers+power(-m)] = vote
			}
		}
	})
	if err != nil {
		return 0, err
	}
	center, scale, reach := make([]float64, columns), make([]float64, columns), make([]float64, columns)
	for j := range columns {
		of := counts.Values[j*places:][:places]
		if most := floats.MaxIdx(of[:powers]); of[most] > sure*counts.Deviation {
			scale[j] = middle(most)
		} else { // the totals, and so this error, are the same at all nodes
			return 0, s.check(ctx, s.tooFewTasks(j))
		}
		reach[j] = 4 * scale[j]
		if k := floats.MaxIdx(of[powers:]); of[powers+k] > sure*counts.Deviation {
			center[j] = middle(k % powers)
			reach[j] = max(reach[j], center[j])
			if k >= powers {
				center[j] *= -1
			}
		}
	}
	root := math.Sqrt(float64(columns))
	offsets, err := s.sumPrivately(ctx, account, "means of columns", partCenters, tasks, columns, func(i, t int, v []float64) {
		for j := range columns {
			if off := (mean[i][t][j] - center[j]) / reach[j]; !math.IsNaN(off) {
				v[j] = min(max(off, -1), 1) / root
			}
		}
	})
	if err != nil {
		return 0, err
	}
	for j := range columns {
		center[j] += reach[j] * root / float64(s.tasks) * offsets.Values[j]
	}
	k := columns - 1
	s.design = model.Design{Fill: center[:k:k], Center: center[:k:k], Scale: scale[:k:k]}
	s.target = model.Target{Column: s.c.TargetColumn, Center: center[k], Scale: scale[k]}
	return reach[k] * root / float64(s.tasks) * offsets.Deviation, nil
}

// tooFewTasks returns the error that the noise hides the size of a column.
func (s *frame) tooFewTasks(column int) error {
	err := fmt.Errorf("%d tasks at epsilon %g do not show the size of column %q: more tasks or a larger epsilon "+
		"are needed", s.tasks, s.c.Private.Epsilon, append(s.schema.Features(), s.c.TargetColumn)[column])
	return &Error{err, err.Error()}
}

// sumPrivately spends a part of the budget on a sum over all tasks.
func (s *frame) sumPrivately(ctx context.Context, a *private.Account, what string, part float64, tasks []int, n int,
	vector func(i, t int, v []float64)) (*private.Total, error) {
	if err := s.check(ctx, nil); err != nil {
		return nil, err
	}
	return a.Sum(context.WithoutCancel(ctx), s.net, what, part*a.Budget(), tasks, n, vector)
}

// moments returns mean and standard deviation of every column, the target last, over the training rows of
// every task of a table.
func (s *frame) moments(i int) (mean, deviation [][]float64) {
	t, columns := s.tables[i], len(s.level)+1
	values := make([][][]float64, len(t.Tasks()))
	for k := range values {
		values[k] = make([][]float64, columns)
	}
	s.eachRow(i, func(row int, x []float64, y float64) {
		own := values[t.Task(row)]
		for j, v := range append(x, y) {
			if !math.IsNaN(v) {
				own[j] = append(own[j], v)
			}
		}
	})
	for k, own := range values {
		mean, deviation = append(mean, make([]float64, columns)), append(deviation, make([]float64, columns))
		for j, v := range own {
			mean[k][j], deviation[k][j] = stat.PopMeanStdDev(v, nil)
		}
	}
	return mean, deviation
}

// power returns the place of a size among the powers of two, and middle the geometric middle of a place.
func power(size float64) int { return min(max(math.Ilogb(size)-leastPower, 0), powers-1) }

func middle(place int) float64 { return math.Ldexp(math.Sqrt2, place+leastPower) }
