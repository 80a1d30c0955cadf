package bench

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

var wide = flag.Bool("wide", false, "measure the shape of 1 GB as well")

const seed = 1

// shapes returns the shapes to measure.
func shapes() []measure.Shape {
	var list []measure.Shape
	for _, s := range measure.Shapes() {
		if s.Name != "wide" || *wide && !testing.Short() {
			list = append(list, s)
		}
	}
	return list
}

// workers returns one worker and as many as there are processors.
func workers() []int {
	if n := runtime.GOMAXPROCS(0); n > 1 {
		return []int{1, n}
	}
	return []int{1}
}

// perOp returns the nanoseconds of an operation of a finished benchmark.
func perOp(b *testing.B) float64 { return float64(b.Elapsed().Nanoseconds()) / float64(b.N) }

// reportBytes adds the rate at which an operation reads so many bytes.
func reportBytes(b *testing.B, bytes int) { b.ReportMetric(float64(bytes)/perOp(b), "GB/s") }

// report adds the rate of an operation of so many flops, the peak rate, and their ratio in per cent. They are
// measured in turns.
func report(b *testing.B, flops float64, c *measure.Ceiling, operation func()) {
	ms := inTurns(b, operation, c.Arithmetic(measure.PeakFlops))
	b.ReportMetric(flops/ms[0]/1e6, "GFLOP/s")
	b.ReportMetric(measure.PeakFlops/ms[1]/1e6, "peak-GFLOP/s")
	reportShare(b, 100*flops/measure.PeakFlops*ms[1]/ms[0], "%fma")
	b.ReportAllocs()
}

// reportShare adds the share of a ceiling in per cent. The unit ends in a question mark above 105: the
// machine was not quiet, or something is not measured as it should be.
func reportShare(b *testing.B, share float64, unit string) {
	if share > 105 {
		unit += "?"
	}
	b.ReportMetric(share, unit)
}

// inTurns returns the median time of a call of each function in five turns, in milliseconds.
func inTurns(b *testing.B, f ...func()) []float64 {
	return must[[]float64](b)(measure.InTurns(context.Background(), 0, f...))
}

// must returns a function that ends the benchmark on an error.
func must[T any](b *testing.B) func(v T, err error) T {
	return func(v T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
}

// BenchmarkIteration is the least squares and the gradient of all tasks.
func BenchmarkIteration(b *testing.B) {
	for _, shape := range shapes() {
		p := measure.NewProblem(shape, seed)
		for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
			name := fmt.Sprintf("shape=%s/storage=%v/kernel=%s", shape.Name, storage, kernel.Describe().Kernel)
			b.Run(name, func(b *testing.B) {
				nodes := p.Pack(1, storage)
				for _, w := range workers() {
					b.Run(fmt.Sprintf("workers=%d", w), func(b *testing.B) { iteration(b, p, nodes, w) })
				}
			})
		}
	}
}

func iteration(b *testing.B, p *measure.Problem, nodes []*kernel.Tasks, workers int) {
	it := measure.NewIteration(p, nodes, workers)
	defer it.Close()
	it.Step()
	for b.Loop() {
		it.Step()
	}
	ms := inTurns(b, it.Step, it.Read, it.Arithmetic(measure.PeakFlops))
	step, read, arithmetic := ms[0], ms[1], ms[2]*p.Flops()/measure.PeakFlops
	bytes := float64(nodes[0].Bytes())
	b.ReportMetric(bytes/step/1e6, "GB/s")
	b.ReportMetric(bytes/read/1e6, "read-GB/s")
	b.ReportMetric(p.Flops()/step/1e6, "GFLOP/s")
	b.ReportMetric(p.Flops()/arithmetic/1e6, "peak-GFLOP/s")
	reportShare(b, 100*read/step, "%read")
	reportShare(b, 100*arithmetic/step, "%fma")
	reportShare(b, 100*max(read, arithmetic)/step, "%roof")
	b.ReportAllocs()
}

