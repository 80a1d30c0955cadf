package mixed

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"gonum.org/v1/gonum/floats"
)

// between returns a table of tasks whose levels rise with the mean of a column by a slope, beside the slope
// within tasks.
func between(t *testing.T, seed uint64, tasks int, slope float64) *Data {
	r := rand.New(rand.NewPCG(seed, 8))
	table := newTable(t, "x")
	for k := range tasks {
		mean := 2 * r.NormFloat64()
		level := slope*mean + .5*r.NormFloat64()
		for range 8 {
			x := mean + r.NormFloat64()
			add(t, table, fmt.Sprint("t", k), level+x+.5*r.NormFloat64(), x)
		}
	}
	return table
}

// newError returns the root mean square error of a model for tasks that it has not learned.
func newError(t *testing.T, m *Model, table *Data) float64 {
	t.Helper()
	sum := 0.0
	for i := range table.Rows() {
		y, known, err := m.Predict("new", table.X(make([]float64, 1), i))
		check.Done(err)
		check.FailIf(t, known, "a new task is known")
		sum += square(table.Y(i) - y)
	}
	return math.Sqrt(sum / float64(table.Rows()))
}

// Where tasks differ between each other otherwise than rows within them, tasks without rows are predicted by
// the slope between tasks: the error is that of pooled least squares, which has no use for the slope within.
// Where both slopes are equal, nothing changes. A fit to all rows, a file and three owners have the same
// mean.
func TestTasksWithoutRows(t *testing.T) {
	apart, others := between(t, 1, 80, -1.5), between(t, 2, 300, -1.5)
	m, r := fitted(t, apart, Options{}, holdOut(apart)...)
	mean := m.Parameters()
	if mean.Unseen == nil {
		t.Fatalf("tasks without rows have the mean of the model: %q", r.Notes)
	}
	noted := slices.ContainsFunc(r.Notes, func(s string) bool { return len(s) > 18 && s[:18] == "Tasks without rows" })
	check.FailIf(t, !noted, "notes %q", r.Notes)
	within := mean
	within.Unseen = nil
	ours, before := newError(t, m, others), newError(t, check.OK(New(within)), others)
	// Pooled, x has the slope (4 (1 - 1.5) + 1)/5 = -.2, and the error of level, slope and noise is 1.6 or
	// so.
	check.FailIf(t, ours > 1.75 || before < 2.3, "new tasks have the error %v, and %v by the mean of the model", ours, before)
	var file bytes.Buffer
	check.Done(m.Save(&file))
	loaded := check.OK(Load(bytes.NewReader(file.Bytes()), int64(file.Len())))
	check.FailIf(t, newError(t, loaded, others) != ours, "the model from a file has the error %v", newError(t, loaded, others))
	refitted, _ := fitted(t, apart, Options{Refit: true}, holdOut(apart)...)
	if got := newError(t, refitted, others); refitted.Parameters().Unseen == nil || math.Abs(got/ours-1) > .1 {
		t.Errorf("the fit to all rows has the error %v, before %v", got, ours)
	}
	three, _, err := Together(t.Context(), cut(Input{Table: apart, HeldOut: holdOut(apart)}, 3), network("path", 3), open)
	check.Done(err)
	if u := three.Parameters().Unseen; u == nil || floats.Distance(u.Mean, mean.Unseen.Mean, 2) > 1e-9 {
		t.Errorf("three owners have %+v, one table %+v", u, mean.Unseen)
	}
	alike := between(t, 3, 80, 0)
	m, _ = fitted(t, alike, Options{})
	check.FailIf(t, m.Parameters().Unseen != nil, "slopes are equal, and tasks without rows have %+v", m.Parameters().Unseen)
}

// The error of a task that is left out is that of a fit of the other tasks at the same strengths.
func TestTasksLeftOutAgainstFitsOfTheOthers(t *testing.T) {
	table := drawing{tasks: 9, rows: 5, features: 2, levels: 1, slopes: 1, noise: 1}.table(t, 3)
	s := statsOf(t, table, true, 1)
	q := s.start()
	m := check.OK(s.meanPosterior(t.Context(), s.tasks, q))
	got := make([]float64, len(s.packed))
	all := s.withoutTasks(t.Context(), m, s.meanDeviations(q), func(k int, squares float64, _ []float64) { got[k] = squares })
	check.Done(all.err)
	for k := range got {
		less := &taskSet{count: s.tasks.count - 1, rows: s.tasks.rows - 5}
		for _, other := range s.tasks.own {
			if other != k {
				less.own = append(less.own, other)
			}
		}
		others := check.OK(s.meanPosterior(t.Context(), less, q))
		want, row := 0.0, make([]float64, s.p)
		for _, i := range s.rows.of(k) {
			s.design.Apply(row, s.rows.reader()(int(i)))
			want += square(s.rows.standardized(int(i), false) - floats.Dot(row, others.mean))
		}
		check.FailIf(t, math.Abs(got[k]/want-1) > 1e-6, "task %d: %v, want %v", k, got[k], want)
	}
}
