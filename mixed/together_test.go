package mixed

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

// open are the options of owners without rules about their own rows.
var open = Options{Disclosure: Disclosure{LeastRows: Off, LeastLevel: Off, LeastSmall: Off}}

func weightsOf(kind string, nodes int) *topology.Weights {
	return check.OK(topology.NewWeights(check.OK(topology.Parse(kind, nodes, 1)), topology.Metropolis))
}

// network returns a network of nodes in one process.
func network(kind string, nodes int) *consensus.Network {
	return check.OK(consensus.New(weightsOf(kind, nodes), nil))
}

// clinics returns the table of the examples, with every fourth row held out.
func clinics(t testing.TB) Input {
	t.Helper()
	f := check.OK(os.Open("../examples/clinics.csv"))
	defer f.Close()
	records := check.OK(csv.NewReader(f).ReadAll())
	d := &Data{Names: records[0][2:10]}
	for _, cells := range records[1:] {
		var v []float64
		for _, c := range cells[2:] {
			v = append(v, check.OK(strconv.ParseFloat(c, 64)))
		}
		check.Done(d.Append(cells[0], v[8], v[:8]...))
	}
	return Input{Table: d, HeldOut: holdOut(d)}
}

// part returns the rows of a table whose task belongs to an owner, with the levels that they have.
func part(in Input, belongs func(task int) bool) Input {
	in = tasksOf(in, belongs)
	own := in.Table.(*Data)
	for j, levels := range own.Levels {
		if levels != nil {
			own.Levels[j], own.Values[j] = recode(levels, own.Values[j])
		}
	}
	return in
}

// tasksOf returns the rows of a table whose task belongs to an owner, with all levels of the table.
func tasksOf(in Input, belongs func(task int) bool) Input {
	d := in.Table.(*Data)
	own := &Data{Names: d.Names, Levels: slices.Clone(d.Levels)}
	var held []bool
	for i := range d.Rows() {
		if !belongs(d.TaskOf[i]) {
			continue
		}
		var v []float64
		for _, values := range d.Values {
			v = append(v, values[i])
		}
		check.Done(own.Append(d.TaskNames[d.TaskOf[i]], d.Targets[i], v...))
		if d.Weighting != nil {
			own.Weighting = append(own.Weighting, d.Weighting[i])
		}
		held = append(held, in.HeldOut != nil && in.HeldOut[i])
	}
	return Input{Table: own, HeldOut: held}
}

// recode returns the levels that values have, the last ones first, and the values in their numbers.
func recode(levels []string, values []float64) (own []string, out []float64) {
	for k := range slices.Backward(levels) {
		if slices.Contains(values, float64(k)) {
			own = append(own, levels[k])
		}
	}
	for _, v := range values {
		if !math.IsNaN(v) {
			v = float64(slices.Index(own, levels[int(v)]))
		}
		out = append(out, v)
	}
	return own, out
}

// cut deals the tasks of a table to so many owners.
func cut(in Input, owners int) []Input {
	out := make([]Input, owners)
	for g := range out {
		out[g] = part(in, func(task int) bool { return task%owners == g })
	}
	return out
}

// mixture returns a table with missing values, levels that some owners lack, weights of some orders of
// magnitude, rows of weight 0, and noise by task.
func mixture(t testing.TB, seed uint64, tasks int) Input {
	r := rand.New(rand.NewPCG(seed, 11))
	d := &Data{Names: []string{"a", "kind", "b", "few"}, Levels: [][]string{nil, {"x", "y", "z", "rare"}, nil, nil}}
	var held []bool
	for k := range tasks {
		level, slope, noise := 2*r.NormFloat64(), r.NormFloat64(), 0.2+float64(k%3)
		for i := range 12 + r.IntN(20) {
			a, kind, b := r.NormFloat64(), float64(r.IntN(3)), 1e4+r.ExpFloat64()
			if k == 1 && i < 6 {
				kind = 3
			}
			y := level + slope*a + kind + math.Sqrt(b-1e4) + noise*r.NormFloat64()
			if r.IntN(9) == 0 {
				a = math.NaN()
			}
			if r.IntN(15) == 0 {
				kind = math.NaN()
			}
			check.Done(d.Append(fmt.Sprint("task ", k), y, a, kind, b, float64(r.IntN(6))))
			d.Weighting = append(d.Weighting, math.Trunc(4*r.ExpFloat64())*2500)
			held = append(held, i%4 == 1)
		}
	}
	check.Done(d.Check())
	return Input{Table: d, HeldOut: held}
}

