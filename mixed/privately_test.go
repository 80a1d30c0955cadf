package mixed

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
)

// apartBySlopes returns the tables of so many nodes, of tasks that differ by an intercept and along one
// direction.
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
		list = append(list, Input{Table: d, HeldOut: holdOut(d)})
	}
	return list
}

// A private training spends its budget, and predicts much better than the means of tasks where tasks are
// many.
func TestPrivately(t *testing.T) {
	for _, rank := range []int{0, 1, 2} {
		list := apartBySlopes(9, 3, 150, 12)
		var stages []string
		o := Options{Rank: &rank, TargetColumn: "y", Progress: func(p Progress) { stages = append(stages, p.Stage) }}
		m, r, err := Privately(t.Context(), list, network("path", 3), o, Privacy{Epsilon: 8})
		check.Done(err)
		check.FailIf(t, !slices.Equal(stages, PrivateStages), "stages %q, want %q", stages, PrivateStages)
		if y, _, err := m.Predict("unseen", []float64{50, 1.65, 0}); err != nil || math.Abs(y-5.5) > .5 {
			t.Errorf("rank %d: the mean of all tasks predicts %v, want about 5.5 (%v)", rank, y, err)
		}
		check.FailIf(t, m.Parameters().Tasks.Digests != nil, "a private model has digests of rows")
		// Tasks with long slopes are cut to length 1, which takes the mean towards 0.
		if e := m.Effects()[1]; math.Abs(e.Estimate-.05) > .03 || !(e.StandardError > .0005 && e.StandardError < .03) {
			t.Errorf("rank %d: effect %+v, want .05", rank, e)
		}
		if e := r.Private.Epsilon(); !(e > 7.9 && e <= 8) {
			t.Errorf("rank %d: epsilon %v was spent", rank, e)
		}
		ours, mean := r.Scores[0], r.Scores[len(r.Scores)-1]
		most := map[int]float64{0: 1, 1: .5, 2: .5}[rank]
		check.FailIf(t,
			mean.Method != TaskMean || !(ours.Test.RMSE < most*mean.Test.RMSE) || r.Owners != 3 || r.TaskCount != 450,
			"rank %d: RMSE %v, of %s %v; %d owners of %d tasks", rank, ours.Test.RMSE, mean.Method, mean.Test.RMSE,
			r.Owners, r.TaskCount)
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
		check.FailIf(t, inside/rows < .92 || inside/rows > .98,
			"rank %d: %v of %v intervals of predictions cover", rank, inside, rows)
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
	short := apartBySlopes(1, 3, 4, 12)
	short[1].Table.(*Data).Targets = short[1].Table.(*Data).Targets[:2]
	for name, c := range map[string]struct {
		list []Input
		o    Options
		p    Privacy
		want string
	}{
		"short target": {short, Options{Rank: &rank}, Privacy{Epsilon: 1}, "and 2 targets or weights"},
		"few tasks": {nil, Options{Rank: &rank}, Privacy{Epsilon: 1},
			"12 tasks at epsilon 1 do not show the size of column"},
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

// What a task contributes to private totals depends on its own rows alone, also where values are missing: the
// account is about one task, and counts the part of no other.
func TestSlopesAreOfOneTask(t *testing.T) {
	slopes := func(change func(d *Data)) *kernel.Tasks {
		in := apartBySlopes(4, 1, 6, 9)[0]
		d := in.Table.(*Data)
		for i := range d.Rows() {
			if i%5 == 0 {
				d.Values[i%3][i] = math.NaN()
			}
		}
		change(d)
		rank := 1
		s := &privacy{fitter: &fitter{Options: Options{Rank: &rank}, in: &in}, list: []Input{in}, first: []int{0}}
		s.rows = check.OK(newRows(t.Context(), s.in, &s.Options))
		return s.slopes([]float64{8, .5, 1, 2})[0]
	}
	before := slopes(func(*Data) {})
	after := slopes(func(d *Data) {
		for i, k := range d.TaskOf {
			if k == 2 {
				d.Values[0][i], d.Values[1][i], d.Targets[i] = 1e9+float64(i), -3e7, 1e12
			}
		}
	})
	a, b := make([]float64, 3), make([]float64, 3)
	for k := range before.Len() {
		for i, y := range before.Y(k) {
			same := slices.Equal(before.Row(a, k, i), after.Row(b, k, i)) && y == after.Y(k)[i]
			check.FailIf(t, same != (k != 2), "task %d, row %d: %v %v and %v %v", k, i, a, y, b, after.Y(k)[i])
		}
	}
}

// No numbers of a task end a private training, which would show that the task is there.
func TestPrivatelyWithExtremeTasks(t *testing.T) {
	rank := 1
	for name, v := range map[string][2]float64{
		"huge": {1e140, 1e140}, "beyond tables": {1e300, -1e300}, "huge feature": {1e30, 1}, "huge target": {1, -1e30},
		"tiny": {1e-300, 1e-300}, "zero": {0, 0}, "large": {1e9, 1e12},
	} {
		t.Run(name, func(t *testing.T) {
			list := apartBySlopes(9, 3, 150, 12)
			d := list[1].Table.(*Data)
			for i, k := range d.TaskOf {
				if k == 7 {
					d.Values[2][i] *= v[0]
					d.Targets[i] *= v[1]
				}
			}
			before := slices.Clone(d.Targets)
			m, r, err := Privately(t.Context(), list, network("path", 3), Options{Rank: &rank, TargetColumn: "y"},
				Privacy{Epsilon: 8})
			check.Done(err)
			check.FailIf(t, !slices.Equal(before, d.Targets), "the table was changed")
			check.FailIf(t, !(r.Private.Epsilon() > 7.9), "epsilon %v was spent", r.Private.Epsilon())
			p, _, err := m.Predict("site 0, task 3", []float64{50, 1.65, 0})
			check.FailIf(t, err != nil || math.IsNaN(p) || math.Abs(p) > 100, "it predicts %v (%v)", p, err)
		})
	}
}

// A member that lies about its tasks, or leaves, ends a private training as a contradiction between members,
// or by its name, and what counts as spent is said.
func TestPrivatelyWithLiar(t *testing.T) {
	list, rank, w := apartBySlopes(2, 3, 40, 12), 1, weightsOf("path", 3)
	for name, c := range map[string]struct {
		tasks    float64
		counts   bool // it goes on to the sum of sizes
		lie      float64
		spent    bool
		explains string
	}{
		"negative tasks":     {tasks: -50, explains: "tasks"},
		"half a task":        {tasks: 40.5, explains: "tasks"},
		"too many to count":  {tasks: 1e19, explains: "tasks"},
		"leaves":             {tasks: 40, spent: true, explains: "node 2"},
		"negative sizes":     {tasks: 40, counts: true, lie: -1e12, spent: true, explains: "sizes of column"},
		"sizes beyond tasks": {tasks: 40, counts: true, lie: 1e12, spent: true, explains: "sizes of column"},
		// Half a vote of each of 120 tasks and 40 deviations of the noise are 114. The lie counts as 126.
		"sizes a little beyond tasks": {tasks: 40, counts: true, lie: 1.68e8, spent: true, explains: "sizes of column"},
	} {
		t.Run(name, func(t *testing.T) {
			errs := testnet.Run(w.Graph(), nil, func(node int, tr transport.Transport) error {
				net := check.OK(consensus.New(w, tr))
				if node < 2 {
					_, _, err := Privately(t.Context(), list[node:node+1], net, Options{Rank: &rank},
						Privacy{Epsilon: 8})
					return err
				}
				if err := net.Sum(t.Context(), [][]float64{{c.tasks}}); err != nil || !c.counts {
					return err
				}
				sizes := append(slices.Repeat([]float64{c.lie}, 4*powers), 1)
				if err := net.Sum(t.Context(), [][]float64{sizes}); err != nil {
					return err
				}
				return net.Sum(t.Context(), [][]float64{{0}}) // of judge
			})
			for node, err := range errs[:2] {
				var peer *transport.PeerError
				var own *Error
				var spent *private.SpentError
				if !errors.Is(err, consensus.ErrContradiction) && !errors.As(err, &peer) || errors.As(err, &own) ||
					errors.As(err, &spent) != c.spent {
					t.Errorf("node %d: %v", node, err)
				}
				if node == 1 {
					check.Error(t, err, c.explains)
				}
			}
		})
	}
}

// Nodes of private training refuse another order of columns: their sums are by place.
func TestPrivateColumnsHaveOneOrder(t *testing.T) {
	list, rank := apartBySlopes(2, 2, 4, 12), 1
	d := list[1].Table.(*Data)
	slices.Reverse(d.Names)
	slices.Reverse(d.Values)
	o, p := Options{Rank: &rank}, &Privacy{Epsilon: 1}
	differ := consensus.Difference(Settings(list[0].Table, &o, p), "there", Settings(d, &o, p), "here")
	check.FailIf(t, !strings.Contains(differ, "order of the columns"), "%q", differ)
	differ = consensus.Difference(Settings(list[0].Table, &o, nil), "there", Settings(d, &o, nil), "here")
	check.FailIf(t, differ != "", "without a budget: %q", differ)
}

// A column that is constant within most tasks has the size that it has within the others: a task in which a
// column does not vary has no vote on its scale.
func TestPrivateScaleOfColumnThatRarelyVaries(t *testing.T) {
	list := apartBySlopes(9, 3, 300, 12)
	for _, in := range list {
		d := in.Table.(*Data)
		for i, k := range d.TaskOf {
			if k%10 < 6 {
				d.Targets[i] -= .05 * (d.Values[0][i] - 50)
				d.Values[0][i] = 50
			}
		}
	}
	rank := 0
	m, _, err := Privately(t.Context(), list, network("path", 3), Options{Rank: &rank, TargetColumn: "y"},
		Privacy{Epsilon: 8})
	check.Done(err)
	at := slices.IndexFunc(m.Effects(), func(e Effect) bool { return e.Term == "age" })
	e := m.Effects()[at]
	check.FailIf(t, math.Abs(e.Estimate-.05) > .04, "effect %+v, want about .05", e)
}
