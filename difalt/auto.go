package difalt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/cmplx"

	"github.com/difalt/difalt/consensus"
)

const (
	autoRounds = 500  // at most
	autoSlow   = 0.77 // the most that plain rounds may leave of any disagreement
	autoDegree = 8    // the least of a Chebyshev polynomial
	autoGain   = 1.8  // the largest x; see Auto
)

// Auto completes options that name a rank: accelerated iterations that begin to track
// gradients when noise shows, differences coded in eight bits, a stop at the noise, and
// the number and polynomial of the rounds for which
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
// or Chebyshev's polynomial. So it needs no look at the data but for their numbers, which
// the nodes add up, and no spectrum; the iterations hardly depend on the condition number,
// and find out about noise themselves. Where that number is small, int4 would do with
// three quarters of the bytes or less; nobody knows before.
//
// Like any run, one with these options says by Result.Status and Result.Residual when it
// ends farther from a minimiser for the data of all nodes than Tolerance or a tenth of
// the statistical error. Auto keeps the Preconditioner, Tolerance, Iterations and seeds:
// without P nodes with fewer tasks than the rank keep their b_t for themselves, but the
// condition number decides, and that choice is the caller's.
// It returns an error if no number of rounds up to 500 is enough. All nodes of the
// network must call it together.
func Auto(ctx context.Context, p *Problem, net *consensus.Network, o Options) (Options, error) {
	codec, err := consensus.ParseCodec("int8")
	if err != nil {
		return o, err
	}
	o.Method, o.StopAtNoise = AcceleratedTracking, true
	if net.Len() == 1 {
		o.Method = Accelerated // there is nothing to track
	}
	o.Agreement.Codec, o.Agreement.Polynomial, o.Agreement.Trigger = codec, consensus.Plain, 0
	lambda, err := peculiarity(ctx, p, net, o)
	if err != nil {
		return o, err
	}
	best := math.Inf(1)
	for rounds := 1; rounds <= autoRounds && float64(rounds)*iterations(0) < best; rounds++ {
		for _, polynomial := range []consensus.Polynomial{consensus.Plain, consensus.Chebyshev} {
			phi, worst := remainder(net, polynomial, rounds)
			switch {
			case polynomial == consensus.Plain && worst > autoSlow, !(lambda*phi <= autoGain),
				polynomial == consensus.Chebyshev && (rounds < autoDegree || !net.Weights().RealEigenvalues()):
				continue
			}
			if total := float64(rounds) * iterations(lambda*phi); total < best {
				best, o.Rounds, o.Agreement.Polynomial = total, rounds, polynomial
			}
		}
	}
	if math.IsInf(best, 1) {
		return o, fmt.Errorf("difalt: %v mixes too slowly for Auto: gamma = %.6f asks for more than %d rounds an iteration", net.Weights(), net.Weights().Gamma(), autoRounds)
	}
	return o, nil
}

// iterations is a fit to how many iterations the accelerated methods need; see Auto.
func iterations(x float64) float64 { return 22 + 10*x + 2*x*x }

// peculiarity returns lambda, the same at all nodes; see Auto.
func peculiarity(ctx context.Context, p *Problem, net *consensus.Network, o Options) (float64, error) {
	s, err := newSystem(p, net, o)
	if err != nil {
		return 0, err
	}
	defer s.close()
	d, r, nodes := float64(p.Nodes[0].Features()), float64(o.Rank), float64(net.Len())
	z := make([][]float64, len(p.Nodes))
	for i, k := range p.Nodes {
		m := float64(k.TotalSamples())
		spread := math.Pow(math.Sqrt(m)+math.Sqrt(d*r), 4) * (1 + r/float64(k.Len()))
		z[i] = []float64{m, spread}
	}
	net.Rewind()
	if err := net.Sum(ctx, z); err != nil {
		return 0, err
	}
	net.Commit()
	if !(z[0][0] > 0) {
		return 0, errors.New("difalt: the tasks have no samples")
	}
	return nodes / z[0][0] * math.Sqrt(z[0][1]/nodes), nil
}

// remainder returns the root mean square and the largest of |p(w)| over the eigenvalues w
// of W but 1: what a number of rounds leaves of disagreements.
func remainder(net *consensus.Network, polynomial consensus.Polynomial, rounds int) (mean, largest float64) {
	values, gamma, k := net.Weights().Eigenvalues(), net.Weights().Gamma(), float64(rounds)
	for _, w := range values {
		size := math.Pow(cmplx.Abs(w), k)
		if x := real(w) / gamma; polynomial == consensus.Chebyshev && gamma > 0 {
			size = math.Abs(math.Cos(k*math.Acos(max(-1, min(x, 1))))) / math.Cosh(k*math.Acosh(1/gamma))
		}
		mean += size * size
		largest = max(largest, size)
	}
	return math.Sqrt(mean / max(float64(len(values)), 1)), largest
}
