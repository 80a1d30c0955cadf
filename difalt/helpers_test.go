package difalt_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// draw returns a problem of the paper's model; kappa 0 draws Gaussian coefficients.
func draw(t testing.TB, nodes, d, tasks, n, r int, kappa, noise float64, seed uint64) *difalt.Problem {
	t.Helper()
	data := synth.Data{Features: d, Tasks: tasks, Samples: n, Rank: r, Kappa: kappa, Noise: noise}
	p, err := data.Generate(t.Context(), nodes, nil, seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pack returns the tasks with the given matrices and responses.
func pack(x []mat.Matrix, y [][]float64) *kernel.Tasks {
	samples := make([]int, len(x))
	for t := range samples {
		samples[t] = len(y[t])
	}
	_, d := x[0].Dims()
	b := kernel.NewBuilder(d, samples, kernel.Float64)
	for t := range samples {
		for i, v := range y[t] {
			b.SetRow(t, i, mat.Row(nil, i, x[t]), v)
		}
	}
	return b.Tasks()
}

// network returns a network in this process.
func network(t testing.TB, graph string, nodes int, seed uint64) *consensus.Network {
	t.Helper()
	return connect(t, weights(t, graph, nodes, seed, topology.Metropolis), nil)
}

// run runs a problem in this process; divergence is no failure of the test.
func run(t testing.TB, p *difalt.Problem, net *consensus.Network, o difalt.Options) *difalt.Result {
	t.Helper()
	res, err := difalt.Run(t.Context(), p, net, o)
	if err != nil && !errors.Is(err, difalt.ErrDiverged) {
		t.Fatal(err)
	}
	return res
}

// curve returns the record of every iteration.
func curve(t testing.TB, p *difalt.Problem, net *consensus.Network, o difalt.Options) (list []difalt.Record) {
	t.Helper()
	o.EveryIteration = true
	o.Observer = func(r *difalt.Record) error {
		list = append(list, *r)
		return nil
	}
	run(t, p, net, o)
	return list
}

// random returns a basis of standard Gaussian entries.
func random(d, r int, seed uint64) *kernel.Basis {
	u, rng := kernel.NewBasis(d, r), rand.New(rand.NewPCG(seed, 99))
	for j := range r {
		for i := range u.Col(j) {
			u.Col(j)[i] = rng.NormFloat64()
		}
	}
	return u
}

// orthonormal returns an orthonormal random basis.
func orthonormal(d, r int, seed uint64) *kernel.Basis {
	u := random(d, r, seed)
	u.Orthonormalize(nil, nil)
	return u
}

func step(t testing.TB, s *difalt.Solver, ctx context.Context) difalt.Status {
	t.Helper()
	status, err := s.Step(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func weights(t testing.TB, graph string, nodes int, seed uint64, rule topology.Rule) *topology.Weights {
	t.Helper()
	g, err := topology.Parse(graph, nodes, seed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, rule)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
