package fit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/noise"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// Whatever the rows of one task are, or if there is one only: every sum changes by no more than it has spent, and no other byte of any frame does.
func TestPrivateFitTellsNothingElse(t *testing.T) {
	const l = 4
	w := weights(t, "path", l, topology.Metropolis)
	for name, change := range map[string]func(row int, x []float64, y *float64) bool{
		"other": func(row int, x []float64, y *float64) bool { x[0], x[1], *y = *y, -x[0], x[2]*x[2]; return true },
		"few":   func(row int, _ []float64, _ *float64) bool { return row < 1 },
		"large": func(_ int, x []float64, y *float64) bool { floats.Scale(1e30, x); *y *= -1e35; return true },
		"same":  func(_ int, x []float64, y *float64) bool { copy(x, []float64{1, 2, 3}); *y = 4; return true },
	} {
		k := newTruth(23, 3, 1)
		all := emptyTable(t, 3)
		for task := range 12 {
			k.add(t, all, taskName(task), 6+task%5)
		}
		tapes := make([]noise.Tape, l)
		var about *Private
		changes, err := testnet.Neighbours(w.Graph(), func(node int, tr wire.Transport, second bool) error {
			net, err := consensus.New(w, tr)
			if err != nil {
				return err
			}
			tab, err := dataset.NewTable(names(3), true, 0)
			if err != nil {
				return err
			}
			x, row := make([]float64, 3), 0
			for i := range all.Rows() {
				task := all.Task(i)
				if task%l != node {
					continue
				}
				all.X(x, i)
				y := all.Y(i)
				if task == 7 && second {
					row++
					if !change(row-1, x, &y) {
						continue
					}
				}
				if err := tab.Append(all.Tasks()[task], fmt.Sprint("n", node), x, y); err != nil {
					return err
				}
			}
			c := testConfig(t, l, 2)
			c.Network, c.Privacy = net, Privacy{Epsilon: 4, Delta: .01}
			tapes[node].Play = second
			ctx := noise.Taped(noise.Fixed(t.Context(), [32]byte{byte(node)}), &tapes[node])
			_, r, err := Fit(ctx, tab, c)
			if err == nil && node == 0 {
				about = r.Private
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		longest := map[int]float64{}
		for _, c := range changes {
			longest[c.Numbers-1] = max(longest[c.Numbers-1], c.Length)
		}
		for _, s := range about.Spent() {
			// One task in the place of another.
			if bound := 2 * noise.Deviation * math.Sqrt(2*l*s.Rho); longest[s.Numbers] > bound || name == "other" && longest[s.Numbers] < bound/1000 {
				t.Errorf("%s: %s changes by %v units, and the account says %v", name, s.What, longest[s.Numbers], bound)
			}
		}
		for _, s := range about.Spent() {
			delete(longest, s.Numbers)
		}
		if len(longest) > 0 {
			t.Errorf("%s: other sums change: %v", name, longest)
		}
	}
}

// What a task adds depends on its own rows alone: with the noise the same, the same tasks tell the same, bit for bit, whichever node has which.
func TestPrivateFitTasksAlone(t *testing.T) {
	k := newTruth(27, 3, 1)
	var want model.Parameters
	tab := k.table(t, 24, 2, 20, 4)
	for n, place := range []func(task int) int{func(task int) int { return task % 4 }, func(task int) int { return min(task, 3) }, func(task int) int { return task / 6 }} {
		dealt, err := dataset.NewTable(names(3), true, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float64, 3)
		for i := range tab.Rows() {
			if err := dealt.Append(tab.Tasks()[tab.Task(i)], fmt.Sprint("n", place(tab.Task(i))), tab.X(x, i), tab.Y(i)); err != nil {
				t.Fatal(err)
			}
		}
		c := testConfig(t, 4, 2)
		c.Privacy.Epsilon = 4
		m, _, err := Fit(noise.Fixed(t.Context(), [32]byte{3}), dealt, c)
		if err != nil {
			t.Fatal(err)
		}
		p := m.Parameters()
		if n == 0 {
			want = p
		}
		if !slices.Equal(p.Mean, want.Mean) || !slices.Equal(p.Scaling.Center, want.Scaling.Center) || !slices.Equal(p.Scaling.Scale, want.Scaling.Scale) ||
			math.Abs(p.Prior.Loadings[0]*want.Prior.Loadings[1]-p.Prior.Loadings[1]*want.Prior.Loadings[0]) > 1e-12 {
			t.Errorf("places %d: others are told other things", n)
		}
	}
}

// All nodes have the same representation, mean and scaling, however they live in processes.
func TestPrivateFitApart(t *testing.T) {
	const l = 4
	k := newTruth(24, 3, 1)
	w := weights(t, "star", l, topology.Metropolis)
	var files [l][]int
	all := emptyTable(t, 3)
	for task := range 30 {
		k.add(t, all, taskName(task), 8)
		files[task%l] = append(files[task%l], task)
	}
	for _, groups := range groupings(l) {
		models, errs := apart(t, w, groups, func(net *consensus.Network) (*model.Model, error) {
			tab, err := dataset.NewTable(names(3), true, 0)
			if err != nil {
				return nil, err
			}
			x := make([]float64, 3)
			for _, g := range net.Hosted() {
				for i := range all.Rows() {
					if slices.Contains(files[g], all.Task(i)) {
						if err := tab.Append(taskName(all.Task(i)), fmt.Sprint("n", g), all.X(x, i), all.Y(i)); err != nil {
							return nil, err
						}
					}
				}
			}
			c := testConfig(t, l, 2)
			c.Network, c.Privacy = net, Privacy{Epsilon: 8}
			m, _, err := Fit(t.Context(), tab, c)
			return m, err
		})
		for i, m := range models {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			p, first := m.Parameters(), models[0].Parameters()
			if !slices.Equal(p.Mean, first.Mean) || !slices.Equal(p.Scaling.Center, first.Scaling.Center) || !slices.Equal(p.Scaling.Scale, first.Scaling.Scale) {
				t.Errorf("%v: process %d has another mean or scaling", groups, i)
			}
			// Loadings but for their length, and how far levels go along with them, which are the process's own.
			for a := range 2 {
				one, other := p.Prior.Loadings[4*a:][:3], first.Prior.Loadings[4*a:][:3]
				if cosine := floats.Dot(one, other) / floats.Norm(one, 2) / floats.Norm(other, 2); cosine < 1-1e-12 {
					t.Errorf("%v: process %d has another direction %d", groups, i, a)
				}
			}
		}
	}
}

// Levels, missing values and rows that are held out: every process reports the errors of its own tasks.
func TestPrivateFitSites(t *testing.T) {
	s, w := newSites(3), weights(t, "er:0.5", 4, topology.Metropolis)
	reports, errs := apart(t, w, [][]int{{0}, {1, 2}, {3}}, func(net *consensus.Network) (*Report, error) {
		tab, err := s.table(net.Hosted(), siteSchema, nil)
		if err != nil {
			return nil, err
		}
		c := testConfig(t, 4, 1)
		c.Network, c.Privacy = net, Privacy{Epsilon: 8}
		if c.Train, err = split(tab); err != nil {
			return nil, err
		}
		_, r, err := Fit(t.Context(), tab, c)
		if err == nil && r.Scores[0].Train.Rows+r.Scores[0].Test.Rows != tab.Rows() {
			err = fmt.Errorf("errors are of %d and %d rows: the process has %d", r.Scores[0].Train.Rows, r.Scores[0].Test.Rows, tab.Rows())
		}
		return r, err
	})
	for i, r := range reports {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if rmse := r.Scores[0].Test.RMSE; !(rmse > 0 && rmse < 1e3) || r.Verdict.Text == "" || len(r.Scores) != 3 {
			t.Errorf("process %d: RMSE %v, %q", i, rmse, r.Verdict.Text)
		}
	}
}

// A process a node, each with strengths by its own few tasks, keeps most as well.
func TestPrivateFitManyNodes(t *testing.T) {
	tasks, sizes := 200, []int{20}
	if longtest.Enabled() {
		tasks, sizes = 1000, []int{20, 200}
	}
	for _, l := range sizes {
		k := newTruth(31, 6, 1)
		all := k.table(t, tasks, 5, 20, l)
		public, _ := fit(t, all, testConfig(t, l, 2))
		var groups [][]int
		for g := range l {
			groups = append(groups, []int{g})
		}
		models, errs := apart(t, weights(t, "star", l, topology.Metropolis), groups, func(net *consensus.Network) (*model.Model, error) {
			tab, err := dataset.NewTable(names(6), true, 0)
			x, node := make([]float64, 6), net.Hosted()[0]
			for i := 0; err == nil && i < all.Rows(); i++ {
				if all.Node(all.Task(i)) == node {
					err = tab.Append(all.Tasks()[all.Task(i)], fmt.Sprint("n", node), all.X(x, i), all.Y(i))
				}
			}
			if err != nil {
				return nil, err
			}
			c := testConfig(t, 1, 2)
			c.Network, c.Privacy = net, Privacy{Epsilon: 8}
			m, _, err := Fit(t.Context(), tab, c)
			return m, err
		})
		squares := 0.0
		for g, m := range models {
			if errs[g] != nil {
				t.Fatal(errs[g])
			}
			own := *k
			own.theta = map[string][]float64{}
			for _, name := range m.Tasks() {
				own.theta[name] = k.theta[name]
			}
			e := own.heldOut(t, m)
			squares += e * e * float64(len(m.Tasks())) / float64(tasks)
		}
		single, shared := k.heldOut(t, singleModel(t, all, public)), k.heldOut(t, public)
		kept := (single - math.Sqrt(squares)) / (single - shared)
		t.Logf("%d nodes of %d tasks keep %.2f", l, tasks/l, kept)
		if !(kept > .5) {
			t.Errorf("%d nodes of %d tasks keep %.2f of the gain over one ridge a task", l, tasks/l, kept)
		}
	}
}
