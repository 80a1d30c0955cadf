package private_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/mask"
	"github.com/difalt/difalt/internal/noise"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/private"
	"github.com/difalt/difalt/topology"
)

func network(t testing.TB, nodes int) *consensus.Network {
	t.Helper()
	return must(consensus.New(weightsOf(t, nodes), nil))
}

func weightsOf(t testing.TB, nodes int) *topology.Weights {
	t.Helper()
	return must(topology.NewWeights(must(topology.Path(nodes)), topology.Metropolis))
}

// apart runs f for every node of w, each in a process of its own, and fails if one returns an error.
func apart(t testing.TB, w *topology.Weights, f func(node int, tr transport.Transport) error) {
	t.Helper()
	if err := errors.Join(testnet.Run(w.Graph(), nil, f)...); err != nil {
		t.Fatal(err)
	}
}

func account(t testing.TB, epsilon, delta float64, colluding int) *private.Account {
	t.Helper()
	return must(private.NewAccount(epsilon, delta, colluding))
}

// TestBudget: invalid budgets are errors, and so is a sum that exceeds one.
func TestBudget(t *testing.T) {
	for _, b := range [][2]float64{{0, .1}, {-1, .1}, {math.NaN(), .1}, {math.Inf(1), .1}, {1001, .1}, {1, 0}, {1, .11},
		{1, 1}, {1, math.NaN()}} {
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

// TestInvalidSumIsFree: a sum with invalid arguments is an error that names them, and spends nothing.
func TestInvalidSumIsFree(t *testing.T) {
	net := network(t, 3)
	one := func(_, _ int, v []float64) { v[0] = 1 }
	for want, sum := range map[string]func(a *private.Account) error{
		"tasks of 2 nodes, but 3 are hosted": func(a *private.Account) error {
			_, err := a.Sum(t.Context(), net, "a sum", .1, []int{1, 1}, 1, one)
			return err
		},
		"tasks of 0 nodes": func(a *private.Account) error {
			_, err := a.Sum(t.Context(), net, "a sum", .1, nil, 1, one)
			return err
		},
		"node 1 has -2 tasks": func(a *private.Account) error {
			_, err := a.Sum(t.Context(), net, "a sum", .1, []int{1, -2, 1}, 1, one)
			return err
		},
		"-1 numbers": func(a *private.Account) error {
			_, err := a.Sum(t.Context(), net, "a sum", .1, []int{1, 1, 1}, -1, one)
			return err
		},
		"need a function": func(a *private.Account) error {
			_, err := a.Sum(t.Context(), net, "a sum", .1, []int{1, 1, 1}, 1, nil)
			return err
		},
		"canceled": func(a *private.Account) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := a.Sum(ctx, net, "a sum", .1, []int{1, 1, 1}, 1, one)
			return err
		},
		"need a network": func(a *private.Account) error {
			_, err := a.Sum(t.Context(), nil, "a sum", .1, []int{1, 1, 1}, 1, one)
			return err
		},
	} {
		a := account(t, 2, .01, 0)
		if err := sum(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if a.Rho() != 0 || len(a.Spent()) != 0 {
			t.Errorf("%s: rho %v was spent", want, a.Rho())
		}
	}
}

// TestNoSuchBudget: numbers that are not a budget have no counterpart.
func TestNoSuchBudget(t *testing.T) {
	nan := math.NaN()
	for _, c := range [][2]float64{{-1, .1}, {nan, .1}, {1, 0}, {1, -1}, {1, 1}, {1, 2}, {1, nan}, {-1e-300, .5}} {
		if rho, e := private.Rho(c[0], c[1]), private.Epsilon(c[0], c[1]); !math.IsNaN(rho) || !math.IsNaN(e) {
			t.Errorf("%v: rho %v, epsilon %v", c, rho, e)
		}
	}
	if e := private.Epsilon(0, .1); e != 0 {
		t.Errorf("rho 0: epsilon %v", e)
	}
	a := account(t, 2, .01, 1)
	if _, err := a.Sum(t.Context(), network(t, 3), "a sum", .1, []int{1, 1, 1},
		1, func(int, int, []float64) {}); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]int{{-1, 3}, {0, 0}, {1, -3}} {
		if e := a.Against(c[0], c[1]); !math.IsNaN(e) {
			t.Errorf("%d colluding of %d nodes: epsilon %v", c[0], c[1], e)
		}
	}
	if e := a.Against(3, 3); !math.IsInf(e, 1) {
		t.Errorf("all nodes collude: epsilon %v", e)
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
			t.Errorf("%d nodes, %d collude: mean %.4f and variance %.4f, want %.4f", c.nodes, c.colluding, mean,
				squares, want)
		}
		if math.Abs(total.Deviation*total.Deviation/want-1) > 1e-9 {
			t.Errorf("%d nodes: the deviation is said to be %v, want %v", c.nodes, total.Deviation, math.Sqrt(want))
		}
		if e := a.Against(c.colluding, c.nodes); math.Abs(e-a.Epsilon()) > 1e-12 {
			t.Errorf("%d of %d nodes collude: epsilon %v against them, want %v", c.colluding, c.nodes, e, a.Epsilon())
		}
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
	vectors = append(vectors, huge, []float64{math.NaN(), 1, 1, 1, 1}, []float64{0, math.Inf(1), 0, 0, 0},
		make([]float64, n))
	for _, nodes := range []int{1, 4} {
		a := account(t, 1000, .1, 0)
		counts := make([]int, nodes)
		for k := range vectors {
			counts[k%nodes]++
		}
		total, err := a.Sum(t.Context(), network(t, nodes), "vectors", 800, counts, n, func(i, k int, v []float64) {
			copy(v, vectors[k*nodes+i])
		})
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range total.Values {
			if math.Abs(v-want[j]) > 6*total.Deviation {
				t.Errorf("%d nodes, number %d: %v, want %v to %v", nodes, j, v, want[j], total.Deviation)
			}
		}
	}
}

// frames runs a sum of an account on the path 0-1-...-4 without masks, with the same noise every time, and
// returns the frames that the nodes have sent, by link. Task 1 of node 4 contributes the given vector, and
// all others unit vectors.
func frames(t *testing.T, rho float64, vector []float64) map[transport.Link][]testnet.Frame {
	w, sent, mu := weightsOf(t, 5), map[transport.Link][]testnet.Frame{}, sync.Mutex{}
	tap := testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
		mu.Lock()
		defer mu.Unlock()
		sent[l] = append(sent[l], slices.Clone(f))
	}}
	apart(t, w, func(node int, tr transport.Transport) error {
		net, err := testnet.NewNetwork(w, tap.Open(tr, w.Graph(), w.Fingerprint()), testnet.Unmasked)
		if err != nil {
			return err
		}
		a := account(t, 3, .01, 0)
		a.Fix(node)
		_, err = a.Sum(t.Context(), net, "a sum", rho, []int{3}, len(vector), func(_, k int, v []float64) {
			if v[k] = .9; node == 4 && k == 1 {
				copy(v, vector)
			}
		})
		return err
	})
	return sent
}

