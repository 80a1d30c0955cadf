package mixed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// apartBySlopes returns the tables of so many nodes, of tasks that differ by an intercept and along one direction.
func apartBySlopes(seed uint64, nodes, tasks, rows int) (list []Input) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for g := range nodes {
		d := &Data{Names: []string{"age", "dose", "weight"}}
		for k := range tasks {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			for range rows {
				x := []float64{50 + 10*rng.NormFloat64(), math.Exp(rng.NormFloat64()), rng.NormFloat64()}
				y := 3 + a + .05*x[0] + b*((x[0]-50)/10+x[2]) + .3*rng.NormFloat64()
				check.Done(d.Append(fmt.Sprintf("site %d, task %d", g, k), y, x...))
			}
		}
		list = append(list, Input{d, holdOut(d)})
	}
	return list
}

// A private training spends its budget, and predicts much better than the means of tasks where tasks are many.
func TestPrivately(t *testing.T) {
	for _, rank := range []int{0, 1, 2} {
		list := apartBySlopes(9, 3, 150, 12)
		m, r, err := Privately(t.Context(), list, network("path", 3), Options{Rank: &rank, TargetColumn: "y"}, Privacy{Epsilon: 8})
		check.Done(err)
		if y, _, err := m.Predict("unseen", []float64{50, 1.65, 0}); err != nil || math.Abs(y-5.5) > .5 {
			t.Errorf("rank %d: the mean of all tasks predicts %v, want about 5.5 (%v)", rank, y, err)
		}
		// Tasks with long slopes are cut to length 1, which takes the mean towards 0.
		if e := m.Effects()[1]; math.Abs(e.Estimate-.05) > .03 || !(e.StandardError > .0005 && e.StandardError < .03) {
			t.Errorf("rank %d: effect %+v, want .05", rank, e)
		}
		if e := r.Private.Epsilon(); !(e > 7.9 && e <= 8) {
			t.Errorf("rank %d: epsilon %v was spent", rank, e)
		}
		ours, mean := r.Scores[0], r.Scores[len(r.Scores)-1]
		most := map[int]float64{0: 1, 1: .5, 2: .5}[rank]
		check.FailIf(t, mean.Method != TaskMean || !(ours.Test.RMSE < most*mean.Test.RMSE) || r.Owners != 3 || r.TaskCount != 450,
			"rank %d: RMSE %v, of %s %v; %d owners of %d tasks", rank, ours.Test.RMSE, mean.Method, mean.Test.RMSE, r.Owners, r.TaskCount)
		inside, rows := 0.0, 0.0
		for _, in := range list {
			d := in.Table.(*Data)
			eachRow(t, m, d, in.HeldOut, func(_ int, p Prediction, y float64, train bool) {
				if train {
					return
				}
				if rows++; math.Abs(p.Value-y) <= 1.96*p.SampleError {
					inside++
				}
			})
		}
		check.FailIf(t, inside/rows < .92 || inside/rows > .98, "rank %d: %v of %v intervals of predictions cover", rank, inside, rows)
	}
}

// Budgets, options and tables that private training does not take end it before anything is spent.
func TestPrivatelyStops(t *testing.T) {
	rank, huge := 1, 21
	weighted := apartBySlopes(1, 3, 4, 12)
	for _, in := range weighted {
		d := in.Table.(*Data)
		d.Weighting = make([]float64, d.Rows())
		for i := range d.Weighting {
			d.Weighting[i] = 2
		}
	}
	for name, c := range map[string]struct {
		list []Input
		o    Options
		p    Privacy
		want string
	}{
		"few tasks": {nil, Options{Rank: &rank}, Privacy{Epsilon: 1}, "12 tasks at epsilon 1 do not show the size of column"},
		"no rank":   {nil, Options{}, Privacy{Epsilon: 1}, "private training requires a rank"},
		"collusion": {nil, Options{Rank: &rank}, Privacy{Epsilon: 1, Colluding: 3}, "3 of 3 nodes are to collude"},
		"epsilon":   {nil, Options{Rank: &rank}, Privacy{}, "epsilon is 0"},
		"huge rank": {nil, Options{Rank: &huge}, Privacy{Epsilon: 1}, "the rank is 21"},
		"logarithm": {nil, Options{Rank: &rank, LogTarget: true}, Privacy{Epsilon: 1}, "no logarithm of the target"},
		"weights":   {weighted, Options{Rank: &rank}, Privacy{Epsilon: 1}, "private training takes no weights of rows"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.list == nil {
				c.list = apartBySlopes(1, 3, 4, 12)
			}
			_, _, err := Privately(t.Context(), c.list, network("path", 3), c.o, c.p)
			check.Error(t, err, c.want)
		})
	}
}
