package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// BenchmarkPrecision is a whole run of Accelerated on one node from its initial estimate
// to 1e-12 of the minimiser, in mixed precision and in float64 in turns, copies and all:
// x-f64 is how many times faster it is. Under noise the minimiser is that of the data.
func BenchmarkPrecision(b *testing.B) {
	for _, shape := range shapes() {
		for _, noise := range []float64{0, 0.05} {
			data := synth.Data{Features: shape.Features, Tasks: shape.Tasks, Samples: shape.Samples, Rank: shape.Rank, Noise: noise, Kappa: 3}
			p := must[*difalt.Problem](b)(data.Generate(b.Context(), 1, nil, seed, 0))
			for _, w := range workers() {
				name := fmt.Sprintf("shape=%s/noise=%g/kernel=%s/workers=%d", shape.Name, noise, kernel.Describe().Kernel, w)
				b.Run(name, func(b *testing.B) { precision(b, p, difalt.Options{Rank: shape.Rank, Workers: w}) })
			}
		}
	}
}

func precision(b *testing.B, p *difalt.Problem, o difalt.Options) {
	ctx := context.Background()
	net := network(b, must[*topology.Graph](b)(topology.Complete(1)), topology.Metropolis)
	o.Method, o.Iterations, o.Tolerance = difalt.Accelerated, 200, 1e-12
	o.Codec = consensus.Float64
	initial := must[*difalt.Initial](b)(difalt.Initialize(ctx, p, net, o))
	from := *p
	from.U0, o.Step = initial.U, initial.Step
	var iterations [2]int
	run := func(mixed int) {
		o.MixedPrecision = mixed == 1
		res, err := difalt.Run(ctx, &from, net, o)
		if err != nil || res.Status != difalt.Converged {
			b.Fatal(res.Status, err)
		}
		iterations[mixed] = res.Iterations
	}
	var ms []float64
	for b.Loop() {
		ms = must[[]float64](b)(measure.InTurns(ctx, 0, func() { run(0) }, func() { run(1) }))
	}
	b.ReportMetric(ms[1], "ms")
	b.ReportMetric(ms[0]/ms[1], "x-f64")
	b.ReportMetric(float64(iterations[1]), "iterations")
	b.ReportMetric(float64(iterations[0]), "f64-iterations")
}
