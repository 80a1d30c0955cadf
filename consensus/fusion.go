package consensus

// A fusion is the mean over all nodes, added up the tree.
type fusion struct {
	collected
	layout  layout
	counted bool // the messages of the tree are, and not those of a server
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
