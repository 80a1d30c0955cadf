package private_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/private"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
)

func draw(t testing.TB, nodes, d, tasks, n, r int, noise float64, seed uint64) *difalt.Problem {
	t.Helper()
	p, err := synth.Data{Features: d, Tasks: tasks, Samples: n, Rank: r, Noise: noise}.Generate(t.Context(), nodes, nil,
		seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGain: U of a private run is close to the truth with many tasks, and as good as without privacy for a
// huge epsilon.
func TestGain(t *testing.T) {
	p := draw(t, 5, 8, 1000, 15, 2, .5, 5)
	for _, c := range []struct{ epsilon, within float64 }{{8, .25}, {1000, .06}} {
		a := account(t, c.epsilon, private.DefaultDelta(1000), 0)
		res, err := private.Run(t.Context(), p.Nodes, network(t, 5), private.Options{Rank: 2, Account: a})
		if err != nil {
			t.Fatal(err)
		}
		if sd := difalt.SubspaceDistance(res.U, p.Truth); sd > c.within {
			t.Errorf("epsilon %v: %.3f from the truth, want at most %v", c.epsilon, sd, c.within)
		}
		if e := a.Epsilon(); math.Abs(e-c.epsilon) > 1e-9*c.epsilon || res.Tasks != 1000 {
			t.Errorf("epsilon %v: spent %v, %d tasks", c.epsilon, e, res.Tasks)
		}
		// The matrix is the mean of 1000 matrices of trace 1.
		if s := res.Spectrum; !(s[1] > 2*s[2]) || math.Abs(s[0]+s[1]+6*s[2]-1) > .03 {
			t.Errorf("epsilon %v: the spectrum is %v", c.epsilon, s)
		}
		// The coefficients reproduce the responses up to the noise and the shrinkage of the ridge.
		rest, all, row := 0.0, 0.0, make([]float64, 8)
		for i, k := range p.Nodes {
			for task := range k.Len() {
				for l, y := range k.Y(task) {
					k.Row(row, task, l)
					fit := 0.0
					for j, b := range res.B[i][task*2:][:2] {
						fit += b * floats.Dot(row, res.U.Col(j))
					}
					rest, all = rest+(y-fit)*(y-fit), all+y*y
				}
			}
		}
		if rest > .25*all {
			t.Errorf("epsilon %v: %.2f of the responses remain", c.epsilon, rest/all)
		}
	}
}

// TestMean: with MeanBound the common part of the coefficients is published.
func TestMean(t *testing.T) {
	p := draw(t, 3, 6, 600, 15, 2, .1, 7)
	mean, row := []float64{3, 0, 0, -2, 0, 0}, make([]float64, 6)
	for i, k := range p.Nodes {
		var y []float64
		for task := range k.Len() {
			for l, v := range k.Y(task) {
				y = append(y, v+floats.Dot(k.Row(row, task, l), mean))
			}
		}
		p.Nodes[i] = k.WithResponses(y)
	}
	a := account(t, 50, .01, 0)
	res, err := private.Run(t.Context(), p.Nodes, network(t, 3), private.Options{Rank: 2, Account: a, MeanBound: 6})
	if err != nil {
		t.Fatal(err)
	}
	if e := floats.Distance(res.Mean, mean, 2); e > .5 {
		t.Errorf("the mean is %.3v, want %v", res.Mean, mean)
	}
	if n := len(a.Spent()); n != 3 {
		t.Errorf("%d sums instead of 3", n)
	}
}

// TestSameBitsApart: with the same noise, processes of one node each compute the bits of one process.
func TestSameBitsApart(t *testing.T) {
	const nodes = 3
	p, w := draw(t, nodes, 6, 30, 9, 2, .1, 3), weightsOf(t, nodes)
	options := func(node int) private.Options {
		a := account(t, 8, .01, 1)
		a.Fix(node)
		return private.Options{Rank: 2, Account: a, MeanBound: 1}
	}
	ends := func() []*private.Result {
		results := make([]*private.Result, nodes)
		apart(t, w, func(g int, tr transport.Transport) error {
			net, err := consensus.New(w, tr)
			if err == nil {
				results[g], err = private.Run(t.Context(), p.Nodes[g:g+1], net, options(g))
			}
			return err
		})
		return results
	}
	first, second := ends(), ends()
	for g := range nodes {
		if !slices.Equal(first[g].U.Data(), first[0].U.Data()) || !slices.Equal(first[g].Mean, first[0].Mean) {
			t.Errorf("node %d has other results than node 0", g)
		}
		if !slices.Equal(first[g].U.Data(), second[g].U.Data()) || !slices.Equal(first[g].B[0], second[g].B[0]) {
			t.Errorf("node %d: two runs with the same noise differ", g)
		}
	}
}

// TestErrors: invalid options are named before anything is sent, and different options by all nodes.
func TestErrors(t *testing.T) {
	p := draw(t, 2, 5, 8, 9, 2, .1, 1)
	a := account(t, 1, .1, 0)
	for name, o := range map[string]private.Options{
		"Rank":      {Account: a},
		"features":  {Rank: 6, Account: a},
		"Account":   {Rank: 1},
		"MeanBound": {Account: a, MeanBound: math.Inf(1)},
		"collude":   {Rank: 1, Account: account(t, 1, .1, 2)},
	} {
		if _, err := private.Run(t.Context(), p.Nodes, network(t, 2), o); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w := weightsOf(t, 2)
	apart(t, w, func(g int, tr transport.Transport) error {
		_, err := private.Run(t.Context(), p.Nodes[g:g+1], must(consensus.New(w, tr)),
			private.Options{Rank: 1, Account: account(t, float64(1+g), .1, 0)})
		if err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("Account is rho 0 of %.9g spent", private.Rho(float64(2-g), .1))) {
			t.Errorf("node %d: %v", g, err)
		}
		return nil
	})
}

// Three sites publish a representation that hides the presence of every single task.
func ExampleRun() {
	p, err := synth.Data{Features: 20, Tasks: 60, Samples: 15, Rank: 2, Noise: .1}.Generate(context.Background(), 3,
		nil, 1, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	var nodes []*kernel.Tasks = p.Nodes // of the sites in this process, features of about one size
	net := must(consensus.New(must(topology.NewWeights(must(topology.Ring(3)), topology.Metropolis)), nil))
	account := must(private.NewAccount(8, private.DefaultDelta(60), 0))
	res, err := private.Run(context.Background(), nodes, net, private.Options{Rank: 2, Account: account})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, r := res.U.Dims()
	fmt.Printf("a %d x %d representation, epsilon %.0f at delta %.3f\n", d, r, account.Epsilon(), account.Delta())
	for _, s := range account.Spent() {
		fmt.Printf("%s: %d numbers, rho %.2f\n", s.What, s.Numbers, s.Rho)
	}
	fmt.Printf("against another site, which knows its own noise: epsilon %.1f\n", account.Against(1, 3))
	// Output:
	// a 20 x 2 representation, epsilon 8 at delta 0.010
	// the directions of the coefficients: 210 numbers, rho 3.00
	// against another site, which knows its own noise: epsilon 10.7
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestSilent: a task whose responses are all zero has no direction, and gets zero coefficients.
func TestSilent(t *testing.T) {
	p := draw(t, 2, 8, 400, 15, 2, .1, 5)
	k := p.Nodes[1]
	y := slices.Concat(slices.Collect(func(yield func([]float64) bool) {
		for task := range k.Len() {
			yield(k.Y(task))
		}
	})...)
	clear(y[:k.Samples(0)])
	p.Nodes[1] = k.WithResponses(y)
	res, err := private.Run(t.Context(), p.Nodes, network(t, 2),
		private.Options{Rank: 2, Account: account(t, 100, .01, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if b := res.B[1]; b[0] != 0 || b[1] != 0 || b[2] == 0 {
		t.Errorf("coefficients of the first two tasks of node 1: %v", b[:4])
	}
}
