package consensus

import "github.com/difalt/difalt/kernel"

// A fusion is the mean over all nodes, added up the tree.
type fusion struct {
	*sweep // with all nodes in this process
	relay  // otherwise
	layout layout
	data   []float64
	// counted says that the messages of the tree are, and not those of a server.
	counted bool
}

func (n *Network) newFusion(pool *kernel.Pool) *fusion {
	hosted := len(n.hosted)
	f := &fusion{sweep: newSweep(hosted, pool, n.meanBlock)}
	f.relay = relay{net: n, tree: n.tree, words: make([]uint8, hosted), rows: make([][]float64, hosted)}
	f.come = func(k int) []byte { return n.got[k].code }
	return f
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

func (f *fusion) open(z []Message) error {
	f.layout = layoutOf(shapeOf(z[0]))
	n := f.layout.n
	if len(f.data) < n*len(z) {
		f.data = make([]float64, n*len(z))
	}
	f.round = 0
	for i := range z {
		f.relay.rows[i] = f.data[i*n:][:n]
		f.layout.gather(f.relay.rows[i], z[i])
		if !finite(f.relay.rows[i]) {
			f.net.fail(channelServer, i)
		}
	}
	return nil
}

func (f *fusion) close(z []Message) {
	for i := range z {
		divide(f.relay.rows[i], f.net.Len())
		f.layout.scatter(f.relay.rows[i], z[i])
	}
}

func (f *fusion) channel() uint8                { return channelServer }
func (f *fusion) speak()                        {}
func (f *fusion) part(dst []byte, k int) []byte { return f.relay.part(dst, k) }
func (f *fusion) hear(k int) error              { return f.relay.hear(k, f.net.got[k].code) }

// step counts the messages of the round or, for a server, in the first round the two
// that a node exchanges with it.
func (f *fusion) step() Traffic {
	if f.counted {
		messages := f.relay.step(channelServer)
		return Traffic{Rounds: 1, Messages: messages, Bytes: 8 * int64(f.layout.n) * messages}
	}
	var t Traffic
	if f.round == 0 {
		t = Traffic{Rounds: 2, Messages: 2 * int64(len(f.relay.rows))}
		t.Bytes = 8 * int64(f.layout.n) * t.Messages
	}
	f.relay.step(channelServer)
	return t
}
