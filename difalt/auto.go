package difalt

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/topology"
)

// What Auto chooses.
const (
	autoStep = 0.9 // s
	// The largest s lambda rho that it allows; see Auto. Measured with one and with
	// twenty tasks a node: half as many rounds more change little, and with a gain of 1
	// nodes drive one another around the solution.
	autoGain   = 0.3
	autoRounds = 100 // at most
)

// Auto completes options that name a rank: the scaled step, Chebyshev AGREE with
// differences coded in four bits, and as few rounds as the network and the data
// allow. It does not look at the data.
//
// A step of s multiplies what is peculiar to one node by up to about s lambda,
//
//	lambda = (1 + sqrt(dr/m))^2 sqrt(1 + r/k),
//
// for the m samples and k tasks that a node has on average: the first factor is the
// spread of its samples, the second that of its few b_t over r directions. Averaging
// then contracts it by rho(T_con) = 1/cosh(T_con arcosh(1/gamma)). The rounds are the
// fewest for which s lambda rho <= 0.3. Damping catches what this estimate misses.
//
// It returns an error if no number of rounds up to 100 is enough.
func Auto(p *Problem, w *topology.Weights, o Options) (Options, topology.Agreement, error) {
	compressor, err := topology.ParseCompressor("int4")
	if err != nil {
		return o, topology.Agreement{}, err
	}
	a := topology.Agreement{Polynomial: topology.Chebyshev, Compressor: compressor}
	samples, tasks, d := 0, 0, 0
	for _, k := range p.Nodes {
		if k == nil {
			return o, a, fmt.Errorf("difalt: a node has no tasks")
		}
		samples, tasks, d = samples+k.TotalSamples(), tasks+k.Len(), k.Features()
	}
	if samples == 0 || o.Rank <= 0 {
		return o, a, fmt.Errorf("difalt: Auto needs samples and a rank, and has %d samples and Rank = %d", samples, o.Rank)
	}
	nodes, r := float64(len(p.Nodes)), float64(o.Rank)
	root := 1 + math.Sqrt(float64(d)*r*nodes/float64(samples))
	lambda := root * root * math.Sqrt(1+r*nodes/float64(tasks))
	o.Method, o.ScaledStep = ScaledDiffusion, autoStep
	for o.Rounds = 1; o.Rounds <= autoRounds; o.Rounds++ {
		if autoStep*lambda*contraction(w.Gamma(), o.Rounds) <= autoGain {
			// The start may not depend on chance: it needs far fewer iterations.
			o.InitRounds = max(or(o.InitRounds, 2*o.Rounds), 10, w.Graph().Diameter())
			return o, a, nil
		}
	}
	return o, a, fmt.Errorf("difalt: %v mixes too slowly for Auto: gamma = %.6f asks for more than %d rounds an iteration", w, w.Gamma(), autoRounds)
}

// contraction returns how much k rounds of Chebyshev AGREE leave of a disagreement.
func contraction(gamma float64, k int) float64 {
	if gamma <= 0 {
		return 0
	}
	return 1 / math.Cosh(float64(k)*math.Acosh(1/gamma))
}
