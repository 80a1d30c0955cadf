package fit

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/internal/text"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/model"
	"gonum.org/v1/gonum/floats"
)

// score fills in the report.
func (f *fitter) score(ctx context.Context, fitted *model.Model) error {
	r, m := f.report, fitted.Parameters()
	p := make([]float64, fitted.Rank())
	ours := f.tally(func(g, k int, z []float64, y float64) float64 {
		project(p, z, m.U[g])
		return y - floats.Dot(p, m.B[k*len(p):][:len(p)])
	})
	tallies := [][][2]tally{ours} // by method, task and set
	r.Scores = []Score{{Method: Ours, Ridge: m.Ridge}}
	if f.c.Baselines {
		theta := f.pooled.theta(-1, f.pooled.ridge)
		tallies = append(tallies, f.tally(func(_, _ int, z []float64, y float64) float64 {
			return y + floats.Dot(z, m.Mean) - floats.Dot(z, theta)
		}), f.single.tallies)
		r.Scores = append(r.Scores, Score{Method: Pooled, Ridge: f.pooled.ridge, Tried: f.pooled.tried},
			Score{Method: Single, Ridge: f.single.ridge, Tried: f.single.tried})
	}
	if err := f.scoreAll(ctx, tallies); err != nil {
		return err
	}
	f.scoreTasks(tallies)
	for g, tasks := range f.layout {
		for i, k := range tasks {
			name := f.t.Tasks()[k]
			if m.Samples[k] < len(p) {
				r.FewRows = append(r.FewRows, fmt.Sprintf("%q (%s)", name, text.Plural(m.Samples[k], "row")))
			}
			if r.Result.Tasks[g][i] != lsq.OK {
				r.Singular = append(r.Singular, fmt.Sprintf("%q (%v)", name, r.Result.Tasks[g][i]))
			}
		}
	}
	return nil
}

// tally sums the errors of all tasks. residual returns that of a packed row of task k
// on node g.
func (f *fitter) tally(residual func(g, k int, z []float64, y float64) float64) [][2]tally {
	tallies := make([][2]tally, len(f.rows))
	row := make([]float64, f.Width())
	for s, nodes := range f.packed {
		for g, tasks := range f.layout {
			for i, k := range tasks {
				for at, y := range nodes[g].Y(i) {
					tallies[k][s].add(residual(g, k, nodes[g].Row(row, i, at), y))
				}
			}
		}
	}
	return tallies
}

// scoreAll sets the errors over all tasks. The nodes meet for the means of the
// targets, and for what all sums consist of.
func (f *fitter) scoreAll(ctx context.Context, tallies [][][2]tally) error {
	z := f.zeros(4)
	f.eachRow(func(g, i int) {
		s := set(f.train[i])
		z[g][s]++
		z[g][2+s] += f.t.Y(i)
	})
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	mean := [2]float64{sum[2] / sum[0], sum[3] / sum[1]}
	z = f.zeros(2 + 6*len(tallies))
	f.eachRow(func(g, i int) {
		s := set(f.train[i])
		e := f.t.Y(i) - mean[s]
		z[g][s] += e * e
	})
	for g, tasks := range f.layout {
		for _, k := range tasks {
			for m := range tallies {
				for s, t := range tallies[m][k] {
					at := z[g][2+6*m+3*s:]
					at[0] += t.rows
					at[1] += t.squares
					at[2] += t.absolute
				}
			}
		}
	}
	if sum, err = f.sum(ctx, z); err != nil {
		return err
	}
	for m := range tallies {
		at := sum[2+6*m:]
		train, test := tally{at[0], at[1], at[2]}, tally{at[3], at[4], at[5]}
		f.report.Scores[m].Train, f.report.Scores[m].Test = train.errors(sum[0]), test.errors(sum[1])
	}
	return nil
}

// eachRow calls visit for every row of every node.
func (f *fitter) eachRow(visit func(g, i int)) {
	for g, tasks := range f.layout {
		for _, k := range tasks {
			for _, i := range f.rows[k] {
				visit(g, i)
			}
		}
	}
}

// scoreTasks sets the errors of every task. Nothing is summed over nodes.
func (f *fitter) scoreTasks(tallies [][][2]tally) {
	f.report.Tasks = make([]TaskScore, len(f.rows))
	for k, rows := range f.rows {
		var n, mean, spread [2]float64
		for _, i := range rows {
			n[set(f.train[i])]++
			mean[set(f.train[i])] += f.t.Y(i)
		}
		for _, i := range rows {
			s := set(f.train[i])
			e := f.t.Y(i) - mean[s]/n[s]
			spread[s] += e * e
		}
		t := TaskScore{Task: f.t.Tasks()[k], Node: f.t.Nodes()[f.t.Node(k)]}
		for m := range tallies {
			t.Train = append(t.Train, tallies[m][k][0].errors(spread[0]))
			t.Test = append(t.Test, tallies[m][k][1].errors(spread[1]))
		}
		f.report.Tasks[k] = t
	}
}
