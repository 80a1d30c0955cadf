package difalt

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/topology"
)

// What Auto chooses.
const (
	autoStep = 1 // s; the damping shortens it where it must
	// The largest s lambda rho that it allows; see Auto. Measured with one and with
	// twenty tasks a node: half as many rounds more change little, and with a gain
	// above 2 nodes drive one another around the solution.
	autoGain = 0.65
	// The largest s lambda w_2 for which one plain round is enough, likewise.
	autoPlainGain = 2
	autoRounds    = 100 // at most
)

// Auto completes options that name a rank: the scaled step, differences coded in four
// bits, and as few rounds as the network and the data allow, of Chebyshev AGREE if
// that is more than one. It does not look at the data.
//
// A step of s multiplies what is peculiar to one node by up to about s lambda,
//
//	lambda = (1 + sqrt(dr/m))^2 sqrt(1 + r/k),
//
// for the m samples and k tasks that a node has on average: the first factor is the
// spread of its samples, the second that of its few b_t over r directions. One round
// with weights whose second eigenvalue is w_2 leaves w_2 of it, and the coded
// differences, which reach the neighbours over several rounds, even out what negative
// eigenvalues turn over. One round is taken if s lambda w_2 <= 2. Otherwise averaging
// contracts by rho(T_con) = 1/cosh(T_con arcosh(1/gamma)), and the rounds are the
// fewest for which s lambda rho <= 0.65. Damping catches what this estimate misses.
//
// It returns an error if no number of rounds up to 100 is enough.
func Auto(p *Problem, w *topology.Weights, o Options) (Options, topology.Agreement, error) {
	compressor, err := topology.ParseCompressor("int4")
	if err != nil {
		return o, topology.Agreement{}, err
	}
	a := topology.Agreement{Compressor: compressor}
	lambda, err := peculiarity(p, o.Rank)
	if err != nil {
		return o, a, err
	}
	o.Method, o.ScaledStep, o.Rounds = ScaledDiffusion, autoStep, 1
	if autoStep*lambda*w.SecondLargest() > autoPlainGain {
		a.Polynomial = topology.Chebyshev
		for autoStep*lambda*contraction(w.Gamma(), o.Rounds) > autoGain {
			if o.Rounds++; o.Rounds > autoRounds {
				return o, a, fmt.Errorf("difalt: %v mixes too slowly for Auto: gamma = %.6f asks for more than %d rounds an iteration", w, w.Gamma(), autoRounds)
			}
		}
	}
	// The start may not depend on chance: it needs far fewer iterations.
	o.InitRounds = max(or(o.InitRounds, 2*o.Rounds), 10, w.Graph().Diameter())
	return o, a, nil
}

// peculiarity returns lambda; see Auto.
func peculiarity(p *Problem, rank int) (float64, error) {
	samples, tasks, d := 0, 0, 0
	for _, k := range p.Nodes {
		if k == nil {
			return 0, errors.New("difalt: a node has no tasks")
		}
		samples, tasks, d = samples+k.TotalSamples(), tasks+k.Len(), k.Features()
	}
	if samples == 0 || rank <= 0 {
		return 0, fmt.Errorf("difalt: Auto needs samples and a rank, and has %d samples and Rank = %d", samples, rank)
	}
	nodes, r := float64(len(p.Nodes)), float64(rank)
	root := 1 + math.Sqrt(float64(d)*r*nodes/float64(samples))
	return root * root * math.Sqrt(1+r*nodes/float64(tasks)), nil
}

// contraction returns how much k rounds of Chebyshev AGREE leave of a disagreement.
func contraction(gamma float64, k int) float64 {
	if gamma <= 0 {
		return 0
	}
	return 1 / math.Cosh(float64(k)*math.Acosh(1/gamma))
}
