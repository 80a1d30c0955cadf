package owners

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/mixed"
)

// leveled returns a table of a categorical column with these levels; rows differ by seed.
func leveled(seed uint64, prefix string, levels ...string) *dataset.Table {
	rng := rand.New(rand.NewPCG(seed, 2))
	text := "task,kind,x,y\n"
	for k := range 60 {
		l := levels[k%len(levels)]
		text += fmt.Sprintf("%s%d,%s,%.4f,%.4f\n", prefix, k%4, l, rng.NormFloat64(), float64(len(l))+rng.NormFloat64()*.1)
	}
	return check.OK(dataset.ReadCSV(strings.NewReader(text), dataset.TableOptions{Task: "task", Target: "y", Categorical: []string{"kind"}}))
}

// All nodes have the columns of all levels, under the texts of their own.
func TestLevels(t *testing.T) {
	list := []*dataset.Table{leveled(1, "a", "x", "yyyy"), leveled(2, "b", "yyyy", "zz"), leveled(3, "c", "x", "wwwwwww")}
	rank := 0
	c := Config{Rank: &rank}
	one, _ := together(t, list, c)
	models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, c, nil)
	check.Done(errors.Join(errs...))
	known := one.Parameters().Schema.Categories[0].Levels
	if sorted := slices.Sorted(slices.Values(known)); !slices.Equal(sorted, []string{"wwwwwww", "x", "yyyy", "zz"}) {
		t.Fatalf("levels %q", sorted)
	}
	for i, m := range models {
		own := m.Parameters().Schema.Categories[0].Levels
		for k, text := range own {
			has := slices.Contains(list[i].Features(), "kind="+known[k])
			if has != (text == known[k]) || !has && !strings.Contains(text, "other owners") {
				t.Errorf("process %d: level %q, of all %q", i, text, known[k])
			}
		}
		check.FailIf(t, !slices.Equal(m.Parameters().Mean, one.Parameters().Mean), "process %d has another mean", i)
	}
	for k, text := range known { // the target is the length of the level
		x := make([]float64, len(one.Features()))
		x[k] = 1
		if y, _, err := one.Predict("a0", x); err != nil || math.Abs(y-float64(len(text))) > .5 {
			t.Errorf("level %q: predicts %v, want about %d (%v)", text, y, len(text), err)
		}
	}
}

// Levels that share a bucket with others in one table are apart in another one.
func TestManyLevels(t *testing.T) {
	var list []*dataset.Table
	want := map[string]bool{}
	for g := range 3 {
		var own []string
		for k := range 40 {
			own = append(own, fmt.Sprintf("level %d", 25*g+k))
			want[own[k]] = true
		}
		list = append(list, leveled(uint64(g), "t", own...))
	}
	got := laidOut(t, list).schema.Categories[0].Levels
	check.FailIf(t, !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(maps.Keys(want))),
		"%d levels %q, want %d", len(got), got, len(want))
}

// What a node does wrong ends the training at all nodes: there with its text, elsewhere without.
func TestStops(t *testing.T) {
	rank, large, huge := 1, 4, 21
	equal := []*dataset.Table{check.OK(dataset.ReadCSV(strings.NewReader("t,age,dose,weight,y\n"+strings.Repeat("a,1,2,3,2\n", 30)),
		dataset.TableOptions{Task: "t", Target: "y"}))}
	for name, c := range map[string]struct {
		spoil  func(list []*dataset.Table)
		config Config
		want   string
	}{
		"no target":    {func(l []*dataset.Table) { l[1], _ = dataset.NewTable([]string{"age", "dose", "weight"}, false) }, Config{}, "the table has no target column"},
		"large number": {func(l []*dataset.Table) { _ = l[1].Append("site 1, task 0", []float64{1, 2e12, 3}, 1) }, Config{}, `column "dose": 2e+12 is above`},
		"few rows":     {func(l []*dataset.Table) { l[1] = drawn(t, 1, 2, 2, 10)[1] }, Config{}, "training rows of positive weight: must have at least 25"},
		"few tasks":    {nil, Config{Rank: &rank, Private: &Privacy{Epsilon: 1}}, "12 tasks at epsilon 1 do not show the size of column"},
		"workers":      {nil, Config{Workers: -1}, "the number of workers is -1"},
		"private rank": {nil, Config{Private: &Privacy{Epsilon: 1}}, "private training requires a rank"},
		"collusion":    {nil, Config{Rank: &rank, Private: &Privacy{Epsilon: 1, Colluding: 3}}, "3 of 3 nodes are to collude"},
		"epsilon":      {nil, Config{Rank: &rank, Private: &Privacy{}}, "epsilon is 0"},
		"train":        {nil, Config{Train: [][]bool{{true}}}, "does not have the 3"},
		"equal":        {func(l []*dataset.Table) { copy(l, slices.Repeat(equal, 3)) }, Config{}, "the targets of all nodes are equal"},
		"huge rank":    {nil, Config{Rank: &huge}, "the rank is 21: must be from 0 to 20"},
		"rank":         {nil, Config{Rank: &large}, "the rank is 4: must be at most 3"},
	} {
		t.Run(name, func(t *testing.T) {
			list := drawn(t, 1, 3, 4, 7)
			if c.spoil != nil {
				c.spoil(list)
			}
			_, errs := apart(t, list, [][]int{{0}, {1}, {2}}, c.config, nil)
			if errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
				t.Errorf("the node: %v, want %q", errs[1], c.want)
			}
			check.FailIf(t, errs[2] == nil, "another node has no error")
			var own *Error
			check.FailIf(t, !errors.As(errs[1], &own) || strings.Contains(own.PublicText(), "2e+12"), "no public text: %v", errs[1])
		})
	}
}

