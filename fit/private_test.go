package fit

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/noise"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/model"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

// heldOut returns the root mean square of what predictions of fresh rows of all tasks are off the truth without noise.
func (k *truth) heldOut(t *testing.T, m *model.Model) float64 {
	t.Helper()
	sum, n := 0.0, 0.0
	x := make([]float64, len(k.mean))
	for task, theta := range k.theta {
		for range 20 {
			for j := range x {
				x[j] = float64(j) + float64(j+1)*k.rng.NormFloat64()
			}
			got, err := m.Predict(task, x)
			if err != nil {
				t.Fatal(err)
			}
			e := got - k.level[task] - floats.Dot(x, theta)
			sum += e * e
			n++
		}
	}
	return math.Sqrt(sum / n)
}

// kept returns which part a private fit keeps of what the shared representation saves, over a mean with intercepts and over one ridge a task.
func kept(t *testing.T, k *truth, tab *dataset.Table, nodes, rank int, epsilon float64) (overMean, overSingle float64, r *Report) {
	t.Helper()
	c := testConfig(t, nodes, -1)
	c.Ridge = new(float64)
	*c.Ridge = math.Inf(1)
	mean, _ := fit(t, tab, c)
	c.Ridge, c.Rank = nil, rank
	public, _ := fit(t, tab, c)
	c.Privacy.Epsilon = epsilon
	m, r := fit(t, tab, c)
	single := k.heldOut(t, singleModel(t, tab, m))
	e0, e1, got := k.heldOut(t, mean), k.heldOut(t, public), k.heldOut(t, m)
	return (e0 - got) / (e0 - e1), (single - got) / (single - e1), r
}

