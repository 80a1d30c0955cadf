package mixed

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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

// sameScores compares scores and forms of a training of n owners with those of one table.
func sameScores(t *testing.T, n int, r, want *Report) {
	t.Helper()
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
				sameScores(t, n, r, want)
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
