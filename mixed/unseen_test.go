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
	check.FailIf(t, ours > 1.75 || before < 2.3, "new tasks have the error %v, and %v by the mean of the model", ours,
		before)
	var file bytes.Buffer
	check.Done(m.Save(&file))
	loaded := check.OK(Load(bytes.NewReader(file.Bytes()), int64(file.Len())))
	check.FailIf(t, newError(t, loaded, others) != ours,
		"the model from a file has the error %v", newError(t, loaded, others))
	refitted, _ := fitted(t, apart, Options{Refit: true}, holdOut(apart)...)
	if got := newError(t, refitted, others); refitted.Parameters().Unseen == nil || math.Abs(got/ours-1) > .1 {
		t.Errorf("the fit to all rows has the error %v, before %v", got, ours)
	}
	three, _, err := Together(t.Context(), cut(Input{Table: apart, HeldOut: holdOut(apart)}, 3), network("path", 3),
		open)
	check.Done(err)
	if u := three.Parameters().Unseen; u == nil || floats.Distance(u.Mean, mean.Unseen.Mean, 2) > 1e-9 {
		t.Errorf("three owners have %+v, one table %+v", u, mean.Unseen)
	}
}

// Where tasks differ between each other as rows within them, the share of the pooled mean is small, and costs
// next to nothing.
func TestTasksWithoutRowsAlike(t *testing.T) {
	others, ours, by := between(t, 2, 300, 0), 0.0, 0.0
	for seed := range uint64(12) {
		m, _ := fitted(t, between(t, 3+seed, 40, 0), Options{})
		p := m.Parameters()
		p.Unseen = nil
		ours, by = ours+newError(t, m, others), by+newError(t, check.OK(New(p)), others)
	}
	check.FailIf(t, ours > 1.005*by, "slopes are equal, and tasks without rows have the error %v, %v by the mean", ours,
		by)
}

// The error of a task that is left out is that of a fit of the other tasks at the same strengths.
func TestTasksLeftOutAgainstFitsOfTheOthers(t *testing.T) {
	table := drawing{tasks: 9, rows: 5, features: 2, levels: 1, slopes: 1, noise: 1}.table(t, 3)
	s := statsOf(t, table, true, 1)
	q := s.start()
	m := check.OK(s.meanPosterior(t.Context(), s.tasks, q))
	w := s.worker(t.Context())
	for k := range s.packed {
		got := w.task.Residual(check.OK(s.meanWithout(w, k, m, s.meanDeviations(q))))
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
		check.FailIf(t, math.Abs(got/want-1) > 1e-6, "task %d: %v, want %v", k, got, want)
	}
}

// The share of the pooled mean minimises the squared error of tasks that are left out, less what chance
// explains: it is the ratio where all tasks have the same, at most 1, and 0 against the pooled mean.
func TestShareOfThePooledMean(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	sumsOf := func(tasks int, ratio, spread float64) leftOut {
		sums := make([]float64, leftOutSize)
		for range tasks {
			model, pooled, half := 0.0, 0.0, 0.0
			scale := math.Exp(r.NormFloat64())
			for range 6 {
				d := scale * r.NormFloat64()
				e := ratio*d + spread*r.NormFloat64()
				model, pooled, half = model+e*e, pooled+square(e-d), half+square(e-d/2)
			}
			addLeftOut(sums, model, pooled, half)
		}
		return leftOutOf(sums)
	}
	for _, c := range []struct{ ratio, want float64 }{{.3, .3}, {.9, .9}, {1.7, 1}, {-.4, 0}, {0, 0}} {
		l := sumsOf(20, c.ratio, 0)
		near(t, "share", l.share(20), c.want)
	}
	for _, ratio := range []float64{0, .1, .3, .6, 1} {
		wrong, none, all := 0.0, 0.0, 0.0
		for range 2000 {
			share := sumsOf(15, ratio, 3).share(15)
			check.FailIf(t, !(share >= 0 && share <= 1), "the share is %v", share)
			wrong, none, all = wrong+square(share-ratio), none+square(ratio), all+square(1-ratio)
		}
		if !(wrong <= 1.05*max(none, 60)) || !(wrong < 1.05*max(all, 60)) {
			t.Errorf("ratio %v: squared errors of shares %v, of 0 %v, of 1 %v", ratio, wrong, none, all)
		}
	}
	check.FailIf(t, leftOut{}.share(0) != 0, "without tasks the share is %v", leftOut{}.share(0))
}

