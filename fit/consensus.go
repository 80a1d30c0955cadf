package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// agreed is the factor by which AGREE must shrink what the nodes differ by before a
// sum counts as exact: a tenth of the rounding error of float64.
const agreed = 1e-17

// A consensus is where the nodes of a fit meet outside of the algorithm itself: it
// sums what each node has computed from its own rows. Only such sums leave a node,
// as scalars of a topology.Message, over the same Mixer as the bases.
type consensus struct {
	mixer  topology.Mixer
	before topology.Traffic
	rounds int
	share  []float64 // 1/pi_g: AGREE ends at sum_g pi_g z_g
	// gamma is gamma(W) if W is symmetric. Then the rounds apply a Chebyshev polynomial
	// of W, which takes about the square root of the rounds that powers take. 0 takes
	// powers.
	gamma float64
}

// newConsensus chooses as many rounds as it takes to agree to rounding, from
// gamma(W).
func newConsensus(net *difalt.Network) (*consensus, error) {
	w := net.Weights
	c := &consensus{mixer: net.Mixer, rounds: 1}
	if c.mixer == nil {
		c.mixer = topology.NewLocal(w, nil)
	}
	if hosted := len(c.mixer.Hosted()); hosted != w.Len() {
		return nil, fmt.Errorf("fit needs all %d nodes in this process, but %d live here", w.Len(), hosted)
	}
	c.before = c.mixer.Traffic()
	switch gamma := w.Gamma(); {
	case gamma <= agreed:
	case symmetric(w):
		// T_k(1/gamma) = cosh(k arcosh(1/gamma)) is what the polynomial of degree k gains.
		c.gamma = gamma
		c.rounds = int(math.Ceil(math.Acosh(1/agreed) / math.Acosh(1/gamma)))
	default:
		c.rounds = int(math.Ceil(math.Log(agreed) / math.Log(gamma)))
	}
	pi, err := stationary(w)
	if err != nil {
		return nil, err
	}
	for _, p := range pi {
		c.share = append(c.share, 1/p)
	}
	return c, nil
}

// symmetric reports whether W' = W, so that its eigenvalues are real.
func symmetric(w *topology.Weights) bool {
	for i := range w.Len() {
		for j := range i {
			if w.At(i, j) != w.At(j, i) {
				return false
			}
		}
	}
	return true
}

// stationary returns the pi with pi' W = pi' and sum 1, to which the rows of W^k
// converge: 1/L if W is doubly stochastic. It depends on W alone, which all nodes
// know.
func stationary(w *topology.Weights) ([]float64, error) {
	l := w.Len()
	pi := make([]float64, l)
	if w.DoublyStochastic() {
		for g := range pi {
			pi[g] = 1 / float64(l)
		}
		return pi, nil
	}
	// W' pi = pi, with one of these equations, which depend on one another, replaced
	// by the sum.
	a := mat.NewDense(l, l, nil)
	for i := range l {
		for j := range l {
			a.Set(i, j, w.At(j, i))
		}
		a.Set(i, i, a.At(i, i)-1)
	}
	for j := range l {
		a.Set(l-1, j, 1)
	}
	b := mat.NewVecDense(l, nil)
	b.SetVec(l-1, 1)
	x := mat.NewVecDense(l, pi)
	if err := x.SolveVec(a, b); err != nil {
		return nil, fmt.Errorf("%v: no sum over the nodes: %w", w, err)
	}
	for g, p := range pi {
		if !(p > 0) {
			return nil, fmt.Errorf("%v: node %d has no part in what the nodes agree on, so that sums over the nodes cannot be computed: use %v weights", w, g, topology.Metropolis)
		}
	}
	return pi, nil
}

// sum replaces z[g], what node g has, by the sum over the nodes, to rounding at
// every node, and returns that of the first node, which stands for all.
func (c *consensus) sum(ctx context.Context, z [][]float64) ([]float64, error) {
	messages := make([]topology.Message, len(z))
	for g, zg := range z {
		for j := range zg {
			zg[j] *= c.share[g]
		}
		messages[g].Scalars = zg
	}
	if c.gamma == 0 {
		return z[0], c.mixer.Mix(ctx, messages, c.rounds)
	}
	return z[0], c.chebyshev(ctx, messages)
}

// chebyshev applies T_k(W/gamma) / T_k(1/gamma) to the messages, k = rounds, by the
// recurrence of the Chebyshev polynomials, which every node computes for itself:
//
//	z_{k+1} = (2/gamma) m_{k+1} W z_k - m_k m_{k+1} z_{k-1},  m_k = T_{k-1}(1/gamma) / T_k(1/gamma).
func (c *consensus) chebyshev(ctx context.Context, messages []topology.Message) error {
	past := make([][]float64, len(messages)) // z_{k-1}, and z_k while it is mixed
	kept := make([][]float64, len(messages))
	for g, m := range messages {
		past[g] = slices.Clone(m.Scalars)
		kept[g] = make([]float64, len(m.Scalars))
	}
	if err := c.mixer.Mix(ctx, messages, 1); err != nil {
		return err
	}
	ratio := c.gamma // m_1
	for range c.rounds - 1 {
		for g, m := range messages {
			copy(kept[g], m.Scalars)
		}
		if err := c.mixer.Mix(ctx, messages, 1); err != nil {
			return err
		}
		next := 1 / (2/c.gamma - ratio)
		for g, m := range messages {
			for k, v := range past[g] {
				m.Scalars[k] = 2/c.gamma*next*m.Scalars[k] - ratio*next*v
			}
		}
		ratio = next
		past, kept = kept, past
	}
	return nil
}

// perNode returns n zeros for every node.
func (d *design) perNode(n int) [][]float64 {
	z := make([][]float64, len(d.layout))
	for g := range z {
		z[g] = make([]float64, n)
	}
	return z
}
