package consensus

import "github.com/difalt/difalt/kernel"

// A fusion is the mean over all nodes, added up the tree.
type fusion struct {
	*sweep    // with all nodes in this process
	collected // otherwise
	layout    layout
	counted   bool // the messages of the tree are, and not those of a server
}

func (n *Network) newFusion(pool *kernel.Pool) *fusion {
	return &fusion{sweep: newSweep(len(n.hosted), pool, n.meanBlock)}
}

// meanBlock overwrites entries [lo, hi) of all rows by their mean.
func (n *Network) meanBlock(_ int, rows [][]float64, lo, hi int) {
	t := n.tree
	for d := t.height; d > 0; d-- {
		for _, i := range t.levels[d] {
			bySum.into(rows[t.parent[i]][lo:hi], rows[i][lo:hi])
		}
	}
	mean := rows[t.root][lo:hi]
	divide(mean, len(rows))
	for _, row := range rows {
		copy(row[lo:hi], mean)
	}
}

func divide(v []float64, by int) {
	for k := range v {
		v[k] /= float64(by)
	}
}

func (f *fusion) open(n *Network, z []Message) error {
	f.layout = layoutOf(shapeOf(z[0]))
	f.reset(n, n.tree, callMix, f.layout.n)
	for i := range z {
		f.layout.gather(f.rows[i], z[i])
	}
	f.check()
	return nil
}

func (f *fusion) close(z []Message) {
	for i, row := range f.rows {
		divide(row, f.net.Len())
		f.layout.scatter(row, z[i])
	}
}

// step counts the messages of the round or, for a server, in the first round the two
// that each node exchanges with it.
func (f *fusion) step() Traffic {
	first := f.round == 0
	t := f.collected.step()
	if f.counted {
		return t
	}
	if !first {
		return Traffic{}
	}
	messages := 2 * int64(len(f.rows))
	return Traffic{Rounds: 2, Messages: messages, Bytes: 8 * int64(f.layout.n) * messages}
}
