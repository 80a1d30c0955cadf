package consensus

import (
	"context"
	"math"

	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
)

const (
	// panelLen is the largest number of entries of a vector that are averaged at a time.
	panelLen = 512
	// mostInGossip bounds the magnitude of a number of a message: differences between means of such numbers
	// do not overflow. A mean may be larger, by rounding or where a weight is negative; mostReceived bounds
	// it.
	mostInGossip = 0x1p1020
	mostReceived = 0x1p1022
)

// A gossip is AGREE (Alg. 1). In every round, a node sends its vector to its neighbours, and then computes
//
//	Z_g <- Z_g + sum_j W_gj (Z_j - Z_g).
//
// The order of the sum for an entry depends neither on where nodes live nor on the number of workers.
type gossip struct {
	net     *Network
	count   int         // rounds
	weights []sparseRow // of the hosted nodes
	pool    *kernel.Pool
	layout  layout
	x, sent []float64   // the vectors after and before this round, also of neighbours elsewhere
	sums    [][]float64 // of a panel, one for every worker
	step    func(worker int)
}

// A sparseRow has the entries of a row of W for the neighbours of a node, and the rows of their vectors.
type sparseRow struct {
	rows    []int
	weights []float64
}

// newGossip returns an exchange of count rounds, where node i gives its neighbour j the given weight.
func newGossip(n *Network, weight func(i, j int) float64, count int, pool *kernel.Pool) *gossip {
	if pool == nil {
		pool = kernel.NewPool(1)
	}
	m := &gossip{net: n, count: count, weights: make([]sparseRow, len(n.Hosted())), pool: pool}
	for k, i := range n.Hosted() {
		for _, j := range n.Graph().Neighbors(i) {
			m.weights[k].rows = append(m.weights[k].rows, n.engine.Row[j])
			m.weights[k].weights = append(m.weights[k].weights, weight(i, j))
		}
	}
	for range pool.Workers() {
		m.sums = append(m.sums, make([]float64, panelLen))
	}
	m.step = m.stepShare
	return m
}

func (*gossip) Exact() bool { return false }

// Average implements Exchange.
func (m *gossip) Average(ctx context.Context, z []Message, c Codec) error {
	return signed(m.average(ctx, z, c))
}

func (m *gossip) average(ctx context.Context, z []Message, c Codec) error {
	n := m.net
	if err := onlyFloat64(c); err != nil {
		return err
	}
	if err := n.checkMessages(z); err != nil {
		return err
	}
	if len(z[0].Totals) > 0 {
		return errTotals
	}
	if err := n.collectives.Join(ctx); err != nil {
		return err
	}
	if d := dimensionsOf(z[0]); d != m.layout.dimensions {
		m.layout = layoutOf(d)
		entries := n.engine.Rows * m.layout.stride
		m.x, m.sent = make([]float64, entries), make([]float64, entries)
	}
	for i := range z {
		m.layout.gather(m.layout.row(m.x, i), z[i])
	}
	if err := n.checkBelow(mostInGossip, m.layout, m.x); err != nil {
		n.engine.End(ctx, err) // the neighbours wait for a message
		return err
	}
	if err := n.engine.Run(ctx, m, m.count, &n.traffic); err != nil {
		return err
	}
	if err := n.checkBelow(math.Inf(1), m.layout, m.x); err != nil { // weights may be negative
		n.engine.End(ctx, err)
		return err
	}
	for i := range z {
		m.layout.scatter(m.layout.row(m.x, i), z[i])
	}
	return nil
}

// Start implements rounds.Operation.
func (m *gossip) Start() {}

// Channel implements rounds.Operation.
func (m *gossip) Channel() frame.Channel { return frame.Average }

// Sends implements rounds.Operation: every node sends to all neighbours.
func (m *gossip) Sends(int, int) bool { return true }

// Append implements rounds.Operation.
func (m *gossip) Append(dst []byte, k int) []byte {
	return frame.AppendFloats(dst, m.layout.row(m.x, m.net.engine.Index[m.net.engine.Links[k].Node]))
}

// Receive implements rounds.Operation: it stores the vector of a neighbour.
func (m *gossip) Receive(k int, code []byte) error {
	return frame.ReadFloats(m.layout.row(m.x, m.net.engine.Row[m.net.engine.Links[k].Peer]), code, mostReceived)
}

// Step implements rounds.Operation: it averages.
func (m *gossip) Step() transport.Traffic {
	m.x, m.sent = m.sent, m.x
	m.pool.Run(m.step)
	messages := m.net.engine.MessagesPerRound
	return transport.Traffic{Rounds: 1, Messages: messages, Bytes: 8 * int64(m.layout.n) * messages}
}

// stepShare averages the panels of entries of a worker.
func (m *gossip) stepShare(worker int) {
	n, workers := m.layout.n, len(m.sums)
	size := min(panelLen, tile.Pad((n+workers-1)/workers))
	for lo := worker * size; lo < n; lo += workers * size {
		m.stepPanel(m.sums[worker], lo, min(lo+size, n))
	}
}

// stepPanel averages the entries [lo, hi) of the vectors of the hosted nodes.
func (m *gossip) stepPanel(sums []float64, lo, hi int) {
	f := m.layout
	for i, row := range m.weights {
		// With equal weights at both ends of a link, one end adds the bits that the other end subtracts.
		tile.SumDifferences(sums, m.sent[lo:], f.stride, i, row.rows, row.weights, hi-lo)
		floats.AddTo(f.row(m.x, i)[lo:hi], f.row(m.sent, i)[lo:hi], sums[:hi-lo])
	}
}