// predictions returns the predictions of all rows, with their errors.
func predictions(t testing.TB, m *Model, in Input) (list []float64) {
	t.Helper()
	d := in.Table.(*Data)
	x := make([]float64, len(d.Features()))
	for i := range d.Rows() {
		own := d.X(x, i)
		ordered := make([]float64, len(own))
		for j, name := range m.Features() {
			ordered[j] = own[slices.Index(d.Features(), name)]
		}
		p := check.OK(m.PredictError(d.TaskNames[d.TaskOf[i]], ordered))
		list = append(list, p.Value, p.StandardError, p.SampleError)
	}
	return list
}

// oneNoise returns a model with one noise for all predictions: how it changes with these is of each owner's
// rows alone.
func oneNoise(m *Model) *Model {
	p := m.Parameters()
	p.Prior.Noise.Level, p.Prior.Noise.Slope = 0, 0
	p.Tasks.Growth = nil
	return check.OK(New(p))
}

// gap returns the largest difference of two lists, in units of the scale.
func gap(a, b []float64, scale float64) (most float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i])/scale)
	}
	return most
}

// Several owners have the model of one table with the rows of all, but for a noise that changes with the
// prediction: the predictions, their errors, the scores and the comparison of forms, for any cut.
func TestTogetherIsFit(t *testing.T) {
	growth := mixture(t, 5, 18)
	for i, y := range growth.Table.(*Data).Targets {
		growth.Table.(*Data).Targets[i] = math.Exp(y / 3)
	}
	for name, c := range map[string]struct {
		in     Input
		o      Options
		owners []int
	}{
		"clinics":                   {clinics(t), Options{}, []int{2, 3, 6}},
		"missing, levels, weights":  {mixture(t, 1, 24), Options{}, []int{3, 5}},
		"two owners with many rows": {mixture(t, 2, 24), Options{}, []int{2}},
		"logarithm":                 {growth, Options{LogTarget: true}, []int{3}},
		"common noise":              {mixture(t, 3, 18), Options{CommonNoise: true, NoCurves: true}, []int{4}},
		"noise for intervals only":  {Input{Table: spreading(t, 1)}, Options{}, []int{3}},
		"nothing held out":          {Input{Table: mixture(t, 4, 18).Table}, Options{}, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			one, want, err := Fit(t.Context(), c.in, c.o)
			check.Done(err)
			c.o.Disclosure = open.Disclosure
			for _, n := range c.owners {
				m, r, err := Together(t.Context(), cut(c.in, n), network("exponential", n), c.o)
				check.Done(err)
				scale := one.Parameters().Target.Scale
				if c.o.LogTarget {
					scale = 1
				}
				most := gap(predictions(t, oneNoise(m), c.in), predictions(t, oneNoise(one), c.in), scale)
				if most > 1e-9 {
					t.Errorf("%d owners: predictions or errors differ by %v deviations", n, most)
				}
				for i, s := range r.Scores {
					w := want.Scores[i]
					if s.Method != w.Method || s.Train.Rows != w.Train.Rows || s.Test.Rows != w.Test.Rows ||
						math.Abs(s.Train.RMSE-w.Train.RMSE) > 1e-8*w.Train.RMSE ||
						math.Abs(s.Test.RMSE-w.Test.RMSE) > 1e-8*w.Test.RMSE {
						t.Errorf("%d owners: score %+v, want %+v", n, s, w)
					}
				}
				for i, f := range r.Candidates {
					w := want.Candidates[i]
					if f.Rank != w.Rank || f.Curves != w.Curves || f.Chosen != w.Chosen ||
						math.Abs(f.Evidence-w.Evidence) > 1e-6*(1+math.Abs(w.Evidence)) {
						t.Errorf("%d owners: form %+v, want %+v", n, f, w)
					}
				}
				check.FailIf(t, r.Owners != n || r.TaskCount != want.TaskCount || len(m.Tasks()) != len(one.Tasks()),
					"%d owners, %d tasks: want %d and %d", r.Owners, r.TaskCount, n, want.TaskCount)
				for i, e := range m.Effects() {
					at := slices.IndexFunc(one.Effects(),
						func(w Effect) bool { return w.Term == e.Term && w.Kind == e.Kind })
					if at < 0 || c.in.Table.Schema().Categories != nil {
						continue // differences are from the first level, and levels have another order
					}
					if w := one.Effects()[at]; math.Abs(e.Estimate-w.Estimate)+
						math.Abs(e.StandardError-w.StandardError) > 1e-8*math.Abs(w.StandardError) {
						t.Errorf("%d owners: effect %d %+v, want %+v", n, i, e, w)
					}
				}
			}
		})
	}
}

