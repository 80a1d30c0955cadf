package fit

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// score compares methods on the rows of all nodes.
func (f *fitter) score(ctx context.Context, methods []method) error {
	tallies := make([][][2]tally, len(methods)) // by method, task and set
	for m := range tallies {
		tallies[m] = make([][2]tally, len(f.rows))
	}
	z := make([]float64, f.width())
	f.eachRow(func(_, i int) {
		k, s := f.t.Task(i), set(f.train[i])
		y := f.row(z, i)
		for m := range methods {
			tallies[m][k][s].add(y - floats.Dot(z, methods[m].theta[k]))
		}
	})
	for _, m := range methods {
		f.report.Scores = append(f.report.Scores, Score{Method: m.name, Ridge: m.ridge, Tried: m.tried})
	}
	if err := f.scoreAll(ctx, tallies); err != nil {
		return err
	}
	f.scoreTasks(tallies)
	return f.judge(ctx, tallies)
}

// scoreAll sets the errors over all tasks. The nodes meet for the means of the
// targets, and for what all sums consist of.
func (f *fitter) scoreAll(ctx context.Context, tallies [][][2]tally) error {
	z := f.zeros(4)
	f.eachRow(func(g, i int) {
		s := set(f.train[i])
		z[g][s]++
		z[g][2+s] += f.scaledTarget(i)
	})
	sum, err := f.sum(ctx, z)
	if err != nil {
		return err
	}
	mean := [2]float64{sum[2] / sum[0], sum[3] / max(sum[1], 1)}
	z = f.zeros(2 + 6*len(tallies))
	f.eachRow(func(g, i int) {
		s := set(f.train[i])
		e := f.scaledTarget(i) - mean[s]
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
		s := &f.report.Scores[m]
		s.Train, s.Test = train.errors(sum[0], f.TargetScale), test.errors(sum[1], f.TargetScale)
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
			mean[set(f.train[i])] += f.scaledTarget(i)
		}
		for _, i := range rows {
			s := set(f.train[i])
			e := f.scaledTarget(i) - mean[s]/n[s]
			spread[s] += e * e
		}
		t := TaskScore{Task: f.t.Tasks()[k], Node: f.t.Nodes()[f.t.Node(k)]}
		for m := range tallies {
			t.Train = append(t.Train, tallies[m][k][0].errors(spread[0], f.TargetScale))
			t.Test = append(t.Test, tallies[m][k][1].errors(spread[1], f.TargetScale))
		}
		f.report.Tasks[k] = t
	}
}

// differences returns the sums, over the tasks of all nodes with held-out rows, of the squared
// error of method m less that of the first on them, of its square, and the number of these tasks.
func (f *fitter) differences(ctx context.Context, tallies [][][2]tally) (sum []float64, err error) {
	z := f.zeros(3 * len(tallies))
	for g, tasks := range f.layout {
		for _, k := range tasks {
			for m := range tallies {
				if tallies[0][k][1].rows == 0 {
					continue
				}
				d := tallies[m][k][1].squares - tallies[0][k][1].squares
				z[g][3*m] += d
				z[g][3*m+1] += d * d
				z[g][3*m+2]++
			}
		}
	}
	return f.sum(ctx, z)
}

// relative turns a difference of squared errors into one of root mean square errors, as a part of
// the larger: 1 - sqrt(ours / other).
func relative(difference, other float64) float64 {
	return 1 - math.Sqrt(max(1-difference/other, 0))
}
