package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// shuffled returns a table with its rows, and the numbers of its tasks, in another order, and its held-out
// marks.
func (d *Data) shuffled(seed uint64, held []bool) (*Data, []bool) {
	r, out := rand.New(rand.NewPCG(seed, 5)), d.clone()
	rows, tasks := r.Perm(d.Rows()), r.Perm(len(d.TaskNames))
	out.TaskNames = permuted(d.TaskNames, tasks)
	place := make([]int, len(tasks))
	for to, from := range tasks {
		place[from] = to
	}
	out.TaskOf, out.Targets = permuted(d.TaskOf, rows), permuted(d.Targets, rows)
	for i, k := range out.TaskOf {
		out.TaskOf[i] = place[k]
	}
	for j, v := range d.Values {
		out.Values[j] = permuted(v, rows)
	}
	if d.Weighting != nil {
		out.Weighting = permuted(d.Weighting, rows)
	}
	if held != nil {
		held = permuted(held, rows)
	}
	check.Done(out.Check())
	return out, held
}

// sameModel reports a difference in the bits of two models, whose tasks may come in another order.
func sameModel(a, b *Model) string {
	p, q := a.Parameters(), b.Parameters()
	for name, pair := range map[string][2][]float64{
		"mean":                   {p.Mean, q.Mean},
		"covariance of the mean": {p.MeanCovariance, q.MeanCovariance},
		"deviations":             {p.Prior.Deviations, q.Prior.Deviations},
		"loadings":               {p.Prior.Loadings, q.Prior.Loadings},
		"centers":                {p.Design.Center, q.Design.Center},
		"scales":                 {p.Design.Scale, q.Design.Scale},
		"noise": {{p.Prior.Noise.Variance, p.Prior.Noise.Freedom, p.Target.Center},
			{q.Prior.Noise.Variance, q.Prior.Noise.Freedom, q.Target.Center}},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			return name
		}
	}
	w := len(p.Mean)
	for k, name := range p.Tasks.Names {
		at := slices.Index(q.Tasks.Names, name)
		if at < 0 || !slices.Equal(p.Tasks.Theta[k*w:][:w], q.Tasks.Theta[at*w:][:w]) ||
			!reflect.DeepEqual(p.Tasks.Covariances[k], q.Tasks.Covariances[at]) ||
			p.Tasks.Noise != nil &&
				(p.Tasks.Noise[k] != q.Tasks.Noise[at] || p.Tasks.Freedom[k] != q.Tasks.Freedom[at]) {
			return fmt.Sprint("task ", name)
		}
	}
	return ""
}

// Rows and tasks in another order give the same bits, of the model and of the scores, for one table and for
// the tables of three owners.
func TestSameBitsInAnyOrder(t *testing.T) {
	wide := Input{Table: drawing{tasks: 4, rows: 6, features: 320, levels: 1, slopes: .1, noise: 1}.table(t, 3)}
	for name, c := range map[string]struct {
		in Input
		o  Options
	}{
		"missing, levels, weights, noise by task": {mixture(t, 3, 18), Options{}},
		"fit again": {mixture(t, 4, 18), Options{Refit: true}},
		"periods":   {periodic(t, 6, 18, 4), Options{}},
		"strange":   {strangeTable(9), Options{}},
		"wide":      {wide, Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, r, err := Fit(t.Context(), c.in, c.o)
			check.Done(err)
			d := c.in.Table.(*Data)
			for seed := range uint64(3) {
				moved, held := d.shuffled(seed, c.in.HeldOut)
				other, s, err := Fit(t.Context(), Input{Table: moved, HeldOut: held}, c.o)
				check.Done(err)
				if what := sameModel(m, other); what != "" {
					t.Errorf("order %d: other bits of the %s", seed, what)
				}
				check.FailIf(t,
					fmt.Sprint(r.Scores, r.Verdict, r.Candidates) != fmt.Sprint(s.Scores, s.Verdict, s.Candidates),
					"order %d: other scores", seed)
			}
			if c.o.Refit || name == "wide" { // which owners refuse
				return
			}
			list := cut(c.in, 3)
			m, r, err = Together(t.Context(), list, network("path", 3), open)
			check.Done(err)
			for i := range list {
				list[i].Table, list[i].HeldOut = list[i].Table.(*Data).shuffled(uint64(i), list[i].HeldOut)
			}
			other, s, err := Together(t.Context(), list, network("path", 3), open)
			check.Done(err)
			if what := sameModel(m, other); what != "" {
				t.Errorf("three owners: other bits of the %s", what)
			}
			check.FailIf(t, fmt.Sprint(r.Scores) != fmt.Sprint(s.Scores), "three owners: other scores")
		})
	}
}

