package model

import (
	"context"
	"fmt"
	"math"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// agreed is the factor by which AGREE must shrink what the nodes differ by before a
// sum counts as exact: half of the rounding error of float64.
const agreed = 1e-17

// A consensus is where the nodes of a fit meet outside of the algorithm itself: it
// sums what each node has computed from its own rows. Only such sums leave a node,
// as scalars of a topology.Message, over the same Mixer as the bases.
type consensus struct {
	mixer  topology.Mixer
	rounds int
	share  []float64 // 1/pi_g: AGREE ends at sum_g pi_g z_g
	before topology.Traffic
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
	if gamma := w.Gamma(); gamma > agreed {
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
	if err := c.mixer.Mix(ctx, messages, c.rounds); err != nil {
		return nil, err
	}
	return z[0], nil
}

// perNode returns n zeros for every node.
func (d *design) perNode(n int) [][]float64 {
	z := make([][]float64, len(d.layout))
	for g := range z {
		z[g] = make([]float64, n)
	}
	return z
}