// The totals of clinics are few, and every round carries a part of one: with a tree of height 1, two a sum.
func TestTotalsAreFew(t *testing.T) {
	_, r, err := Together(t.Context(), cut(clinics(t), 3), network("exponential", 3), open)
	check.Done(err)
	sums, numbers := 0, 0
	for _, total := range r.Totals {
		sums += total.Sums
		numbers += total.Numbers
	}
	if sums > 200 || r.Traffic.Rounds > 2*int64(sums) || numbers == 0 || r.Totals[0].Name == "" {
		t.Errorf("%d totals of %d numbers, %d rounds: %+v", sums, numbers, r.Traffic.Rounds, r.Totals)
	}
}

// A total has as many numbers as docs/privacy.md says, here for d columns of numbers and a positive target.
func TestNumbersOfTotals(t *testing.T) {
	m, r, err := Together(t.Context(), cut(clinics(t), 3), network("exponential", 3), open)
	check.Done(err)
	d := len(m.Features())
	want := map[string]int{
		"tasks, rows, sizes":                      5 + 66*(d+2) + 2*d,
		"values of columns":                       3*d + 8,
		"distances from means":                    2*d + 5,
		"squares of distances from means":         2*d + 5,
		"slopes b b'":                             (d+1)*(d+2)/2 + 1,
		"residuals, owners against noise by task": 5,
		"derivatives of noise":                    83,
		"likelihoods of noise":                    42,
		"errors of methods":                       13*7 + 1,

		"tasks that are left out, by the model and by pooled ridge": 6, // without curves alone
	}
	found := 0
	for _, total := range r.Totals {
		if n, ok := want[total.Name]; ok {
			found++
			check.FailIf(t, total.Numbers != n*total.Sums, "%s: %d numbers in %d sums, want %d in each", total.Name,
				total.Numbers, total.Sums, n)
		}
	}
	check.FailIf(t, found != len(want), "%d of %d totals are there: %+v", found, len(want), r.Totals)
	uneven := drawing{tasks: 30, rows: 12, features: 2, levels: 1, noise: 1, uneven: 4}
	_, r, err = Together(t.Context(), cut(Input{Table: uneven.table(t, 1)}, 3), network("exponential", 3), open)
	check.Done(err)
	const gains = "gains of tasks by their own noise, and squares"
	at := slices.IndexFunc(r.Totals, func(total Total) bool { return total.Name == gains })
	if at < 0 || r.Totals[at].Numbers != 3*r.Totals[at].Sums {
		t.Errorf("%s: %+v", gains, r.Totals)
	}
}

// apart trains in groups of nodes, each of which stands for a process.
func apart(t *testing.T, list []Input, groups [][]int, o Options,
	change func(node int, tr transport.Transport) (transport.Transport, context.Context)) ([]*Model, []error) {
	t.Helper()
	w := weightsOf("path", len(list))
	transports := check.OK(testnet.Connect(w.Graph(), groups))
	models, errs := make([]*Model, len(groups)), make([]error, len(groups))
	var wait sync.WaitGroup
	for i, tr := range transports {
		ctx := t.Context()
		if change != nil {
			tr, ctx = change(i, tr)
		}
		wait.Go(func() {
			defer tr.Close()
			var own []Input
			for _, g := range groups[i] {
				own = append(own, list[g])
			}
			models[i], _, errs[i] = Together(ctx, own, check.OK(consensus.New(w, tr)), o)
		})
	}
	wait.Wait()
	return models, errs
}

