package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// BenchmarkCompressed is a step of one task with more samples than features, on its samples and on the
// d+1 rows of Tasks.Compressed, and the compression itself.
func BenchmarkCompressed(b *testing.B) {
	for _, s := range []struct{ n, d, r int }{{100, 20, 4}, {1000, 20, 4}, {5000, 100, 5}} {
		rng := rand.New(rand.NewPCG(seed, 0))
		builder, row := kernel.NewBuilder(s.d, []int{s.n}, kernel.Float64), make([]float64, s.d)
		for i := range s.n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			builder.SetRow(0, i, row, rng.NormFloat64())
		}
		tasks, u := builder.Tasks(), kernel.NewBasis(s.d, s.r)
		for j := range s.r {
			u.Col(j)[j] = 1
		}
		name := fmt.Sprintf("samples=%d/features=%d/rank=%d", s.n, s.d, s.r)
		step := func(b *testing.B, tasks *kernel.Tasks) {
			g, ws := kernel.NewGroup(tasks, s.r), kernel.NewWorkspace(tasks.MaxSamples(), s.d, s.r)
			for b.Loop() {
				g.Step(u, 0, ws)
			}
		}
		b.Run(name+"/on=samples", func(b *testing.B) { step(b, tasks) })
		b.Run(name+"/on=compressed", func(b *testing.B) { step(b, tasks.Compressed()) })
		b.Run(name+"/compress", func(b *testing.B) {
			for b.Loop() {
				tasks.Compressed()
			}
		})
	}
}

// BenchmarkTallRun is a whole run of 60 tasks with 1000 samples of 20 features on six nodes, which compresses
// them.
func BenchmarkTallRun(b *testing.B) {
	p := measure.NewProblem(measure.Shape{Name: "tall", Tasks: 60, Samples: 1000, Features: 20, Rank: 4}, seed)
	graph, err := topology.Ring(6)
	if err != nil {
		b.Fatal(err)
	}
	net, problem := network(b, graph, topology.Metropolis), &difalt.Problem{Nodes: p.Pack(6, kernel.Float64)}
	for b.Loop() {
		res, err := difalt.Run(b.Context(), problem, net, difalt.Options{Rank: p.Rank, Iterations: 100, EveryIteration: true, Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(res.Last.Objective, "objective")
	}
}