// BenchmarkSolver is an iteration of the whole algorithm: the step of every node,
// averaging, and QR. %step is the share of the step alone.
func BenchmarkSolver(b *testing.B) {
	for _, net := range []struct {
		shape, graph  string
		nodes, rounds int
		method        difalt.Method
	}{
		{"paper1", "er:0.5", 20, 10, difalt.DifAltGDmin},
		{"paper1", "er:0.1", 100, 10, difalt.DifAltGDmin},
		{"paper2", "er:0.1", 100, 10, difalt.DifAltGDmin},
		{"paper1", "er:0.5", 20, 10, difalt.Accelerated},
		{"many", "er:0.5", 20, 10, difalt.DifAltGDmin},
		{"many", "er:0.5", 20, 10, difalt.Accelerated},
	} {
		p := measure.NewProblem(measure.ShapeOf(net.shape), seed)
		name := fmt.Sprintf("shape=%s/nodes=%d/rounds=%d/kernel=%s", net.shape, net.nodes, net.rounds,
			kernel.Describe().Kernel)
		if net.method != difalt.DifAltGDmin {
			name = fmt.Sprintf("method=%v/%s", net.method, name)
		}
		b.Run(name, func(b *testing.B) {
			nodes := p.Pack(net.nodes, kernel.Float64)
			graph := must[*topology.Graph](b)(topology.Parse(net.graph, net.nodes, seed))
			for _, w := range workers() {
				b.Run(fmt.Sprintf("workers=%d", w), func(b *testing.B) {
					solver(b, p, nodes, graph, difalt.Options{Method: net.method, Rounds: net.rounds, Workers: w})
				})
			}
		})
	}
}

// network returns the network of a graph whose nodes live in this process.
func network(b *testing.B, graph *topology.Graph, rule topology.Rule) *consensus.Network {
	return must[*consensus.Network](b)(consensus.New(must[*topology.Weights](b)(topology.NewWeights(graph, rule)), nil))
}

func solver(b *testing.B, p *measure.Problem, nodes []*kernel.Tasks, graph *topology.Graph, o difalt.Options) {
	start := make([]*kernel.Basis, len(nodes))
	for i := range start {
		start[i] = p.U
	}
	// The step of Dif-AltGDmin is too small to matter, so that the iteration stays where it
	// is; Accelerated arrives and goes on there, since without changes it would do less than
	// in a run. Nobody asks whether that is convergence.
	o.Rank, o.Step, o.Iterations, o.EveryIteration = p.Rank, 1e-12, 1_000_000_000, true
	s := must[*difalt.Solver](b)(
		difalt.NewSolver(&difalt.Problem{Nodes: nodes, U0: start}, network(b, graph, topology.Metropolis), o))
	defer s.Close()
	ctx := context.Background()
	whole := func() {
		if status, err := s.Step(ctx); err != nil || status != difalt.Running {
			b.Fatal(status, err)
		}
	}
	whole() // which also computes the powers of the weights
	for b.Loop() {
		whole()
	}
	it := measure.NewIteration(p, nodes, o.Workers)
	defer it.Close()
	ms := must[[]float64](b)(measure.InTurns(ctx, 0, whole, it.Step))
	b.ReportMetric(100*ms[1]/ms[0], "%step")
	b.ReportAllocs()
}

// BenchmarkRun is a whole small run, the initialisation included; tall tasks are compressed.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		measure.Shape
		nodes int
	}{
		{measure.Shape{Name: "small", Tasks: 120, Samples: 30, Features: 120, Rank: 4}, 10},
		{measure.Shape{Name: "tall", Tasks: 60, Samples: 1000, Features: 20, Rank: 4}, 6},
	} {
		p, o := measure.NewProblem(c.Shape, seed), difalt.Options{Rank: c.Rank, Iterations: 100, EveryIteration: true,
			Workers: 1}
		net := network(b, must[*topology.Graph](b)(topology.Ring(c.nodes)), topology.Metropolis)
		problem := &difalt.Problem{Nodes: p.Pack(c.nodes, kernel.Float64)}
		b.Run(fmt.Sprintf("shape=%s/nodes=%d/iterations=100/kernel=%s/workers=1", c.Name, c.nodes,
			kernel.Describe().Kernel), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(must[*difalt.Result](b)(difalt.Run(b.Context(), problem, net, o)).Last.Objective,
					"objective")
			}
		})
	}
}
