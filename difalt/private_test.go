package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/noise"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bare is the data of a problem alone.
func (s *synthetic) bare() *difalt.Problem { return &difalt.Problem{Nodes: s.Nodes} }

// rmse is the root mean square distance of coefficients from the truth.
func (s *synthetic) rmse(theta func(g, t int) mat.Vector) float64 {
	sum, tasks := 0.0, 0.0
	for g := range s.theta {
		for t, want := range s.theta[g] {
			var e mat.VecDense
			e.SubVec(theta(g, t), want)
			sum += mat.Dot(&e, &e)
			tasks++
		}
	}
	return math.Sqrt(sum / tasks)
}

// product is U b_t.
func product(u *kernel.Basis, b []float64, t int) mat.Vector {
	_, r := u.Dims()
	var v mat.VecDense
	v.MulVec(u, mat.NewVecDense(r, b[t*r:][:r]))
	return &v
}

// baselines are the errors without any slopes, of one ridge a task, of the best strength by the truth, and of the representation that the same fit
// finds without any noise, of an epsilon as large as it can be.
func (s *synthetic) baselines(t *testing.T, net *consensus.Network, rank int) (none, single, shared float64) {
	d := s.Nodes[0].Features()
	none = s.rmse(func(int, int) mat.Vector { return mat.NewVecDense(d, nil) })
	single = math.Inf(1)
	for e := -6; e <= 6; e++ {
		single = min(single, s.rmse(func(g, k int) mat.Vector {
			var gram, rhs mat.Dense
			gram.Mul(s.x[g][k].T(), s.x[g][k])
			for j := range d {
				gram.Set(j, j, gram.At(j, j)+math.Ldexp(1, e))
			}
			rhs.Mul(s.x[g][k].T(), mat.NewVecDense(len(s.y[g][k]), s.y[g][k]))
			var v mat.Dense
			if err := v.Solve(&gram, &rhs); err != nil {
				t.Fatal(err)
			}
			return v.ColView(0)
		}))
	}
	res, err := difalt.Run(t.Context(), s.bare(), net, difalt.Options{Rank: rank, Method: difalt.Accelerated, Iterations: 60, StopAtNoise: true, Ridge: .25,
		Agreement: consensus.Agreement{Polynomial: consensus.Tree}})
	if err != nil {
		t.Fatal(err)
	}
	return none, single, s.rmse(func(g, k int) mat.Vector { return product(res.U[g], res.B[g], k) })
}

func runPrivate(t *testing.T, s *synthetic, net *consensus.Network, o difalt.Privacy) (*difalt.PrivateResult, float64) {
	t.Helper()
	res, err := difalt.RunPrivate(t.Context(), s.bare(), net, o)
	if err != nil {
		t.Fatal(err)
	}
	return res, s.rmse(func(g, k int) mat.Vector { return product(res.U, res.B[g], k) })
}

// The bar: with 1,000 tasks and epsilon 8 at least half of what the shared representation saves is kept, over no slopes and over one ridge a task.
func TestPrivateGain(t *testing.T) {
	s := gaussian(5, 10, 8, 1000, 2, fixed(15), .5)
	net := network(t, "path", 10, topology.Metropolis, 1)
	none, single, shared := s.baselines(t, net, 2)
	res, got := runPrivate(t, s, net, difalt.Privacy{Rank: 2, Epsilon: 8})
	if kept := (none - got) / (none - shared); !(kept > .5) {
		t.Errorf("kept %.2f of the gain over none: %v, %v, %v", kept, none, got, shared)
	}
	if kept := (single - got) / (single - shared); !(kept > .5) {
		t.Errorf("kept %.2f of the gain over one ridge a task: %v, %v, %v", kept, single, got, shared)
	}
	if e := res.Account.Epsilon(); math.Abs(e-8) > 1e-9 || res.Account.Delta() != math.Pow(1000, -1.1) || res.Tasks != 1000 || res.Silent != 0 {
		t.Errorf("epsilon %v, delta %v, %d tasks, %d silent", e, res.Account.Delta(), res.Tasks, res.Silent)
	}
	// The third eigenvalue and what noise has by itself stay below the second.
	if !(res.Spectrum[1] > res.Spectrum[2]+res.NoiseEdge) {
		t.Errorf("the spectrum is %v, the noise has %v", res.Spectrum, res.NoiseEdge)
	}
}