// Owners in one process and in several have the same bits.
func TestSameBits(t *testing.T) {
	in := mixture(t, 6, 16)
	list := cut(in, 4)
	for g := range list { // the same levels, so that features have the same names
		list[g] = part(in, func(task int) bool { return task%4 == g })
	}
	w := weightsOf("path", 4)
	one, r, err := Together(t.Context(), list, check.OK(consensus.New(w, nil)),
		Options{Workers: 3, Disclosure: open.Disclosure})
	check.Done(err)
	check.FailIf(t, len(r.Candidates) < 2, "candidates: %v", r.Candidates)
	for name, groups := range map[string][][]int{"four": {{0}, {1}, {2}, {3}}, "two": {{0, 2}, {1, 3}}} {
		t.Run(name, func(t *testing.T) {
			models, errs := apart(t, list, groups, Options{Workers: 1, Disclosure: open.Disclosure}, nil)
			check.Done(errors.Join(errs...))
			for i, group := range groups {
				got, want := oneNoise(models[i]).Parameters(), oneNoise(one).Parameters()
				if !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.MeanCovariance, want.MeanCovariance) ||
					!slices.Equal(got.Prior.Deviations, want.Prior.Deviations) || got.Prior.Noise != want.Prior.Noise {
					t.Errorf("process %d has another mean or prior", i)
				}
				for _, g := range group {
					for _, task := range list[g].Table.Tasks() {
						at, own := slices.Index(want.Tasks.Names, task), slices.Index(got.Tasks.Names, task)
						p := len(want.Mean)
						if !slices.Equal(got.Tasks.Theta[own*p:][:p], want.Tasks.Theta[at*p:][:p]) {
							t.Errorf("node %d, task %q: other coefficients", g, task)
						}
					}
				}
			}
		})
	}
}

// leveled returns a table of a categorical column with these levels; rows differ by seed.
func leveled(seed uint64, prefix string, levels ...string) Input {
	rng := rand.New(rand.NewPCG(seed, 2))
	d := &Data{Names: []string{"kind", "x"}, Levels: [][]string{levels, nil}}
	for k := range 60 {
		l := k % len(levels)
		check.Done(d.Append(fmt.Sprint(prefix, k%4), float64(len(levels[l]))+rng.NormFloat64()*.1, float64(l),
			rng.NormFloat64()))
	}
	return Input{Table: d}
}

