package mixed

import (
	"cmp"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/rounded"
)

const (
	mostCost  = 5e8 // multiplications per iteration on all tasks above which optimisers use some of them
	leastSome = 60  // least number of these
)

// someTasks returns the tasks for optimisers of forms with at most that number of columns: all, or some where
// an iteration would be expensive, evenly spaced by the means of their targets. Several owners take all: the
// totals of some of the tasks would disclose totals of the other tasks.
func (s *stats) someTasks(width int) *taskSet {
	if s.rows.sums.Owners() > 1 {
		return s.tasks
	}
	cost, p := 0.0, float64(width)
	for _, k := range s.tasks.own {
		cost += float64(min(float64(len(s.rows.of(k))), p) * p * p * 3.5)
	}
	n := len(s.tasks.own)
	keep := max(int(float64(n)*mostCost/cost), leastSome)
	if keep >= n {
		return s.tasks
	}
	all, taken := s.byMeanTarget(), map[int]bool{}
	for i := range keep {
		taken[all[i*n/keep]] = true
	}
	set := &taskSet{count: float64(keep)}
	for _, k := range s.tasks.own {
		if taken[k] {
			set.own = append(set.own, k)
			set.rows += float64(len(s.rows.of(k)))
		}
	}
	return set
}

// byMeanTarget returns the tasks of this owner in the order of the means of their targets. Means count as
// equal where rounding alone may make them differ. Tasks of equal means come by the sums of squares of their
// standardised features. So the order does not depend on units, names, and places of rows, tasks and
// columns.
func (s *stats) byMeanTarget() []int {
	const parts = 1e9 // of a deviation: means are rounded to one part
	r, read, x := s.rows, s.rows.newReader(), make([]float64, len(s.design.Scale))
	level, squares := make([]float64, len(r.names)), make([]float64, len(r.names))
	for _, k := range s.tasks.own {
		level[k] = math.Round(parts * r.meanOf(k))
		read.each(r.of(k), func(_ int, features []float64) {
			s.design.standardise(x, features, nil)
			squares[k] += rounded.Dot(x, x)
		})
	}
	out := slices.Clone(s.tasks.own)
	slices.SortStableFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(level[a], level[b]), cmp.Compare(squares[a], squares[b]))
	})
	return out
}

// chooseTasks sets the tasks that optimisers use, for both forms.
func (f *fitter) chooseTasks() {
	width := f.plain.p
	if f.curved != nil {
		width = max(width, f.curved.p)
	}
	f.plain.some = f.plain.someTasks(width)
	if f.curved != nil {
		f.curved.some = f.plain.some
	}
}