// Several tables of one process are told apart.
func TestTableNumber(t *testing.T) {
	list := append(drawn(t, 1, 1, 4, 9), drawn(t, 1, 1, 2, 5)...)
	_, _, err := Train(t.Context(), list, network(2), Config{})
	check.FailIf(t, err == nil || !strings.HasPrefix(err.Error(), "table 2: the table has "),
		"the second table has too few rows: %v", err)
}

// Rows count by their weights, in means and in sums; private training takes none.
func TestWeights(t *testing.T) {
	text := "task,x,w,y\n"
	for i := range 80 {
		text += fmt.Sprintf("%d,%d,%d,%d\n", i%4, i*i%7, i%3*2, i*5%11)
	}
	o := dataset.TableOptions{Task: "task", Target: "y", Weight: "w"}
	table := check.OK(dataset.ReadCSV(strings.NewReader(text), o))
	for _, task := range laidOut(t, []*dataset.Table{table}).nodes[0].tasks {
		x, y := task.set(folds)
		for i := range y {
			if w := x.Data[i*x.Cols] * x.Data[i*x.Cols]; math.Abs(w-2) > 1e-12 && math.Abs(w-4) > 1e-12 {
				t.Errorf("a row counts %v times", w)
			}
		}
		check.FailIf(t, len(y) > 14 || len(y) < 12, "%d rows of positive weight", len(y))
	}
	rank := 1
	_, _, err := Train(t.Context(), []*dataset.Table{table}, network(1), Config{Rank: &rank, Private: &Privacy{Epsilon: 1}})
	check.Error(t, err, "private training takes no weights of rows")
}

// Settings differ where options or columns do; the texts of levels are public in private training alone.
func TestSettings(t *testing.T) {
	rank, one, other := 2, leveled(1, "a", "x", "yyyy"), leveled(1, "a", "x", "zz")
	same := func(a, b []consensus.Setting) bool { return consensus.Difference(a, "a", b, "b") == "" }
	open, private := &Config{Rank: &rank}, &Config{Rank: &rank, Private: &Privacy{Epsilon: 1}}
	for name, ok := range map[string]bool{
		"protocol":       Settings(one, open)[0] == consensus.Setting{Name: "protocol of the training", Value: fmt.Sprint(protocol)},
		"levels":         same(Settings(one, open), Settings(other, open)),
		"private levels": !same(Settings(one, private), Settings(other, private)),
		"privacy":        !same(Settings(one, open), Settings(one, private)),
		"seed":           !same(Settings(one, open), Settings(one, &Config{Rank: &rank, Seed: 1})),
		"rank":           !same(Settings(one, open), Settings(one, &Config{})),
		"target":         !same(Settings(one, open), Settings(one, &Config{Rank: &rank, TargetColumn: "y"})),
		"task":           !same(Settings(one, open), Settings(one, &Config{Rank: &rank, TaskColumn: "t"})),
		"columns":        !same(Settings(one, open), Settings(drawn(t, 1, 1, 2, 2)[0], open)),
	} {
		check.FailIf(t, !ok, "%s: settings are equal, or differ", name)
	}
}

// Two tables of one process must not have tasks of the same name.
func TestSameTask(t *testing.T) {
	list := drawn(t, 1, 1, 4, 9)
	_, _, err := Train(t.Context(), append(list, list[0]), network(2), Config{})
	check.Error(t, err, `"site 0, task 0", which is there twice`)
}

// Some held-out rows of a node are five or more: sums of fewer would show their targets.
func TestFewHeldOut(t *testing.T) {
	table := drawn(t, 1, 1, 4, 9)[0]
	for held := range 8 {
		chosen := slices.Repeat([]bool{true}, table.Rows())
		clear(chosen[:held])
		if _, err := (&Config{Train: [][]bool{chosen}}).newNode(0, table); (err != nil) != (held > 0 && held < 5) {
			t.Errorf("%d rows held out: %v", held, err)
		}
	}
}

