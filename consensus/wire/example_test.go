package wire_test

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// A cable connects two nodes, one in each process, by channels.
type cable struct {
	node        int
	sent        uint64 // exchanges that have begun
	to, from    chan []byte
	lastArrived []byte // of the last exchange that has ended
}

func (c *cable) Hosted() []int { return []int{c.node} }

func (c *cable) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	failed := func(kind wire.Kind, err error) error {
		return &wire.PeerError{Peer: 1 - c.node, Round: seq, Kind: kind, Err: err}
	}
	if seq == c.sent { // otherwise the exchange is taken up again
		c.to <- append([]byte(nil), out[0]...)
		c.sent, c.lastArrived = seq+1, nil
	}
	if c.lastArrived == nil {
		select {
		case frame, ok := <-c.from:
			if !ok {
				return failed(wire.Closed, io.EOF)
			}
			if err := wire.CheckFrame(frame); err != nil {
				return failed(wire.Corrupt, err)
			}
			c.lastArrived = frame
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	in[0] = c.lastArrived
	return nil
}

func (c *cable) Close() error {
	close(c.to)
	return nil
}

// Two processes sum what they have over a transport of their own.
func ExampleTransport() {
	g, err := topology.Path(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A neighbour is at most a round ahead.
	there, back := make(chan []byte, 2), make(chan []byte, 2)
	ends := []*cable{{node: 0, to: there, from: back}, {node: 1, to: back, from: there}}
	var processes sync.WaitGroup
	sums := make([]string, 2)
	for i, end := range ends {
		processes.Go(func() {
			defer end.Close()
			n, err := consensus.New(w, end)
			if err != nil {
				fmt.Println(err)
				return
			}
			z := [][]float64{{float64(10 + i)}}
			if err := n.Sum(context.Background(), z); err != nil {
				fmt.Println(err)
				return
			}
			sums[i] = fmt.Sprint(z)
		})
	}
	processes.Wait()
	fmt.Println(sums)
	// Output:
	// [[[21]] [[21]]]
}