// newTasks returns the mean squared errors for rows of new tasks after the model has learned so many other
// rows of theirs, which count with a weight.
func newTasks(t *testing.T, m *Model, table *Data, rows int, weight float64) float64 {
	t.Helper()
	sum, n := 0.0, 0.0
	for k, name := range table.TaskNames {
		learned, x := m, make([]float64, 1)
		some := newTable(t, table.Names...)
		var rest []int
		for i, of := range table.TaskOf {
			switch {
			case of != k:
			case some.Rows() < rows:
				add(t, some, name, table.Y(i), table.X(x, i)...)
				some.Weighting = append(some.Weighting, weight)
			default:
				rest = append(rest, i)
			}
		}
		if rows > 0 {
			learned = check.OK(m.Adapt(t.Context(), some))
		}
		for _, i := range rest[len(rest)-3:] { // the same rows after any number of others
			y, _, err := learned.Predict(name, table.X(x, i))
			check.Done(err)
			sum, n = sum+square(table.Y(i)-y), n+1
		}
	}
	return sum / n
}

// renamed returns the table with other names of tasks, that no model knows.
func renamed(table *Data) *Data {
	for k := range table.TaskNames {
		table.TaskNames[k] = "new " + table.TaskNames[k]
	}
	return table
}

// Every row of a new task lowers the error, from none on. A row that says nothing leaves the prediction of a
// task without rows. Neither the pooled mean nor the mean of the model is a better start.
func TestRowsOfNewTasksHelp(t *testing.T) {
	for _, slope := range []float64{-1.5, 0, 2} {
		m, _ := fitted(t, between(t, 1, 80, slope), Options{})
		others := renamed(between(t, 2, 300, slope))
		before := math.Inf(1)
		for _, rows := range []int{0, 1, 2, 5} {
			got := newTasks(t, m, others, rows, 1)
			check.FailIf(t, !(got < before), "slope %v: %v rows give the error %v, fewer %v", slope, rows, got, before)
			before = got
			within := m.Parameters()
			if within.Unseen == nil {
				continue
			}
			pooled := within
			within.Unseen, pooled.Unseen, pooled.Mean = nil, nil, pooled.Unseen.Mean
			for name, p := range map[string]Parameters{"the mean of the model": within, "the pooled mean": pooled} {
				by := newTasks(t, check.OK(New(p)), others, rows, 1)
				check.FailIf(t, got > 1.03*by, "slope %v, %d rows: the error is %v, from %s %v", slope, rows, got, name,
					by)
			}
		}
		none, faint := newTasks(t, m, others, 0, 1), newTasks(t, m, others, 2, 1e-9)
		check.FailIf(t, math.Abs(faint/none-1) > 1e-6,
			"slope %v: the error is %v with rows of no weight, %v without", slope, faint, none)
	}
}

// A task whose rows were all held out is new: it learns as a task does whose name the model has never seen.
func TestTasksOfHeldOutRowsAreNew(t *testing.T) {
	table := between(t, 1, 80, -1.5)
	held := make([]bool, table.Rows())
	for i, k := range table.TaskOf {
		held[i] = k%4 == 1
	}
	m, _ := fitted(t, table, Options{}, held...)
	check.FailIf(t, m.Parameters().Unseen == nil, "tasks without rows have the mean of the model")
	listed, other := newTable(t, "x"), newTable(t, "x")
	for i := range 3 {
		x, y := float64(i), float64(2*i)
		add(t, listed, table.TaskNames[1], y, x)
		add(t, other, "another name", y, x)
	}
	learned := check.OK(check.OK(m.Adapt(t.Context(), listed)).Adapt(t.Context(), other))
	got := check.OK(learned.PredictError(table.TaskNames[1], []float64{-1}))
	want := check.OK(learned.PredictError("another name", []float64{-1}))
	check.FailIf(t, got != want, "a task of held-out rows has %+v, a new one %+v", got, want)
}
