package private_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/noise"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/private"
	"github.com/difalt/difalt/topology"
)

func network(t testing.TB, nodes int) *consensus.Network {
	t.Helper()
	net, err := consensus.New(weightsOf(t, nodes), nil)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func weightsOf(t testing.TB, nodes int) *topology.Weights {
	t.Helper()
	g, err := topology.Parse("path", nodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func account(t testing.TB, epsilon, delta float64, colluding int) *private.Account {
	t.Helper()
	a, err := private.NewAccount(epsilon, delta, colluding)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAccountCoversGaussian compares with the exact delta of the Gaussian mechanism, Phi(1/(2 sigma) -
// epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma) (Balle and Wang 2018, theorem 8).
func TestAccountCoversGaussian(t *testing.T) {
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, epsilon := range []float64{.01, .1, 1, 4, 8, 20} {
		for _, delta := range []float64{1e-9, 1e-5, 1e-3, .01, .1} {
			rho := private.Rho(epsilon, delta)
			if e := private.Epsilon(rho, delta); math.Abs(e-epsilon) > 1e-12*epsilon {
				t.Errorf("epsilon %v, delta %v: rho = %v, which is epsilon %v", epsilon, delta, rho, e)
			}
			sigma := 1 / math.Sqrt(2*rho)
			exact := normal(.5/sigma-epsilon*sigma) - math.Exp(epsilon)*normal(-.5/sigma-epsilon*sigma)
			if exact > delta {
				t.Errorf("epsilon %v needs delta = %v, the account says %v", epsilon, exact, delta)
			}
			// And it is not far above: a third of epsilon would need more.
			third := epsilon / 3
			if exact = normal(.5/sigma-third*sigma) - math.Exp(third)*normal(-.5/sigma-third*sigma); exact < delta && epsilon >= 1 && delta <= .01 {
				t.Errorf("a third of epsilon %v needs delta = %v only, the account has %v", epsilon, exact, delta)
			}
		}
	}
	// rho = 1/2 is 5.30 at 1e-5: .5 + sqrt(2 ln 1e5).
	if e := private.Epsilon(.5, 1e-5); math.Abs(e-5.2985) > 1e-4 {
		t.Errorf("rho = 0.5 is epsilon %v at delta 1e-5", e)
	}
}

// TestBudget: invalid budgets are errors, and so is a sum that exceeds one.
func TestBudget(t *testing.T) {
	for _, b := range [][2]float64{{0, .1}, {-1, .1}, {math.NaN(), .1}, {math.Inf(1), .1}, {1001, .1}, {1, 0}, {1, 1}, {1, math.NaN()}} {
		if _, err := private.NewAccount(b[0], b[1], 0); err == nil {
			t.Errorf("epsilon, delta = %v: no error", b)
		}
	}
	if _, err := private.NewAccount(1, .1, -1); err == nil {
		t.Error("no error of -1 colluding nodes")
	}
	a, net := account(t, 2, 1e-3, 0), network(t, 3)
	one := func(_, _ int, v []float64) { v[0] = 1 }
	sum := func(rho float64) error {
		_, err := a.Sum(t.Context(), net, "a sum", rho, []int{1, 1, 1}, 1, one)
		return err
	}
	for range 4 {
		if err := sum(a.Budget() / 4); err != nil {
			t.Fatal(err)
		}
	}
	if e := a.Epsilon(); math.Abs(e-2) > 1e-9 || len(a.Spent()) != 4 {
		t.Errorf("all is spent: epsilon %v in %d sums", e, len(a.Spent()))
	}
	for _, rho := range []float64{1e-3, 0, -1, math.NaN()} {
		if err := sum(rho); !errors.Is(err, private.ErrSpent) {
			t.Errorf("rho = %v more: %v", rho, err)
		}
	}
	if _, err := account(t, 2, 1e-3, 3).Sum(t.Context(), net, "a sum", .1, []int{1, 1, 1}, 1, one); err == nil {
		t.Error("all nodes collude, and there is no error")
	}
}

// TestNoise: the variance of a total is 1/(2 rho) for any number of nodes, divided by the share of honest
// ones.
func TestNoise(t *testing.T) {
	const numbers = 40_000
	rho := .3
	for _, c := range []struct{ nodes, colluding int }{{1, 0}, {2, 0}, {2, 1}, {5, 0}, {5, 3}, {12, 0}, {12, 6}} {
		a := account(t, 4, .01, c.colluding)
		total, err := a.Sum(t.Context(), network(t, c.nodes), "nothing", rho, make([]int, c.nodes), numbers, nil)
		if err != nil {
			t.Fatal(err)
		}
		squares, mean := 0.0, 0.0
		for _, v := range total.Values {
			squares += v * v / numbers
			mean += v / numbers
		}
		want := 1 / (2 * rho) * float64(c.nodes) / float64(c.nodes-c.colluding)
		if math.Abs(squares/want-1) > 5*math.Sqrt(2.0/numbers) || math.Abs(mean) > 5*math.Sqrt(want/numbers) {
			t.Errorf("%d nodes, %d collude: mean %.4f and variance %.4f, want %.4f", c.nodes, c.colluding, mean, squares, want)
		}
		if math.Abs(total.Deviation*total.Deviation/want-1) > 1e-9 {
			t.Errorf("%d nodes: the deviation is said to be %v, want %v", c.nodes, total.Deviation, math.Sqrt(want))
		}
		if e := a.Against(c.colluding, c.nodes); math.Abs(e-a.Epsilon()) > 1e-12 {
			t.Errorf("%d of %d nodes collude: epsilon %v against them, want %v", c.colluding, c.nodes, e, a.Epsilon())
		}
	}
}

// TestDistinguish measures how well the total reveals whether a task is present.
func TestDistinguish(t *testing.T) {
	const draws = 20_000
	net, rho := network(t, 3), private.Rho(1.5, .05)
	count := func(there float64) float64 { // how often the total is above the middle
		n := 0.0
		for range draws {
			total, err := account(t, 1.5, .05, 0).Sum(t.Context(), net, "a sum", rho, []int{0, 1, 0}, 1, func(_, _ int, v []float64) { v[0] = 7 * there })
			if err != nil {
				t.Fatal(err)
			}
			if total.Values[0] > .5 {
				n++
			}
		}
		return n / draws
	}
	found, wrong := count(1), count(0)
	// Both errors are Phi(-1/(2 sigma)), 2 rho = 1/sigma^2.
	want := math.Erfc(math.Sqrt(2*rho)/2/math.Sqrt2) / 2
	if e := 5 * math.Sqrt(want/draws); math.Abs(1-found-want) > e || math.Abs(wrong-want) > e {
		t.Errorf("a task that is there is missed in %.4f, one that is not found in %.4f: want %.4f", 1-found, wrong, want)
	}
	if found > math.Exp(1.5)*wrong+.05 {
		t.Errorf("found in %.4f and %.4f: that is not 1.5, 0.05", found, wrong)
	}
}

// TestSum: a total is the sum of all vectors, cut to length 1; vectors that are not finite count as 0.
func TestSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tasks, n = 60, 5
	vectors := make([][]float64, tasks)
	want := make([]float64, n)
	for k := range vectors {
		v := make([]float64, n)
		squares := 0.0
		for j := range v {
			v[j] = rng.NormFloat64() * math.Ldexp(1, k%7-5)
			squares += v[j] * v[j]
		}
		for j := range v {
			want[j] += v[j] / max(1, math.Sqrt(squares))
		}
		vectors[k] = v
	}
	huge := []float64{1e300, 0, -1e300, 0, 0} // of infinite squares
	want[0], want[2] = want[0]+math.Sqrt(.5), want[2]-math.Sqrt(.5)
	vectors = append(vectors, huge, []float64{math.NaN(), 1, 1, 1, 1}, []float64{0, math.Inf(1), 0, 0, 0}, make([]float64, n))
	for _, nodes := range []int{1, 4} {
		a := account(t, 1000, .1, 0)
		counts := make([]int, nodes)
		for k := range vectors {
			counts[k%nodes]++
		}
		total, err := a.Sum(t.Context(), network(t, nodes), "vectors", 800, counts, n, func(i, k int, v []float64) { copy(v, vectors[k*nodes+i]) })
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range total.Values {
			if math.Abs(v-want[j]) > 6*total.Deviation {
				t.Errorf("%d nodes, number %d: %v, want %v to %v", nodes, j, v, want[j], total.Deviation)
			}
		}
		if total.Clipped < tasks/5 || total.Clipped > tasks {
			t.Errorf("%d of %d vectors are said to be longer than 1", total.Clipped, len(vectors))
		}
	}
}

// TestNothingElseIsSent changes one task, with the same noise and without masks: sums change by whole units
// of the grid within the sensitivity of the account, and no other byte on any link changes.
func TestNothingElseIsSent(t *testing.T) {
	const nodes, n, rho = 5, 7, .2
	w := weightsOf(t, nodes)
	first := []float64{.5, -.5, .1, 0, 0, 0, .7}
	for name, second := range map[string][]float64{
		"none": nil, "long": {1e9, 1e9, -1e9, 0, 3, 4, 5}, "unit": {0, 0, 0, -1, 0, 0, 0}, "NaN": {math.NaN(), 0, 0, 0, 0, 0, 0},
		"huge": {math.MaxFloat64, math.MaxFloat64, 0, 0, 0, 0, 0}, "tiny": {5e-324, 0, 0, 0, 0, 0, 0}, "odd": {.1, .2, .3, .4, .5, .6, -.7},
	} {
		for _, base := range [][]float64{nil, first} { // a task that is not there, and another
			changes, err := testnet.Neighbours(w.Graph(), func(node int, tr wire.Transport, other bool) error {
				net, err := consensus.New(w, tr)
				if err != nil {
					return err
				}
				a, err := private.NewAccount(3, .01, 0)
				if err != nil {
					return err
				}
				noise.Fix(a, noise.Fixed([32]byte{byte(node)}))
				_, err = a.Sum(t.Context(), net, "a sum", rho, []int{3}, n, func(_, k int, v []float64) {
					switch {
					case node == 4 && k == 1 && other:
						copy(v, second)
					case node == 4 && k == 1:
						copy(v, base)
					default:
						v[k] = .9
					}
				})
				return err
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			bound := noise.Deviation * math.Sqrt(2*rho*nodes)
			if base != nil {
				bound *= 2 // one task in the place of another: away with one, and the other there
			}
			longest := 0.0
			for _, c := range changes {
				longest = max(longest, c.Length)
			}
			if longest > bound {
				t.Errorf("%s: a sum changes by %v units, and the account says %v", name, longest, bound)
			}
			counts := second != nil && !slices.ContainsFunc(second, math.IsNaN) && name != "tiny"
			if base == nil && counts && longest < .5*bound {
				t.Errorf("%s: sums change by %v units of %v: the test sees nothing", name, longest, bound)
			}
		}
	}
}
