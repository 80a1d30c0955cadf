package fit

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/kernel"
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

// What would tell more than the budget allows is refused, by name.
// The interval of the shared intercept holds where so few tasks hide how large targets are that they are not centred.
func TestPrivateIntercept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tab, err := dataset.NewTable([]string{"a", "b"}, true, kernel.Float64)
	if err != nil {
		t.Fatal(err)
	}
	for task := range 40 {
		level := 60 + 3*r.NormFloat64()
		for range 15 {
			a, b := r.NormFloat64(), r.NormFloat64()
			if err := tab.Append(fmt.Sprint(task), "one", []float64{a, b}, level+a-b+r.NormFloat64()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, epsilon := range []float64{0.5, 2, 4, 20} {
		c := testConfig(t, 1, 1)
		c.Privacy.Epsilon = epsilon
		m, report := fit(t, tab, c)
		for _, e := range m.Effects() {
			if e.Kind == model.Fixed && e.Term == model.ConstantFeature && !(e.Low < 60 && 60 < e.High) {
				t.Errorf("epsilon %v, sizes unknown of %q: %+v", epsilon, report.Private.Unknown, e)
			}
		}
	}
}

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