// All nodes have the columns of all levels, under the texts of their own.
func TestLevels(t *testing.T) {
	list := []Input{leveled(1, "a", "x", "yyyy"), leveled(2, "b", "yyyy", "zz"), leveled(3, "c", "x", "wwwwwww")}
	rank := 0
	one, _, err := Together(t.Context(), list, network("path", 3), Options{Rank: &rank, Disclosure: open.Disclosure})
	check.Done(err)
	models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Options{Rank: &rank, Disclosure: open.Disclosure}, nil)
	check.Done(errors.Join(errs...))
	known := one.Parameters().Schema.Categories[0].Levels
	if sorted := slices.Sorted(slices.Values(known)); !slices.Equal(sorted, []string{"wwwwwww", "x", "yyyy", "zz"}) {
		t.Fatalf("levels %q", sorted)
	}
	for i, m := range models {
		own := m.Parameters().Schema.Categories[0].Levels
		for k, text := range own {
			has := slices.Contains(list[i].Table.Features(), "kind="+known[k])
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

// Sums about levels count like others, in the report and in the progress: a message each, there and back.
func TestLevelsAreCounted(t *testing.T) {
	list := []Input{leveled(1, "a", "x", "yyyy"), leveled(2, "b", "yyyy", "zz"), leveled(3, "c", "x", "wwwwwww")}
	last := Progress{}
	o := Options{Disclosure: open.Disclosure, Progress: func(p Progress) { last = p }}
	_, r, err := Together(t.Context(), list, network("star", 3), o)
	check.Done(err)
	at := slices.IndexFunc(r.Totals, func(total Total) bool { return total.Name == "levels" })
	if at < 0 || r.Totals[at].Sums < 1 || r.Totals[at].Numbers < 3*leastBuckets || last.Sums != r.Sums() ||
		r.Traffic.Messages != int64(4*r.Sums()) {
		t.Errorf("%d sums, %d at the end, %+v: %+v", r.Sums(), last.Sums, r.Traffic, r.Totals)
	}
}

// Levels that share a bucket with others in one table are apart in another one.
func TestManyLevels(t *testing.T) {
	var lists [][]string
	want := map[string]bool{}
	for g := range 3 {
		var own []string
		for k := range 40 {
			own = append(own, fmt.Sprintf("level %d", 25*g+k))
			want[own[k]] = true
		}
		lists = append(lists, own)
	}
	seats, got := newMeeting(network("path", 3)), make([][]string, 3)
	var wait sync.WaitGroup
	for g, seat := range seats {
		wait.Go(func() { got[g] = check.OK((&rows{sums: seat}).levels(t.Context(), "kind", lists[g])) })
	}
	wait.Wait()
	for _, list := range got {
		check.FailIf(t,
			!slices.Equal(slices.Sorted(slices.Values(list)), slices.Sorted(maps.Keys(want))) ||
				!slices.Equal(list, got[0]),
			"%d levels %q, want %d", len(list), list, len(want))
	}
}

// A node that cannot train ends the training at all nodes: there with its text, elsewhere without.
func TestStops(t *testing.T) {
	large := 19
	for name, c := range map[string]struct {
		spoil func(list []Input)
		o     Options
		want  string
	}{
		"no target": {func(l []Input) { l[1].Table.(*Data).Targets = nil }, Options{},
			"the table has no target column"},
		"large number": {func(l []Input) { l[1].Table.(*Data).Values[0][3] = 2e152 }, Options{},
			`feature "a" is 2e+152`},
		"few rows": {func(l []Input) { l[1] = part(l[1], func(task int) bool { return task == 0 }) }, Options{},
			"training rows for totals, and 7 columns with the constant: it needs 3 for each"},
		"workers": {nil, Options{Workers: -1}, "the number of workers is -1"},
		"held out": {func(l []Input) { l[1].HeldOut = []bool{true} }, Options{},
			"the choice of held-out rows has 1 entries"},
		"rank": {nil, Options{Rank: &large}, "the rank is 19: it must be from 0 to"},
	} {
		t.Run(name, func(t *testing.T) {
			in := mixture(t, 1, 12)
			in.Table.(*Data).Weighting = nil
			list := cut(in, 3)
			if c.spoil != nil {
				c.spoil(list)
			}
			_, errs := apart(t, list, [][]int{{0}, {1}, {2}}, c.o, nil)
			if errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
				t.Errorf("the node: %v, want %q", errs[1], c.want)
			}
			check.FailIf(t, errs[2] == nil, "another node has no error")
			var own *Error
			check.FailIf(t, !errors.As(errs[1], &own) || strings.Contains(own.PublicText(), "2e+152"),
				"no public text: %v", errs[1])
		})
	}
}

// Several tables of one process are told apart, and must not have tasks of the same name.
func TestTablesOfOneProcess(t *testing.T) {
	in := mixture(t, 1, 12)
	short := part(in, func(task int) bool { return task == 0 })
	_, _, err := Together(t.Context(), []Input{in, short}, network("path", 2), Options{})
	check.FailIf(t, err == nil || !strings.HasPrefix(err.Error(), "table 2: the table has "),
		"the second table has too few rows: %v", err)
	short.Name = "short.csv"
	_, _, err = Together(t.Context(), []Input{in, short}, network("path", 2), Options{})
	check.FailIf(t, err == nil || !strings.HasPrefix(err.Error(), "short.csv: the table has "),
		"the name of the second table: %v", err)
	_, _, err = Together(t.Context(), []Input{in, in}, network("path", 2), Options{})
	check.Error(t, err, `"task 0", which is there twice`)
}

// Settings differ where options or columns do; the texts of levels are public in private training alone.
func TestSettings(t *testing.T) {
	rank, one, other := 2, leveled(1, "a", "x", "yyyy").Table, leveled(1, "a", "x", "zz").Table
	same := func(a, b []consensus.Setting) bool { return consensus.Difference(a, "a", b, "b") == "" }
	o, p := &Options{Rank: &rank}, &Privacy{Epsilon: 1}
	plain := Settings(one, o, nil)
	for name, ok := range map[string]bool{
		"protocol":       plain[0] == consensus.Setting{Name: "protocol of the training", Value: fmt.Sprint(protocol)},
		"levels":         same(plain, Settings(other, o, nil)),
		"private levels": !same(Settings(one, o, p), Settings(other, o, p)),
		"privacy":        !same(plain, Settings(one, o, p)),
		"rank":           !same(plain, Settings(one, &Options{}, nil)),
		"logarithm":      !same(plain, Settings(one, &Options{Rank: &rank, LogTarget: true}, nil)),
		"curves":         !same(plain, Settings(one, &Options{Rank: &rank, NoCurves: true}, nil)),
		"noise":          !same(plain, Settings(one, &Options{Rank: &rank, CommonNoise: true}, nil)),
		"workers":        same(plain, Settings(one, &Options{Rank: &rank, Workers: 3}, nil)),
		"target":         !same(plain, Settings(one, &Options{Rank: &rank, TargetColumn: "y"}, nil)),
		"task":           !same(plain, Settings(one, &Options{Rank: &rank, TaskColumn: "t"}, nil)),
		"columns":        !same(plain, Settings(mixture(t, 1, 2).Table, o, nil)),
	} {
		check.FailIf(t, !ok, "%s: settings are equal, or differ", name)
	}
}

// A node whose context ends at any exchange stops all nodes after the same sum.
func TestContextEnds(t *testing.T) {
	list := cut(mixture(t, 1, 12), 3)
	for _, at := range []int{0, 3, 17, 60, 200} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			_, errs := apart(t, list, [][]int{{0}, {1}, {2}}, open,
				func(node int, tr transport.Transport) (transport.Transport, context.Context) {
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
	list, rank := cut(mixture(t, 7, 12), 3), 1
	err := testnet.Swap(weightsOf("path", 3), 1, 2, func(node int, net *consensus.Network, swapped bool) error {
		own := node
		if swapped && node > 0 {
			own = 3 - node
		}
		_, _, err := Together(t.Context(), list[own:own+1], net, Options{Rank: &rank, Workers: 1})
		return err
	})
	check.FailIf(t, err != nil, "%v", err)
}

// Every start has new masks: a node that trains twice with the same rows sends other words in every sum, and
// has the same model.
func TestNewMasks(t *testing.T) {
	list, w, rank := cut(mixture(t, 7, 12), 3), weightsOf("path", 3), 1
	var sent [2]map[string]bool
	var means [2][]float64
	for start := range sent {
		sent[start] = map[string]bool{}
		models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Options{Rank: &rank, Workers: 1},
			func(node int, tr transport.Transport) (transport.Transport, context.Context) {
				if node == 0 { // a leaf, which receives no masked words
					tr = testnet.Tap{Sent: func(_ transport.Link, f testnet.Frame) {
						if f.Channel() == testnet.Sum {
							sent[start][string(f.Code())] = true
						}
					}}.Open(tr, w.Graph(), w.Fingerprint())
				}
				return tr, t.Context()
			})
		check.Done(errors.Join(errs...))
		means[start] = models[0].Parameters().Mean
	}
	again := 0
	for code := range sent[0] {
		if len(code) > statusBytes && sent[1][code] {
			again++
		}
	}
	check.FailIf(t, len(sent[0]) < 20 || again > 0, "%d of %d messages were sent again", again, len(sent[0]))
	check.FailIf(t, !slices.Equal(means[0], means[1]), "the models differ")
}

// statusBytes is the length of the statuses of a sum, which have no mask.
const statusBytes = 9

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
	list, w := cut(mixture(t, 3, 9), 3), weightsOf("path", 3)
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 3))
		models, errs := apart(t, list, [][]int{{0}, {1}, {2}}, Options{Workers: 1},
			func(node int, tr transport.Transport) (transport.Transport, context.Context) {
				if node == 1 {
					tr = &liar{tr, w.Fingerprint(), 1, rng, 4 + rng.Uint64N(300), make([]uint64, 2)}
				}
				return tr, t.Context()
			})
		for i, err := range errs {
			var peer *transport.PeerError
			if i != 1 && !errors.Is(err, consensus.ErrContradiction) && !errors.Is(err, consensus.ErrInconsistent) &&
				!errors.As(err, &peer) || i != 1 && models[i] != nil {
				t.Errorf("seed %d, node %d: %v", seed, i, err)
			}
		}
	}
}