// TestHeldOutRowsDoNotCount: other numbers in held-out rows change no bit of the model, for one table and for
// the tables of three owners; nor do tasks that have no other rows.
func TestHeldOutRowsDoNotCount(t *testing.T) {
	in := mixture(t, 3, 18)
	d := in.Table.(*Data).clone()
	for i, held := range in.HeldOut {
		if held || d.TaskOf[i] == 2 {
			in.HeldOut[i] = true
			d.Targets[i] = 3 - 2*d.Targets[i]
		}
	}
	changed := Input{Table: d, HeldOut: in.HeldOut}
	m, _, err := Fit(t.Context(), in, Options{})
	check.Done(err)
	other, _, err := Fit(t.Context(), changed, Options{})
	check.Done(err)
	if what := sameModel(m, other); what != "" {
		t.Errorf("other bits of the %s", what)
	}
	m, _, err = Together(t.Context(), cut(in, 3), network("path", 3), open)
	check.Done(err)
	other, _, err = Together(t.Context(), cut(changed, 3), network("path", 3), open)
	check.Done(err)
	if what := sameModel(m, other); what != "" {
		t.Errorf("three owners: other bits of the %s", what)
	}
}

// The tasks that optimisers use are the same in any order of rows, tasks and columns, under any names and in
// any units.
func TestSomeTasks(t *testing.T) {
	const width = 3000 // of a design, so that an iteration on all tasks would be expensive
	d := drawing{tasks: 200, rows: 4, features: 3, levels: 1, slopes: .5, noise: 1}.table(t, 8)
	for i := range d.Targets {
		d.Targets[i] = math.Round(2 * d.Targets[i]) // so that many means are equal, but for rounding
		if k := d.TaskOf[i]; k%3 == 0 && i%4 == 3 {
			d.TaskOf[i] = k + 1
		}
	}
	some := func(d *Data) (names []string) {
		s := statsOf(t, d, false, 1)
		set := s.someTasks(width)
		rows := 0
		for _, k := range set.own {
			names = append(names, d.TaskNames[k])
			rows += len(s.rows.of(k))
		}
		check.FailIf(t,
			len(names) >= 200 || len(names) < leastSome || set.count != float64(len(names)) ||
				set.rows != float64(rows),
			"%d tasks: %+v", len(names), set)
		return names
	}
	want := some(d)
	for seed := range uint64(5) {
		moved, _ := d.shuffled(seed, nil)
		check.FailIf(t, !slices.Equal(some(moved), want), "order %d: other tasks", seed)
	}
	in := Input{Table: d}
	slices.Sort(want)
	for _, unit := range []float64{1e-32, 1e12, 3} {
		other := in.Table.(*Data).clone()
		for i := range other.Targets {
			other.Targets[i] *= unit
			other.Values[1][i] *= -unit
		}
		other.Values[0], other.Values[1] = other.Values[1], other.Values[0]
		got := some(other)
		slices.Sort(got)
		check.FailIf(t, !slices.Equal(got, want), "target times %v: other tasks", unit)
	}
}

// Rows that a model learns may come in any order.
func TestAdaptInAnyOrder(t *testing.T) {
	in := mixture(t, 5, 18)
	m, _, err := Fit(t.Context(), tasksOf(in, func(task int) bool { return task < 12 }), Options{})
	check.Done(err)
	more := tasksOf(in, func(task int) bool { return task >= 12 }).Table.(*Data)
	want := check.OK(m.Adapt(t.Context(), more))
	for seed := range uint64(3) {
		moved, _ := more.shuffled(seed, nil)
		if what := sameModel(want, check.OK(m.Adapt(t.Context(), moved))); what != "" {
			t.Errorf("order %d: other bits of the %s", seed, what)
		}
	}
}
