package difalt_test

import (
	"math"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
)

// unequal draws a problem of one node whose coefficients have very different sizes: log-normal ones of the
// given deviation.
func unequal(d, tasks, n, r int, kappa, noise, deviation float64, seed uint64) *difalt.Problem {
	p := &difalt.Problem{Truth: synth.Orthonormal(d, r, synth.Stream(seed, 0))}
	samples := make([]int, tasks)
	for t := range samples {
		samples[t] = n
	}
	rng, build, row := synth.Stream(seed, 1), kernel.NewBuilder(d, samples, kernel.Float64), make([]float64, d)
	for t := range tasks {
		b, size := make([]float64, r), math.Exp(deviation*rng.NormFloat64())
		for j := range b {
			b[j] = size * math.Pow(kappa, -float64(j)/float64(max(r-1, 1))) * rng.NormFloat64()
		}
		for i := range n {
			for k := range row {
				row[k] = rng.NormFloat64()
			}
			y := noise * rng.NormFloat64()
			for j, c := range b {
				for k, u := range p.Truth.Col(j) {
					y += row[k] * u * c
				}
			}
			build.SetRow(t, i, row, y)
		}
	}
	p.Nodes = []*kernel.Tasks{build.Tasks()}
	return p
}

// TestNoiseInAValley: where few large tasks make a long valley, the residual falls below the statistical
// error far from the minimum. A run that ends at the noise is at the objective of the minimum all the same:
// the iterations of a run with a small tolerance from there lower it by no more than noise explains.
func TestNoiseInAValley(t *testing.T) {
	converged := 0
	for seed := uint64(0); seed < 40; seed++ {
		d, tasks, n, r := 6+int(seed%9), 60+10*int(seed%4), 9+int(seed%5), 2
		p := unequal(d, tasks, n, r, 3, .1, 2.2, 500+seed)
		o := difalt.Options{Rank: r, Method: difalt.Accelerated, StopAtNoise: true, Workers: 1}
		res := run(t, p, network(t, "complete", 1, 1), o)
		if res.Status != difalt.Converged {
			continue
		}
		converged++
		further := *p
		further.U0 = res.U
		o.StopAtNoise, o.Iterations = false, 2000
		end := run(t, &further, network(t, "complete", 1, 1), o)
		if excess := res.Last.Objective/end.Last.Objective - 1; excess > .01 {
			t.Errorf("seed %d: after %d iterations at %g of the statistical error, the objective is %g "+
				"above the minimum",
				seed, res.Iterations, res.Residual/res.StatisticalError, excess)
		}
	}
	if t.Log(converged, "of 40"); converged < 20 {
		t.Errorf("%d of 40 runs converge", converged)
	}
}
