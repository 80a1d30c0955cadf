package difalt

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
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
// that is more than one. Of the data it looks at nothing but their number.
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
// It returns an error if no number of rounds up to 100 is enough. All nodes of the
// network must call it together.
func Auto(ctx context.Context, p *Problem, net *consensus.Network, o Options) (Options, error) {
	codec, err := consensus.ParseCodec("int4")
	if err != nil {
		return o, err
	}
	o.Agreement.Codec = codec
	lambda, err := peculiarity(ctx, p, net, o)
	if err != nil {
		return o, err
	}
	w := net.Weights()
	o.Method, o.ScaledStep, o.Rounds = ScaledDiffusion, autoStep, 1
	if autoStep*lambda*w.SecondLargest() > autoPlainGain {
		o.Agreement.Polynomial = consensus.Chebyshev
		for autoStep*lambda*contraction(w.Gamma(), o.Rounds) > autoGain {
			if o.Rounds++; o.Rounds > autoRounds {
				return o, fmt.Errorf("difalt: %v mixes too slowly for Auto: gamma = %.6f asks for more than %d rounds an iteration", w, w.Gamma(), autoRounds)
			}
		}
	}
	// The start may not depend on chance: it needs far fewer iterations.
	o.InitRounds = max(or(o.InitRounds, 2*o.Rounds), 10)
	return o, nil
}

// peculiarity returns lambda, from totals that all nodes share; see Auto.
func peculiarity(ctx context.Context, p *Problem, net *consensus.Network, o Options) (float64, error) {
	s, err := newSystem(p, net, o)
	if err != nil {
		return 0, err
	}
	defer s.close()
	net.Rewind()
	if err := s.meet(ctx); err != nil {
		return 0, err
	}
	net.Commit()
	d, nodes, r := float64(p.Nodes[0].Features()), float64(net.Len()), float64(o.Rank)
	root := 1 + math.Sqrt(d*r*nodes/float64(s.samples))
	return root * root * math.Sqrt(1+r*nodes/float64(s.tasks)), nil
}

// contraction returns how much k rounds of Chebyshev AGREE leave of a disagreement.
func contraction(gamma float64, k int) float64 {
	if gamma <= 0 {
		return 0
	}
	return 1 / math.Cosh(float64(k)*math.Acosh(1/gamma))
}