// With hardly any privacy U is as good as without noise, also where a node has one task and tasks have few rows or many, or none.
func TestPrivateWithoutNoise(t *testing.T) {
	s := gaussian(6, 8, 6, 200, 2, func(t int) int { return 5 + t%20*t%20 }, .1)
	net := network(t, "star", 8, topology.Metropolis, 1)
	_, _, shared := s.baselines(t, net, 2)
	if _, got := runPrivate(t, s, net, difalt.Privacy{Rank: 2, Epsilon: 1000}); got > 1.5*shared {
		t.Errorf("the error is %v, and %v without privacy", got, shared)
	}
}

// Units do not matter: with the noise the same, and features and responses in units that are powers of two, so is U, bit for bit.
func TestPrivateUnits(t *testing.T) {
	s := gaussian(7, 3, 6, 30, 2, fixed(9), .1)
	ctx := noise.Fixed(t.Context(), [32]byte{4})
	run := func(p *difalt.Problem) *difalt.PrivateResult {
		res, err := difalt.RunPrivate(ctx, p, network(t, "path", 3, topology.Metropolis, 1), difalt.Privacy{Rank: 2, Epsilon: 8})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	want, p := run(s.bare()), s.bare()
	p.Nodes = slices.Clone(p.Nodes)
	rescale(p, 0x1p300, 0x1p-200)
	got := run(p)
	if !slices.Equal(want.U.Data(), got.U.Data()) {
		t.Error("U depends on units")
	}
	for i := range want.B {
		for k, b := range want.B[i] {
			if v := math.Ldexp(got.B[i][k], 500); math.Abs(v-b) > 1e-9*math.Abs(b) {
				t.Fatalf("coefficient %d of node %d is %v, want %v", k, i, v, b)
			}
		}
	}
}

// What a task adds depends on its own rows alone: with the noise the same, the same tasks tell the same, bit for bit, whichever node has which.
func TestPrivateTasksAlone(t *testing.T) {
	all := gaussian(8, 1, 6, 12, 2, func(t int) int { return 3 + t }, .5)
	var want *difalt.PrivateResult
	for _, counts := range [][]int{{4, 4, 4}, {1, 10, 1}, {7, 2, 3}} {
		s := deal(all, counts)
		res, err := difalt.RunPrivate(noise.Fixed(t.Context(), [32]byte{9}), s.bare(), network(t, "path", 3, topology.Metropolis, 1), difalt.Privacy{Rank: 2, Epsilon: 5, MeanBound: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = res
		}
		if !slices.Equal(res.Mean, want.Mean) || !slices.Equal(res.Spectrum, want.Spectrum) || !slices.Equal(res.U.Data(), want.U.Data()) {
			t.Errorf("with %d tasks a node others are told other things", counts)
		}
	}
}

// All nodes end with the same U, however they live in processes, and another run with another one: nobody can foresee the noise.
func TestPrivateSameU(t *testing.T) {
	s := dealt(3, 1, 7, 4, 5)
	w := network(t, "path", 5, topology.Metropolis, 1).Weights()
	var seen []*kernel.Basis
	for _, groups := range [][][]int{{{0, 1, 2, 3, 4}}, {{0}, {1}, {2}, {3}, {4}}, {{0, 3}, {1, 2, 4}}} {
		transports, err := testnet.Connect(w.Graph(), groups, testnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		results, errs := make([]*difalt.PrivateResult, len(groups)), make([]error, len(groups))
		var wg sync.WaitGroup
		for i, tr := range transports {
			wg.Go(func() {
				defer tr.Close()
				net, err := consensus.New(w, tr)
				if err == nil {
					p := part(s.Problem, groups[i])
					p.Truth = nil
					results[i], err = difalt.RunPrivate(t.Context(), p, net, difalt.Privacy{Rank: 2, Epsilon: 4, Workers: 1})
				}
				errs[i] = err
			})
		}
		wg.Wait()
		for i, res := range results {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if !slices.Equal(res.U.Data(), results[0].U.Data()) || !slices.Equal(res.Spectrum, results[0].Spectrum) {
				t.Errorf("%v: process %d has another U", groups, i)
			}
		}
		for _, u := range seen {
			if slices.Equal(u.Data(), results[0].U.Data()) {
				t.Error("two runs have the same noise")
			}
		}
		seen = append(seen, results[0].U)
	}
}

// Whatever the rows of a task are, or if it has none: the one sum of a run changes by no more than the account says, and no other byte does.
func TestPrivateTellsNothingElse(t *testing.T) {
	tasks := []int{3, 1, 4}
	w := network(t, "path", 3, topology.Metropolis, 1).Weights()
	for name, second := range map[string]struct {
		rows   int
		change func(p *difalt.Problem)
	}{
		"another":  {12, func(*difalt.Problem) {}},
		"no rows":  {0, func(*difalt.Problem) {}},
		"many":     {500, func(*difalt.Problem) {}},
		"one row":  {1, func(*difalt.Problem) {}},
		"large":    {12, func(p *difalt.Problem) { rescale(p, 1e150, 1e-150) }},
		"no y":     {12, func(p *difalt.Problem) { rescale(p, 1, 0) }},
		"no x":     {12, func(p *difalt.Problem) { rescale(p, 0, 1) }},
		"tiny x":   {12, func(p *difalt.Problem) { rescale(p, 5e-324, 1) }},
		"infinite": {12, func(p *difalt.Problem) { rescale(p, 1e308, 1e308) }},
	} {
		draw := func(seed uint64, rows int) *synthetic {
			return deal(gaussian(seed, 1, 5, 8, 2, func(t int) int {
				if t == 7 {
					return rows
				}
				return 12
			}, .05), tasks)
		}
		first, other := draw(3, 12), draw(4, max(second.rows, 1))
		p := &difalt.Problem{Nodes: []*kernel.Tasks{other.Nodes[2]}}
		second.change(p)
		// All tasks of node 2 but the last are those of first.
		rows := []int{12, 12, 12, second.rows}
		b := kernel.NewBuilder(5, rows, kernel.Float64)
		row := make([]float64, 5)
		for k, n := range rows {
			from := first.Nodes[2]
			if k == 3 {
				from = p.Nodes[0]
			}
			for i := range n {
				b.SetRow(k, i, from.Row(row, k, i), from.Y(k)[i])
			}
		}
		with := slices.Clone(first.Nodes)
		with[2] = b.Tasks()
		const epsilon, delta = 3, .01
		tapes := make([]noise.Tape, 3)
		changes, err := testnet.Neighbours(w.Graph(), func(node int, tr wire.Transport, again bool) error {
			net, err := consensus.New(w, tr)
			if err != nil {
				return err
			}
			own := first.Nodes[node]
			if again {
				own = with[node]
			}
			tapes[node].Play = again
			ctx := noise.Taped(noise.Fixed(t.Context(), [32]byte{byte(node)}), &tapes[node])
			_, err = difalt.RunPrivate(ctx, &difalt.Problem{Nodes: []*kernel.Tasks{own}}, net, difalt.Privacy{Rank: 2, Epsilon: epsilon, Delta: delta, MeanBound: 1, Workers: 1})
			return err
		})
		if name == "infinite" { // no data that anybody may have: nothing is sent
			if err == nil || !strings.Contains(err.Error(), "Inf") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		longest := map[int]float64{}
		for _, c := range changes {
			longest[c.Numbers-1] = max(longest[c.Numbers-1], c.Length)
		}
		for numbers, part := range map[int]float64{5: .125, 5 * 6 / 2: .75} {
			bound := 2 * noise.Deviation * math.Sqrt(2*3*part*private.Rho(epsilon, delta))
			if second.rows == 0 { // the task is not there; else it is another
				bound /= 2
			}
			if longest[numbers] > bound || longest[numbers] < bound/100 {
				t.Errorf("%s: the sum of %d numbers changes by %v units, and the account says %v", name, numbers, longest[numbers], bound)
			}
			delete(longest, numbers)
		}
		if len(longest) > 0 {
			t.Errorf("%s: other sums change: %v", name, longest)
		}
	}
}

// With a mean that is larger than what tasks differ by, the representation is that of the differences, and the mean is found to its noise.
func TestPrivateMean(t *testing.T) {
	const d, tasks = 8, 1000
	s := gaussian(9, 10, d, tasks, 2, fixed(15), .5)
	mean := make([]float64, d)
	for j := range mean {
		mean[j] = math.Pow(-1, float64(j)) // of length 2.8
	}
	for g := range s.x {
		for k, x := range s.x[g] {
			for i := range s.y[g][k] {
				s.y[g][k][i] += floats.Dot(x.RawRowView(i), mean)
			}
			s.theta[g][k].AddVec(s.theta[g][k], mat.NewVecDense(d, mean))
		}
	}
	s.rebuild()
	net := network(t, "path", 10, topology.Metropolis, 1)
	res, err := difalt.RunPrivate(t.Context(), s.bare(), net, difalt.Privacy{Rank: 2, Epsilon: 8, MeanBound: 5})
	if err != nil {
		t.Fatal(err)
	}
	// Of 1,000 tasks it has an error of sqrt(2 / 1000), and what ridges hold back is found by a second pass.
	if off := floats.Distance(res.Mean, mean, 2); off > .3 {
		t.Errorf("the mean is %.2f, want %.2f, with noise of %.3f", res.Mean, mean, res.MeanDeviation)
	}
	if want := 5. / tasks / math.Sqrt(private.Rho(8, math.Pow(tasks, -1.1))/4); math.Abs(res.MeanDeviation-want) > 1e-9*want {
		t.Errorf("the noise of the mean is %v, want %v", res.MeanDeviation, want)
	}
	with := s.rmse(func(g, k int) mat.Vector {
		var v mat.VecDense
		v.AddVec(product(res.U, res.B[g], k), mat.NewVecDense(d, res.Mean))
		return &v
	})
	if none := math.Sqrt(2); with > .5*none {
		t.Errorf("with a mean the error is %.3f, of what tasks differ by %.3f", with, none)
	}
	only, err := difalt.RunPrivate(t.Context(), s.bare(), net, difalt.Privacy{Epsilon: 8, MeanBound: 5})
	if err != nil || only.U != nil || only.MeanDeviation >= res.MeanDeviation*.51 {
		t.Errorf("a mean alone has the noise %v: %v", only.MeanDeviation, err)
	}
}

// All nodes but two cannot tell which of the two has which data, if these take their noise along.
func TestPrivateSwap(t *testing.T) {
	s := dealt(1, 9, 4, 2, 6)
	w := network(t, "path", 5, topology.Metropolis, 1).Weights()
	err := testnet.Swap(w.Graph(), 0, 3, func(node int, tr wire.Transport, swap bool) error {
		net, err := consensus.New(w, tr)
		if err != nil {
			return err
		}
		if swap && (node == 0 || node == 3) {
			node = 3 - node
		}
		ctx := noise.Fixed(t.Context(), [32]byte{byte(node)})
		_, err = difalt.RunPrivate(ctx, &difalt.Problem{Nodes: s.Nodes[node : node+1]}, net, difalt.Privacy{Rank: 2, Epsilon: 1, Workers: 1})
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A run that fails at an exchange goes on there when it is called again on the same network: with the noise that has been made before, whatever the
// second call would draw.
func TestPrivateRetried(t *testing.T) {
	s := dealt(3, 2, 4, 3)
	w := network(t, "path", 4, topology.Metropolis, 1).Weights()
	run := func(seq uint64, again byte) []float64 {
		transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}, {2}, {3}}, testnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		results, errs, failures := make([]*difalt.PrivateResult, 4), make([]error, 4), 0
		var wg sync.WaitGroup
		for i, tr := range transports {
			if i == 1 {
				tr = testnet.FailOnce(tr, seq, seq%2 == 0)
			}
			wg.Go(func() {
				defer tr.Close()
				net, err := consensus.New(w, tr)
				for seed := byte(i); err == nil && results[i] == nil; seed = again {
					results[i], err = difalt.RunPrivate(noise.Fixed(t.Context(), [32]byte{seed}), part(s.bare(), []int{i}), net, difalt.Privacy{Rank: 2, Epsilon: 4, Workers: 1})
					if errors.Is(err, testnet.ErrInjected) {
						failures++
						err = nil
					}
				}
				errs[i] = err
			})
		}
		wg.Wait()
		for i, res := range results {
			if errs[i] != nil {
				t.Fatalf("exchange %d: %v", seq, errs[i])
			}
			if !slices.Equal(res.U.Data(), results[0].U.Data()) {
				t.Errorf("exchange %d: node %d has another U", seq, i)
			}
		}
		if failures == 0 && seq < math.MaxUint64 {
			return nil
		}
		return results[0].U.Data()
	}
	want, same := run(math.MaxUint64, 0), 0
	for seq := uint64(0); ; seq++ {
		got := run(seq, 77)
		if got == nil {
			break
		}
		if slices.Equal(got, want) {
			same++
		}
	}
	if rounds := 2 * 2; same < rounds { // of the sum, along a path of four
		t.Errorf("after %d failures the noise is that of before, want at least %d", same, rounds)
	}
}

// Faults of the caller are named.
func TestPrivateErrors(t *testing.T) {
	s := dealt(3, 3)
	net := func() *consensus.Network { return network(t, "path", 2, topology.Metropolis, 1) }
	good := difalt.Privacy{Rank: 2, Epsilon: 1}
	for name, c := range map[string]struct {
		change func(p *difalt.Problem, o *difalt.Privacy)
		want   string
	}{
		"no epsilon":       {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = 0 }, "epsilon is 0"},
		"negative epsilon": {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = -1 }, "epsilon is -1"},
		"NaN":              {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = math.NaN() }, "epsilon is NaN"},
		"infinite":         {func(_ *difalt.Problem, o *difalt.Privacy) { o.Epsilon = math.Inf(1) }, "epsilon is +Inf"},
		"delta":            {func(_ *difalt.Problem, o *difalt.Privacy) { o.Delta = 1 }, "delta is 1"},
		"NaN delta":        {func(_ *difalt.Problem, o *difalt.Privacy) { o.Delta = math.NaN() }, "delta is NaN"},
		"negative delta":   {func(_ *difalt.Problem, o *difalt.Privacy) { o.Delta = -.1 }, "delta is -0.1"},
		"no rank":          {func(_ *difalt.Problem, o *difalt.Privacy) { o.Rank = 0 }, "Rank is 0"},
		"rank":             {func(_ *difalt.Problem, o *difalt.Privacy) { o.Rank = 11 }, "Rank is 11"},
		"colluding":        {func(_ *difalt.Problem, o *difalt.Privacy) { o.Colluding = 2 }, "2 of 2 nodes"},
		"negative":         {func(_ *difalt.Problem, o *difalt.Privacy) { o.Colluding = -1 }, "colluding nodes is -1"},
		"bound":            {func(_ *difalt.Problem, o *difalt.Privacy) { o.MeanBound = math.NaN() }, "MeanBound is NaN"},
		"a start":          {func(p *difalt.Problem, _ *difalt.Privacy) { p.Start = s.Truth }, "U0, Start"},
		"no tasks":         {func(p *difalt.Problem, _ *difalt.Privacy) { p.Nodes = []*kernel.Tasks{nil, nil} }, "no tasks"},
	} {
		p, o := s.bare(), good
		c.change(p, &o)
		if _, err := difalt.RunPrivate(t.Context(), p, net(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := difalt.RunPrivate(t.Context(), nil, net(), good); err == nil {
		t.Error("no problem, and no error")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w := net().Weights()
	transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}}, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	there, err := consensus.New(w, transports[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := difalt.RunPrivate(ended, part(s.bare(), []int{0}), there, good); err == nil {
		t.Error("the context has ended, and there is no error")
	}
}

// Nodes that want other things, one more epsilon than the other, end with an error that says so.
func TestPrivateNodesDiffer(t *testing.T) {
	s := dealt(3, 3)
	w := network(t, "path", 2, topology.Metropolis, 1).Weights()
	transports, err := testnet.Connect(w.Graph(), [][]int{{0}, {1}}, testnet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i, tr := range transports {
		wg.Go(func() {
			defer tr.Close()
			net, err := consensus.New(w, tr)
			if err == nil {
				_, err = difalt.RunPrivate(t.Context(), part(s.bare(), []int{i}), net, difalt.Privacy{Rank: 2, Epsilon: float64(1 + i)})
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if errs[0] == nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "Epsilon") {
		t.Errorf("%v; %v", errs[0], errs[1])
	}
}

// The table of docs/privacy.md.
func TestPrivateTable(t *testing.T) {
	longtest.Only(t)
	for _, c := range []struct{ tasks, d, r, least, most int }{
		{100, 8, 2, 15, 15}, {100, 20, 2, 15, 15}, {100, 20, 3, 30, 30}, {100, 8, 2, 5, 100},
		{1000, 8, 2, 15, 15}, {1000, 20, 2, 15, 15}, {1000, 20, 3, 30, 30}, {1000, 8, 2, 5, 100}, {10_000, 8, 2, 15, 15}, {10_000, 20, 3, 30, 30},
	} {
		draws := 5
		if c.tasks > 1000 {
			draws = 3
		}
		kept := map[float64]*[2][]float64{}
		for seed := range draws {
			s := gaussian(uint64(100+seed), 10, c.d, c.tasks, c.r, func(t int) int { return c.least + t*37%(c.most-c.least+1) }, .5)
			net := network(t, "path", 10, topology.Metropolis, 1)
			none, single, shared := s.baselines(t, net, c.r)
			for _, epsilon := range []float64{1, 4, 8} {
				if kept[epsilon] == nil {
					kept[epsilon] = &[2][]float64{}
				}
				_, got := runPrivate(t, s, net, difalt.Privacy{Rank: c.r, Epsilon: epsilon})
				kept[epsilon][0] = append(kept[epsilon][0], 100*(none-got)/(none-shared))
				kept[epsilon][1] = append(kept[epsilon][1], 100*(single-got)/(single-shared))
			}
		}
		line := fmt.Sprintf("%d x %d to %d, %d, %d", c.tasks, c.least, c.most, c.d, c.r)
		for _, epsilon := range []float64{1, 4, 8} {
			line += fmt.Sprintf(" | %.0f / %.0f", median(kept[epsilon][0]), median(kept[epsilon][1]))
		}
		t.Log(line)
	}
}