// distance returns the length of the difference between two vectors of integers of 192 bits, the lowest byte
// first, in units of the sum of 5 nodes.
func distance(t *testing.T, p, q []byte) float64 {
	squares := 0.0
	for k := 0; k < len(p); k += 24 {
		var a, b [3]uint64
		for j := range a {
			a[j], b[j] = binary.LittleEndian.Uint64(p[k+8*j:]), binary.LittleEndian.Uint64(q[k+8*j:])
		}
		mask.SubFrom(a[:], b[:], 3)
		x := math.Ldexp(float64(int64(a[2])), 65+3-64) + math.Ldexp(float64(a[1]), 65+3-128) + math.Ldexp(float64(a[0]),
			65+3-192)
		if x != math.Trunc(x) {
			t.Errorf("number %d is %v units off", k/24, x)
		}
		squares += x * x
	}
	return math.Sqrt(squares)
}

// TestNothingElseIsSent changes one task, with the same noise and without masks: sums change by whole units
// of the grid within the sensitivity of the account, and no other byte on any link changes.
func TestNothingElseIsSent(t *testing.T) {
	const nodes, n, rho = 5, 7, .2
	none, nan, huge := make([]float64, n), math.NaN(), math.MaxFloat64
	for name, c := range map[string]struct {
		vector []float64
		counts bool // it is not 0 on the grid
	}{
		"none": {none, false}, "long": {[]float64{1e9, 1e9, -1e9, 0, 3, 4, 5}, true},
		"unit": {[]float64{0, 0, 0, -1, 0, 0, 0}, true},
		"NaN":  {[]float64{nan, 0, 0, 0, 0, 0, 0}, false}, "huge": {[]float64{huge, huge, 0, 0, 0, 0, 0}, true},
		"tiny": {[]float64{5e-324, 0, 0, 0, 0, 0, 0}, false}, "odd": {[]float64{.1, .2, .3, .4, .5, .6, -.7}, true},
	} {
		for _, base := range [][]float64{none, {.5, -.5, .1, 0, 0, 0, .7}} { // a task that is not there, and another
			bound := noise.Deviation * math.Sqrt(2*rho*nodes)
			if base[0] != 0 {
				bound *= 2 // one task in the place of another: away with one, and the other there
			}
			before, longest := frames(t, rho, base), 0.0
			for l, list := range frames(t, rho, c.vector) {
				if len(list) != 1 || len(before[l]) != 1 || len(list[0]) != len(before[l][0]) ||
					list[0].Channel() != testnet.Sum {
					t.Fatalf("%s, %v: %d and %d frames", name, l, len(before[l]), len(list))
				}
				p, q := before[l][0].Code(), list[0].Code()
				if up := 24 * (n + 1); len(p) > up { // then a count and a check; what comes down is the total
					longest = max(longest, distance(t, p[:up], q[:up]))
					p, q = p[up:], q[up:]
				} else {
					p, q = p[8*n:], q[8*n:]
				}
				if !bytes.Equal(p, q) {
					t.Errorf("%s, %v: %x and %x", name, l, p, q)
				}
			}
			if longest > bound || base[0] == 0 && c.counts && longest < .5*bound {
				t.Errorf("%s: sums change by %v units of %v", name, longest, bound)
			}
		}
	}
}
