package consensus

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/consensus/internal/codes"
	"github.com/difalt/difalt/consensus/internal/frame"
	"github.com/difalt/difalt/consensus/internal/rounds"
	"github.com/difalt/difalt/consensus/transport"
)

// A treeMean is the mean over all nodes by a masked sum along the tree.
type treeMean struct {
	net    *Network
	server bool
	unsent transport.Traffic // of a mean along the tree where a server computes it
	layout layout
	x      []float64   // the messages of the hosted nodes
	rows   [][]float64 // the rows of x
	codes  *codes.Mean // nil before the first message in codes
}

func (*treeMean) Exact() bool { return true }

// Average implements Exchange.
func (t *treeMean) Average(ctx context.Context, z []Message, c Codec) error {
	return signed(t.average(ctx, z, c))
}

func (t *treeMean) average(ctx context.Context, z []Message, c Codec) error {
	if t.server {
		if err := onlyFloat64(c); err != nil {
			return err
		}
	}
	if !slices.Contains(codecs[:], c) {
		return fmt.Errorf("unknown codec %v", c)
	}
	if err := t.net.checkMessages(z); err != nil {
		return err
	}
	t.place(z)
	if c == Float64 {
		return t.sum(ctx, z)
	}
	return t.coded(ctx, z, int(c))
}

// place writes the messages to the rows.
func (t *treeMean) place(z []Message) {
	if d := dimensionsOf(z[0]); t.rows == nil || t.layout.dimensions != d {
		t.layout, t.rows = layoutOf(d), nil
		t.x = make([]float64, len(z)*t.layout.stride)
		for i := range z {
			t.rows = append(t.rows, t.layout.row(t.x, i))
		}
	}
	for i, m := range z {
		t.layout.gather(t.rows[i], m)
	}
}

// sum averages the rows in float64.
func (t *treeMean) sum(ctx context.Context, z []Message) error {
	n, f := t.net, t.layout
	traffic := &n.traffic
	if t.server {
		traffic = &t.unsent
	}
	if err := n.collectives.SumOn(ctx, frame.Mean, traffic, t.rows); err != nil {
		return err
	}
	if t.server { // every node sends its message to the server, and receives one
		messages := 2 * int64(len(z))
		sent := transport.Traffic{Rounds: 2, Messages: messages, Bytes: 8 * int64(f.n) * messages}
		n.traffic = n.traffic.Plus(rounds.WithHeaders(sent))
	}
	for i, row := range t.rows {
		for k := range row[:f.averaged()] {
			row[k] /= float64(n.Len())
		}
		f.scatter(row, z[i])
	}
	return nil
}

// coded averages the rows in codes of width bits.
func (t *treeMean) coded(ctx context.Context, z []Message, width int) error {
	n, f := t.net, t.layout
	if n.Len() == 1 { // the mean is the message
		if err := ctx.Err(); err != nil {
			return err
		}
		return n.checkBelow(math.Inf(1), f, t.x)
	}
	if t.codes == nil {
		t.codes = codes.New(n.engine, n.collectives, &n.traffic)
	}
	sizes := codes.Sizes{Basis: f.D * f.R, Scalars: f.Scalars, Totals: f.Totals}
	mean, err := t.codes.Average(ctx, t.rows, sizes, width)
	if err != nil {
		return err
	}
	for i := range z {
		f.scatter(mean, z[i])
	}
	return nil
}
