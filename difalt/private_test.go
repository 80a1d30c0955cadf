package difalt_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/private"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
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
