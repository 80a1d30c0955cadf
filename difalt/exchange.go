package difalt

import (
	"context"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
)

// An exchange is the way from the hosted nodes to the others.
type exchange struct {
	net    *consensus.Network
	mixer  *consensus.Mixer
	rounds int           // of an iteration
	time   time.Duration // that agree has taken since somebody has set it to 0
	msgs   []consensus.Message
}

func newExchange(net *consensus.Network, m *consensus.Mixer, rounds int) *exchange {
	return &exchange{net: net, mixer: m, rounds: rounds, msgs: make([]consensus.Message, len(net.Hosted()))}
}

// agree runs AGREE (Alg. 1) on the bases and scalars of the hosted nodes; scalars may be
// nil.
func (x *exchange) agree(ctx context.Context, stream consensus.Stream, z []*kernel.Basis, scalars [][]float64, rounds int) error {
	start := time.Now()
	for i := range x.msgs {
		x.msgs[i] = consensus.Message{Stream: stream, Basis: z[i]}
		if scalars != nil {
			x.msgs[i].Scalars = scalars[i]
		}
	}
	err := x.mixer.Mix(ctx, x.msgs, rounds)
	x.time += time.Since(start)
	return err
}

// nodes is L: a node's gradient times L stands for that of all.
func (x *exchange) nodes() float64 { return float64(x.net.Len()) }
