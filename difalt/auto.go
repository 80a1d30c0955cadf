package difalt

import (
	"context"
	"errors"
	"math"
	"math/cmplx"

	"github.com/difalt/difalt/consensus"
)

const (
	autoRounds = 500 // at most
	autoSlow   = 0.6 // the most that plain rounds may leave of any disagreement
	autoDegree = 8   // the least of a Chebyshev polynomial
	autoGain   = 1.8 // the largest x; see Auto
	autoTree   = 1.9 // times the rounds of gossip, along a tree, are worth the bytes
	autoSums   = 6   // along the tree in any run: before the iterations, of P, and at the end
)

// Auto completes options that name a rank: accelerated iterations with coded differences,
// a stop at the noise, and the way to agree. Of gossip it takes the number
// and polynomial of the rounds for which
//
//	rounds (22 + 10 x + 2 x^2),   x = lambda phi,
//
// is least: the rounds of an iteration times the iterations to 1e-10 measured over
// graphs of 5 to 100 nodes. lambda is by how much a step multiplies what is peculiar to
// one node, the root mean square over the nodes of
//
//	lambda_g = L/m (sqrt(m_g) + sqrt(dr))^2 sqrt(1 + r/k_g)
//
// with its m_g samples and k_g tasks, m samples in all: the spread of its samples times
// that of its few b_t over r directions. phi is what the rounds leave of it,
//
//	phi^2 = (mean over the eigenvalues w of W but 1) |p(w)|^2,   p(w) = w^rounds,
//
// or Chebyshev's polynomial. Along consensus.Tree x is 0 in as many rounds as
// Network.SumRounds says, and bytes were a third to a thirtieth before they were masked (up to 1.7 times more), by far fewer messages and
// since nothing has to be tracked; nor do uneven loads and condition numbers cost it much, as they do a
// single round of gossip. So the tree is taken where it needs at most 1.9 times
// the rounds of gossip, the six sums of either counted, by Newton in eight bits, and gossip otherwise: in sixteen bits with a single
// round, or else in four bits or eight as P asks for in the first iteration, with gradients
// that are tracked when noise shows. All this needs no look at the data but for their
// numbers, which the nodes add up, and no spectrum; the iterations hardly depend on the
// condition number, and find out about noise themselves.
//
// Like any run, one with these options says by Result.Status and Result.Residual when it
// ends farther from a minimiser for the data of all nodes than Tolerance or a tenth of
// the statistical error. Auto keeps the Preconditioner, Tolerance, Iterations and seeds:
// without P nodes with fewer tasks than the rank keep their b_t for themselves, but the
// condition number decides, and that choice is the caller's.
// All nodes of the network must call it together.
func Auto(ctx context.Context, p *Problem, net *consensus.Network, o Options) (Options, error) {
	o.Method, o.StopAtNoise = AcceleratedTracking, true
	o.Agreement.Codec, o.Agreement.Polynomial, o.Agreement.Trigger = consensus.Int4, consensus.Plain, 0
	lambda, err := peculiarity(ctx, p, net, o)
	if err != nil {
		return o, err
	}
	best := math.Inf(1)
	for rounds := 1; rounds <= autoRounds && float64(rounds)*iterations(0) < best; rounds++ {
		for _, polynomial := range []consensus.Polynomial{consensus.Plain, consensus.Chebyshev} {
			phi := remainder(net, polynomial, rounds)
			switch {
			case polynomial == consensus.Plain && math.Pow(net.Weights().Gamma(), float64(rounds)) > autoSlow, !(lambda*phi <= autoGain),
				polynomial == consensus.Chebyshev && (rounds < autoDegree || !net.Weights().RealEigenvalues()):
				continue
			}
			if total := float64(rounds) * iterations(lambda*phi); total < best {
				best, o.Rounds, o.Agreement.Polynomial = total, rounds, polynomial
			}
		}
	}
	if o.Rounds == 1 { // nothing but the code itself evens out its errors, whatever the condition number is
		o.Agreement.Codec = consensus.Int16
	}
	tree := net.SumRounds()
	if sums := float64(tree) * autoSums; float64(tree)*iterations(0)+sums <= autoTree*(best+sums) {
		o.Method, o.Rounds = Newton, max(tree, 1)
		o.Agreement.Codec, o.Agreement.Polynomial = consensus.Int8, consensus.Tree
	}
	return o, nil
}

// iterations is a fit to how many iterations the accelerated methods need; see Auto.
func iterations(x float64) float64 { return 22 + 10*x + 2*x*x }

// peculiarity returns lambda, the same at all nodes; see Auto.
func peculiarity(ctx context.Context, p *Problem, net *consensus.Network, o Options) (float64, error) {
	s, err := newProcess(p, net, o)
	if err != nil {
		return 0, err
	}
	defer s.close()
	d, r, nodes := float64(p.Nodes[0].Features()), float64(o.Rank), float64(net.Len())
	net.Rewind()
	sum, err := s.sum(ctx, 2, func(i int, row []float64) {
		row[0] = float64(p.Nodes[i].TotalSamples())
		row[1] = math.Pow(math.Sqrt(row[0])+math.Sqrt(d*r), 4) * (1 + r/float64(p.Nodes[i].Len()))
	})
	if err != nil {
		return 0, err
	}
	net.Commit()
	if !(sum[0] > 0) {
		return 0, errors.New("difalt: the tasks have no samples")
	}
	return nodes / sum[0] * math.Sqrt(sum[1]/nodes), nil
}

// remainder returns the root mean square of |p(w)| over the eigenvalues w of W but 1: what a
// number of rounds leaves of disagreements.
func remainder(net *consensus.Network, polynomial consensus.Polynomial, rounds int) float64 {
	spectrum, gamma, k := net.Weights().Spectrum(), net.Weights().Gamma(), float64(rounds)
	mean := 0.0
	for i, w := range spectrum.Values {
		size := math.Pow(cmplx.Abs(w), k)
		if x := real(w) / gamma; polynomial == consensus.Chebyshev && gamma > 0 {
			size = math.Abs(math.Cos(k*math.Acos(max(-1, min(x, 1))))) / math.Cosh(k*math.Acosh(1/gamma))
		}
		mean += spectrum.Shares[i] * size * size
	}
	return math.Sqrt(mean)
}
