package consensus

import (
	"context"
	"fmt"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A Mixer lets the nodes average their messages.
type Mixer struct {
	net     *Network
	name    string       // of the kind, for the state
	exact   *average     // for stream Exact
	fast    *average     // for all others, if diff is nil
	diff    *differences // for all others, or nil
	server  *sweep       // in place of all these, or nil
	told    reduction
	traffic counter
}

// NewMixer returns the mixer of nodes that agree in the given way.
func (n *Network) NewMixer(a Agreement, pool *kernel.Pool) (*Mixer, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	w := n.weights
	step, limit := a.limits()
	bound := 0.0
	if a.Polynomial == Chebyshev {
		if !w.RealEigenvalues() {
			return nil, fmt.Errorf("consensus: chebyshev needs real eigenvalues, and those of %v are not", w)
		}
		if bound = a.Gamma; bound == 0 {
			bound = w.Gamma()
		}
		bound = min(bound, limit)
	}
	rows := make([][]weight, len(n.hosted))
	for k, i := range n.hosted {
		for j := range n.Len() {
			if v := w.At(i, j); v != 0 {
				rows[k] = append(rows[k], weight{n.row[j], v})
			}
		}
	}
	var dense *mat.Dense
	if n.AllHosted() && !a.RoundByRound {
		dense = mat.NewDense(n.Len(), n.Len(), nil)
		for i, row := range rows {
			for _, e := range row {
				dense.Set(i, e.row, e.value)
			}
		}
	}
	m := n.newMixer(fmt.Sprintf("%v, seed %d, gamma %v", a, a.Seed, bound))
	m.exact = n.newAverage(rows, dense, 0, pool)
	if m.fast = m.exact; bound > 0 {
		m.fast = n.newAverage(rows, dense, bound, pool)
	}
	if a.Codec != nil || step != 1 || a.Trigger != 0 {
		var change *mat.Dense
		if dense != nil && m.exact.denseFrom <= 1 {
			change = mat.DenseCopyOf(dense)
			for i := range n.Len() {
				change.Set(i, i, change.At(i, i)-1)
			}
		}
		m.diff = newDifferences(n, pool, a, step, bound, change)
	}
	return m, nil
}

// NewServer returns the mixer of a federation with a fusion centre.
func (n *Network) NewServer(pool *kernel.Pool) *Mixer {
	m := n.newMixer("server")
	m.server = newSweep(len(n.hosted), pool, n.meanBlock)
	return m
}

// NewNeighborMean returns the mixer of the DGD variant.
func (n *Network) NewNeighborMean(pool *kernel.Pool) *Mixer {
	rows := make([][]weight, len(n.hosted))
	for k, i := range n.hosted {
		neighbors := n.Graph().Neighbors(i)
		for _, j := range neighbors {
			rows[k] = append(rows[k], weight{n.row[j], 1 / float64(len(neighbors))})
		}
		if len(neighbors) == 0 {
			rows[k] = []weight{{k, 1}}
		}
	}
	m := n.newMixer("neighbour mean")
	m.exact = n.newAverage(rows, nil, 0, pool)
	m.fast = m.exact
	return m
}

func (n *Network) newMixer(name string) *Mixer {
	m := &Mixer{net: n, name: name}
	m.told.net = n
	n.mixers = append(n.mixers, m)
	return m
}

// Traffic returns what the hosted nodes have sent through this mixer so far.
func (m *Mixer) Traffic() Traffic { return m.traffic.now }

// Mix overwrites z[i], the message of node Hosted()[i], by the average.
func (m *Mixer) Mix(ctx context.Context, z []Message, rounds int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rounds < 0 {
		return fmt.Errorf("consensus: %d rounds: must not be negative", rounds)
	}
	if m.server != nil && rounds != 1 {
		return fmt.Errorf("consensus: %d rounds through a server: must be 1", rounds)
	}
	if err := m.net.checkMessages(z); err != nil {
		return err
	}
	entries := int64(z[0].Entries())
	if rounds == 0 || entries == 0 {
		return nil
	}
	t := &m.traffic.now
	switch {
	case m.server != nil:
		m.server.run(z)
		messages := 2 * int64(len(z))
		*t = t.Plus(Traffic{Rounds: 2, Messages: messages, Bytes: 8 * entries * messages})
	case m.diff != nil && z[0].Stream != Exact:
		if err := m.diff.mix(z, rounds, t); err != nil {
			return err
		}
	default:
		how := m.exact
		if z[0].Stream != Exact {
			how = m.fast
		}
		how.mix(z, rounds)
		messages := int64(rounds) * m.net.ends
		*t = t.Plus(Traffic{Rounds: int64(rounds), Messages: messages, Bytes: 8 * entries * messages})
	}
	m.told.pass(rounds, m.server != nil)
	return nil
}

// meanBlock overwrites entries [lo, hi) of all rows by their mean, added up the tree.
func (n *Network) meanBlock(_ int, rows [][]float64, lo, hi int) {
	t := n.tree
	for d := t.height; d > 0; d-- {
		for _, i := range t.levels[d] {
			bySum.into(rows[t.parent[i]][lo:hi], rows[i][lo:hi])
		}
	}
	mean := rows[t.root][lo:hi]
	for k := range mean {
		mean[k] /= float64(len(rows))
	}
	for _, row := range rows {
		copy(row[lo:hi], mean)
	}
}

func (m *Mixer) commit() {
	m.traffic.committed = m.traffic.now
	m.told.commit()
	if m.diff != nil {
		m.diff.commit()
	}
}

func (m *Mixer) rewind() {
	m.traffic.now = m.traffic.committed
	m.told.rewind()
	if m.diff != nil {
		m.diff.rewind()
	}
}

// Tell starts a reduction that rides in the headers of the rounds of Mix. It returns
// false and does nothing while one is under way.
func (m *Mixer) Tell(word []uint8, sums [][]float64) bool { return m.told.tell(word, sums) }

// Told returns the maximum of the words and the sums, once, when they are complete.
func (m *Mixer) Told() (word uint8, sums []float64, ok bool) { return m.told.take() }