// A node whose context ends at any exchange stops all nodes after the same sum.
func TestContextEnds(t *testing.T) {
	list := drawn(t, 1, 3, 4, 7)
	zero := 0
	for at, c := range map[int]Config{0: {Rank: &zero}, 3: {}, 17: {Rank: &zero}, 60: {}, 200: {}} { // rank 0 runs no difalt
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			_, errs := apart(t, list, [][]int{{0}, {1}, {2}}, c, func(node int, tr transport.Transport) (transport.Transport, context.Context) {
				if node != 1 {
					return tr, t.Context()
				}
				ctx, cancel := context.WithCancel(t.Context())
				return &ending{tr, at, cancel}, ctx
			})
			for i, err := range errs {
				var peer *transport.PeerError
				check.FailIf(t, errors.Is(err, context.Canceled) != (i == 1) || errors.As(err, &peer) != (i != 1),
					"node %d: %v", i, err)
			}
		})
	}
}

// An ending transport cancels its node's context at an exchange.
type ending struct {
	transport.Transport
	left   int
	cancel func()
}

func (e *ending) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if e.left--; e.left < 0 {
		e.cancel()
	}
	return e.Transport.Exchange(ctx, seq, out, in, due)
}

// All nodes but two cannot tell which of the two has which table.
func TestSwap(t *testing.T) {
	list, rank := drawn(t, 7, 3, 4, 7), 1
	g := weights("path", 3)
	err := testnet.Swap(g, 1, 2, func(node int, net *consensus.Network, swapped bool) error {
		own := node
		if swapped && node > 0 {
			own = 3 - node
		}
		_, _, err := Train(t.Context(), list[own:own+1], net, Config{Rank: &rank, Workers: 1})
		return err
	})
	check.FailIf(t, err != nil, "%v", err)
}

// A private training spends its budget, and predicts much better than the means of tasks where tasks are
// many.
func TestPrivate(t *testing.T) {
	list, rank := drawn(t, 9, 3, 150, 12), 1
	c := Config{Rank: &rank, Private: &Privacy{Epsilon: 8}, Train: split(list)}
	m, r := together(t, list, c)
	if y, _, err := m.Predict("unseen", []float64{50, 1.65, 0}); err != nil || math.Abs(y-5.5) > .5 {
		t.Errorf("the mean of all tasks predicts %v, want about 5.5 (%v)", y, err)
	}
	if e := m.Effects()[1]; math.Abs(e.Estimate-.05) > 3*e.StandardError || !(e.StandardError > .001 && e.StandardError < .02) {
		t.Errorf("effect %+v, want .05", e)
	}
	if e := r.Private.Epsilon(); !(e > 7.9 && e <= 8) {
		t.Errorf("epsilon %v was spent", e)
	}
	ours, mean := r.Scores[0], r.Scores[len(r.Scores)-1]
	check.FailIf(t, mean.Method != fit.TaskMean || !(ours.Test.RMSE < .8*mean.Test.RMSE),
		"RMSE %v, of %s %v", ours.Test.RMSE, mean.Method, mean.Test.RMSE)
}

