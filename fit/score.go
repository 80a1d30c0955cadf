package fit

import (
	"context"

	"github.com/difalt/difalt/fit/internal/nodes"
	"gonum.org/v1/gonum/floats"
)

// tallies are sums of errors, by method, task and set: training rows (0) and held-out rows (1).
type tallies [][][2]tally

// tally predicts the rows of this process by all methods.
func (d *design) tally(methods []method) tallies {
	out := make(tallies, len(methods))
	for m := range out {
		out[m] = make([][2]tally, len(d.rows))
	}
	rows, done := make([][]float64, len(methods)), 0
	for m := range methods {
		if of := methods[m].of; of != nil {
			rows[m] = make([]float64, of.width())
		}
	}
	z := make([]float64, d.width())
	d.eachRow(func(_, i int) {
		if done++; done%256 == 0 {
			d.show("scores", done, len(d.train))
		}
		k, s := d.t.Task(i), set(d.train[i])
		y := d.row(z, i)
		for m := range methods {
			row := z
			if of := methods[m].of; of != nil {
				row = rows[m]
				of.row(row, i)
			}
			out[m][k][s].add(y - floats.Dot(row, methods[m].theta[k]))
		}
	})
	return out
}

// scores returns the errors over all tasks of all nodes. The nodes add up what the means of the
// targets are made of, and what all errors are.
func (d *design) scores(ctx context.Context, methods []method, errors tallies) ([]Score, error) {
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
	n, of := rows.Of(sum), targets.Of(sum)
	mean := [2]float64{of[0] / n[0], of[1] / max(n[1], 1)}
	l = nodes.Layout{}
	spread, parts := l.Span(2), make([][2]nodes.Span, len(methods))
	for m := range parts {
		parts[m] = [2]nodes.Span{l.Span(3), l.Span(3)}
	}
	z = d.Zeros(l.Len)
	d.eachRow(func(g, i int) {
		s := set(d.train[i])
		e := d.scaledTarget(i) - mean[s]
		spread.Of(z[g])[s] += e * e
	})
	for g, tasks := range d.layout {
		for _, k := range tasks {
			for m := range errors {
				for s, t := range errors[m][k] {
					floats.Add(parts[m][s].Of(z[g]), []float64{t.rows, t.squares, t.absolute})
				}
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
			v := parts[m][s].Of(sum)
			t := tally{v[0], v[1], v[2]}
			*to = t.errors(spread.Of(sum)[s], d.TargetScale)
		}
	}
	return out, nil
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

// taskScores returns the errors of every task of this process. Nothing is summed over nodes.
func (d *design) taskScores(errors tallies) []TaskScore {
	out := make([]TaskScore, len(d.rows))
	for k, rows := range d.rows {
		var n, mean, spread [2]float64
		for _, i := range rows {
			n[set(d.train[i])]++
			mean[set(d.train[i])] += d.scaledTarget(i)
		}
		for _, i := range rows {
			s := set(d.train[i])
			e := d.scaledTarget(i) - mean[s]/n[s]
			spread[s] += e * e
		}
		t := TaskScore{Task: d.t.Tasks()[k], Node: d.t.Nodes()[d.t.Node(k)]}
		for m := range errors {
			t.Train = append(t.Train, errors[m][k][0].errors(spread[0], d.TargetScale))
			t.Test = append(t.Test, errors[m][k][1].errors(spread[1], d.TargetScale))
		}
		out[k] = t
	}
	return out
}
