package consensus

import (
	"context"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
)

// A treeMean is the mean over all nodes by a sum along the tree, to which each of them adds its
// messages with masks.
type treeMean struct {
	net *Network
	// server counts the traffic as if the mean came from a server that is none of the nodes.
	server bool
	rows   [][]float64 // the messages of the hosted nodes
}

func (n *Network) newTreeMean(server bool) *treeMean {
	return &treeMean{net: n, server: server, rows: make([][]float64, len(n.Hosted()))}
}

// mix implements protocol; the number of rounds is that of the sum.
func (f *treeMean) mix(ctx context.Context, m *Mixer, z []Message, _ int) error {
	l := layoutOf(dimensionsOf(z[0]))
	for i := range f.rows {
		f.rows[i] = slices.Grow(f.rows[i][:0], l.n)[:l.n]
		l.gather(f.rows[i], z[i])
	}
	traffic, other := &f.net.traffic, wire.Traffic{}
	if f.server {
		traffic = &other
	}
	if err := f.net.SumWith(ctx, wire.Mean, m.reduction, traffic, f.rows); err != nil {
		return err
	}
	if f.server { // each node exchanges messages with it
		messages := 2 * int64(len(f.rows))
		f.net.traffic = f.net.traffic.Plus(wire.Headers(wire.Traffic{Rounds: 2, Messages: messages, Bytes: 8 * int64(l.n) * messages}))
	}
	for i, row := range f.rows {
		for k := range row {
			row[k] /= float64(f.net.Len())
		}
		l.scatter(row, z[i])
	}
	return nil
}