// Scores are those of the model on all held-out rows.
func TestScores(t *testing.T) {
	list := drawn(t, 2, 3, 12, 20)
	var stages []string
	c := Config{Train: split(list), Progress: func(stage string, share float64) {
		if stages = append(stages, stage); !(share > 0 && share < 1) {
			t.Errorf("share %v of %s", share, stage)
		}
	}}
	for row := range list[0].Rows() { // a task without training rows is not of the model
		c.Train[0][row] = c.Train[0][row] && list[0].Task(row) != 3
	}
	m, r := together(t, list, c)
	squares, rows, covered, noise := 0.0, 0, 0, 0.0
	for g, table := range list {
		x := make([]float64, 3)
		for i := range table.Rows() {
			if c.Train[g][i] || g == 0 && table.Task(i) == 3 {
				continue
			}
			p := check.OK(m.PredictError(table.Tasks()[table.Task(i)], table.X(x, i)))
			squares += math.Pow(table.Y(i)-p.Value, 2)
			rows++
			noise = math.Sqrt(p.SampleError*p.SampleError - p.StandardError*p.StandardError)
			if math.Abs(table.Y(i)-p.Value) < 1.96*p.SampleError {
				covered++
			}
		}
	}
	if got, want := r.Scores[0].Test.RMSE, math.Sqrt(squares/float64(rows)); math.Abs(got-want) > 1e-9*want || r.Scores[0].Test.Rows != rows {
		t.Errorf("RMSE %v of %d rows, want %v of %d", got, r.Scores[0].Test.Rows, want, rows)
	}
	if share := float64(covered) / float64(rows); share < .9 || share > .99 || noise < .27 || noise > .35 {
		t.Errorf("intervals of 95 %% cover %v, the noise has the standard deviation %v, want about .3", share, noise)
	}
	for _, e := range m.Effects() { // a ridge on mu does not narrow intervals
		if least := e.Deviation / 6; e.Kind != mixed.Departure && !(e.StandardError > .98*least) {
			t.Errorf("effect %+v: the standard error is below %v, that of a mean of 35 tasks", e, least)
		}
	}
	if stages = slices.Compact(stages); !slices.Equal(stages, Stages) {
		t.Errorf("stages %q", stages)
	}
	check.FailIf(t, len(r.Scores) != 4 || r.Verdict.Other == "", "scores %v, verdict %v", r.Scores, r.Verdict)
	tasks, sums := 0, make([]float64, fit.ScoreSize*len(r.Scores))
	for task := range r.Tasks {
		tasks++
		errors := make(fit.TaskErrors, len(r.Scores))
		for m, e := range task.Test {
			errors[m][1] = fit.Tally{Rows: float64(e.Rows), Squares: math.Pow(e.RMSE, 2) * float64(e.Rows)}
		}
		errors.AddTo(sums)
	}
	want := fit.Summarise(slices.Clone(r.Scores), sums, 1)
	if v := r.Verdict; tasks != 35 || len(m.Tasks()) != 35 || v.Other != want.Other || math.Abs(v.Low-want.Low)+math.Abs(v.High-want.High) > 1e-9 {
		t.Errorf("%d tasks with the verdict %v, want 35 with %v", tasks, v, want)
	}
}

// Where tasks are few and columns many, directions show the intercepts that rank 0 leaves to the noise.
func TestWide(t *testing.T) {
	const columns, tasks = 40, 12
	rng, names := rand.New(rand.NewPCG(4, 4)), make([]string, columns)
	for j := range names {
		names[j] = fmt.Sprint("x", j)
	}
	list := []*dataset.Table{check.OK(dataset.NewTable(names, true)), check.OK(dataset.NewTable(names, true))}
	for k := range tasks {
		a, b := rng.NormFloat64(), 6*rng.NormFloat64()
		for range 30 {
			x, y := make([]float64, columns), a+.3*rng.NormFloat64()
			for j := range x {
				x[j] = rng.NormFloat64()
				y += x[j] * b * math.Cos(float64(j)) / math.Sqrt(columns/2)
			}
			check.Done(list[k%2].Append(fmt.Sprint(k), x, y))
		}
	}
	if n := len(laidOut(t, list).design.Curves[0].Knots); n != 5 {
		t.Errorf("curves of 40 columns have %d knots, want 5", n)
	}
	_, r := together(t, list, Config{})
	if c := r.Candidates[1]; !c.Chosen || !(c.RMSE < .36) {
		t.Errorf("errors of cross-validation %v, want below .36 for rank 1", r.Candidates)
	}
}

// A liar is the transport of the root of a tree that alters frames on their way down, from some exchange on.
type liar struct {
	transport.Transport
	run  uint64
	node int
	rng  *rand.Rand
	from uint64
	sent []uint64 // frames along every link
}

func (l *liar) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	for k, p := range out {
		if len(p) == 0 {
			continue
		}
		if seq >= l.from && k == 0 && len(p) > 30 && l.rng.IntN(3) == 0 {
			for range 1 + l.rng.IntN(4) {
				p[2+l.rng.IntN(len(p)-6)] ^= byte(1 + l.rng.IntN(255))
			}
			out[k] = testnet.Seal(p, l.run, l.node, l.sent[k])
		}
		l.sent[k]++
	}
	return l.Transport.Exchange(ctx, seq, out, in, due)
}

// Whatever the root alters, honest nodes blame the network: none takes its own table for the cause.
func TestLiar(t *testing.T) {
	list, w := drawn(t, 3, 3, 4, 7), weights("path", 3)
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Config{Workers: 1}, func(node int, tr transport.Transport) (transport.Transport, context.Context) {
			if node == 1 {
				tr = &liar{tr, w.Fingerprint(), 1, rng, 4 + rng.Uint64N(300), make([]uint64, 2)}
			}
			return tr, t.Context()
		})
		for i, err := range errs {
			var peer *transport.PeerError
			if i != 1 && !errors.Is(err, consensus.ErrContradiction) && !errors.Is(err, consensus.ErrInconsistent) && !errors.As(err, &peer) || i != 1 && models[i] != nil {
				t.Errorf("seed %d, node %d: %v", seed, i, err)
			}
		}
	}
}
