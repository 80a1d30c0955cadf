package consensus

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
)

// NewMixer returns the mixer of nodes that agree in the given way. pool may be nil,
// which is serial; it remains the caller's, to share and to close. It returns an error
// if a is not valid, or if Chebyshev is asked for with weights whose eigenvalues are not
// all real.
func (n *Network) NewMixer(a Agreement, pool *kernel.Pool) (*Mixer, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	pool = orSerial(pool)
	switch {
	case a.Polynomial == Tree && a.Codec == nil:
		mean := n.newTreeMean(false)
		return n.newMixer(a.Settings(), mean, mean, new(coder)), nil
	case a.Polynomial == Tree:
		coded, err := n.newCodedTree(a)
		if err != nil {
			return nil, err
		}
		return n.newMixer(a.Settings(), n.newTreeMean(false), byRounds{coded}, &coded.coder), nil
	case a.Polynomial == Chebyshev && !n.weights.RealEigenvalues():
		return nil, fmt.Errorf("consensus: chebyshev needs real eigenvalues, and those of %v are not", n.weights)
	}
	step, bound := a.limits()
	if a.Polynomial == Plain {
		bound = 0
	} else {
		bound = min(bound, n.weights.Gamma())
	}
	rows := n.sparseRows()
	exact := n.newAverage(rows, 0, n.newPower(a, 0, pool), pool)
	switch {
	case a.Codec != nil || step != 1 || a.Trigger != 0:
		coded := n.newDifferences(rows, exact.power, pool, a, step, bound)
		return n.newMixer(a.Settings(), byRounds{exact}, byRounds{coded}, &coded.coder), nil
	case bound > 0:
		accelerated := n.newAverage(rows, bound, n.newPower(a, bound, pool), pool)
		return n.newMixer(a.Settings(), byRounds{exact}, byRounds{accelerated}, new(coder)), nil
	}
	return n.newMixer(a.Settings(), byRounds{exact}, byRounds{exact}, new(coder)), nil
}

// orSerial returns the pool, or one without goroutines of its own.
func orSerial(pool *kernel.Pool) *kernel.Pool {
	if pool == nil {
		pool = kernel.NewPool(1)
	}
	return pool
}

// NewServer returns the mixer of a federation with a fusion centre, which AltGDmin
// needs: Mix, of one round, overwrites every message by the mean over all nodes. The
// mean is added up the tree of the network's collective operations; it is counted as
// through a server that is none of the nodes: two rounds, of a message a node each.
func (n *Network) NewServer() *Mixer {
	mean := n.newTreeMean(true)
	return n.newMixer(settingsOf("server"), mean, mean, new(coder))
}

// NewNeighborMean returns the mixer of the DGD variant: a round replaces the message
// of node g by (1/deg_g) sum_{j in N_g} Z_j, without its own. Unlike EqualNeighbor
// weights it exists on any graph, bipartite ones included, since the method takes one
// round an iteration and does not need its powers to converge. A node without
// neighbours keeps its message.
func (n *Network) NewNeighborMean(pool *kernel.Pool) *Mixer {
	rows := make([][]weight, len(n.Hosted()))
	for k, i := range n.Hosted() {
		neighbors := n.Graph().Neighbors(i)
		for _, j := range neighbors {
			rows[k] = append(rows[k], weight{n.rounds.Row[j], 1 / float64(len(neighbors))})
		}
		if len(neighbors) == 0 {
			rows[k] = []weight{{k, 1}}
		}
	}
	mean := n.newAverage(rows, 0, nil, orSerial(pool))
	return n.newMixer(settingsOf("neighbour mean"), byRounds{mean}, byRounds{mean}, new(coder))
}
