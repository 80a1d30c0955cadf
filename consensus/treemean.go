package consensus

import (
	"github.com/difalt/difalt/consensus/collective"
	"github.com/difalt/difalt/consensus/wire"
)

// A treeMean is the mean over all nodes in float64, added up along the tree.
type treeMean struct {
	collective.Operation
	tree   *collective.Tree
	net    *wire.Rounds
	layout layout
}

func (n *Network) newTreeMean() *treeMean {
	return &treeMean{tree: n.tree, net: n.rounds}
}

func divide(v []float64, by int) {
	for k := range v {
		v[k] /= float64(by)
	}
}

func (f *treeMean) alongTree() bool { return true }

func (f *treeMean) open(z []Message) {
	f.layout = layoutOf(dimensionsOf(z[0]))
	f.Start(f.net, wire.Mean, f.tree, collective.Add, 0, f.layout.n, func(i int, row []float64) { f.layout.gather(row, z[i]) })
}

func (f *treeMean) close(z []Message) {
	for i := range z {
		divide(f.Row(i), f.net.Graph.Len())
		f.layout.scatter(f.Row(i), z[i])
	}
}

// A serverMean is a treeMean that counts as if it came from a server that is none of the
// nodes.
type serverMean struct{ *treeMean }

// Step counts in its first round the two rounds in which each node exchanges messages with
// the server.
func (f serverMean) Step() wire.Traffic {
	first := f.Round == 0
	f.treeMean.Step()
	if !first {
		return wire.Traffic{}
	}
	messages := 2 * int64(len(f.net.Hosted))
	return wire.Traffic{Rounds: 2, Messages: messages, Bytes: 8 * int64(f.layout.n) * messages}
}
