package fit

import (
	"context"
	"iter"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/fit/internal/nodes"
	"github.com/difalt/difalt/cmd/difalt/fit/internal/parallel"
	"gonum.org/v1/gonum/floats"
)

// tallies are the errors of a method on the rows of every task of this process: those of training (set 0) and, if it has any, those held out
// (set 1).
type tallies struct {
	sets int
	list []tally
}

// of returns that of a task and set.
func (t *tallies) of(k, set int) tally {
	if set >= t.sets {
		return tally{}
	}
	return t.list[k*t.sets+set]
}

// tally predicts the rows of this process by the methods that have not been told yet how well they do. They forget their coefficients: there may be
// millions of tasks.
func (d *design) tally(ctx context.Context, methods []method, workers int) {
	sets := 1
	if slices.Contains(d.train, false) {
		sets = 2
	}
	for m := range methods {
		if methods[m].errors.sets == 0 {
			methods[m].errors = tallies{sets, make([]tally, sets*len(d.t.Tasks()))}
		}
	}
	rows := make([][]float64, workers)
	first := 0
	for _, tasks := range d.layout {
		parallel.For(ctx, workers, len(tasks), func(worker, at int) {
			d.show("scores", first+at, len(d.t.Tasks()))
			for m := range methods {
				own := &methods[m]
				if own.theta.values == nil {
					continue
				}
				k, w := tasks[at], own.of.width()
				rows[worker] = slices.Grow(rows[worker][:0], w)
				z, to, theta := rows[worker][:w], own.errors.list[k*sets:], own.theta.of(k)
				for _, i := range d.rows[k] {
					y := own.of.row(z, i)
					to[set(d.train[i])].add(d.errorOf(own.of, i, y, floats.Dot(z, theta)))
				}
			}
		})
		first += len(tasks)
	}
	for m := range methods {
		methods[m].theta = thetas{}
	}
}

// errorOf returns the error of a row, with y for its scaled target, that a prediction of another design has, which may be of another scale.
func (d *design) errorOf(other *design, i int, y, prediction float64) float64 {
	if !other.LogTarget {
		return y - prediction
	}
	return (d.t.Y(i) - other.UnscaleTarget(prediction)) / d.TargetScale
}

// scores returns the errors over all tasks of all nodes. The nodes add up what the means of the
// targets are made of, and what all errors are.
func (d *design) scores(ctx context.Context, methods []method) ([]Score, error) {
	var l nodes.Layout
	rows, targets := l.Span(2), l.Span(2)
	z := d.Zeros(l.Len)
	d.eachRow(func(g, i int) {
		s := set(d.train[i])
		rows.Of(z[g])[s]++
		targets.Of(z[g])[s] += d.scaledTarget(i)
	})
	sum, err := d.Sum(ctx, z)
	if err != nil {
		return nil, err
	}
	n, mean := rows.Of(sum), targets.Of(sum)
	floats.Div(mean, []float64{n[0], max(n[1], 1)})
	l = nodes.Layout{}
	spread, squares, absolute := l.Span(2), l.Span(2*len(methods)), l.Span(2*len(methods))
	z = d.Zeros(l.Len)
	d.eachRow(func(g, i int) {
		s := set(d.train[i])
		e := d.scaledTarget(i) - mean[s]
		spread.Of(z[g])[s] += e * e
	})
	for g, tasks := range d.layout {
		for _, k := range tasks {
			for at := range 2 * len(methods) {
				t := methods[at/2].errors.of(k, at%2)
				squares.Of(z[g])[at] += t.squares
				absolute.Of(z[g])[at] += t.absolute
			}
		}
	}
	if sum, err = d.Sum(ctx, z); err != nil {
		return nil, err
	}
	out := make([]Score, len(methods))
	for m := range out {
		out[m] = methods[m].Score
		for s, to := range []*Errors{&out[m].Train, &out[m].Test} {
			*to = tally{squares.Of(sum)[2*m+s], absolute.Of(sum)[2*m+s]}.errors(n[s], spread.Of(sum)[s], d.TargetScale)
		}
	}
	return out, nil
}

// counts returns how many rows of a task are for training, and how many held out.
func (d *design) counts(k int) (n [2]float64) {
	for _, i := range d.rows[k] {
		n[set(d.train[i])]++
	}
	return n
}

// eachRow calls visit for every row of every node.
func (d *design) eachRow(visit func(g, i int)) {
	for g, tasks := range d.layout {
		for _, k := range tasks {
			for _, i := range d.rows[k] {
				visit(g, i)
			}
		}
	}
}

// taskScores are the errors of every task of this process. Nothing is summed over nodes.
func (d *design) taskScores(methods []method) iter.Seq[TaskScore] {
	return func(yield func(TaskScore) bool) {
		for k, task := range d.t.Tasks() {
			var mean, spread [2]float64
			n := d.counts(k)
			for _, i := range d.rows[k] {
				mean[set(d.train[i])] += d.scaledTarget(i)
			}
			for _, i := range d.rows[k] {
				s := set(d.train[i])
				e := d.scaledTarget(i) - mean[s]/n[s]
				spread[s] += e * e
			}
			t := TaskScore{Task: task, Node: d.t.Nodes()[d.t.Node(k)]}
			for m := range methods {
				t.Train = append(t.Train, methods[m].errors.of(k, 0).errors(n[0], spread[0], d.TargetScale))
				t.Test = append(t.Test, methods[m].errors.of(k, 1).errors(n[1], spread[1], d.TargetScale))
			}
			if !yield(t) {
				return
			}
		}
	}
}