// singleModel returns a model with one ridge a task, by cross-validation, as reports compare it.
func singleModel(t *testing.T, tab *dataset.Table, like *model.Model) *model.Model {
	t.Helper()
	c := testConfig(t, len(tab.Nodes()), -1)
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	single, err := d.fitSingle(t.Context(), 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := like.Parameters()
	p.Scaling, p.Covariance, p.Theta = d.Scaling, nil, nil
	p.Theta = single.theta.values
	m, err := model.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The bar: of 1,000 tasks with levels of their own, a mean, and features of other sizes, epsilon 8 keeps at least half of what the representation saves.
func TestPrivateFit(t *testing.T) {
	k := newTruth(21, 6, 1)
	tab := k.table(t, 1000, 5, 20, 5)
	overMean, overSingle, r := kept(t, k, tab, 5, 2, 8)
	if !(overMean > .5) || !(overSingle > .5) {
		t.Errorf("kept %.2f of the gain over a mean, and %.2f over one ridge a task", overMean, overSingle)
	}
	p := r.Private
	if e := p.Epsilon(); math.Abs(e-8) > 1e-6 || p.Delta() != math.Pow(1000, -1.1) || p.Tasks != 1000 || p.Nodes != 5 || len(p.Spent()) != 5 || p.Unknown != nil {
		t.Errorf("epsilon %v, delta %v, %d tasks, %d nodes, spent %v, unknown %q", e, p.Delta(), p.Tasks, p.Nodes, p.Spent(), p.Unknown)
	}
	t.Logf("kept %.3f and %.3f", overMean, overSingle)
}

// Features that do not vary, a target that does not, tasks of one row, and ones far from 1: no error, and predictions
// that are finite.
func TestPrivateFitOdd(t *testing.T) {
	for name, change := range map[string]func(task, row int, x []float64, y *float64){
		"constant":     func(_, _ int, x []float64, _ *float64) { x[0], x[1] = 3, 0 },
		"target":       func(_, _ int, _ []float64, y *float64) { *y = 7 },
		"zero":         func(_, _ int, x []float64, y *float64) { clear(x); *y = 0 },
		"huge":         func(_, _ int, x []float64, y *float64) { floats.Scale(1e120, x); *y *= 1e140 },
		"tiny":         func(_, _ int, x []float64, y *float64) { floats.Scale(1e-250, x); *y *= 1e-290 },
		"far":          func(_, _ int, x []float64, y *float64) { x[0] += 2020; *y -= 1e6 },
		"one huge row": func(task, row int, x []float64, y *float64) { x[0], *y = bigAt(task+row, x[0]), bigAt(task+row, *y) },
	} {
		for _, rank := range []int{-1, 2} {
			k := newTruth(22, 3, 1)
			tab := emptyTable(t, 3)
			x := make([]float64, 3)
			for task := range 40 {
				for row := range 1 + task%9 {
					for j := range x {
						x[j] = k.rng.NormFloat64()
					}
					y := x[0] + k.rng.NormFloat64()
					change(task, row, x, &y)
					if err := tab.Append(taskName(task), "", x, y); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := tab.AssignBlocks(4); err != nil {
				t.Fatal(err)
			}
			c := testConfig(t, 4, rank)
			c.Privacy.Epsilon = 8
			m, r, err := Fit(t.Context(), tab, c)
			if name == "huge" {
				check(t, err, "has a deviation within tasks beyond")
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := m.Predict("7", []float64{1, 2, 3})
			if err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
				t.Errorf("%s, rank %d: predicts %v: %v", name, rank, got, err)
			}
			if r.Chosen.Rank != max(rank, 0) {
				t.Errorf("%s: the rank is %d, want %d", name, r.Chosen.Rank, rank)
			}
		}
	}
}

func bigAt(at int, v float64) float64 {
	if at == 0 {
		return 1e149
	}
	return v
}

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

// What would tell more than the budget allows is refused, by name.
func TestPrivateFitErrors(t *testing.T) {
	k := newTruth(25, 3, 1)
	tab := k.table(t, 8, 6, 6, 2)
	one := 1.0
	for want, change := range map[string]func(c *Config){
		"epsilon is -1":   func(c *Config) { c.Privacy.Epsilon = -1 },
		"epsilon is NaN":  func(c *Config) { c.Privacy.Epsilon = math.NaN() },
		"epsilon is 0":    func(c *Config) { c.Privacy = Privacy{Delta: .1} },
		"delta is 2":      func(c *Config) { c.Privacy.Delta = 2 },
		"2 of 2 nodes":    func(c *Config) { c.Privacy.Colluding = 2 },
		"needs a rank":    func(c *Config) { c.Rank = 0 },
		"not for a plain": func(c *Config) { c.Plain = true },
		"of its own":      func(c *Config) { c.Auto = true },
		"along a tree":    func(c *Config) { c.Options.Agreement.Polynomial = consensus.Plain },
		"in full":         func(c *Config) { c.Options.Agreement.Codec = consensus.Int8 },
		"could drive": func(c *Config) {
			c.Drive = func(context.Context, *difalt.Solver) (*difalt.Result, error) { return nil, nil }
		},
		"no weights":       func(c *Config) { c.Weights = slices.Repeat([]float64{1}, tab.Rows()) },
		"takes no ridges":  func(c *Config) { c.Ridge = &one },
		"root mean square": func(c *Config) { c.Options.NormalizeTasks = true },
		"continues no":     func(c *Config) { c.Continue, _, _ = testModel(t) },
	} {
		c := testConfig(t, 2, 2)
		c.Privacy.Epsilon = 1
		change(&c)
		if want == "not for a plain" {
			want = "a plain fit"
		}
		_, _, err := Fit(t.Context(), tab, c)
		check(t, err, want)
	}
	// A context that has ended, before anything is told.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := testConfig(t, 2, 2)
	c.Privacy.Epsilon = 1
	if _, _, err := Fit(ctx, tab, c); err == nil {
		t.Error("the context has ended, and there is a model")
	}
}

// The model of a private fit is kept, read and adapted as all models are.
func TestPrivateModel(t *testing.T) {
	k := newTruth(26, 3, .2)
	tab := k.table(t, 200, 8, 8, 4)
	c := testConfig(t, 4, 2)
	c.Privacy.Epsilon = 8
	m, _ := fit(t, tab, c)
	data, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var again model.Model
	if err := again.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if p := again.Parameters(); p.Method != "private" {
		t.Errorf("the method is %q", p.Method)
	}
	second, err := again.MarshalBinary()
	if err != nil || !bytes.Equal(data, second) {
		t.Errorf("a model that was read is another one: %v", err)
	}
	few := emptyTable(t, 3)
	k.add(t, few, "new", 4)
	adapted, err := again.Adapt(few)
	if err != nil {
		t.Fatal(err)
	}
	x := []float64{0, 1, 2}
	got, se, err := adapted.PredictError("new", x)
	want := k.level["new"] + floats.Dot(x, k.theta["new"])
	if err != nil || math.Abs(got-want) > 5*se {
		t.Errorf("a new task is predicted as %v with a standard error of %v, want %v: %v", got, se, want, err)
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

// The table of docs/privacy.md for tables.
func TestPrivateFitTable(t *testing.T) {
	longtest.Only(t)
	for _, c := range []struct{ tasks, features, least, most int }{{100, 6, 15, 15}, {300, 6, 5, 20}, {1000, 6, 5, 20}, {1000, 12, 15, 15}, {3000, 6, 5, 20}} {
		for _, epsilon := range []float64{1, 4, 8} {
			var means, singles []float64
			for seed := range uint64(3) {
				k := newTruth(31+seed, c.features, 1)
				overMean, overSingle, r := kept(t, k, k.table(t, c.tasks, c.least, c.most, 5), 5, 2, epsilon)
				means, singles = append(means, overMean), append(singles, overSingle)
				if r.Private.Unknown != nil {
					t.Logf("unknown: %d columns", len(r.Private.Unknown))
				}
			}
			slices.Sort(means)
			slices.Sort(singles)
			t.Logf("%+v, epsilon %v: %.0f / %.0f %%", c, epsilon, 100*means[1], 100*singles[1])
		}
	}
}
