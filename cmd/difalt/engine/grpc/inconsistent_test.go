package grpc

import (
	"errors"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
)

// A lying transport keeps the keys of the transport below.
type lying struct {
	wire.Transport
	wire.Signer
	wire.Identified
}

// TestInconsistent: node 1 sends node 0 another total than the rest. All honest nodes end with that error in the next
// operation, over connections that close right after it.
func TestInconsistent(t *testing.T) {
	t.Parallel()
	for _, lie := range []bool{false, true} {
		p := newParty(t, "path", 4)
		list, armed := p.all(t, quick()), false
		g := must2(p.c.Graph())
		errs := each(list, func(tr *Transport) error {
			if err := tr.Join(t.Context()); err != nil {
				return err
			}
			var at wire.Transport = tr
			if tr.node == 1 {
				tap := testnet.Tap{Sent: func(l wire.Link, f testnet.Frame) {
					if armed && l.Peer == 0 && f.Channel() == wire.Sum {
						f.Code()[0] ^= 1
						armed = false
					}
				}, Received: func(wire.Link, testnet.Frame) {}}
				at = lying{tap.Open(tr, g, p.c.RunID()), tr, tr}
			}
			n, err := consensus.New(must2(weights(p.c)), at)
			for k := 0; k < 4 && err == nil; k++ {
				if tr.node == 1 && k == 2 {
					armed = lie
				}
				err = n.Sum(t.Context(), [][]float64{{1, float64(tr.node)}})
			}
			if err == nil {
				err = n.Confirm(t.Context())
			}
			tr.Leave(err)
			return err
		})
		for i, err := range errs {
			if i != 1 && errors.Is(err, wire.ErrInconsistent) != lie || !lie && err != nil {
				t.Errorf("a lie: %v; node %d: %v", lie, i, err)
			}
		}
	}
}
